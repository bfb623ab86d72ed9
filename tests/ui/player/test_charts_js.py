"""The player's live charts: points where the roofline puts them, labels that keep apart, words that agree."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import pytest

from minibatch.recording.schema import Recording
from minibatch.recording.storage import load
from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui.player.runtime import vega_runtime
from minibatch.ui.shared.palette import theme
from tests.helpers import record, requests_of
from tests.ui.browser import ROOT
from tests.ui.player.conftest import Modules

RECORDINGS = ROOT / "assets" / "recordings"
LIGHT = theme("light")
THEME = {name: getattr(LIGHT, name) for name in ("ink", "muted", "faint", "surface", "lane", "accent", "scale")}

SHOW = """
const {Store} = await load('core/store.js'), {Charts} = await load('charts/charts.js');
const {vegaEmbed} = await load('vega.js');
const host = document.createElement('div');
host.style.width = `${argument.width}px`;
document.body.replaceChildren(host);
window.store = new Store(c, argument.options);
window.charts = new Charts(store, vegaEmbed, argument.theme);
host.append(charts.element);
await charts.draw();
"""
AT = "store.set(argument); charts.update(store.places);"


def show(player: Modules, recordings: list[Recording], width: int = 1200, scale: float = 1, **options: Any) -> Modules:
    """A page with the charts of `recordings`: `store` and `charts` are globals of its scripts."""
    player.page.route("**/vega.js", lambda route: route.fulfill(body=vega_runtime(), content_type="text/javascript"))
    argument = {"theme": {**THEME, "font": "sans-serif", "scale": scale}, "width": width, "options": options}
    player.load(recordings).run(SHOW, argument)
    return player


def bundled(name: str) -> list[Recording]:
    return load(RECORDINGS / f"{name}.mbr")


def figures(recording: Recording, i: int) -> tuple[float, float]:
    """(FLOP/byte, GFLOP/s) of an iteration."""
    columns = recording.iterations
    moved = sum(int(columns[name][i]) for name in ("bytes_weights", "bytes_kv", "bytes_activations"))
    return columns["flops"][i] / moved, columns["flops"][i] / columns["executor_ns"][i]


def meet(a: dict[str, float], b: dict[str, float]) -> bool:
    across = a["left"] < b["left"] + b["width"] and b["left"] < a["left"] + a["width"]
    return across and a["top"] < b["top"] + b["height"] and b["top"] < a["top"] + a["height"]


def test_points_lie_where_intensity_and_speed_say(player: Modules) -> None:
    recordings = bundled("long-document")
    show(player, recordings)
    got = player.run("return {frame: charts.roofline.plot.frame, ...charts.roofline.domains}")
    frame, (x0, x1), (y0, y1) = got["frame"], got["x_domain"], got["y_domain"]
    for lane, recording in enumerate(recordings):
        for i in range(0, recording.num_iterations, 17):
            intensity, gflops = figures(recording, i)
            point = player.run("return charts.pointAt(...argument)", [lane, i])
            across = math.log(intensity / x0) / math.log(x1 / x0)
            up = math.log(gflops / y0) / math.log(y1 / y0)
            assert point["x"] == pytest.approx(frame["left"] + across * frame["width"], abs=0.01)
            assert point["y"] == pytest.approx(frame["top"] + (1 - up) * frame["height"], abs=0.01)


def test_the_current_point_is_painted_there(player: Modules) -> None:
    show(player, bundled("long-document"), focus=3)
    player.run(AT, {"position": 755_000_000})
    pixel = player.run(
        "const {x, y} = charts.pointAt(3, store.places[3].i), {context, ratio} = charts.roofline.plot.live;"
        " return [...context.getImageData(Math.round(x * ratio), Math.round(y * ratio), 1, 1).data]"
    )
    assert "#{:02X}{:02X}{:02X}".format(*pixel[:3]) == THEME["accent"]
    player.run(AT, {"position": 0})
    assert player.run("return charts.roofline.trail.until") == [0, 0, 0, 0]


def test_moving_forward_paints_what_seeking_paints(player: Modules) -> None:
    show(player, bundled("chat"))
    for k in range(1, 41):
        player.run("store.set({position: store.end * argument}); charts.update(store.places);", k / 50)
    assert difference(player, "colours") is None
    player.run("store.set({position: store.end}); charts.update(store.places);")
    assert difference(player, "colours") > 100
    player.run("store.set({position: store.end * 40 / 50}); charts.update(store.places);")
    # Premultiplied alpha in eight bits: colours of faint pixels may round differently.
    assert difference(player, "alpha") <= 4


def difference(player: Modules, of: str) -> int | None:
    """The largest one of a pixel's "colours" or of its "alpha" to what was painted when first asked; None then."""
    return player.run(
        "const {canvas, context} = charts.roofline.plot.past;"
        " const now = context.getImageData(0, 0, canvas.width, canvas.height).data;"
        " if (!window.painted) { window.painted = now; return null; }"
        " let most = 0;"
        " for (let k = argument === 'alpha' ? 3 : 0; k < now.length; k += argument === 'alpha' ? 4 : 1)"
        "   most = Math.max(most, Math.abs(now[k] - window.painted[k]));"
        " return most",
        of,
    )


def test_the_pointer_finds_a_point_and_a_click_goes_there(player: Modules) -> None:
    show(player, bundled("long-document"), focus=2, isPlaying=True)
    place = player.run(
        "const {left, top} = charts.roofline.plot.area.getBoundingClientRect(), {x, y} = charts.pointAt(2, 5);"
        " return [left + x, top + y]"
    )
    player.page.mouse.move(*place)
    hover = player.run("charts.update(store.places); return store.hover")
    assert hover["lane"] == 2
    same = player.run(
        "const a = charts.pointAt(2, 5), b = charts.pointAt(2, argument); return Math.hypot(a.x - b.x, a.y - b.y)",
        hover["iteration"],
    )
    assert same < 1
    player.page.mouse.click(*place)
    at = player.run(
        "return [store.focus, store.position === store.runs[2].start[argument], store.isPlaying]", hover["iteration"]
    )
    assert at == [2, True, False]
    player.page.mouse.move(2, 2)
    assert player.run("return store.hover")["iteration"] == -1


@pytest.mark.parametrize(("width", "scale"), [(1200, 1), (420, 1), (1400, 1.7)])
def test_labels_never_overlap_nor_leave_the_frame(player: Modules, width: int, scale: float) -> None:
    show(player, bundled("kv-squeeze"), width, scale)
    for share in range(4, 101, 4):
        player.run("store.set({position: store.end * argument}); charts.update(store.places);", share / 100)
        got = player.run(
            "return [charts.roofline, charts.tokens].map(({boxes, plot}) => ({boxes, width: plot.live.width,"
            " height: plot.live.height}))"
        )
        for chart in got:
            boxes = chart["boxes"]
            assert len(boxes) == 4
            assert all(boxes)
            assert not any(meet(a, b) for a, b in combinations(boxes, 2))
            for box in boxes:
                assert 0 <= box["left"] <= box["left"] + box["width"] <= chart["width"]
                assert 0 <= box["top"] <= box["top"] + box["height"] <= chart["height"]


def test_a_growing_run_is_drawn_into_the_same_view(player: Modules) -> None:
    requests = requests_of([(9, 12), (6, 9), (14, 20, 3.0)])
    whole = record(requests, "continuous", SchedulerConfig(max_num_seqs=4, num_kv_blocks=64, block_size=4))
    show(player, [whole])
    got = player.run(
        "const view = charts.roofline.plot.view, canvas = charts.element.querySelector('canvas');"
        " store.set({comparison: {...c}, runs: [...c.runs]}); await charts.draw(); await charts.draw();"
        " const same = view === charts.roofline.plot.view && canvas === charts.element.querySelector('canvas');"
        " store.setAxis('iterations'); await charts.draw();"
        " const {view: lines} = charts.tokens.plot;"
        " return {same, rows: lines.data('written').at(-1), domain: lines.signal('x_domain')}"
    )
    assert got["same"]
    assert got["rows"]["tokens"] == 41
    assert got["domain"] == [0, whole.num_iterations]


def test_steps_that_are_to_be_predicted_are_not_drawn(player: Modules) -> None:
    show(player, bundled("long-document"), hidden={"lane": 3, "iteration": 40}, focus=3)
    assert player.run("return [charts.pointAt(3, 40) !== null, charts.pointAt(3, 41)]") == [True, None]
    assert player.run("return charts.durations.steps.at(-1).x2 * 1e9 <= store.runs[3].end[40]")


def test_bytes_of_a_step_sum(player: Modules) -> None:
    [recording, *_] = bundled("chat")
    player.load([recording])
    for i in range(0, recording.num_iterations, 29):
        parts = player.run("const {byteSplit} = await load('charts/text.js'); return byteSplit(c.runs[0], argument)", i)
        columns = [int(recording.iterations[f"bytes_{name}"][i]) for name in ("weights", "kv", "activations")]
        assert [part["bytes"] for part in parts] == columns
        assert sum(part["share"] for part in parts) == pytest.approx(1)


def test_descriptions_say_the_recordings_numbers(player: Modules) -> None:
    config = SchedulerConfig(max_num_seqs=2, num_kv_blocks=32, block_size=4, max_num_batched_tokens=8)
    recording = record(requests_of([(6, 5), (12, 3, 1.0)]), "chunked", config)
    script = (
        "const text = await load('charts/text.js'), run = c.runs[0];"
        " const place = run.locate('iterations', argument);"
        " const {describeRoofline, describeTokens, describeDurations} = text;"
        " return [describeRoofline(run, place), describeTokens([run], [place]), describeDurations(run, place)]"
    )
    player.load([recording])
    first, tokens, durations = player.run(script, 0.5)
    intensity, gflops = figures(recording, 0)
    assert f"chunked, step 0, prefill of 6 tokens: {intensity:.3g} FLOP/byte" in first
    assert f"{gflops * 1000:.3g} MFLOP/s modelled" in first
    assert "left of the ridge at 10.0 FLOP/byte, so memory-bound" in first
    assert tokens == "Generated so far: chunked 0 of 8 tokens."
    assert durations == "chunked, step 0 takes 1.60 ms, modelled; no request stalls."
    first, tokens, durations = player.run(script, 10_000)
    assert first.endswith("The run has ended.")
    assert tokens == "Generated so far: chunked 8 of 8 tokens, done."
    before = player.run(script.replace("run.locate('iterations', argument)", "run.locate('time', -1)"))
    assert before[0] == "chunked has not begun."
