"""Traces in every format that is read, on small files; what is wrong with a file is said in one sentence."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibatch.workload.traces import (
    FORMATS,
    FormatChoice,
    Notes,
    Scaling,
    TraceError,
    TraceRow,
    describe_trace,
    file,
    read_trace,
    reading,
    sharegpt,
    sniff_format,
    write_trace,
)

SAMPLES = {
    "csv": "arrival_s,prompt_tokens,output_tokens\n0.5,10,3\n0.5,7,1\n2.25,1200,40\n",
    "azure": "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 23:59:59.7500000,10,3\r\n"
    "2023-11-16 23:59:59.7500000,7,1\r\n2023-11-17 00:00:01.5000000,1200,40",
    "mooncake": '{"timestamp": 1000, "input_length": 10, "output_length": 3, "hash_ids": [0]}\n'
    '{"timestamp": 1000, "input_length": 7, "output_length": 1, "hash_ids": [1]}\n'
    '{"timestamp": 2750, "input_length": 1200, "output_length": 40, "hash_ids": [0, 2, 3]}\n',
    "burstgpt": "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    "5,ChatGPT,10,3,13,Conversation log\n5.0,GPT-4,7,1,8,API log\n6,GPT-4,70,0,70,API log\n"
    '6.75,"GPT-4",1200,40,1240,"Conversation log"\n',
    "timed_trace": '{"timestamp": 12.5, "input_length": 10, "output_length": 3, "hash_ids": [7]}\n\n'
    '{"timestamp": 12.5, "input_length": 7, "output_length": 1}\n'
    '{"timestamp": 14.25, "input_length": 1200, "output_length": 40, "hash_ids": []}\n',
}
PACKED = gzip.compress(SAMPLES["csv"].encode(), mtime=0)
"""Without a time: the names of tests must not differ between the processes that run them."""
ROWS = [TraceRow(0, 10, 3), TraceRow(0, 7, 1), TraceRow(1.75, 1200, 40)]

HASHES = {"mooncake": [(0,), (1,), (0, 2, 3)], "timed_trace": [(7,), (), ()]}


def words(text: str) -> int:
    return len(text.split())


def write(folder: Path, content: str | bytes, name: str = "trace") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def fails(path: Path, says: str, trace_format: str | None = None, scaling: Scaling | None = None) -> None:
    with pytest.raises(TraceError) as error:
        read_trace(path, FormatChoice(trace_format), scaling or Scaling(), words)
    message = str(error.value)
    assert message.startswith(f"{path}"), message
    assert says in message
    assert "\n" not in message


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", SAMPLES)
def test_each_format_is_recognised_and_read(tmp_path, name, packed):
    text = SAMPLES[name].encode()
    path = write(tmp_path, gzip.compress(text, mtime=0) if packed else text)
    assert sniff_format(path) == name
    shift = 0.5 if name == "csv" else 0  # our own times are the run's
    rows = read_trace(path)
    assert [replace(row, hash_ids=()) for row in rows] == [
        replace(row, arrival_s=row.arrival_s + shift) for row in ROWS
    ]
    assert [row.hash_ids for row in rows] == HASHES.get(name, [(), (), ()])


def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path):
    path = write(tmp_path, b"\xef\xbb\xbf" + SAMPLES["azure"].encode())
    assert read_trace(path) == ROWS


def test_without_times_all_requests_arrive_at_once_and_other_columns_are_left_alone(tmp_path):
    path = write(tmp_path, "prompt_tokens,note,output_tokens\n5,a,6\n7,b,8\n")
    assert read_trace(path) == [TraceRow(0, 5, 6), TraceRow(0, 7, 8)]


def test_whole_seconds_are_a_timed_trace_if_somebody_says_so(tmp_path):
    path = write(tmp_path, SAMPLES["mooncake"])
    assert [row.arrival_s for row in read_trace(path)] == [0, 0, 1.75]
    assert [row.arrival_s for row in read_trace(path, FormatChoice("timed_trace"))] == [0, 0, 1750]


_CLOSE = "times in seconds: they have fractions and come close together"
GAPS = {
    "milliseconds with fractions": (
        [0.0, 3000.5, 6000.25],
        "mooncake",
        6.00025,
        "times in milliseconds: they have fractions and are far apart",
    ),
    "seconds with fractions": ([0.0, 0.2, 0.4], "timed_trace", 0.4, _CLOSE),
    "whole at first": ([0, 0.2, 0.4], "timed_trace", 0.4, _CLOSE),
    "whole numbers": ([0, 3000, 6000], "mooncake", 6, "times in milliseconds: they have no fractions"),
}


@pytest.mark.parametrize(("times", "name", "span_s", "why"), GAPS.values(), ids=GAPS)
def test_the_unit_of_json_lines_is_told_from_their_times_and_may_be_given(tmp_path, times, name, span_s, why):
    lines = [{"timestamp": time, "input_length": 655, "output_length": 9, "hash_ids": [0, 1]} for time in times]
    path = write(tmp_path, "\n".join(map(json.dumps, lines)))
    assert sniff_format(path) == name
    rows = read_trace(path, notes=(notes := Notes()))
    assert rows[-1].arrival_s == pytest.approx(span_s)
    assert notes.words() == [why]
    assert notes.words(with_times=False) == []
    for unit, per_second in (("s", 1), ("ms", 1000)):
        given = read_trace(path, FormatChoice(time_unit=unit), notes=(notes := Notes()))
        assert given[-1].arrival_s == pytest.approx(times[-1] / per_second)
        assert notes.words() == [f"times in {'milliseconds' if unit == 'ms' else 'seconds'}"]


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        ({"time_unit": "s"}, "time_unit does not go with format azure, which leaves no choice of units: leave it out"),
        ({"time_unit": "min"}, "unknown time_unit 'min': choose from s, ms"),
        ({"conversations": "first"}, "conversations does not go with format azure, which holds none: leave it out"),
        ({"conversations": "last"}, "unknown conversations 'last': choose from first, whole"),
    ],
)
def test_a_format_takes_no_choice_that_it_does_not_leave(tmp_path, choice, says):
    with pytest.raises(ValueError, match=says):
        read_trace(write(tmp_path, SAMPLES["azure"]), FormatChoice(**choice))


def test_a_delay_counts_from_the_line_before_of_its_session_and_sessions_overlap(tmp_path):
    lines = [
        {"session_id": "a", "timestamp": 1000, "input_length": 1},
        {"session_id": "a", "delay": 2000, "input_length": 2},
        {"session_id": "a", "delay": 2000, "input_length": 3},
        {"session_id": 7, "timestamp": 2500, "input_length": 4},
        {"session_id": 7, "delay": 250, "input_length": 5},
        {"session_id": "a", "timestamp": 6500, "delay": 9, "input_length": 6},
    ]
    path = write(tmp_path, "\n".join(json.dumps(line | {"output_length": 9}) for line in lines))
    rows = read_trace(path, notes=(notes := Notes()))
    assert [(row.arrival_s, row.prompt_tokens) for row in rows] == [
        (0, 1), (1.5, 4), (1.75, 5), (2, 2), (4, 3), (5.5, 6)
    ]  # fmt: skip
    assert notes.words() == ["times in milliseconds: they have no fractions"]
    lines = [{"timestamp": 12.5}, {"delay": 3.0}, {"delay": 0.5}]
    path = write(tmp_path, "\n".join(json.dumps(line | {"input_length": 5, "output_length": 9}) for line in lines))
    assert [row.arrival_s for row in read_trace(path)] == [0, 3, 3.5]


def test_json_lines_may_have_texts_in_place_of_lengths(tmp_path):
    parts = [{"type": "text", "text": "and two"}, {"type": "image_url", "image_url": {}}]
    prompts = [
        {"text": "a b c"},
        {"text_input": "a b"},
        {"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": parts}]},
        {"input_length": 9, "text": "not counted"},
    ]
    path = write(tmp_path, "\n".join(json.dumps(prompt | {"output_length": 1}) for prompt in prompts))
    rows = read_trace(path, count_tokens=words, notes=(notes := Notes()))
    assert [row.prompt_tokens for row in rows] == [3, 2, 4, 9]
    assert notes.has_texts
    with pytest.raises(TraceError, match="line 1: holds texts, and their lengths depend on a tokenizer"):
        read_trace(path)


TURNS = st.lists(st.tuples(st.sampled_from(["human", "gpt", "system"]), st.sampled_from(["", "a", "a b", "c\nd e"])))


@given(talks=st.lists(TURNS, min_size=1, max_size=5))
def test_prompts_of_whole_conversations_are_all_text_before_the_answer(tmp_path_factory, talks):
    """What a chat server is sent for each answer, counted from the text itself."""
    wanted = [
        [(words(" ".join(text for _, text in talk[:place])), words(talk[place][1]))
         for place in range(1, len(talk))
         if (talk[place - 1][0], talk[place][0]) == ("human", "gpt") and talk[place - 1][1] and talk[place][1]]
        for talk in talks
    ]  # fmt: skip
    path = tmp_path_factory.mktemp("traces") / "talks.json"
    listed = [{"conversations": [{"from": side, "value": text} for side, text in talk]} for talk in talks]
    path.write_text(json.dumps(listed))
    choice, flat = FormatChoice(conversations="whole"), [pair for pairs in wanted for pair in pairs]
    if not flat:
        with pytest.raises(TraceError, match="holds no requests"):
            read_trace(path, choice, count_tokens=words)
        return
    rows = read_trace(path, choice, count_tokens=words, notes=(notes := Notes()))
    assert [(row.prompt_tokens, row.output_tokens) for row in rows] == flat
    turns = f"{len(flat)} turn{'s' * (len(flat) != 1)}"
    assert notes.part == f"whole conversations, {turns} of {sum(map(bool, wanted))}"
    for pairs in wanted:
        assert all(later[0] > sum(earlier) for earlier, later in pairwise(pairs))


def test_lines_without_a_timestamp_arrive_with_the_line_above_and_hashes_that_cannot_be_are_counted(tmp_path):
    path = write(tmp_path, '{"input_length": 20, "output_length": 3, "hash_ids": [0, 1, 2]}\n' * 3)
    rows = read_trace(path, notes=(notes := Notes()))
    assert [row.arrival_s for row in rows] == [0, 0, 0]
    untimed = "3 lines without a timestamp, taken to arrive with the line above"
    assert untimed in notes.words()
    assert untimed not in notes.words(with_times=False)
    assert any(phrase.startswith("3 of 3 prompts without a hash") for phrase in notes.words())


def test_failed_requests_of_burstgpt_are_counted(tmp_path):
    rows = read_trace(path := write(tmp_path, SAMPLES["burstgpt"]), notes=(notes := Notes()))
    assert "1 failed request (no response tokens) left out" in describe_trace(path, rows, Scaling(), notes)


def test_sharegpt_pairs_a_question_with_its_answer_and_counts_conversations_without(tmp_path):
    talks = [
        [],
        [("system", "Be helpful."), ("human", "Tell me about the sea"), ("gpt", "It was calm.")],
        [("gpt", "Chapter two"), ("human", "go on")],
        [("human", "A story"), ("gpt", "Once upon a time")],
    ]
    listed = [{"conversations": [{"from": side, "value": text} for side, text in talk]} for talk in talks]
    path = write(tmp_path, json.dumps(listed))
    rows = read_trace(path, count_tokens=words, notes=(notes := Notes()))
    assert rows == [TraceRow(0, 5, 3), TraceRow(0, 2, 4)]
    assert "2 conversations without a question and its answer left out" in notes.words()


def test_azure_times_keep_100_nanoseconds_and_may_have_an_offset(tmp_path):
    head = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    path = write(tmp_path, head + "2024-05-10 00:00:00.0000001+00:00,1,1\n2024-05-10T02:00:00.0000003+02:00,1,1\n")
    assert [row.arrival_s for row in read_trace(path)] == pytest.approx([0, 2e-7], abs=1e-12)


def test_sharegpt_has_the_first_two_turns_of_each_conversation(tmp_path):
    sides = ("human", "gpt", "human")

    def turns(*values: str) -> dict:
        return {
            "id": "x",
            "conversations": [{"from": side, "value": value} for side, value in zip(sides, values, strict=False)],
        }

    listed = [turns("a b c", 'd, "}]" e', "more"), turns("alone"), turns(), turns("", "x"), turns("\ud83d x", "y\n")]
    for indent in (None, 2):
        path = write(tmp_path, json.dumps(listed, indent=indent))
        assert sniff_format(path) == "sharegpt"
        assert read_trace(path, count_tokens=words) == [TraceRow(0, 3, 3), TraceRow(0, 2, 1)]


def test_sharegpt_is_read_piece_by_piece(tmp_path, monkeypatch):
    monkeypatch.setattr(file, "_CHUNK", 7)
    path = write(
        tmp_path, json.dumps([{"conversations": [{"value": "ä b"}, {"value": "\\ u" * n}]} for n in range(40)])
    )
    rows = read_trace(path, count_tokens=words)
    assert [row.output_tokens for row in rows] == [n + 1 for n in range(1, 40)]
    cut = write(tmp_path, path.read_bytes()[:-200])
    fails(cut, "not JSON: repair or remove it")


def test_a_window_counts_from_its_start(tmp_path):
    path = write(tmp_path, "arrival_s,prompt_tokens,output_tokens\n1,10,4\n2,20,4\n4,30,5\n9,40,1\n")
    scaling = Scaling(speed=2, length_scale=0.25, start_s=2, num_requests=2)
    assert read_trace(path, FormatChoice(), scaling) == [TraceRow(0, 5, 1), TraceRow(1, 8, 1)]


def test_what_comes_after_the_window_is_not_read(tmp_path):
    path = write(tmp_path, SAMPLES["csv"] + "nonsense\n")
    assert len(read_trace(path, FormatChoice(), Scaling(num_requests=3))) == 3
    fails(path, "line 5: has 1 cells, and 3 columns are named")


def test_all_that_is_changed_is_said(tmp_path):
    path = write(tmp_path, SAMPLES["azure"], "conv.csv")
    rows = read_trace(path, notes=(notes := Notes()))
    assert describe_trace(path, rows, Scaling(), notes) == "Azure trace conv.csv, 3 requests over 1.75 s"
    scaling = Scaling(speed=2, length_scale=0.5)
    assert describe_trace(path, rows * 3000, scaling, notes).endswith(
        "9,000 requests over 1.75 s, 2x faster, lengths x 0.5"
    )
    scaling = Scaling(speed=0.25, start_s=60)
    assert describe_trace(path, rows[:1], scaling, notes) == "Azure trace conv.csv, 1 request, from 60 s on, 4x slower"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"speed": 0}, "speed is 0: use"),
        ({"speed": float("nan")}, "speed is nan: use"),
        ({"length_scale": -1}, "length_scale is -1: use"),
        ({"start_s": -1}, "start_s is -1: use 0 or more"),
        ({"num_requests": 0}, "num_requests is 0: use 1 to 1,000,000"),
    ],
)
def test_impossible_scalings_are_refused(settings, says):
    with pytest.raises(ValueError, match=says):
        Scaling(**settings)


AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
CSV = "arrival_s,prompt_tokens,output_tokens\n"
TIMED = '{"timestamp": 1.5, "input_length": 3, "output_length": 3}\n'
TALK = '{"conversations": [{"value": "a"}, {"value": "b"}]}'


@pytest.mark.parametrize(
    ("trace_format", "content", "says"),
    [
        (None, "", "is empty: write a line with the columns"),
        (None, "\n \n", "is empty"),
        (None, "hello\nworld\n", "line 1: begins like no format that is known (csv, azure, mooncake"),
        (None, "arrival_s,prompt_tokens\n1,2\n", "line 1: begins like no format"),
        (None, b"\xff\xfet\x00i\x00", ": not UTF-8 text (byte 1): save the file as UTF-8"),
        (None, SAMPLES["csv"].encode() + b"1,\xe4,3\n", "not UTF-8 text"),
        ("csv", SAMPLES["csv"].encode() + b"3,\xe4,3\n", "line 5: not UTF-8 text (byte 3)"),
        ("csv", "arrival_s,prompt_tokens\n1,2\n", "line 1: there is no column 'output_tokens': the first line names"),
        ("azure", CSV + "1,2,3\n", "line 1: there is no column 'TIMESTAMP'"),
        ("csv", "", "there is no column 'prompt_tokens'"),
        ("csv", CSV, "holds no requests"),
        ("csv", CSV + "0,5,5\n0,-5,5\n", "line 3: prompt_tokens is '-5': use a whole number from 1 to 10,000,000"),
        ("csv", CSV + "0,0,5\n", "line 2: prompt_tokens is '0'"),
        ("csv", CSV + "0,5,99999999\n", "line 2: output_tokens is '99999999'"),
        ("csv", CSV + "0,5," + "9" * 5000 + "\n", "line 2: output_tokens is '99999"),
        ("csv", CSV + "0,5,1.5\n", "line 2: output_tokens is '1.5'"),
        ("csv", CSV + "0,5,\n", "line 2: output_tokens is ''"),
        ("csv", CSV + "nan,5,5\n", "line 2: arrival_s is 'nan': use a number, 0 or more"),
        ("csv", CSV + "inf,5,5\n", "line 2: arrival_s is 'inf'"),
        ("csv", CSV + "-1,5,5\n", "line 2: arrival_s is '-1'"),
        ("csv", CSV + "soon,5,5\n", "line 2: arrival_s is 'soon'"),
        ("csv", CSV + "1,5,5\n0.5,5,5\n", "line 3: it arrives 0.5 s before the request above: sort the file by time"),
        ("csv", CSV + "1e9,5,5\n", "line 2: it arrives after 1,000,000,000 s, and a run has 1,000,000: give num_requ"),
        ("csv", CSV + '"1,5,5\n', "not CSV (unexpected end of data): repair or remove it"),
        ("csv", CSV + "1,5,5\r1,5,5\r\n", "line 2: not CSV (new-line character"),
        ("csv", CSV + "1,2,3,4\n", "line 2: has 4 cells, and 3 columns are named"),
        ("azure", AZURE + "yesterday,1,1\n", "line 2: TIMESTAMP is 'yesterday': write it as 2023-11-16 18:17:03.97"),
        ("azure", AZURE + "2023-13-16 18:17:03,1,1\n", "line 2: TIMESTAMP is '2023-13-16 18:17:03'"),
        ("azure", AZURE + "2023-11-16 18:17:03,1,1\n2023-11-16 18:17:02,1,1\n", "line 3: it arrives 1 s before"),
        ("mooncake", "{\n", "line 1: not JSON: write one object a line, or remove it"),
        ("mooncake", "[" * 100_000 + "\n", "line 1: not JSON"),
        ("mooncake", "[1]\n", "line 1: [1] is not a JSON object"),
        ("mooncake", '{"timestamp": 1, "input_length": 2}\n', "line 1: there is no 'output_length': each line needs"),
        (
            "mooncake",
            '{"output_length": 2}\n',
            "line 1: there is no 'input_length': each line needs one of input_length",
        ),
        (
            "mooncake",
            TIMED + TIMED.replace("timestamp", "delay").replace("1.5", "-1"),
            "line 2: delay is -1: use a num",
        ),
        (
            "mooncake",
            '{"session_id": [1], "text": "a", "output_length": 2}\n',
            "line 1: session_id is [1]: use a text or",
        ),
        ("mooncake", '{"text": 3, "output_length": 2}\n', "line 1: text is 3: use a text"),
        ("mooncake", '{"text": "", "output_length": 2}\n', "line 1: text holds no text: remove the line, or give its"),
        ("mooncake", '{"messages": [{"a": 1}], "output_length": 2}\n', "line 1: messages is [{'a': 1}]: use [{"),
        (
            "mooncake",
            '{"session_id": 1, "text": "a", "output_length": 2, "timestamp": 0}\n'
            '{"session_id": 2, "text": "a", "output_length": 2, "timestamp": 9e12}\n'
            '{"session_id": 1, "text": "a", "output_length": 2, "delay": 1}\n',
            "line 2: it arrives after 9,000,000,000 s",
        ),
        ("timed_trace", TIMED + TIMED.replace("1.5", "NaN"), "line 2: timestamp is nan"),
        ("timed_trace", TIMED.replace("1.5", "true"), "line 1: timestamp is True"),
        ("timed_trace", TIMED.replace("1.5", "[]"), "line 1: timestamp is []"),
        ("timed_trace", TIMED.replace("1.5", "1" * 400), "line 1: timestamp is 1111"),
        ("timed_trace", TIMED.replace("1.5", "1" * 5000), "line 1: not JSON"),
        ("timed_trace", TIMED.replace('h": 3', 'h": true'), "line 1: input_length is True"),
        ("timed_trace", TIMED.replace('h": 3', 'h": 3.0'), "line 1: input_length is 3.0"),
        ("timed_trace", TIMED + TIMED.replace("1.5", "1.25"), "line 2: it arrives 0.25 s before the request above"),
        ("burstgpt", "Timestamp,Request tokens,Response tokens\n1,2,-1\n", "line 2: Response tokens is '-1'"),
        ("burstgpt", "Timestamp,Request tokens,Response tokens\n1,2,0\n", "holds no requests"),
        ("sharegpt", "[]", "holds no requests"),
        ("sharegpt", "{}", "line 1: not a JSON list of conversations: '{' stands where '[' should"),
        ("sharegpt", f"[{TALK},\n{TALK}", "line 2: not a JSON list of conversations: the end stands where ']' should"),
        ("sharegpt", f"[{TALK}\n{TALK}]", "line 2: not a JSON list of conversations: '{' stands where ']' should"),
        ("sharegpt", f"[{TALK}] x", "line 1: not a JSON list of conversations: 'x' stands where the end should"),
        (
            "sharegpt",
            f"[{TALK},\n\n{{]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
            "line 3: the conversation that begins here is not",
        ),
        ("sharegpt", "[" * 100_000, "line 1: the conversation that begins here is not JSON"),
        ("sharegpt", "[" + "1" * 5000 + "]", "line 1: the conversation that begins here is not JSON"),
        ("sharegpt", f"[{TALK},\n3]", "line 2: 3 is no conversation"),
        ("sharegpt", '[{"conversations": [{"value": 3}, {}]}]', "line 1: a turn has no text"),
        ("csv", PACKED[:-9], "its gzip data end too early: get a whole copy"),
        (None, PACKED[:12], "its gzip data end too early: get a whole copy"),
        ("csv", PACKED[:-8] + b"\0" * 8, "its gzip data are damaged (CRC check failed"),
        ("csv", b"\x1f\x8b\x08" + b"\0" * 7 + b"\xff" * 40, "its gzip data are damaged"),
    ],
)
def test_a_bad_trace_gets_one_sentence(tmp_path, trace_format, content, says):
    fails(write(tmp_path, content), says, trace_format)


def test_too_much_is_refused(tmp_path, monkeypatch):
    line = write(tmp_path, CSV + "0,5," + "5" * (1 << 20) + "\n", "line")
    fails(line, "line 2: longer than 1 MiB, which no line of a trace is")
    monkeypatch.setattr(sharegpt, "MAX_CONVERSATION", 1000)
    fails(write(tmp_path, '[{"conversations": "' + "x" * 3_000_000, "talk"), "line 1: a conversation is longer than")
    path = write(tmp_path, SAMPLES["csv"])
    monkeypatch.setattr(reading, "MOST_REQUESTS", 2)
    fails(path, "line 4: more than 2 requests: give num_requests")
    monkeypatch.undo()
    monkeypatch.setattr(file, "MAX_BYTES", 90)
    packed = write(tmp_path, gzip.compress(CSV.encode() + b"1,5,5\n" * 1000, mtime=0), "packed")
    fails(packed, "unpacked it is larger than", "csv")
    fails(write(tmp_path, SAMPLES["burstgpt"]), "is larger than", "csv")


def test_a_sparse_file_of_more_than_2_gb_is_refused_without_reading_it(tmp_path):
    path = write(tmp_path, SAMPLES["csv"])
    os.truncate(path, (2 << 30) + 1)
    fails(path, "is larger than 2 GB: cut it to the requests that you need")


def test_pipes_are_refused_and_missing_files_are_the_callers_affair(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    fails(pipe, "is a device or a pipe: write it to a file first", "csv")
    fails(pipe, "is a device or a pipe")
    with pytest.raises(FileNotFoundError):
        read_trace(tmp_path / "nowhere")
    with pytest.raises(IsADirectoryError):
        read_trace(tmp_path)


def test_texts_need_a_tokenizer_and_formats_a_name(tmp_path):
    path = write(tmp_path, f"[{TALK}]")
    with pytest.raises(TraceError, match="holds texts, and their lengths depend on a tokenizer"):
        read_trace(path)
    with pytest.raises(ValueError, match="unknown trace format 'xml': choose from csv, azure"):
        read_trace(path, FormatChoice("xml"))


@given(
    rows=st.lists(
        st.builds(TraceRow, st.floats(0, 1e6, allow_subnormal=False), st.integers(1, 10**7), st.integers(1, 10**7)),
        min_size=1,
    )
)
def test_what_is_written_is_read_again(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("traces") / "trace.csv"
    rows.sort(key=lambda row: row.arrival_s)
    write_trace(path, rows)
    assert sniff_format(path) == "csv"
    assert read_trace(path) == rows


def pieces(sample: str) -> st.SearchStrategy[bytes]:
    """Files that are nearly right: parts of a good one in another order, and anything between them."""
    parts = [part.encode() for line in sample.splitlines(keepends=True) for part in (line, line[: len(line) // 2])]
    return st.lists(st.sampled_from(parts) | st.binary(max_size=4), max_size=8).map(lambda some: b"".join(some))


@given(
    content=st.binary(max_size=300)
    | st.text(max_size=100).map(str.encode)
    | st.one_of([pieces(sample) for sample in (*SAMPLES.values(), f"[{TALK},\n{TALK}]")]),
    trace_format=st.sampled_from([None, *FORMATS]),
    packed=st.booleans(),
    cut=st.integers(0, 400),
)
def test_whatever_a_file_holds_nothing_but_a_trace_error_comes_out(
    tmp_path_factory, content, trace_format, packed, cut
):
    path = tmp_path_factory.mktemp("traces") / "trace"
    path.write_bytes(gzip.compress(content, mtime=0)[:cut] if packed else content)
    message, rows = str(path), []
    try:
        rows = read_trace(path, FormatChoice(trace_format), Scaling(), words)
    except TraceError as error:
        message = str(error)
    assert message.startswith(str(path))
    assert len(message) < len(str(path)) + 300
    assert all(row.prompt_tokens >= 1 and row.output_tokens >= 1 and row.arrival_s >= 0 for row in rows)
