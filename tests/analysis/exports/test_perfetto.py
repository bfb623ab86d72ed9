"""Traces against the published Trace Event Format, and against the recordings that they were made from.

What a slice lasts is read as Perfetto reads it: microseconds times 1000, the fraction cut off.
"""

from __future__ import annotations

import gzip
import io
import json
import math
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from minibatch.analysis.exports.perfetto import microseconds, trace_events
from minibatch.analysis.exports.trace_file import expected_bytes, trace_json, write_trace
from minibatch.analysis.exports.trace_window import TraceWindow
from minibatch.analysis.ledger import request_ledger, slot_ledger
from minibatch.analysis.timeline import Timeline
from minibatch.decisions.phase import Phase
from minibatch.paths import RECORDINGS
from minibatch.recording.schema import Recording
from minibatch.recording.storage import load
from minibatch.scheduling import POLICIES
from minibatch.scheduling.config import SchedulerConfig
from tests.helpers import MS, engine_of, header_of, record, requests_of
from tests.strategies import configs, workloads

PROMPT = "</script><img src=x onerror=alert(1)>"
METADATA = {
    "process_name": ("name", str), "process_labels": ("labels", str), "process_sort_index": ("sort_index", int),
    "thread_name": ("name", str), "thread_sort_index": ("sort_index", int),
}  # fmt: skip


def ns(us: float) -> int:
    return int(us * 1000.0)


def track_of(event: dict) -> object:
    """What events must be in order with: those of a thread, of a counter, or of a request's life."""
    return event.get("id") or (event["name"] if event["ph"] == "C" else event["tid"])


def check_format(trace: dict) -> None:
    """Whether `trace` keeps the rules of the format, those of each kind of event and those between events."""
    assert trace["displayTimeUnit"] in ("ms", "ns")
    assert isinstance(trace["otherData"], dict)
    open_async: dict[tuple[str, str], list[str]] = defaultdict(list)
    process_of: dict[object, int] = {}
    named: dict[str, Counter] = {name: Counter() for name in METADATA}
    threads, latest = set(), {}
    for event in trace["traceEvents"]:
        ph, args = event["ph"], event["args"]
        assert type(event["pid"]) is int
        assert type(event["tid"]) is int
        assert isinstance(event["name"], str)
        assert event["name"]
        assert process_of.setdefault(event["tid"], event["pid"]) == event["pid"]
        if ph == "M":
            key, kind = METADATA[event["name"]]
            assert isinstance(args[key], kind)
            of_process = event["name"].startswith("process")
            named[event["name"]][event["pid"] if of_process else event["tid"]] += 1
            continue
        assert type(event["ts"]) is float
        assert 0 <= event["ts"] < math.inf
        track = event["pid"], track_of(event)
        assert event["ts"] >= latest.get(track, 0.0)
        latest[track] = event["ts"]
        if ph == "X":
            assert 0 <= event["dur"] < math.inf
            assert event["cat"]
            threads.add(event["tid"])
        elif ph == "C":
            assert args
            assert all(type(value) is int and value >= 0 for value in args.values())
        elif ph == "i":
            assert event["s"] in ("g", "p", "t")
            threads.add(event["tid"])
        elif ph in ("b", "e"):
            key = event["cat"], event["id"]
            assert process_of.setdefault(key, event["pid"]) == event["pid"]
            if ph == "b":
                open_async[key].append(event["name"])
            else:
                assert open_async[key].pop() == event["name"]
        else:
            raise AssertionError(f"an event of kind {ph!r}")
    assert not any(open_async.values())
    assert set(named["process_name"]) == set(process_of.values())
    assert threads <= set(named["thread_name"])
    assert all(times == 1 for counts in named.values() for times in counts.values())


def lanes_of(trace: dict) -> list[list[dict]]:
    """The events of each process, by its place."""
    places = {e["pid"]: e["args"]["sort_index"] for e in trace["traceEvents"] if e["name"] == "process_sort_index"}
    lanes: list[list[dict]] = [[] for _ in places]
    for event in trace["traceEvents"]:
        lanes[places[event["pid"]]].append(event)
    return lanes


def slices_of(lane: list[dict], thread: str) -> list[dict]:
    (tid,) = [e["tid"] for e in lane if e["name"] == "thread_name" and e["args"]["name"] == thread]
    return [e for e in lane if e["ph"] == "X" and e["tid"] == tid]


def joined(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Intervals in order of time, those that touch as one. None may begin before the last has ended."""
    whole: list[tuple[int, int]] = []
    for start, end in intervals:
        assert not whole or start >= whole[-1][1]
        if whole and start == whole[-1][1]:
            whole[-1] = whole[-1][0], end
        else:
            whole.append((start, end))
    return whole


def check_slots(lane: list[dict], run: Recording) -> None:
    """Whether each slot's slices lie end to end where it was held, for whom and doing what the entries say."""
    starts, ends, entries = run.iterations["start_ns"].tolist(), run.end_of_iteration_ns.tolist(), run.entries
    ledger = slot_ledger(Timeline(run))
    for slot in range(run.num_slots):
        rows = np.flatnonzero(entries["slot"] == slot).tolist()
        slices = slices_of(lane, f"slot {slot}")
        drawn = [(ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in slices]
        assert joined(drawn) == joined([(starts[i], ends[i]) for i in entries["iteration"][rows].tolist()])

        time: Counter = Counter()
        for event in slices:
            time[event["cat"]] += ns(event["dur"])
        assert time["prefill"] == ledger["prefill"][slot]
        assert time["padding"] == ledger["padding"][slot]
        assert time["decode"] + time["stalled"] == ledger["decode"][slot] + ledger["stalled"][slot]

        for row in rows:
            i, request = int(entries["iteration"][row]), int(entries["request"][row])
            phase = Phase(entries["phase"][row]).name.lower()
            here = [e for e in slices if e["args"]["first_iteration"] <= i <= e["args"]["last_iteration"]]
            assert {e["args"]["request"] for e in here} == {request}
            assert {e["cat"] for e in here} - {"padding"} <= {phase}
            assert all(e["name"] == f"r{request} {e['cat']}" for e in here)
        for name in ("tokens", "padding"):
            assert sum(e["args"][name] for e in slices) == entries[name][rows].sum()


def check_iterations(lane: list[dict], run: Recording) -> None:
    slices = slices_of(lane, "iterations")
    assert [ns(e["ts"]) for e in slices] == run.iterations["start_ns"].tolist()
    assert [ns(e["dur"]) for e in slices] == run.iterations["duration_ns"].tolist()
    for name in ("flops", "bytes_weights", "bytes_kv", "bytes_activations"):
        assert [e["args"][name] for e in slices] == run.iterations[name].tolist()
    phases = defaultdict(set)
    for i, phase in zip(run.entries["iteration"].tolist(), run.entries["phase"].tolist(), strict=True):
        phases[i] |= {Phase(phase)} & {Phase.PREFILL, Phase.DECODE}
    kinds = {(Phase.PREFILL,): "prefill", (Phase.DECODE,): "decode", (Phase.PREFILL, Phase.DECODE): "mixed"}
    assert [e["args"]["kind"] for e in slices] == [kinds[tuple(sorted(phases[i]))] for i in range(run.num_iterations)]


def check_counters(lane: list[dict], run: Recording) -> None:
    """Whether each counter, read as the trace ends up at each iteration's start, is what the timeline says."""
    timeline = Timeline(run)
    series = [("KV blocks", "held", timeline.held_blocks), ("requests", "waiting", timeline.num_waiting),
              ("requests", "running", timeline.num_running)]  # fmt: skip
    for name, key, expected in series:
        events = [e for e in lane if (e["ph"], e["name"]) == ("C", name)]
        values = [e["args"] for e in events]
        assert all(before != after for before, after in pairwise(values))
        times = [ns(e["ts"]) for e in events]
        assert times[0] == 0
        at = np.searchsorted(times, run.iterations["start_ns"], side="right") - 1
        assert [values[i][key] for i in at] == expected.tolist()
    if run.header.complete:
        assert all(e["args"][key] == 0 for e, key in ((events[-1], "waiting"), (events[-1], "running")))


def check_lives(lane: list[dict], run: Recording) -> None:
    """Whether each request's track is as long as its ledger says, part by part."""
    ledger = request_ledger(Timeline(run))
    time: dict[int, Counter] = defaultdict(Counter)
    for event in lane:
        if event["ph"] in ("b", "e"):
            request = int(event["id"].split(".")[1])
            time[request][event["name"]] += ns(event["ts"]) * (1 if event["ph"] == "e" else -1)
    for request in range(len(run.requests)):
        spent, parts = time[request], {name: int(column[request]) for name, column in ledger.items()}
        for name in ("queue", "prefill", "preempted"):
            assert spent[name] == parts[name]
        assert spent["decode"] + spent["stalled"] == parts["decode"] + parts["stalled"]
        assert spent[f"r{request}"] == sum(parts.values())


def check(runs: list[Recording]) -> dict:
    trace = json.loads(trace_json(runs), parse_constant=pytest.fail)
    check_format(trace)
    for lane, run in zip(lanes_of(trace), runs, strict=True):
        check_slots(lane, run)
        check_iterations(lane, run)
        check_counters(lane, run)
        check_lives(lane, run)
    return trace


def with_odd_times(run: Recording) -> Recording:
    """The same run a little faster, so that times are no whole microseconds."""

    def faster(time):
        return time * 1001 // 7000

    start, end = faster(run.iterations["start_ns"]), faster(run.end_of_iteration_ns)
    iterations = {**run.iterations, "start_ns": start, "duration_ns": end - start, "executor_ns": end - start}
    requests = tuple(replace(request, arrival_ns=faster(request.arrival_ns)) for request in run.requests)
    return replace(run, iterations=iterations, requests=requests)


@settings(deadline=None)
@given(workloads, configs(), st.none() | st.integers(0, 20))
def test_a_trace_keeps_the_format_and_says_what_the_recording_says(workload, config, steps):
    runs = []
    for policy in POLICIES:
        engine = engine_of(requests_of(workload), policy, config)
        for _ in range(steps or 0):
            engine.step()
        if steps is None:
            engine.run()
        runs.append(with_odd_times(engine.recording(header_of(engine))))
    check(runs)


@pytest.mark.parametrize("mode", ["recompute", "swap"])
@pytest.mark.parametrize("policy", ["continuous", "chunked"])
def test_a_preempted_request_leaves_its_slot_and_comes_back(policy, mode):
    config = SchedulerConfig(max_num_seqs=2, max_num_batched_tokens=8, max_model_len=16, block_size=2,
                             num_kv_blocks=4, watermark=0.0, preemption_mode=mode)  # fmt: skip
    run = record(requests_of([(3, 4), (3, 4)]), policy, config)
    (lane,) = lanes_of(check([run]))
    mine = [e for e in lane if e["ph"] == "i" and e["args"]["request"] == 1]
    verbs = [e["name"] for e in mine]
    again = "r1 is resumed" if mode == "swap" else "r1 is admitted"
    assert verbs == ["r1 arrives", "r1 is admitted", "r1 is preempted", again, "r1 finishes"]
    out, back = (ns(mine[i]["ts"]) for i in (2, 3))
    spans = {(e["ph"], e["name"]): ns(e["ts"]) for e in lane if e.get("id", "").endswith(".1")}
    assert (spans["b", "preempted"], spans["e", "preempted"]) == (out, back)
    assert all("r1" in e["args"]["why"] for e in mine)


def test_padding_and_contiguous_reservation_are_drawn():
    lengths = [(3, 2), (5, 4), (2, 2)]
    knobs = {"max_num_seqs": 2, "max_num_batched_tokens": 10, "max_model_len": 16, "num_kv_blocks": 16, "block_size": 4}
    runs = [
        record(requests_of(lengths), policy, SchedulerConfig(**knobs, kv_layout="contiguous")) for policy in POLICIES
    ]
    static, *_ = lanes_of(check(runs))
    # r0's prompt of 3 is padded to 5, in an iteration of 2 ms; then it holds its slot for two iterations of 1.2 ms.
    assert [(e["name"], ns(e["dur"])) for e in slices_of(static, "slot 0")[:4]] == [
        ("r0 prefill", 1.2 * MS), ("r0 padding", 0.8 * MS), ("r0 decode", 1.2 * MS), ("r0 padding", 2.4 * MS),
    ]  # fmt: skip
    # Each request reserves 16 tokens, 4 blocks: two at first, r1 alone, then r2 in its place.
    assert [e["args"]["held"] for e in static if e["name"] == "KV blocks"] == [8, 4, 0]


def test_lanes_and_threads_are_named_and_in_order():
    run = record(requests_of([(3, 2)]), "static", SchedulerConfig(max_num_seqs=2))
    cut = replace(run, header=replace(run.header, policy="chunked", clock="measured", complete=False))
    lanes = lanes_of(json.loads(trace_json([run, cut])))
    names = [e["args"]["name"] for lane in lanes for e in lane if e["name"] == "process_name"]
    assert names == ["static (modelled)", "chunked (measured, cut short)"]
    for lane in lanes:
        threads = {e["tid"]: e["args"]["name"] for e in lane if e["name"] == "thread_name"}
        places = {e["tid"]: e["args"]["sort_index"] for e in lane if e["name"] == "thread_sort_index"}
        assert [threads[tid] for tid in sorted(places, key=places.get)] == [
            "iterations",
            "decisions",
            "slot 0",
            "slot 1",
        ]


def test_a_fork_says_which_times_are_measured():
    run = record(requests_of([(3, 4)]), "static", SchedulerConfig(max_num_seqs=2))
    fork = {"iteration": 2, "knob": "policy", "before": "static", "after": "chunked", "clock": "measured",
            "earlier": None}  # fmt: skip
    (lane,) = lanes_of(check([replace(run, header=replace(run.header, policy="chunked", fork=fork))]))
    assert [e["args"]["clock"] for e in slices_of(lane, "iterations")] == ["measured"] * 2 + ["modelled"] * 2
    (name,) = [e["args"]["name"] for e in lane if e["name"] == "process_name"]
    assert name == "static, chunked from iteration 2 (measured, then modelled)"


def test_arrivals_show_when_they_come_and_finishes_when_they_are_done():
    """r0 takes 1.3 ms from 10 ms on; r1 can't fit; r2 comes at 20 ms, after a time in which nothing runs."""
    config = SchedulerConfig(max_num_seqs=1, max_num_batched_tokens=8, max_model_len=16)
    run = record(requests_of([(3, 1, 10.0), (40, 1, 10.5), (3, 1, 20.0)]), "continuous", config)
    (lane,) = lanes_of(check([run]))
    assert [(ns(e["ts"]) / MS, e["name"]) for e in lane if e["ph"] == "i"] == [
        (10.0, "r0 arrives"), (10.0, "r0 is admitted"), (10.5, "r1 is rejected"), (11.3, "r0 finishes"),
        (20.0, "r2 arrives"), (20.0, "r2 is admitted"), (21.3, "r2 finishes"),
    ]  # fmt: skip
    assert not [e for e in lane if e.get("id", "").endswith(".1")]
    blocks = [(ns(e["ts"]) / MS, e["args"]["held"]) for e in lane if e["name"] == "KV blocks"]
    assert blocks == [(0.0, 0), (10.0, 1), (11.3, 0), (20.0, 1), (21.3, 0)]


def test_a_window_cuts_spans_and_begins_with_the_counters_values() -> None:
    """Iterations of 1.3, 1.1 and 1.1 ms: the window is from the middle of the first to the end of the second."""
    run = record(requests_of([(3, 3)]), "continuous", SchedulerConfig(max_num_seqs=1))
    starts, ends = run.iterations["start_ns"].tolist(), run.end_of_iteration_ns.tolist()
    window = TraceWindow(ends[0] // 2, ends[1])
    (lane,) = lanes_of({"traceEvents": list(trace_events([run], window))})
    assert [(ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in slices_of(lane, "iterations")] == [
        (window.from_ns, ends[0]), (starts[1], ends[1]),
    ]  # fmt: skip
    lives = [(e["ph"], e["name"], ns(e["ts"])) for e in lane if e["ph"] in "be"]
    assert (lives[0], lives[-1]) == (("b", "r0", window.from_ns), ("e", "r0", window.to_ns))
    assert not [e for e in lane if e["ph"] == "i"]  # it arrived before and finishes after
    counters = {e["name"]: (ns(e["ts"]), e["args"]) for e in lane if e["ph"] == "C"}
    assert counters == {
        "KV blocks": (window.from_ns, {"held": 1}), "requests": (window.from_ns, {"running": 1, "waiting": 0}),
    }  # fmt: skip


def test_windows_side_by_side_have_the_time_of_the_whole() -> None:
    runs = [with_odd_times(record(requests_of([(3, 4), (5, 2), (9, 6)]), name, SchedulerConfig())) for name in POLICIES]
    end = max(run.end_ns for run in runs)
    cuts = [0, end // 3 + 1, end // 2, 1 << 53]

    def time(window: TraceWindow) -> Counter:
        spent: Counter = Counter()
        for e in trace_events(runs, window):
            if e["ph"] == "X":
                spent[e["tid"], e["name"]] += ns(e["dur"])
            elif e["ph"] in "be":
                spent[e["id"], e["name"]] += ns(e["ts"]) * (1 if e["ph"] == "e" else -1)
        return spent

    parts = sum((time(TraceWindow(*ends)) for ends in pairwise(cuts)), Counter())
    assert parts == +time(TraceWindow())
    for ends in pairwise(cuts):
        check_format(
            {"displayTimeUnit": "ms", "otherData": {}, "traceEvents": list(trace_events(runs, TraceWindow(*ends)))}
        )


def test_counters_alone_are_those_of_the_whole_trace() -> None:
    run = record(requests_of([(3, 4), (5, 2)]), "chunked", SchedulerConfig(max_num_seqs=2))
    few = list(trace_events([run], TraceWindow(counters_only=True)))
    assert {e["ph"] for e in few} == {"M", "C"}
    assert [e for e in few if e["ph"] == "C"] == [e for e in trace_events([run]) if e["ph"] == "C"]


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("*.mbr")), ids=lambda path: path.stem)
def test_the_expected_size_is_near_that_of_the_file(path: Path) -> None:
    runs = load(path)
    written = write_trace(io.BytesIO(), runs)
    data = trace_json(runs)
    assert written.size == len(data)
    assert written.events == len(json.loads(data)["traceEvents"])
    assert gzip.decompress(trace_json(runs, packed=True)) == data
    assert 0.75 * written.size < expected_bytes(runs) < 1.5 * written.size


def test_a_fork_of_very_many_forks_is_written() -> None:
    run = record(requests_of([(3, 4)]), "static", SchedulerConfig(max_num_seqs=2))
    fork = None
    for _ in range(5000):
        fork = {"iteration": 2, "knob": "watermark", "before": 0.1, "after": 0.2, "clock": "modelled", "earlier": fork}
    trace = json.loads(trace_json([replace(run, header=replace(run.header, fork=fork))]))
    assert len(trace["otherData"]["runs"][0]["fork"]) == 5000


def test_a_prompt_is_text_and_never_markup():
    config = SchedulerConfig(max_num_seqs=2, max_num_batched_tokens=8, max_model_len=16)
    requests = [replace(request, prompt=PROMPT) for request in requests_of([(3, 2), (40, 2)])]
    run = record(requests, "chunked", config)
    written = replace(run, requests=(replace(run.requests[0], pieces=("<b>", "ß\u2028")), run.requests[1]))
    data = trace_json([written])
    assert b"<" not in data
    assert data.isascii()
    (lane,) = lanes_of(json.loads(data))
    (life,) = [e for e in lane if (e["ph"], e["name"]) == ("b", "r0")]
    assert (life["args"]["prompt"], life["args"]["output"]) == (PROMPT, "<b>ß\u2028")
    (rejection,) = [e for e in lane if e.get("cat") == "rejection"]
    assert rejection["args"]["prompt"] == PROMPT


@given(st.integers(0, (1 << 52) - 1))
@example(2002)
@example((1 << 52) - 1)
def test_times_are_exact_for_readers_that_round_and_for_those_that_cut_off(time):
    assert ns(microseconds(time)) == time
    assert round(microseconds(time) * 1000) == time
