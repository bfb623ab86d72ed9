"""Every figure has a source, and stands in one place."""

from __future__ import annotations

import io
import math
import re
import tokenize
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from minibatch.analysis.registry.accelerators import load_accelerators
from minibatch.analysis.registry.claims import FILE, Claim, find_claim, load_claims
from minibatch.analysis.registry.models import find_shape, load_models
from minibatch.paths import ROOT
from tests.analysis.refusals import refusal

CODE = ROOT / "minibatch"
GOOD = {
    "value": "989e12",
    "unit": '"FLOP/s"',
    "of": '"a device"',
    "source": '"its data sheet"',
    "checked": "2026-01-31",
    "confidence": '"primary"',
}
TOMORROW = (datetime.now(UTC).date() + timedelta(days=1)).isoformat()


def text_of(fields: dict[str, str]) -> str:
    return "[a-claim]\n" + "".join(f"{name} = {value}\n" for name, value in fields.items())


def hardware() -> list[Claim]:
    return [claim for claim in load_claims().values() if claim.unit in ("FLOP/s", "bytes/s", "bytes")]


def test_a_claim_is_read(tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    path.write_text(text_of(GOOD | {"assumption": "true", "reason": '"a test"'}))
    claim = load_claims(path)["a-claim"]
    assert (claim.value, claim.unit, claim.checked.isoformat()) == (989e12, "FLOP/s", "2026-01-31")
    assert (claim.words, claim.source_in_words) == ("989 TFLOP/s", "its data sheet (assumption)")


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("value", "nan", "a finite number of at least 0"),
        ("value", "inf", "a finite number"),
        ("value", "-1", "at least 0"),
        ("value", "true", "a finite number"),
        ("value", '"989e12"', "a finite number"),
        ("unit", '"TFLOPs"', "one of FLOP/s"),
        ("unit", "[]", "one of FLOP/s"),
        ("of", "7", "text that is not empty"),
        ("source", '"  "', "text that is not empty"),
        ("checked", TOMORROW, "not in the future"),
        ("checked", '"2026-01-31"', "a day"),
        ("checked", "2026-01-31T10:00:00", "a day"),
        ("confidence", '"high"', "one of primary, secondary"),
        ("assumption", "1", "true or false"),
        ("sparse", "true", "use only value, unit"),
        ("value", None, "has no value"),
        ("source", None, "has no source"),
    ],
)
def test_a_bad_claim_is_rejected_in_a_sentence(tmp_path: Path, field: str, value: str | None, says: str) -> None:
    fields = {name: text for name, text in (GOOD | {field: value}).items() if text is not None}
    sentence = refusal(load_claims, tmp_path / "claims.toml", text_of(fields), says)
    assert "claims.toml: [a-claim]" in sentence
    assert field in sentence


@pytest.mark.parametrize("text", ["[a", "a = 1", "[a]\nvalue = 1\n[a]\nvalue = 1\n"])
def test_a_damaged_file_is_rejected_in_a_sentence(tmp_path: Path, text: str) -> None:
    refusal(load_claims, tmp_path / "claims.toml", text, "claims.toml")
    with pytest.raises(ValueError, match="restore it"):
        load_claims(tmp_path / "none.toml")


def test_an_unknown_claim_is_rejected_in_a_sentence() -> None:
    assert find_claim("h100-flops").value == load_accelerators()["H100"].flops_per_s
    with pytest.raises(ValueError, match="no claim 'h100-sparse'"):
        find_claim("h100-sparse")


def test_every_claim_is_used_or_says_why_it_is_there() -> None:
    used = {claim.id for accelerator in load_accelerators().values() for claim in accelerator.claims}
    for claim in load_claims().values():
        assert (claim.id in used) != bool(claim.reason), f"{claim.id}: used, or with a reason"


@pytest.mark.slow
def test_what_has_a_claim_is_written_nowhere_else() -> None:
    """Neither as a number (989e12, 3_350_000_000_000) nor in words (989 TFLOP/s, 3.35 TB/s)."""
    values = {claim.value: claim.id for claim in hardware()}
    # A round number such as 3e11 may be anybody's.
    telling = {value: claim_id for value, claim_id in values.items() if float(f"{value:.1e}") != value}
    texts = {
        re.compile(rf"(?<![\d.]){re.escape(f'{value / factor:.10g}')}(e{power}\b|\s*{prefix}(FLOP|B\b|B/s))"): claim_id
        for value, claim_id in values.items()
        for factor, power, prefix in ((1e12, 12, "T"), (1e9, 9, "G"))
    }
    assert any(pattern.search("989 TFLOP/s and 989e12") for pattern in texts)
    found = []
    for path in sorted(CODE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        for name in load_accelerators():  # A100-40GB is what people type
            source = source.replace(name, "")
        found += [f"{path.name}: {claim_id}" for pattern, claim_id in texts.items() if pattern.search(source)]
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.NUMBER and token.string[-1] not in "jJ":
                number = _number(token.string)
                if number in telling:
                    found.append(f"{path.name}:{token.start[0]}: {telling[number]}")
    assert not found, "a figure with a claim is also written here: use the claim"


def _number(text: str) -> float:
    try:
        return float(int(text, 0))
    except ValueError:
        return float(text)


def test_a_model_s_sizes_are_written_nowhere_else() -> None:
    """The large ones, of models that don't run here: a width such as 14336 is nobody's accident."""
    shapes = [model.shape() for model in load_models().values() if model.config["model_type"] != "gpt2"]
    sizes = {size for shape in shapes for size in (shape.vocab_size, shape.n_inner) if size > 10_000}
    pattern = re.compile(rf"\b({'|'.join(map(str, sizes))})\b")
    assert not [path for path in CODE.rglob("*.py") if pattern.search(path.read_text(encoding="utf-8"))]


def test_figures_that_can_be_computed_are_those_published() -> None:
    claim = find_claim("opt-13b-kv-per-token")
    assert math.isclose(find_shape("opt-13b").kv_bytes_per_token, claim.value, rel_tol=0.03)
    assert find_claim("orca-throughput").value / find_claim("orca-baseline-throughput").value == pytest.approx(
        find_claim("orca-speedup").value, rel=0.01
    )


def test_the_registry_is_the_one_that_ships() -> None:
    assert FILE.parts[-3:] == ("assets", "registry", "claims.toml")
