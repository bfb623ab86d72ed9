"""`reproduce` as a person runs it."""

from __future__ import annotations

import json

import pytest

from minibatch.analysis.registry.claims import load_claims
from minibatch.analysis.reproduce import EXPERIMENTS
from minibatch.commands import reproduce


def test_without_a_name_it_lists_what_there_is(inside) -> None:
    done = inside("reproduce")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.split()]
    assert [row[0] for row in rows] == list(EXPERIMENTS)
    assert [each["name"] for each in json.loads(inside("reproduce", "--json").stdout)] == list(EXPERIMENTS)


def test_published_modelled_reasons_and_assumptions_are_printed(inside) -> None:
    done = inside("reproduce", "sarathi-ablation")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    (head,) = [line for line in done.stdout.splitlines() if "published" in line and "modelled / published" in line]
    assert head.split()[:2] == ["published", "modelled"]
    assert "4.86 x (0.68 s / 0.14 s)" in done.stdout
    assert "hybrid batches alone: 0.68 s (Agrawal et al., Sarathi-Serve (OSDI 2024))" in done.stdout
    assert "seed 0" in done.stdout
    assert "assumptions" in done.stdout
    assert "(secondary)" in done.stdout
    assert "1.31 off" in done.stdout
    assert "Off: modelled and published are more than 30\N{NO-BREAK SPACE}% apart." in done.stdout


@pytest.mark.slow
def test_the_numbers_are_the_same_every_time_and_others_for_another_seed(inside) -> None:
    first, again, other = (inside("reproduce", "kv-share", "--json", "--seed", seed).stdout for seed in (3, 3, 4))
    assert first == again
    assert first != other
    printed = json.loads(first)
    assert printed["seed"] == 3
    for row in printed["rows"]:
        for claim in row["claims"]:
            assert load_claims()[claim["id"]].value == claim["value"]
        assert (row["ratio"] is None) == (row["published"] is None or row["modelled"] is None)
        assert bool(row["verdict"]) == (row["is_off"] or row["modelled"] is None)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["nobodys"], "choose from anyscale, orca, kv-share, sarathi"), (["orca", "--seed", "-1"], "seed is -1: use 0")],
)
def test_bad_options_get_one_sentence(inside, arguments: list[str], says: str) -> None:
    done = inside("reproduce", *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_control_c_stops_it(inside, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        def __enter__(self) -> object:
            return lambda: True

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(reproduce, "stop_on_interrupt", Interrupted)
    done = inside("reproduce", "anyscale")
    assert (done.returncode, done.stdout) == (130, "")
    assert "stopped" in done.stderr
