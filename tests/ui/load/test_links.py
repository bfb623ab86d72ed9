"""Links to the page "Load": from its form to parameters and back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibatch.ui.load.links import sweep_link, sweep_values
from minibatch.ui.load.plan import Wanted
from minibatch.ui.load.presets import knob_starts
from minibatch.ui.load.slo import Judged
from minibatch.ui.load.trace import SweepTrace
from minibatch.ui.shared.link_values import LinkError
from minibatch.ui.shared.machine import MachineChoice

MACHINE = MachineChoice("llama-3.1-8b", "modelled", "H100", 1)
PLAIN = Wanted(
    MACHINE, 400, "lognormal:512:1.0", "lognormal:128:1.0", 0, ("static", "dynamic", "continuous", "chunked"), "rate",
    "1 2 4", 1.0, 0.0, knob_starts("chat", MACHINE),
)  # fmt: skip
SLO = Judged({"ttft": 500.0, "tpot": 50.0, "e2el": None}, 90.0)
ODD = st.sampled_from(["", "nan", "-1", "1e400", "9" * 5000, "0.5", "<b>", "chat", "H100", "ttft:1", "none", "static"])
NAMES = st.sampled_from([
    "rates", "users", "policies", "accelerator", "model", "tensor_parallel", "num_requests", "prompt_lengths", "seed",
    "burstiness", "think_s", "share", "slo", "vary", "values", "num_kv_blocks", "kv_layout", "clock",
])  # fmt: skip


def test_what_is_as_it_always_is_stands_in_no_link() -> None:
    assert sweep_link(PLAIN, SLO) == {
        "sweep": "chat", "rates": "1 2 4", "accelerator": "H100", "model": "llama-3.1-8b", "tensor_parallel": "1",
        "num_requests": "400", "prompt_lengths": "lognormal:512:1.0", "output_lengths": "lognormal:128:1.0",
        "seed": "0", "burstiness": "1", "slo": "ttft:500 tpot:50",
    }  # fmt: skip


def test_a_trace_has_no_link_and_a_page_without_one_sets_nothing() -> None:
    assert sweep_link(replace(PLAIN, trace=SweepTrace()), SLO) is None
    assert sweep_values({"seed": "3", "utm_source": "somewhere"}) == {}


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"sweep": "<b>"}, "sweep is '<b>': expected one of chat, thrashing"),
        (
            {"policies": "static,magic"},
            "policies is 'magic': expected one of static, dynamic, continuous, chunked",
        ),
        ({"num_requests": "99999"}, "num_requests is '99999': expected at most 2,000"),
        ({"share": "0"}, "share is '0': expected at least 1"),
        ({"slo": "ttft:fast"}, "slo: 'fast' in 'ttft:fast' is not a number: write milliseconds, as in ttft:200"),
        ({"tensor_parallel": "3"}, "tensor_parallel is '3': expected one of 1, 2, 4, 8"),
        ({"watermark": "high"}, "watermark is 'high': expected a number"),
    ],
)
def test_what_makes_no_sense_is_a_sentence(parameters: dict[str, str], sentence: str) -> None:
    with pytest.raises(LinkError) as caught:
        sweep_values({"sweep": "chat", **parameters})
    assert str(caught.value).startswith(sentence)


@given(st.dictionaries(NAMES, ODD | st.text(max_size=9)))
def test_any_address_is_followed_or_refused_in_a_sentence(parameters: dict[str, str]) -> None:
    try:
        values = sweep_values({"sweep": "thrashing", **parameters})
    except LinkError:
        return
    assert values["sweep preset"] == "thrashing"
