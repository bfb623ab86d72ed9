"""What README and docs say is there: links, commands, options, make targets, and a policy written by the page."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from PIL import Image

from minibatch.__main__ import command_line
from minibatch.paths import ROOT
from minibatch.scheduling.config import SchedulerConfig

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINKED = [
    *PAGES,
    ROOT / "lessons" / "README.md",
    ROOT / "assets" / "storyteller" / "README.md",
    *(ROOT / "minibatch").rglob("*.md"),
]
OF_OTHERS = {"--check", "--dist", "--no-loadscope-reorder", "--prefix"}
"""Options of the programs that tests and linters are."""

page = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)


def commands() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command."""
    (actions,) = (a for a in command_line()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(actions.choices)


def options(parser: argparse.ArgumentParser) -> set[str]:
    """Its options, and those of its own commands."""
    found = {option for action in parser._actions for option in action.option_strings}
    inner = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return found.union(*(options(sub) for action in inner for sub in action.choices.values()))


def anchors(path: Path) -> set[str]:
    """Of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", LINKED, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        if target.startswith(("http:", "https:")):
            continue
        name, _, anchor = target.partition("#")
        there = (path.parent / name).resolve() if name else path
        assert there.exists(), f"{path.name} links to {target}"
        assert not anchor or anchor in anchors(there), f"{path.name} links to {target}"


@page
def test_every_command_line_is_understood(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in re.findall(r"^    (?:\.venv/bin/)?python -m minibatch (.*)$", text, re.MULTILINE):
        command_line().parse_args(shlex.split(line, comments=True))  # SystemExit where it is not


@page
def test_every_option_is_there(path: Path) -> None:
    known = OF_OTHERS.union({"--help"}, *(options(parser) for parser in commands().values()))
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", path.read_text(encoding="utf-8"))) <= known


@page
def test_every_file_is_there(path: Path) -> None:
    named = re.findall(r"`((?:minibatch|tests|assets|lessons|docs|\.ci)/[\w./-]+)`", path.read_text(encoding="utf-8"))
    told_to_write = {"minibatch/scheduling/policies/one_at_a_time.py"}
    assert [name for name in named if not (ROOT / name).exists() and name not in told_to_write] == []


def test_the_readme_lists_every_command() -> None:
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Commands")[2]
    rows = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`([\w-]+)`", row)} == set(commands())


def test_every_knob_is_described() -> None:
    rows = set(re.findall(r"^\| `--(?:no-)?([\w-]+)` \|", (ROOT / "docs/commands.md").read_text("utf-8"), re.MULTILINE))
    assert rows == {field.name.replace("_", "-") for field in fields(SchedulerConfig)}


def test_make_targets_are_those_that_are_described() -> None:
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    described = {
        target for path in PAGES for target in re.findall(r"(?:^    |`)make ([a-z-]+)", path.read_text("utf-8"), re.M)
    }
    assert described == targets


def test_the_readme_shows_it_moving() -> None:
    path = ROOT / "assets" / "screenshots" / "compare.webp"
    assert f"({path.relative_to(ROOT)})" in (ROOT / "README.md").read_text(encoding="utf-8").replace("\n", " ")
    assert path.stat().st_size < 2_000_000
    with Image.open(path) as film:
        seconds = 0.0
        for frame in range(film.n_frames):
            film.seek(frame)
            film.load()
            seconds += film.info["duration"] / 1000
    assert 9 <= seconds <= 11


# -- docs/policies.md, followed to the letter ---------------------------------------------------------

SHOWN_IN_THE_APP = """
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("minibatch/ui/script.py", default_timeout=60).run()
app.segmented_control(key="source").set_value("New run").run()
assert not app.exception
print(next(group.options for group in app.button_group if group.label == "Policies"))
"""


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository in which the steps of the page were followed."""
    text = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
    ((code,), (name, *_)) = re.findall(r"```python\n(.*?)```", text, re.DOTALL), re.findall(r"as `(.*?)`", text)
    imported, listed = re.findall(r"^    (from .*|LISTED.*)$", text, re.MULTILINE)
    assert sum(1 for line in code.splitlines() if line.strip()) <= 20
    copy = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "minibatch", copy / "minibatch", ignore=shutil.ignore_patterns("__pycache__"))
    for shared in ("assets", "lessons", ".streamlit"):
        (copy / shared).symlink_to(ROOT / shared)
    (copy / name).write_text(code, encoding="utf-8")
    init = (copy / name).with_name("__init__.py")
    before = init.read_text(encoding="utf-8")
    after = re.sub(r"^LISTED.*$", listed, before, flags=re.MULTILINE)
    after = re.sub(r"^from minibatch.scheduling.policy import", f"{imported}\n\\g<0>", after, flags=re.MULTILINE)
    assert after.count("\n") == before.count("\n") + 1
    init.write_text(after, encoding="utf-8")
    return copy


def run_in(folder: Path, *arguments: str) -> str:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_policy_of_the_page_is_served_beside_the_others(followed: Path) -> None:
    machine = ["--clock", "modelled", "--accelerator", "H100", "--model", "llama-3.1-8b", "--json"]
    policies = ["--policies", "one-at-a-time", "continuous"]
    out = run_in(followed, "-m", "minibatch", "compare", *policies, *machine)
    alone, batched = json.loads(out)["runs"]
    assert (alone["policy"], batched["policy"]) == ("one-at-a-time", "continuous")
    assert alone["metrics"]["total_output_tokens"] == batched["metrics"]["total_output_tokens"]
    assert alone["metrics"]["output_throughput"] < batched["metrics"]["output_throughput"] / 2


@pytest.mark.slow
def test_the_policy_of_the_page_is_in_the_app(followed: Path) -> None:
    shown = run_in(followed, "-c", SHOWN_IN_THE_APP)
    assert "'one-at-a-time']" in shown.replace("\\", "")  # labels are Markdown
