"""The page "Published results" in a browser, on a phone and on a desk."""

from __future__ import annotations

from playwright import sync_api
from playwright.sync_api import expect

from tests.ui.app.driving import SECONDS
from tests.ui.axe import violations
from tests.ui.browser import Watched

_CUT_OFF = """
(chart) => {
  const box = chart.getBoundingClientRect();
  return [...chart.querySelectorAll("text")]
    .filter((text) => {
      const { left, right } = text.getBoundingClientRect();
      return left < box.left - 1 || right > box.right + 1;
    })
    .map((text) => text.textContent);
}
"""


def test_what_is_published_is_seen_whole_on_a_phone(chromium: sync_api.Browser, address: str) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 900})
    watched = Watched(context.new_page(), address)
    page = watched.page
    page.goto(f"{address}/published")
    page.get_by_role("combobox").click(timeout=SECONDS)
    page.get_by_role("option", name="PagedAttention").click()
    expect(page.get_by_text("reproduce kv-share")).to_be_visible(timeout=SECONDS)  # or Run is the last choice's still
    page.get_by_role("button", name="Run", exact=True).click()
    chart = page.get_by_test_id("stVegaLiteChart").locator("svg")
    expect(chart).to_contain_text("modelled", timeout=SECONDS)
    assert chart.evaluate(_CUT_OFF) == []
    overflow = page.evaluate("(e => e.scrollWidth - e.clientWidth)(document.querySelector('[data-testid=stMain]'))")
    assert overflow == 0
    assert violations(page) == []
    page.set_viewport_size({"width": 1440, "height": 900})
    assert violations(page) == []
    assert watched.outside == []
    context.close()
