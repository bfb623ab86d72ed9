"""The page "Load" in a browser: a file of a sweep on a phone, and a point of it in the player."""

from __future__ import annotations

from pathlib import Path

from playwright import sync_api
from playwright.sync_api import expect

from minibatch.analysis.sweeps.definition import described
from minibatch.analysis.sweeps.file import SweepFile, row_of
from minibatch.engine.sweep import run_point
from minibatch.ui.load.plan import Wanted, plan_of
from minibatch.ui.shared.machine import MachineChoice
from tests.ui.app.driving import SECONDS
from tests.ui.axe import violations
from tests.ui.browser import Watched

WANTED = Wanted(
    MachineChoice("llama-3.1-8b", "modelled", "H100", 1), 40, "fixed:64", "fixed:16", 0, ("static", "chunked"), "rate",
    "4 32 256", 1.0, 0.0, {"max_num_seqs": 8, "max_num_batched_tokens": 512},
)  # fmt: skip


def written(path: Path) -> Path:
    plan = plan_of(WANTED)
    file = SweepFile(path, described(plan.spec))
    for point in plan.points:
        file.add(row_of(point.policy, point.load, point.config, run_point(plan.spec, point)))
    return path


def test_a_point_of_a_chart_is_played_on_a_phone(chromium: sync_api.Browser, address: str, tmp_path: Path) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 900}, color_scheme="dark")
    watched = Watched(context.new_page(), address)
    page = watched.page
    page.goto(f"{address}/load")
    page.get_by_test_id("stExpandSidebarButton").click(timeout=SECONDS)
    page.get_by_text("Open a file").click()
    page.locator("input[type=file]").set_input_files(written(tmp_path / "mine.parquet"))
    page.get_by_test_id("stSidebarCollapseButton").locator("button").click()
    charts = page.get_by_test_id("stVegaLiteChart")
    expect(charts).to_have_count(4, timeout=SECONDS)
    charts.first.hover()
    toolbar = page.get_by_test_id("stElementToolbar").first
    expect(toolbar).to_be_visible()
    box, pills = toolbar.bounding_box(), page.get_by_test_id("stButtonGroup").first.bounding_box()
    assert box
    assert pills
    assert box["y"] >= pills["y"] + pills["height"], "the toolbar of a chart covers a pill"
    point = charts.first.locator("path[aria-label*='policy: chunked'][aria-label*='load: 32;']")
    point.click(force=True, timeout=SECONDS)
    expect(watched.player.locator(".mb-lane .mb-policy").first).to_have_text("chunked", timeout=SECONDS)
    expect(watched.player).to_contain_text("chunked at 32 requests/s")
    overflow = page.evaluate("(e => e.scrollWidth - e.clientWidth)(document.querySelector('[data-testid=stMain]'))")
    assert overflow == 0
    assert violations(page) == []
    page.set_viewport_size({"width": 1440, "height": 900})
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_text("New sweep").click()
    page.get_by_test_id("stSidebar").get_by_text("Link").click()
    expect(page.get_by_test_id("stSidebar").locator("code")).to_contain_text(f"{address}/load?sweep=chat&rates=")
    assert violations(page) == []
    assert watched.outside == []
    context.close()
