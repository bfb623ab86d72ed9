"""How fast the player is in a headless Chromium: a large comparison, made up, in a page of its own and the app.

Nothing here judges: numbers depend on the machine and on what else it does, so they are printed, never tested.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minibatch.engine.loop import Engine
from minibatch.engine.roofline_executor import RooflineExecutor
from minibatch.recording.schema import Header, Recording
from minibatch.roofline.ceilings import Ceilings
from minibatch.roofline.costs import ModelShape
from minibatch.scheduling import find_policy
from minibatch.scheduling.config import SchedulerConfig
from minibatch.workload.arrival_source import arrival_source
from minibatch.workload.request import Request, SamplingParams

if TYPE_CHECKING:  # of the tests' requirements
    from playwright import sync_api

SLOTS, ITERATIONS = 32, 3000
LANES = (("static", 64), ("dynamic", 64), ("continuous", 64), ("chunked", 64), ("chunked", 192))
"""Policy and token budget of each lane."""
SMOOTH_MS = 34
"""Two frames of a 60 Hz screen: a longer gap is seen as a jerk."""
TIMES = 30
"""Replacements of the recordings, or reruns of the app, between two looks at what a page holds."""

_SHAPE = ModelShape(n_layer=12, n_embd=768, n_head=12, n_kv_head=12, vocab_size=50257, n_inner=3072)
_CEILINGS = Ceilings(3e11, 3e10, "an invented machine", source="invented")

# Counts what runs in animation frames; `window.frames.request` is the browser's own, uncounted.
_COUNT_FRAMES = """
window.animation = { request: window.requestAnimationFrame.bind(window), calls: 0, ms: 0 };
window.requestAnimationFrame = (callback) => animation.request((now) => {
  const began = performance.now();
  try { callback(now); } finally { animation.ms += performance.now() - began; animation.calls++; }
});
"""
_SAMPLE = """
(ms) => new Promise((done) => {
  const { calls, ms: worked } = animation;
  const gaps = [];
  let first, last;
  const tick = (now) => {
    if (last !== undefined) gaps.push(now - last);
    first ??= now;
    last = now;
    if (now - first < ms) return animation.request(tick);
    done({ gaps, calls: animation.calls - calls, ms: animation.ms - worked });
  };
  animation.request(tick);
})
"""
_REPLACE = """
p.replace(Uint8Array.from(atob(document.getElementById("data").textContent), (letter) => letter.charCodeAt(0)))
"""
_DRAWN = "(player) => player.hasDrawn && (!player.charts || player.charts.isReady)"


@dataclass(frozen=True, slots=True)
class Frames:
    """What the frames of some seconds were like.

    Attributes:
        rate: median frames/s.
        gap_95: 95th percentile of the gaps between frames, ms.
        smooth: share of the gaps within `SMOOTH_MS`.
        script_ms: time of a mean frame in animation callbacks, ms.
        thread_ms: processor time of the page's main thread in all, layout and paint included, a frame.
        loops: animation callbacks a frame.
    """

    rate: float
    gap_95: float
    smooth: float
    script_ms: float
    thread_ms: float
    loops: float


@dataclass(frozen=True, slots=True)
class Standing:
    """What a page holds once its garbage is collected: heap in MB, and animation callbacks a frame."""

    heap: float
    nodes: int
    listeners: int
    loops: float


def comparison() -> tuple[list[Recording], list[str]]:
    """Five modelled recordings of `ITERATIONS` iterations in `SLOTS` slots, and their labels."""
    rng = np.random.default_rng(0)
    arrivals = np.cumsum(rng.exponential(0.15, 640))
    requests = [
        Request(
            request_id,
            tuple(rng.integers(0, _SHAPE.vocab_size, rng.integers(16, 256)).tolist()),
            SamplingParams(int(rng.integers(16, 256)), ignore_eos=True),
            int(seconds * 1e9),
        )
        for request_id, seconds in enumerate(arrivals)
    ]
    runs = [_record(requests, policy, budget) for policy, budget in LANES]
    return runs, [f"{policy}, budget {budget}" if policy == "chunked" else policy for policy, budget in LANES]


def _record(requests: Sequence[Request], policy: str, budget: int) -> Recording:
    config = SchedulerConfig(max_num_seqs=SLOTS, max_num_batched_tokens=budget, max_model_len=512, num_kv_blocks=512)
    executor = RooflineExecutor(_SHAPE, _CEILINGS)
    engine = Engine(arrival_source(requests), find_policy(policy), executor, config, _SHAPE, check=False)
    while engine.recorder.num_iterations < ITERATIONS and engine.step() is not None:
        pass
    header = Header(
        policy=policy, clock="modelled", device=_CEILINGS.device, model="random:gpt2", dtype="float16",
        scenario="benchmark", seed=0, token_budget=engine.policy.token_budget(config), config=asdict(config),
        shape=asdict(_SHAPE), ceilings=asdict(_CEILINGS),
    )  # fmt: skip
    return engine.recording(header)


class Bench:
    """A player on a page, watched: its frames, what it holds, and what it asks of other machines."""

    def __init__(self, page: sync_api.Page, own: str) -> None:
        self.page = page
        self.left: list[str] = []
        self.received = 0
        page.add_init_script(_COUNT_FRAMES)
        page.on("request", lambda request: self._note(request.url, own))
        page.on("websocket", lambda socket: socket.on("framereceived", self._receive))
        self.devtools = page.context.new_cdp_session(page)
        for domain in ("Performance", "HeapProfiler", "Network"):
            self.devtools.send(f"{domain}.enable")
        self.devtools.on("Network.loadingFinished", self._load)

    def open(self, url: str) -> float:
        """Go there; ms from navigation until lanes and charts are drawn."""
        self.page.goto(url)
        self.page.locator(".mb-player").first.wait_for(state="attached", timeout=60_000)
        self.page.wait_for_function(_DRAWN, arg=self.player, timeout=60_000)
        return float(self.page.evaluate("performance.now()"))

    @property
    def lanes_ms(self) -> float:
        """ms from navigation until the first frame of the lanes was drawn."""
        mark = "performance.getEntriesByName('minibatch lanes drawn')[0].startTime"
        return float(self.page.evaluate(mark))

    @property
    def player(self) -> sync_api.JSHandle:
        return self.page.locator(".mb-player").first.evaluate_handle("(element) => element.player")

    def ask(self, expression: str) -> Any:
        """A value of the player, which the expression calls `p`."""
        return self.player.evaluate(f"(p) => {expression}")

    def play(self, view: str, seconds: float, profile: Path | None = None, charts: bool = False) -> Frames:
        """Play from a third of the run on, with the lanes or with the charts in the window."""
        self.ask(f"({'p.charts.element' if charts else 'p.root'}).scrollIntoView()")
        self.ask(f"p.store.set({{view: '{view}', position: p.store.end / 3, speed: 1, isPlaying: true}})")
        self.page.wait_for_timeout(1000)
        before = self._metrics()
        if profile:
            self.devtools.send("Profiler.enable")
            self.devtools.send("Profiler.start")
        sample = self.page.evaluate(_SAMPLE, seconds * 1000)
        if profile:
            profile.write_text(json.dumps(self.devtools.send("Profiler.stop")["profile"]))
        worked = self._metrics()["ThreadTime"] - before["ThreadTime"]
        self.ask("p.store.set({isPlaying: false})")
        gaps = sample["gaps"]
        return Frames(
            rate=1000 / statistics.median(gaps),
            gap_95=float(np.percentile(gaps, 95)),
            smooth=float(np.mean(np.array(gaps) <= SMOOTH_MS)),
            script_ms=sample["ms"] / len(gaps),
            thread_ms=worked * 1000 / len(gaps),
            loops=sample["calls"] / len(gaps),
        )

    def standing(self) -> Standing:
        """What the page holds now, while it plays."""
        self.ask("p.store.set({position: 0, isPlaying: true})")
        loops = self.page.evaluate(_SAMPLE, 1000)
        self.ask("p.store.set({position: 0, isPlaying: false})")
        self.page.wait_for_timeout(500)
        self.devtools.send("HeapProfiler.collectGarbage")
        heap = self.devtools.send("Runtime.getHeapUsage")["usedSize"]
        held = self._metrics()
        return Standing(
            heap / 1e6, int(held["Nodes"]), int(held["JSEventListeners"]), loops["calls"] / len(loops["gaps"])
        )

    def replace(self, times: int) -> None:
        """Give the player its recordings anew, each time under the other colour scheme."""
        for count in range(times):
            self.page.emulate_media(color_scheme="dark" if count % 2 == 0 else "light")
            self.ask(_REPLACE)
            self._wait(_DRAWN)
        self.page.wait_for_timeout(500)

    def rerun(self, times: int) -> None:
        """Have the app run again: other type, another recording, another colour scheme, and back."""
        page = self.page
        for count in range(times):
            step = count % 6
            if step in (0, 3):
                before = self.ask("p.theme.scale")
                page.locator("label", has_text="Large type").first.click()
                self._wait(f"(p) => p.theme.scale !== {before}")
            elif step in (1, 4):
                before = self.ask("p.store.comparison.options.id")
                page.get_by_role("combobox", name="Recording").click()
                page.get_by_role("option").nth(1 if step == 1 else 0).click()
                self._wait(f"(p) => p.store.comparison.options.id !== {json.dumps(before)}")
            else:
                before = self.ask("p.theme.isDark")
                page.emulate_media(color_scheme="dark" if step == 2 else "light")
                self._wait(f"(p) => p.theme.isDark !== {json.dumps(before)}")
            page.locator("[data-test-script-state=notRunning]").wait_for(state="attached")
        page.wait_for_timeout(1000)

    def _wait(self, condition: str) -> None:
        self.page.wait_for_function(condition, arg=self.player, timeout=60_000)

    def _metrics(self) -> dict[str, float]:
        return {metric["name"]: metric["value"] for metric in self.devtools.send("Performance.getMetrics")["metrics"]}

    def _note(self, url: str, own: str) -> None:
        if not url.startswith((own, "data:", "blob:")):
            self.left.append(url)

    def _receive(self, frame: str | bytes) -> None:
        self.received += len(frame)

    def _load(self, event: dict[str, Any]) -> None:
        self.received += int(event["encodedDataLength"])
