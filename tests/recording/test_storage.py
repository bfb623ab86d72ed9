"""Files are whole or refused with a sentence, whatever happened to them."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minibatch.analysis.metrics import compute_metrics
from minibatch.recording import storage
from minibatch.recording.schema import VERSION, Recording
from minibatch.recording.storage import RecordingError
from minibatch.scheduling.config import SchedulerConfig
from minibatch.workload.scenarios import SCENARIOS
from tests.helpers import record, requests_of

RUN = record(
    requests_of([(5, 3), (9, 6, 2.0), (90, 3, 2.5)]), "chunked", SchedulerConfig(max_num_seqs=2, max_model_len=32)
)
DATA = storage.dumps([RUN])
HEAD = storage.MAGIC + b"%d\n" % VERSION


def unpacked() -> list[dict]:
    return json.loads(zlib.decompress(DATA.split(b"\n", 1)[1]))


def packed(runs: object, version: int = VERSION) -> bytes:
    return storage.MAGIC + b"%d\n" % version + zlib.compress(json.dumps(runs).encode())


def test_what_is_saved_is_what_is_loaded(tmp_path):
    path = tmp_path / "run.mbr"
    storage.save(path, [RUN, RUN])
    first, second = storage.load(path)
    assert storage.dumps([first]) == storage.dumps([second]) == DATA
    assert first.header == RUN.header
    assert first.requests == RUN.requests
    assert list(first.each_reason()) == list(RUN.each_reason())
    assert [path.name for path in tmp_path.iterdir()] == ["run.mbr"]


def test_a_large_run_is_small_on_disk():
    """600 iterations of 16 slots stay well under 300 kB."""
    lengths = [(40, 90)] * 100
    run = record(requests_of(lengths), "continuous", SchedulerConfig(max_num_seqs=16))
    assert run.num_iterations > 600
    assert len(storage.dumps([run])) < 100_000


@settings(deadline=None)
@given(st.integers(0, len(DATA) - 1))
def test_a_file_cut_anywhere_is_refused(length):
    with pytest.raises(RecordingError):
        storage.loads(DATA[:length])


@settings(deadline=None)
@given(st.integers(0, len(DATA) - 1), st.integers(1, 255))
def test_a_flipped_byte_is_refused_or_harmless(position, change):
    damaged = bytearray(DATA)
    damaged[position] ^= change
    try:
        loaded = storage.loads(bytes(damaged))
    except RecordingError:
        return
    assert storage.dumps(loaded) == DATA


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_foreign_bytes_are_refused(data):
    with pytest.raises(RecordingError):
        storage.loads(data)
    with pytest.raises(RecordingError):
        storage.loads(HEAD + data)


def test_other_versions_are_refused_by_name():
    with pytest.raises(RecordingError, match=f"version '{VERSION + 1}' and this program reads version {VERSION}"):
        storage.loads(packed(unpacked(), VERSION + 1))


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (("header",), {}, "'ceilings' is missing"),
        (("header", "policy"), 5, "header.policy is not text"),
        (("header", "policy"), None, "header.policy is not text"),
        (("header", "device"), ["x"], "header.device is not text"),
        (("header", "seed"), "0", "header.seed is not a whole number"),
        (("header", "complete"), 1, "header.complete is neither"),
        (("header", "token_budget"), 0, "header.token_budget"),
        (("header", "config"), 5, "header.config is not an object"),
        (("header", "config", "block_size"), None, "header.config.block_size is None"),
        (("header", "config", "block_size"), "x", "header.config.block_size is 'x'"),
        (("header", "config", "block_size"), 0, "header.config.block_size is 0"),
        (("header", "config", "block_size"), 10**30, "header.config.block_size is 1000"),
        (("header", "config", "max_num_seqs"), 10**9, "header.config.max_num_seqs is 1000000000"),
        (("header", "ceilings"), 5, "header.ceilings is not an object"),
        (("header", "ceilings"), {}, "header.ceilings.flops_per_s is None"),
        (("header", "ceilings", "bytes_per_s"), 0, "header.ceilings.bytes_per_s is 0"),
        (("header", "closed_loop"), 5, "header.closed_loop has other fields"),
        (("header", "closed_loop"), {"num_users": 3}, "header.closed_loop has other fields"),
        (("header", "closed_loop"), {"num_users": 0, "think_s": 0}, "header.closed_loop.num_users is 0"),
        (("header", "closed_loop"), {"num_users": 1, "think_s": -1}, "header.closed_loop.think_s is -1"),
        (("header", "closed_loop"), {"num_users": 1, "think_s": True}, "header.closed_loop.think_s is True"),
        (("requests", 0, "arrival_ns"), None, "request 0 arrives at None"),
        (("requests", 0, "arrival_ns"), 2**60, "request 0 arrives at"),
        (("requests", 0, "prompt"), 5, "prompt of request 0 is not text"),
        (("requests", 0, "prompt"), "\ud800", "prompt of request 0 is not text"),
        (("requests", 0, "prompt_token_ids"), ["a"], "prompt or output of request 0 is not tokens"),
        (("requests", 0, "finish_reason"), "foo", "request 0 finished with 'foo'"),
        (("iterations", "duration_ns", 0), 2**63 - 1, "below 2"),
        (("iterations", "executor_ns", 0), 2**50, "longer than its iteration"),
        (("entries", "tokens", 0), 2**50, "entries.tokens holds"),
        (("blocks", "request", 0), -1, "a request and a hash that do not go with it"),
        (("blocks", "event", 0), 1, "freed by request 0 and not held"),
        (("header", "clock"), "guessed", "neither measured nor modelled"),
        (("header", "surprise"), 1, "unknown field 'surprise'"),
        (("iterations", "flops"), [1], "differ in length"),
        (("iterations", "flops", 0), -5, "iterations.flops holds -5"),
        (("iterations", "flops", 0), 1.5, "not a list of whole numbers"),
        (("iterations", "start_ns", 1), 0, "starts before"),
        (("entries", "slot", 0), 99, "entries.slot holds 99"),
        (("entries", "request", 0), 7, "entries.request holds 7"),
        (("entries", "iteration", 0), 3, "out of order"),
        (("blocks", "block", 0), 10**6, "blocks.block holds"),
        (("reasons", "code", 0), 10**3, "reasons.code"),
        (("reason_numbers", 0), [], "has the numbers"),
        (("requests", 0, "max_tokens"), 1, "more than it may"),
        (("requests", 0, "pieces"), ["a"], "pieces of text"),
        (("requests",), None, "damaged"),
        (("header", "config", "max_wait"), float("nan"), "header.config holds what no JSON can"),
        (("header", "ceilings", "source"), "\ud800", "header.ceilings holds what no JSON can"),
        (("header", "versions"), {"torch": "\udfff"}, "header.versions holds what no JSON can"),
        (("header", "shape", "n_layer"), float("inf"), "header.shape holds what no JSON can"),
        (("requests", 0, "sampling"), {"top_p": float("nan")}, "the sampling of request 0 holds what no JSON can"),
    ],
)
def test_contradictions_are_named(path, value, says):
    runs = unpacked()
    place = runs[0]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(RecordingError, match=says):
        storage.loads(packed(runs))


FORK = {"iteration": 2, "knob": "max_num_seqs", "before": 4, "after": 2, "clock": "measured", "earlier": None}


def forked(**changes) -> Recording:
    return replace(RUN, header=replace(RUN.header, fork=FORK | changes))


def test_a_fork_survives_and_says_clocks_and_sizes_of_every_part():
    earlier = {"iteration": 1, "knob": "policy", "before": "static", "after": "chunked", "clock": "modelled"}
    run = storage.loads(storage.dumps([forked(earlier=earlier | {"earlier": None})]))[0]
    assert [fork["iteration"] for fork in run.header.forks()] == [2, 1]
    assert [run.header.clock_at(i) for i in range(4)] == ["modelled", "measured", "modelled", "modelled"]
    assert run.num_slots == 4
    assert run.num_kv_blocks == RUN.num_kv_blocks == RUN.header.config["num_kv_blocks"]
    assert [RUN.header.clock_at(i) for i in range(3)] == ["modelled"] * 3


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"surprise": 1}, "other fields"),
        ({"iteration": -1}, "header.fork.iteration is -1"),
        ({"iteration": RUN.num_iterations + 1}, f"not 0 to {RUN.num_iterations}"),
        ({"iteration": True}, "header.fork.iteration is True"),
        ({"knob": "magic"}, "header.fork.knob is 'magic', which is no knob"),
        ({"knob": ["policy"]}, "which is no knob"),
        ({"clock": "guessed"}, "header.fork.clock is 'guessed'"),
        ({"after": 3}, "max_num_seqs is 2 and header.fork says 3"),
        ({"after": 2.0}, "max_num_seqs is 2 and header.fork says 2.0"),
        ({"before": "4"}, "changes max_num_seqs from '4' to 2"),
        ({"before": 0}, "header.fork.before is 0"),
        ({"before": 10**9}, "header.fork.before is 1000000000"),
        ({"earlier": 5}, "other fields"),
        ({"earlier": FORK}, "max_num_seqs is 4 and header.fork says 2"),
        ({"earlier": FORK | {"iteration": 3, "after": 4}}, "header.fork.iteration is 3, not 0 to 2"),
    ],
)
def test_contradictions_of_a_fork_are_named(changes, says):
    with pytest.raises(RecordingError, match=says):
        storage.loads(storage.dumps([forked(**changes)]))


def test_a_fork_has_the_modelled_clock():
    run = replace(RUN, header=replace(RUN.header, fork=FORK, clock="measured"))
    with pytest.raises(RecordingError, match="goes on with the modelled clock"):
        storage.loads(storage.dumps([run]))


@pytest.mark.parametrize("content", [b"[]", b"{}", b"3", b"[3]", b"nonsense", b"[" * 100_000])
def test_other_json_is_refused(content):
    with pytest.raises(RecordingError):
        storage.loads(HEAD + zlib.compress(content))


def test_a_bomb_is_refused(monkeypatch):
    monkeypatch.setattr(storage, "MAX_BYTES", 1000)
    with pytest.raises(RecordingError, match="too large"):
        storage.loads(HEAD + zlib.compress(b"[" + b" " * 5000 + b"]"))


def test_text_of_any_kind_survives():
    texts = (
        "<script>alert(1)</script>",
        "a\u2028b\x00",
        "\ud83e\udd8a fox".encode("utf-16", "surrogatepass").decode("utf-16"),
    )
    requests = [replace(request, prompt=text) for request, text in zip(RUN.requests, texts, strict=True)]
    loaded = storage.loads(storage.dumps([replace(RUN, requests=tuple(requests))]))[0]
    assert tuple(request.prompt for request in loaded.requests) == texts


def test_a_full_disk_leaves_the_old_file(tmp_path):
    path = tmp_path / "run.mbr"
    storage.save(path, [RUN])
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, old[1]))
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with pytest.raises(OSError, match="large"):
            storage.save(path, [RUN, RUN])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, ignored)
    assert path.read_bytes() == DATA
    assert [path.name for path in tmp_path.iterdir()] == ["run.mbr"]


KILLED_WHILE_WRITING = """
import os, signal, sys
from pathlib import Path
from minibatch.recording.storage import write_atomically
os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
write_atomically(Path(sys.argv[1]), b"half of something")
"""


def test_a_killed_process_leaves_the_old_file(tmp_path):
    path = tmp_path / "run.mbr"
    storage.save(path, [RUN])
    root = Path(__file__).resolve().parents[2]
    killed = subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, str(path)], cwd=root, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert isinstance(storage.load(path)[0], Recording)


def test_check_writable_names_what_is_wrong(tmp_path):
    with pytest.raises(OSError, match="folder"):
        storage.check_writable(tmp_path)
    with pytest.raises(OSError, match="No such folder"):
        storage.check_writable(tmp_path / "missing" / "run.mbr")
    storage.check_writable(tmp_path / "run.mbr")
    assert list(tmp_path.iterdir()) == []


def test_bundled_recordings_show_what_they_promise():
    """Numbers that the scenarios' sentences speak of, as measured when they were recorded."""
    folder = Path(__file__).resolve().parents[2] / "assets" / "recordings"
    runs = {
        name: {run.header.policy: compute_metrics(run) for run in storage.load(folder / f"{name}.mbr")}
        for name in SCENARIOS
    }
    chat, document = runs["chat"], runs["long-document"]
    assert chat["continuous"]["output_throughput"] > 1.2 * chat["static"]["output_throughput"]
    assert chat["continuous"]["mean_ttft_ms"] < chat["static"]["mean_ttft_ms"] / 2
    assert chat["static"]["slot_padding"] > 0.2
    assert document["chunked"]["p99_itl_ms"] < document["continuous"]["p99_itl_ms"] / 2
    assert runs["identical"]["static"]["slot_padding"] == 0
    assert runs["trickle"]["dynamic"]["num_iterations"] < runs["trickle"]["static"]["num_iterations"]
    assert runs["trickle"]["continuous"]["mean_ttft_ms"] < runs["trickle"]["dynamic"]["mean_ttft_ms"]
    assert all(metrics["num_preemptions"] > 0 for metrics in runs["kv-squeeze"].values())


def test_bundled_recordings_are_whole_and_from_a_real_engine():
    folder = Path(__file__).resolve().parents[2] / "assets" / "recordings"
    names = {path.stem for path in folder.glob("*.mbr")}
    assert names >= set(SCENARIOS)
    for path in folder.glob("*.mbr"):
        for run in storage.load(path):
            assert run.header.complete
            assert run.header.clock == "measured"


@pytest.mark.parametrize("device", ["/dev/null", "/dev/full"])
def test_devices_are_never_replaced(device):
    for write in (storage.check_writable, lambda path: storage.save(path, [RUN])):
        with pytest.raises(OSError, match="device or a pipe"):
            write(Path(device))
    assert Path(device).is_char_device()


def test_a_link_is_followed(tmp_path):
    (tmp_path / "link.mbr").symlink_to(tmp_path / "run.mbr")
    storage.save(tmp_path / "link.mbr", [RUN])
    assert (tmp_path / "link.mbr").is_symlink()
    assert (tmp_path / "run.mbr").read_bytes() == DATA
