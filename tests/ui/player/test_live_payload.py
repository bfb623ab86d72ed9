"""A run in progress, sent part by part: the player ends up with what the whole would have given it."""

from __future__ import annotations

import base64
import zlib

from minibatch.engine.watch import RunWatch
from minibatch.recording.part import RecordingPart
from minibatch.recording.schema import Recording
from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui.player.live_payload import LivePayload
from minibatch.ui.player.payload import pack
from tests.helpers import engine_of, header_of, requests_of
from tests.ui.player.conftest import Modules

CONFIG = SchedulerConfig(max_num_seqs=4, num_kv_blocks=24, block_size=4, max_model_len=64, watermark=0)

COLUMNS = ["start", "end", "executor", "flops", "written", "finished", "numWaiting", "heldSlots", "ttftP95"]
JOIN = """
  const { LiveParts } = await load("core/parts.js");
  const { inflate, unpack } = await load("core/payload.js");
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const live = new LiveParts();
  const told = [];
  let joined = null;
  for (const text of argument.parts) {
    told.push([live.add(await inflate(bytes(text))), live.num]);
    if (told.at(-1)[0]) joined = live.join();
  }
  const whole = await unpack(bytes(argument.whole));
  const of = ({ runs }) => runs.map((run) => ({
    label: run.label, n: run.n, complete: run.complete,
    columns: argument.columns.map((name) => Array.from(run[name], (value) => (Number.isNaN(value) ? null : value))),
    entries: Object.entries(run.entries).map(([name, values]) => [name, [...values]]),
    requests: run.requests, reasons: run.reasons, owners: [...run.ownersAt(run.n)],
  }));
  const { words, sources } = joined;
  return { told, joined: of(joined), whole: of(whole), words: Boolean(words.templates), sources: Object.keys(sources) };
"""


def watched(policy: str, every: int, num_requests: int = 12) -> tuple[Recording, list[RecordingPart]]:
    """A run and what somebody sees of it who looks after every so many steps."""
    engine = engine_of(requests_of([(10, 20, k) for k in range(num_requests)]), policy, CONFIG)
    watch, parts, steps = RunWatch(engine), [], 0
    while engine.step() is not None:
        steps += 1
        if steps == 9:
            engine.abort(3)
        if steps % every == 0:
            parts.append(watch.take(header_of(engine)))
    parts.append(watch.take(header_of(engine)))
    return engine.recording(header_of(engine)), parts


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_parts_join_to_the_whole_run(player: Modules) -> None:
    """Two runs; the second message repeats a part, and one is lost on the way."""
    (static, some), (chunked, others) = watched("static", 7), watched("chunked", 5)
    live, messages = LivePayload("a stream", ("static", "chunked")), []
    parts = [*some, *others]
    for k in range(1, len(parts) + 1):
        live.extend(parts[:k])
        messages.append(live.since(max(0, k - 2)))
    lost = live.since(live.num_parts)
    found = player.run(
        JOIN,
        {
            "parts": [text(lost), *map(text, messages), text(lost)],
            "whole": text(pack([static, chunked])),
            "columns": COLUMNS,
        },
    )
    assert found["told"][0] == [False, 0]
    assert found["told"][1:] == [[True, k] for k in [*range(1, len(parts) + 1), len(parts)]]
    assert found["joined"] == found["whole"]
    assert found["words"]
    assert set(found["sources"]) == {"static", "chunked"}


def test_what_is_sent_grows_with_the_run_and_not_with_its_square() -> None:
    """Of runs watched every 4 steps, by somebody who has all that was sent: twice the run, twice the bytes."""
    sent = []
    for num_requests in (40, 80, 160):
        run, parts = watched("chunked", 4, num_requests)
        live, columns = LivePayload("a stream", ("chunked",)), 0
        for k in range(1, len(parts) + 1):
            live.extend(parts[:k])
            _, _, rows = zlib.decompress(live.since(k - 1)).partition(b"\n")
            columns += len(rows)
        sent.append(columns / run.num_iterations)
    assert max(sent) < 1.2 * min(sent)
