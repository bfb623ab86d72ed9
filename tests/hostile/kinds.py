"""The kinds of files: sound ones, shapes that are known to be nasty, and what views do with one that is read."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from minibatch.analysis.exports.metrics_csv import metrics_csv
from minibatch.analysis.exports.trace_file import trace_json
from minibatch.analysis.metrics import compute_metrics
from minibatch.learning.errors import LessonError
from minibatch.recording import storage
from minibatch.recording.schema import VERSION
from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui.lessons.document import document_bytes, index_document, lesson_document
from minibatch.ui.player.page import page_html
from minibatch.workload.requests_file import read_requests
from minibatch.workload.synthetic import trace_requests
from minibatch.workload.traces import AS_RECORDED, Notes, describe_trace, read_trace
from minibatch.workload.traces.row import TraceError
from tests.helpers import record, requests_of
from tests.hostile.mutations import mutate_bytes, mutate_json, mutate_text
from tests.learning.lessons import FRONT


class Recordings:
    """Every export of a recording that is read."""

    suffix = ".mbr"
    errors = (storage.RecordingError,)

    def __init__(self) -> None:
        config = SchedulerConfig(max_num_seqs=2, max_model_len=32, num_kv_blocks=8)
        self.run = record(requests_of([(5, 3), (9, 6, 2.0), (90, 3, 2.5)]), "chunked", config)
        self.data = storage.dumps([self.run])
        self.document = json.loads(zlib.decompress(self.data.split(b"\n", 1)[1]))

    def seeds(self) -> list[bytes]:
        return [self.data]

    def pack(self, document: Any) -> bytes:
        return self.pack_text(json.dumps(document).encode())

    def pack_text(self, text: bytes) -> bytes:
        return storage.MAGIC + b"%d\n" % VERSION + zlib.compress(text, 1)

    def nasty(self) -> Iterator[bytes]:
        run = self.document[0]
        for digits in (40, 4200):
            yield self.pack([{**run, "reason_numbers": [[10**digits] * len(row) for row in run["reason_numbers"]]}])
        for forks in (40, 500, 5000):
            fork = None
            for _ in range(forks):
                fork = {"iteration": 0, "knob": "seed", "before": 1, "after": 1, "clock": "modelled", "earlier": fork}
                fork |= {"knob": "max_num_seqs", "before": 2, "after": 2}
            text = json.dumps([{**run, "header": {**run["header"], "fork": None}}])
            yield self.pack_text(text.replace('"fork": null', f'"fork": {_dumped(fork)}').encode())
        for slots in (65_536, 10**9):
            fork = {
                "iteration": 0,
                "knob": "max_num_seqs",
                "before": slots,
                "after": 2,
                "clock": "modelled",
                "earlier": None,
            }
            yield self.pack([{**run, "header": {**run["header"], "fork": fork}}])
            yield self.pack([{**run, "header": {**run["header"], "fork": fork}}] * 20)
        yield self.pack(self.document * 3000)
        for text in (b"[" * 10**7, b'{"a":' * 10**6, b"[[],[]," * 2 * 10**6, b'[{"header":' + b"9" * 10**7):
            yield self.pack_text(text)
        bomb = zlib.compressobj(9)
        yield (
            storage.MAGIC
            + b"%d\n" % VERSION
            + b"".join(bomb.compress(b"0" * (1 << 20)) for _ in range(512))
            + bomb.flush()
        )

    def mutated(self, rng: random.Random) -> bytes:
        return mutate_bytes(self.data, rng) if rng.random() < 0.2 else self.pack(mutate_json(self.document, rng))

    def use(self, path: Path) -> None:
        runs = storage.load(path)
        for run in runs:
            compute_metrics(run)
        page_html(runs)
        trace_json(runs)
        metrics_csv(runs)


class Lessons:
    """A lesson as its document, and the index of lessons."""

    suffix = "/lesson.md"
    errors = (LessonError,)

    def __init__(self) -> None:
        self.text = FRONT + LESSON

    def seeds(self) -> list[bytes]:
        return [self.text.encode()]

    def nasty(self) -> Iterator[bytes]:
        front = FRONT.removesuffix("---\n")
        bomb = "\n".join(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10) if k else 'x'}]" for k in range(10))
        for field in ("goals", "title", "runs", "id", "minutes", "prerequisites"):
            yield (front.replace(f"{field}:", f"old_{field}:") + f"{bomb}\n{field}: *a9\n---\n").encode()
        for odd in (
            "&x [*x]",
            "[" * 60_000,
            "{" * 60_000,
            "!!bool zz",
            '!!int ""',
            "!!timestamp 2026-99-99",
            "9" * 350,
        ):
            yield (front.replace("goals: [Say who is done first]", f"goals: {odd}") + "---\n").encode()
        for text in (
            "{{" * 30_000,
            "[" * 30_000,
            "![" * 4000,
            "**a" * 2700,
            "> " * 4000,
            "`" * 8000,
            "|a" * 2000 + "\n" + "|-" * 2000,
            "<" * 8000,
            "- " * 4000,
            "[a](" * 2000,
            "&" * 30_000,
            "#" * 60_000,
            "\n" * 60_000,
            "```quiz\n" * 5000,
        ):
            yield (FRONT + text + "\n").encode()
        for figure in (
            "1 | 2000000000f",
            "1 | .2147483647f",
            "9" * 350,
            "1e308 * 10",
            "10**10**10",
            "(" * 190 + "1" + ")" * 190,
            "-" * 390 + "1",
            "a" + ".a" * 190,
            "1" + "+1" * 190,
            "two.static.duration * 1e308 * 1e308",
            "two.static.duration if 1 else 2",
            "[1][0]",
            "'a' * 100",
            "1 / (1 - 1)",
            "(lambda: 1)()",
            "f'{1:9999999f}'",
        ):
            yield (FRONT + "{{ " + figure + " }}\n").encode()
            yield (
                FRONT
                + "```quiz\ntype: number\nask: Q.\nexplain: E.\nanswer: '"
                + figure.replace("'", "''")
                + "'\n```\n"
            ).encode()
        chart = "```chart\ntitle: T\ny: s\nseries: [{points: [[a, 1]]}]\n"
        for block in (
            chart + "log: [[a]]",
            chart + "type: [a]",
            chart + "x: [1]",
            "```player\nrun: two\nloop_s: [[1], {}]",
            "```player\nrun: two\npolicies: 3",
            "```player\nrun: two\npolicies: [[static]]",
            "```player\nrun: [two]",
            "```chart\ntitle: T\ny: s\nseries: [{points: [[[a], 1], [{}, 2]]}]",
            "```claim\nid: {a: b}",
            "```quiz\ntype: {a: b}\nask: Q.\nexplain: E.",
            "```quiz\ntype: schedule\nask: Q.\nexplain: E.\npolicy: static\nslots: 1e300\nrequests: [[0, 1]]",
            "```quiz\ntype: order\nask: Q.\nexplain: E.\nitems: [a, b]\nby: [[1], {}]",
            "```explore\nrun: two\npolicy: static\nask: A.\nshow: [[duration]]\nfind: duration > 0\n"
            "knobs: {max_num_seqs: [1, 2]}",
            "```explore\nrun: two\nask: A.\nshow: [duration]\nfind: duration > 0\nknobs: {policy: [[static], {}]}",
        ):
            yield (FRONT + block + "\n```\n").encode()
        for run in (
            "{requests: [[0, 64, 1000000], [0, 64, 1]]}",
            "{requests: [[0, 1000000, 1], [0, 64, 1]]}",
            "{traffic: {num_requests: 9,arrivals: 'poisson:1e-9',output_lengths: 'fixed:8',prompt_lengths: 'fixed:1'}}",
            "{traffic: {num_requests: 10000000, prompt_lengths: 'fixed:8', output_lengths: 'fixed:8'}}",
            "{traffic: {num_requests: 2000, prompt_lengths: 'fixed:9999', output_lengths: 'fixed:8'}}",
            "{traffic: {num_requests: 2000, prompt_lengths: 'fixed:9', output_lengths: 'fixed:1000000000'}}",
            "{traffic: {num_requests: [], prompt_lengths: {}, output_lengths: 'fixed:1'}}",
            "{recording: [chat]}",
            "{recording: chat, policies: 3}",
            "{requests: [[0, 8, 8]], policies: [[static]]}",
            "{scenario: {a: b}}",
            "{requests: [[0, 8, 8]], knobs: {watermark: x}}",
            "{requests: [[0, 8, 8]], knobs: {max_num_seqs: [1]}}",
            "{requests: [[0, 8, 8]], model: [a]}",
            "{requests: [[0, 8, 8]], seed: -1}",
            "{requests: [[0, 8, 8]], seed: 1e300}",
            "{requests: [[0, 8, 8]], devices: 10000000}",
            "{requests: [[0, 8, 900]], knobs: {num_kv_blocks: 65536}}",
            "{requests: [[0, 8, 8]], knobs: {num_kv_blocks: 4000000}}",
            "{requests: [[1e300, 8, 8]]}",
            "{requests: [[0, true, 8]]}",
            "{requests: [[0, 50000, 8]], policies: [chunked], knobs: {max_num_batched_tokens: 1, max_num_seqs: 1}}",
        ):
            body = "{{ two.chunked.duration }} {{ two.static.duration }}\n\n```player\nrun: two\n```\n"
            yield (f"---\nid: tiny\ntitle: T\nminutes: 3\ngoals: [g]\nruns:\n  two: {run}\n---\n{body}").encode()
        yield (FRONT.replace("Say who is done first", "'{{ nothing }}'")).encode()
        yield b"x" * (1 << 20)

    def mutated(self, rng: random.Random) -> bytes:
        if rng.random() < 0.1:
            return mutate_bytes(self.text.encode(), rng)
        return mutate_text(self.text, rng).encode(errors="surrogatepass")

    def use(self, path: Path) -> None:
        root = path.parent.parent
        index_document(root=root)
        document, problems = lesson_document(path.parent, "en", lambda *parts: "#", root)
        if document is None:
            raise LessonError(problems[0])
        document_bytes(document)


class Traces:
    """The requests of a trace, in words and as a run takes them."""

    suffix = ".trace"
    errors = (TraceError, ValueError)

    def __init__(self) -> None:
        timed = [{"timestamp": 1000 * k, "input_length": 50 + k, "output_length": 9, "hash_ids": [k]} for k in range(6)]
        self.lines = timed
        self.sound = [
            b"arrival_s,prompt_tokens,output_tokens\n0,5,3\n0.5,9,6\n2,7,1\n",
            b"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,374,44\n2023-11-16 18:15:50.99,396,109\n",
            b"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,API log\n",
            b'[{"conversations": [{"from": "human", "value": "one two"}, {"from": "gpt", "value": "three"}]}]',
            "\n".join(map(json.dumps, timed)).encode(),
            "\n".join(json.dumps({**line, "timestamp": k + 0.5}) for k, line in enumerate(timed)).encode(),
        ]

    def seeds(self) -> list[bytes]:
        return self.sound

    def nasty(self) -> Iterator[bytes]:
        yield b"\x1f\x8b" + b"x" * 100
        yield gzip.compress(self.sound[0])[:-9]
        yield gzip.compress(b"arrival_s,prompt_tokens,output_tokens\n" + b"0" * (1 << 25), 1)
        yield b"arrival_s,prompt_tokens,output_tokens\n" + b"0" * (1 << 25)
        yield b"arrival_s,prompt_tokens,output_tokens\n0," + b'"' + b"\n" * (1 << 20)
        yield self.sound[0].decode().encode("utf-16")
        yield b"\x00" * (1 << 24)
        yield b"[" * (1 << 22)
        yield b'[{"conversations": ' + b"[" * (1 << 20)
        yield b'[{"conversations": "' + b"x" * (1 << 25)
        yield b'[{"conversations": ' + b"9" * (1 << 22)
        for value in (
            "[" * 900,
            "[" * 10**6,
            "9" * 4000,
            "9" * 10**6,
            "NaN",
            "1e999",
            '"\\ud800"',
            "{}",
            '"' + "9" * 5000 + '"',
        ):
            for field in ("timestamp", "input_length"):
                line = json.dumps({**self.lines[0], field: 0.5 if field == "timestamp" else 1})
                name = f'"{field}": '
                head, _, tail = line.partition(name)
                closed = value + "]" * value.count("[") if len(value) == 900 else value
                yield (head + name + closed + tail[tail.index(",") :] + "\n").encode()

    def mutated(self, rng: random.Random) -> bytes:
        sound = rng.choice(self.sound)
        kind = rng.randrange(4)
        if kind == 0:
            return mutate_bytes(gzip.compress(sound, 1) if rng.random() < 0.3 else sound, rng)
        if kind == 1:
            lines = mutate_json(self.lines, rng)
            return "\n".join(map(json.dumps, lines)).encode(errors="surrogatepass")
        return mutate_text(sound.decode(), rng).encode(errors="surrogatepass")

    def use(self, path: Path) -> None:
        rows = read_trace(path, count_tokens=lambda text: len(text.split()), notes=(notes := Notes()))
        describe_trace(path, rows, AS_RECORDED, notes)
        trace_requests(rows[:3], 0)


class _Words:
    """A codec of words."""

    def encode(self, text: str) -> list[int]:
        return [len(word) for word in text.split()]

    def decode(self, tokens: Any) -> str:
        return " ".join("x" * token for token in tokens)


class RequestFiles:
    """The requests of a file of JSON lines."""

    suffix = ".jsonl"
    errors = (ValueError,)

    def __init__(self) -> None:
        self.lines: list[Any] = [
            {"prompt": "one two", "max_tokens": 3},
            {"prompt_tokens": 5, "max_tokens": 9, "arrival_s": 0.5},
        ]

    def seeds(self) -> list[bytes]:
        return ["\n".join(map(json.dumps, self.lines)).encode()]

    def nasty(self) -> Iterator[bytes]:
        yield b"[" * 10**6
        yield b'{"prompt": ' * 10**5
        yield b'{"max_tokens": ' + b"9" * 10**6 + b"}"
        yield b"\xff\xfe" + "{}".encode("utf-16")
        yield b"\x00" * 10**7

    def mutated(self, rng: random.Random) -> bytes:
        if rng.random() < 0.3:
            return mutate_bytes("\n".join(map(json.dumps, self.lines)).encode(), rng)
        return "\n".join(map(json.dumps, mutate_json(self.lines, rng))).encode()

    def use(self, path: Path) -> None:
        [asdict(request.sampling) for request in read_requests(path, _Words())]


KINDS = {"recordings": Recordings, "lessons": Lessons, "traces": Traces, "requests": RequestFiles}


def _dumped(fork: dict[str, Any] | None) -> str:
    """A chain of any length, without a call for each."""
    parts = []
    while fork is not None:
        parts.append(json.dumps({**fork, "earlier": 0}).removesuffix("0}"))
        fork = fork["earlier"]
    return "".join(parts) + "null" + "}" * len(parts)


LESSON = """Static took {{ two.static.duration }}, {{ two.continuous.duration / two.static.duration | x }}.

```player
run: two
policies: [static]
focus: static
start_s: 0.1
loop_s: [0, 0.1]
caption: A *caption*
```

```chart
type: bars
title: Tokens
y: tok/s
log: [y]
series:
  - {name: a, points: [[static, two.static.duration], [continuous, two.continuous.duration]]}
```

```quiz
type: choice
ask: Which is done first?
options:
  - {text: continuous, right: true}
  - {text: static, why: It waits.}
explain: Slots refill.
check: [two.continuous.duration < two.static.duration]
```

```quiz
type: number
ask: How long?
answer: step.ms(H100, llama_3_1_8b, batch=1) * 2
unit: ms
tolerance: 1.2
explain: Weights are read.
```

```predict
ask: How many?
answer: 3 * 4
unit: s
```

```quiz
type: schedule
ask: Draw it.
explain: So.
policy: static
slots: 2
requests: [[0, 2], [0, 3], [1, 1]]
```

```claim
id: h100-flops
```

```notes
For the teacher.
```
"""
