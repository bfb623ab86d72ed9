"""The commands as a person runs them: in a process of their own, judged by what they print and return."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from minibatch.paths import ROOT
from minibatch.recording.storage import load

SMALL = ["--scenario", "chat", "--seed", "0"]


@pytest.fixture(scope="module")
def environment(cache) -> dict[str, str]:
    return os.environ | {"XDG_CACHE_HOME": str(cache), "NO_COLOR": "1", "COLUMNS": "160"}


@pytest.fixture(scope="module")
def minibatch(environment):
    def run(*arguments: object, **kwargs) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "minibatch", *map(str, arguments)]
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False, **kwargs
        )

    return run


@pytest.fixture(scope="module")
def recorded(minibatch, tmp_path_factory) -> tuple[Path, dict]:
    """One comparison of the chat scenario, its recording and its JSON."""
    path = tmp_path_factory.mktemp("runs") / "chat.mbr"
    done = minibatch("compare", *SMALL, "--policies", "static", "continuous", "--out", path, "--json")
    assert done.returncode == 0, done.stderr
    return path, json.loads(done.stdout)


def fails(done: subprocess.CompletedProcess[str], says: str) -> None:
    """One clear sentence on stderr, no traceback, a non-zero exit."""
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("minibatch")
    assert says in last, done.stderr


@pytest.mark.slow
def test_chat_shows_continuous_beating_static(recorded):
    """By what the schedule decides: its times are measured, here beside other tests."""
    runs = {run["policy"]: run["metrics"] for run in recorded[1]["runs"]}
    static, continuous = runs["static"], runs["continuous"]
    assert continuous["total_output_tokens"] == pytest.approx(static["total_output_tokens"], rel=0.05)
    assert continuous["num_iterations"] < static["num_iterations"]
    assert continuous["slot_padding"] == 0 < static["slot_padding"]
    assert runs["static"]["padding_tokens"] > 0
    assert runs["continuous"]["padding_tokens"] == 0


@pytest.mark.slow
def test_json_has_the_keys_that_vllms_benchmark_writes(recorded):
    for run in recorded[1]["runs"]:
        assert {"policy", "clock", "device", "model", "metrics"} <= set(run)
        assert run["clock"] == "measured"
        assert run["model"] == "bundled"
        expected = {"duration", "completed", "total_input_tokens", "total_output_tokens", "request_throughput",
                    "output_throughput", "total_token_throughput", "num_preemptions"}  # fmt: skip
        expected |= {
            f"{stat}_{name}_ms" for stat in ("mean", "median", "std", "p99") for name in ("ttft", "tpot", "itl", "e2el")
        }
        assert expected <= set(run["metrics"])
        assert run["metrics"]["completed"] == 32


@pytest.mark.slow
def test_a_recording_can_be_shown_and_validated(recorded, inside):
    path, numbers = recorded
    assert json.loads(inside("show", path, "--json").stdout) == numbers
    shown = inside("show", path, "--why", "--text")
    assert shown.returncode == 0
    assert "measured on" in shown.stdout
    assert "r0 is admitted to slot 0" in shown.stdout
    validated = inside("validate", path)
    assert validated.returncode == 0
    assert "whole" in validated.stdout


@pytest.mark.slow
def test_all_policies_wrote_the_same_text(recorded):
    runs = load(recorded[0])
    texts = [[request.pieces for request in run.requests] for run in runs]
    for other in texts[1:]:
        same = sum(ours == theirs for ours, theirs in zip(other, texts[0], strict=True))
        assert same >= len(other) - 1  # float32: two logits may tie within rounding


@pytest.mark.slow
def test_identical_prompts_let_static_look_fine(inside):
    done = inside(
        "compare", "--scenario", "identical", "--policies", "static", "continuous", "--clock", "modelled", "--json"
    )
    static, continuous = (run["metrics"] for run in json.loads(done.stdout)["runs"])
    assert static["padding_share"] == 0
    assert static["slot_padding"] == 0
    assert static["num_iterations"] <= continuous["num_iterations"]


@pytest.mark.slow
def test_a_long_document_stalls_continuous_and_not_chunked(inside):
    done = inside(
        "compare", "--scenario", "long-document", "--policies", "continuous", "chunked", "--clock", "modelled", "--json"
    )
    continuous, chunked = (run["metrics"] for run in json.loads(done.stdout)["runs"])
    assert chunked["p99_itl_ms"] < continuous["p99_itl_ms"]


@pytest.mark.slow
def test_a_modelled_run_is_repeatable_bit_for_bit(inside, minibatch, tmp_path):
    files = [tmp_path / name for name in ("a.mbr", "b.mbr")]
    for file, run in zip(files, (inside, minibatch), strict=True):  # in this process and in another one
        done = run("compare", "--scenario", "kv-squeeze", "--clock", "modelled", "--out", file)
        assert done.returncode == 0, done.stderr
        assert "modelled on" in done.stdout
    assert files[0].read_bytes() == files[1].read_bytes()
    assert sum("preempted" in reason.code for _, reason in load(files[0])[2].each_reason()) > 0


@pytest.mark.slow
def test_run_streams_the_text(inside):
    done = inside("run", "--prompt", "Once upon a time", "--prompt", "The fox said", "--max-tokens", "12")
    assert done.returncode == 0, done.stderr
    assert "r0" in done.stdout
    assert "r1" in done.stdout


@pytest.mark.slow
def test_requests_from_a_file(inside, tmp_path):
    path = tmp_path / "requests.jsonl"
    path.write_text(
        '{"prompt_tokens": 30, "max_tokens": 4}\n{"prompt": "<b>Hello", "max_tokens": 4, "arrival_s": 0.1}\n'
    )
    done = inside("compare", "--requests", path, "--policies", "chunked", "--json")
    assert json.loads(done.stdout)["runs"][0]["metrics"]["total_output_tokens"] <= 8


@pytest.mark.slow
def test_verify_finds_every_token_equal(inside):
    done = inside("verify", "--seed", "3", "--policies", "chunked", "sglang")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every token is the same" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["compare", "--policies", "magic"], "unknown policy 'magic': choose from static"),
        (["compare", "--policies", "chunked", "static,chunked"], "policy 'chunked' is given 2 times"),
        (["compare", "--scenario", "chatter"], "unknown scenario 'chatter'"),
        (["compare", "--model", "no/such-model"], "no/such-model"),
        (["compare", "--model", "random:gpt5"], "random:gpt5"),
        (["compare", "--device", "toaster"], "toaster"),
        (["compare", "--prompt", ""], "prompt 1 is empty"),
        (["compare", "--prompt", "word " * 3000], "shorten it"),
        (["compare", "--prompt", "a", "--scenario", "chat"], "in one way"),
        (["compare", "--prompt", "a", "--max-tokens", "0"], "max_tokens is 0"),
        (["compare", "--prompt", "a", "--max-tokens", "5000"], "no request can be served"),
        (["compare", "--num-kv-blocks", "1"], "no request can be served"),
        (["compare", "--max-num-seqs", "0"], "max_num_seqs is 0"),
        (["compare", "--max-num-batched-tokens", "-4"], "max_num_batched_tokens is -4"),
        (["compare", "--block-size", "65"], "block_size is 65"),
        (["compare", "--watermark", "1"], "watermark is 1.0"),
        (["compare", "--max-wait", "-1"], "max_wait is -1.0"),
        (["compare", "--max-model-len", "4096"], "reads at most 1024 tokens"),
        (["compare", "--temperature", "-1"], "temperature is -1.0"),
        (["compare", "--requests", "/no/such/file"], "No such file"),
        (["compare", "--out", "/no/such/folder/x.mbr"], "No such folder: /no/such/folder"),
        (["compare", "--out", "/dev/null"], "device or a pipe"),
        (["compare", "--num-kv-blocks", "99999999999999999999"], "num_kv_blocks is 99999999999999999999: use at most"),
        (["compare", "--max-num-seqs", "1000000", "--max-num-batched-tokens", "1000000"], "max_num_seqs is 1000000"),
        (["compare", "--policies", "dynamic", "--max-wait", "1e300"], "max_wait is 1e+300"),
        (["compare", "--seed", "-1"], "seed is -1"),
        (["verify", "--seed", "-1"], "seed is -1"),
        (["compare", "--prompt", "\udcff"], "prompt 1 is not text"),
        (["compare", "--max-num-seqs", "many"], "invalid int value: 'many'"),
        (["show", "/no/such/file"], "No such file"),
        (["show", "README.md"], "not a Minibatch recording"),
        (["validate", "README.md"], "not a Minibatch recording"),
        (["bench", "--rounds", "0"], "--rounds is 0"),
        (["calibrate", "--steps", "3"], "the number of steps is 3: use at least 12"),
        (["calibrate", "--rounds", "0"], "the number of rounds is 0: use at least 1"),
        (["calibrate", "--seed", "-1"], "seed is -1"),
        (["calibrate", "--model", "random:gpt5"], "random:gpt5"),
        (["calibrate", "--device", "toaster"], "toaster"),
    ],
)
def test_bad_input_gets_one_sentence(inside, arguments, says):
    fails(inside(*arguments), says)


@pytest.mark.slow
def test_a_truncated_recording_gets_one_sentence(recorded, inside, tmp_path):
    path = tmp_path / "cut.mbr"
    path.write_bytes(recorded[0].read_bytes()[:-100])
    fails(inside("show", path), "cut short")
    fails(inside("validate", path), "cut short")


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_recorded(environment, tmp_path):
    path = tmp_path / "cut.mbr"
    arguments = ["run", "--prompt", "Once upon a time", "--max-tokens", "900", "--out", str(path)]
    command = [sys.executable, "-m", "minibatch", *arguments]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    (run,) = load(path)
    assert not run.header.complete
    assert 0 < run.num_iterations < 900


def test_help_names_every_command(minibatch):
    text = minibatch("--help").stdout
    for command in ("compare", "run", "show", "validate", "export", "verify", "calibrate", "bench", "record"):
        assert command in text


@pytest.mark.slow
def test_importing_the_program_takes_no_torch():
    modules = "minibatch.scheduling, minibatch.recording.storage, minibatch.analysis.metrics"
    modules += ", minibatch.ui.compare.page, minibatch.ui.truth.page"
    code = f"import sys, {modules}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
