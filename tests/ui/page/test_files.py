"""Files that are wrong, files that mean ill, and files that somebody brings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from minibatch.recording.storage import RecordingError, dumps, save
from minibatch.ui.shared.notices import as_label
from minibatch.ui.shared.sources import FOLDER_VARIABLE, open_upload
from tests.ui.page.driving import (
    html,
    lanes,
    notices,
    open_app,
    payload,
    players,
    rerun,
)
from tests.ui.recordings import HTML, IMAGE, continuous, static


def test_what_a_file_says_of_itself_stays_data(bundled: Path) -> None:
    header = replace(static().header, policy=HTML, device=HTML, model=HTML, scenario=HTML)
    other = replace(continuous(), header=replace(continuous().header, scenario=HTML))
    save(bundled / "chat.mbr", [replace(static(), header=header), other])
    app = open_app()
    given = payload(app)
    assert given["title"] == HTML
    assert lanes(app) == ["continuous", HTML]
    prompts = [request[-1] for request in given["requests"][0]]
    assert prompts == ["once", HTML, "why"]
    assert "<img" not in html(app)
    assert "&lt;img src=x onerror=alert(1)&gt; &amp; **bold**" in html(app)
    element = players(app)["player"].proto
    code = element.html_content + element.css_content + element.js_content
    assert HTML not in code
    assert HTML not in "".join(part.value for part in app.markdown)


def test_two_runs_of_one_policy_are_rejected_in_plain_text(bundled: Path) -> None:
    save(bundled / "chat.mbr", [replace(static(), header=replace(static().header, policy=IMAGE))] * 2)
    app = open_app()
    (notice,) = notices(app)
    assert f"several runs of the policy &#x27;{IMAGE}&#x27;" in notice
    assert IMAGE not in "".join(element.value for element in app.markdown)
    assert players(app) == {}


def test_policies_that_this_program_does_not_know_are_shown(bundled: Path) -> None:
    unknown = [replace(static(), header=replace(static().header, policy=name)) for name in ("lottery", IMAGE)]
    save(bundled / "chat.mbr", [*unknown, continuous()])
    app = open_app()
    assert app.pills[0].options == [as_label(name) for name in ("continuous", "lottery", IMAGE)]
    assert lanes(app) == ["continuous", "lottery", IMAGE]
    assert ">lottery<" in html(app)


def test_a_recording_of_nothing_is_shown(bundled: Path) -> None:
    """A run may be cancelled before its first iteration ends."""
    run = static()
    nothing = {name: values[:0] for name, values in run.entries.items()}
    requests = tuple(replace(request, pieces=(), output_token_ids=(), finish_reason=None) for request in run.requests)
    empty = replace(
        run,
        header=replace(run.header, complete=False),
        requests=requests,
        iterations={name: values[:0] for name, values in run.iterations.items()},
        entries=nothing,
        blocks={name: values[:0] for name, values in run.blocks.items()},
        reasons={name: values[:0] for name, values in run.reasons.items()},
        reason_numbers=(),
    )
    save(bundled / "chat.mbr", [empty])
    app = open_app()
    assert [run["complete"] for run in payload(app)["runs"]] == [False]


def test_says_how_to_make_recordings_where_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert "python -m minibatch record" in notices(open_app())[0]


def test_a_damaged_recording_is_one_sentence(bundled: Path) -> None:
    (bundled / "chat.mbr").write_bytes(b"nothing of the kind")
    assert "is not a Minibatch recording" in notices(open_app())[0]


def test_an_uploaded_file_is_opened_or_rejected_in_a_sentence() -> None:
    shown = open_upload(dumps([continuous(), static()]), "mine.mbr")
    assert shown.policies == ("static", "continuous")
    assert open_upload(dumps([continuous(), static()]), "mine.mbr").key == shown.key
    with pytest.raises(RecordingError, match=r"notes\.txt is not a Minibatch recording"):
        open_upload(b"hello", "notes.txt")


@pytest.mark.usefixtures("bundled")
def test_an_uploaded_file_is_played_and_has_no_link() -> None:
    app = open_app()
    app.segmented_control(key="source").set_value("Open a file")
    assert notices(rerun(app)) == ["Choose a recording file in the sidebar."]
    app.get("file_uploader")[0].set_value(("mine.mbr", dumps([continuous()]), "application/octet-stream"))
    rerun(app)
    assert lanes(app) == ["continuous"]
    assert payload(app)["options"]["link"] is None


@pytest.mark.usefixtures("bundled")
def test_an_uploaded_file_stays_open_while_other_things_are_looked_at() -> None:
    app = open_app()
    app.segmented_control(key="source").set_value("Open a file")
    rerun(app).get("file_uploader")[0].set_value(("<b>.mbr", dumps([continuous()]), "application/octet-stream"))
    rerun(app)
    app.segmented_control(key="source").set_value("Recorded")
    assert lanes(rerun(app)) == ["static", "continuous"]
    app.segmented_control(key="source").set_value("Open a file")
    assert lanes(rerun(app)) == ["continuous"]
    assert "&lt;b&gt;.mbr is open." in html(app)
    app.button(key="close upload").click()
    assert notices(rerun(app)) == ["Choose a recording file in the sidebar."]


def test_a_list_of_recordings_names_the_device_where_titles_repeat(bundled: Path) -> None:
    save(bundled / "chat-2.mbr", [replace(static(), header=replace(static().header, device="H200"))])
    save(bundled / "own.mbr", [replace(static(), header=replace(static().header, scenario="mine"))])
    chat = "Chat: short and long answers mixed"
    options = open_app().radio(key="recording").options
    assert options == [as_label(f"{chat} (measured, 2-core CPU)"), as_label(f"{chat} (measured, H200)"), "mine"]
