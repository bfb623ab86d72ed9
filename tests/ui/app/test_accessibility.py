"""The page for those who do not see it well, and for those who have only a keyboard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright import sync_api
from playwright.sync_api import expect

from minibatch.ui.player.page import page_html
from tests.ui.app.driving import POLICIES, next_frame, open_player, small
from tests.ui.axe import violations
from tests.ui.browser import Watched

MOMENT = "t=20000000&pin=1"
"""In the middle of the recording `small`, with the story of a request."""

_CONTROLS = "button, select, input, textarea, summary, a[href], [tabindex='0']"
# Numbers every control that can be seen, in the order of the document.
_NUMBER = f"""
(root) => [root, ...root.querySelectorAll("{_CONTROLS}")]
  .filter((element) => element.checkVisibility({{ visibilityProperty: true }}) && !element.disabled)
  .map((element, k) => (element.dataset.stop = k, element.getAttribute("aria-label") ?? element.textContent))
"""
# The number of the control with the focus, null outside of the player; and whether the focus can be seen.
_FOCUSED = """
() => {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(element);
  const isSeen = outlineStyle !== "none" && parseFloat(outlineWidth) >= 1 && !/, 0\\)$/.test(outlineColor);
  return [element.dataset.stop === undefined ? null : Number(element.dataset.stop), isSeen];
}
"""


def states(watched: Watched) -> list[tuple[str, Callable[[], object]]]:
    """What a reader may open, and how."""
    page, player = watched.page, watched.player

    def dialog(name: str) -> Callable[[], None]:
        def show() -> None:
            page.keyboard.press("Escape")
            player.get_by_role("button", name=name).click()
            expect(player.get_by_role("dialog")).to_be_visible()

        return show

    def disclosures() -> None:
        for summary in player.locator("summary:visible").all():
            summary.click()
        expect(player.locator(".mbw-words p").first).to_be_visible()

    def prediction() -> None:
        page.keyboard.press("Escape")
        player.get_by_role("button", name="Predict the next step").click()
        expect(player.locator(".mbp-question")).to_be_visible()

    def answer() -> None:
        field = player.locator(".mbp-answer input").first
        if field.get_attribute("type") == "radio":
            field.check()
        else:
            field.fill("1")
        player.locator(".mbp-question").get_by_role("group").last.get_by_role("radio").first.check()
        player.locator(".mbp-question button[type=submit], .mbp-question .mbp-primary").first.click()
        expect(player.locator(".mbp-outcome")).to_be_visible()

    named = ["Link", "Keys"]
    if player.get_by_role("button", name="What if…").count():
        named.append("What if…")
    return [
        ("as it comes", lambda: None),
        ("in words, and the rule", disclosures),
        *((name, dialog(name)) for name in named),
        ("a prediction", prediction),
        ("its answer", answer),
        ("presented", lambda: watched.state("p.present()")),
    ]


def all_violations(watched: Watched) -> dict[str, list[str]]:
    """By what was open, what was found; {} if nothing."""
    found = {}
    for name, show in states(watched):
        show()
        next_frame(watched)
        if wrong := violations(watched.page):
            found[name] = wrong
    return found


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
def test_the_app_keeps_nobody_out(chromium: sync_api.Browser, address: str, width: int, scheme: str) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 1000}, color_scheme=scheme)
    watched = open_player(context, f"{address}/?recording=small&{MOMENT}")
    assert all_violations(watched) == {}
    context.close()


@pytest.mark.parametrize(("width", "scheme"), [(390, "light")])
def test_the_exported_page_keeps_nobody_out(
    chromium: sync_api.Browser, tmp_path: Path, width: int, scheme: str
) -> None:
    path = tmp_path / "page.html"
    path.write_text(page_html([small(policy) for policy in POLICIES]), encoding="utf-8")
    context = chromium.new_context(viewport={"width": width, "height": 1000}, color_scheme=scheme, offline=True)
    watched = open_player(context, f"{path.as_uri()}?{MOMENT}")
    assert all_violations(watched) == {}
    context.close()


def test_what_is_wrong_inside_the_player_is_found(context: sync_api.BrowserContext, address: str) -> None:
    watched = open_player(context, f"{address}/?recording=small&{MOMENT}")
    watched.state("p.root.querySelector('.mb-range').removeAttribute('aria-label')")
    (found,) = violations(watched.page)
    assert found.startswith("label (critical)")
    assert ".mb-range" in found


def test_tab_reaches_every_control_in_order_and_leaves_again(context: sync_api.BrowserContext, address: str) -> None:
    watched = open_player(context, f"{address}/?recording=small&{MOMENT}")
    names = watched.player.evaluate(_NUMBER)
    blocks = watched.player.evaluate(
        "(root) => [...root.children].filter((element) => element.querySelector('[data-stop]'))"
        ".map((element) => element.getBoundingClientRect().top)"
    )
    assert blocks == sorted(blocks), "the order of the document is that on the screen"
    watched.player.focus()
    watched.page.keyboard.press("Shift+Tab")
    reached, unseen = [], []
    for _ in range(len(names) + 5):
        watched.page.keyboard.press("Tab")
        number, is_seen = watched.page.evaluate(_FOCUSED)
        if number is None:
            break
        reached.append(number)
        if not is_seen:
            unseen.append(names[number])
    else:
        pytest.fail("the focus never leaves the player")
    assert [names[number] for number in reached] == names
    assert unseen == []
    watched.page.keyboard.press("Shift+Tab")
    assert watched.page.evaluate(_FOCUSED)[0] == len(names) - 1


def test_a_dialog_takes_the_focus_and_gives_it_back(context: sync_api.BrowserContext, address: str) -> None:
    watched = open_player(context, f"{address}/?recording=small&{MOMENT}")
    names = watched.player.evaluate(_NUMBER)
    for name in ("Link", "Keys", "What if…"):
        watched.player.get_by_role("button", name=name).focus()
        before = watched.page.evaluate(_FOCUSED)[0]
        assert names[before] == name
        watched.page.keyboard.press("Enter")
        dialog = watched.player.get_by_role("dialog")
        expect(dialog).to_be_visible()
        assert dialog.evaluate("(dialog) => dialog.contains(dialog.getRootNode().activeElement)") is True
        watched.page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
        assert watched.page.evaluate(_FOCUSED)[0] == before, name
