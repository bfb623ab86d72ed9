"""Links to the page: the recording, the run and the moment that they lead to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from minibatch.recording.storage import save
from tests.ui.page.driving import (
    Engine,
    choose_recording,
    finish,
    lanes,
    notices,
    open_app,
    payload,
    rerun,
)
from tests.ui.recordings import IMAGE, continuous, static


def test_a_link_opens_its_recording_at_its_moment(bundled: Path) -> None:
    save(
        bundled / "own.mbr",
        [replace(run, header=replace(run.header, scenario="mine")) for run in (static(), continuous())],
    )
    app = open_app(recording="own", policies="continuous", t="12000000", pin="1", view="close", loop="3-9")
    given = payload(app)
    assert given["options"]["link"] == {"recording": "own", "policies": "continuous"}
    assert given["options"]["start"] == {"position": 12e6, "pin": 1, "view": "close", "loop": [3, 9]}
    assert "autoplay" not in given["options"]
    assert lanes(app) == ["continuous"]
    # The moment belongs to what the link leads to, and to nothing else.
    choose_recording(app, 0)
    assert payload(rerun(app))["options"]["autoplay"] is True
    choose_recording(app, 1)
    app.pills[0].set_value(["continuous"])
    assert payload(rerun(app))["options"]["start"]["pin"] == 1


@pytest.mark.usefixtures("bundled")
@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"recording": IMAGE}, f"the link names the recording &#x27;{IMAGE}&#x27;, which is not here"),
        ({"scenario": "chat", "seed": "<b>"}, "seed is &#x27;&lt;b&gt;&#x27;: expected a whole number"),
        ({"scenario": "chat", "model": "/etc"}, "model is &#x27;/etc&#x27;: expected one of bundled, "),
    ],
)  # fmt: skip
def test_a_link_that_makes_no_sense_is_one_sentence(parameters: dict[str, str], reason: str) -> None:
    app = open_app(**parameters)
    (notice,) = notices(app)
    assert notice.startswith(f"This link can&#x27;t be followed: {reason}")
    assert lanes(app) == ["static", "continuous"]
    assert "ticket" not in app.session_state
    assert notices(rerun(app)) == []


@pytest.mark.usefixtures("bundled")
def test_a_link_runs_its_job_and_goes_to_its_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch, [continuous(), static()])
    engine.snapshots = [[static()]]
    link = {"scenario": "kv-squeeze", "clock": "modelled", "seed": "3", "num_kv_blocks": "80", "mix_prefill": "True"}
    app = open_app(**link, policies="static,continuous", t="7")
    (ticket,) = [app.session_state["ticket"]]
    assert engine.started.wait(10)
    live = payload(rerun(app))["options"]
    assert live["live"] is True
    engine.gate.set()
    options = payload(finish(app, ticket))["options"]
    assert options["start"] == {"position": 7}
    assert options["id"] != live["id"], "the player would stay where the run had come to"
    assert options["link"] == {
        **link, "model": "bundled", "temperature": "0.7", "policies": "static,continuous"
    }  # fmt: skip
    (job,) = engine.jobs
    assert (job["scenario"], job["clock"], job["seed"]) == ("kv-squeeze", "modelled", 3)
    assert job["policies"] == ("static", "continuous")
    assert (job["config"].num_kv_blocks, job["config"].mix_prefill, job["config"].max_num_seqs) == (80, True, 8)
    rerun(app)
    assert len(engine.jobs) == 1
