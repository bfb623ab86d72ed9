"""Going through a lesson in a page: every block seen, every card answered wrong and then right.

What is right comes from `Lesson.blocks`, which Python computed from runs; nothing is asked of the page's own state.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from html import unescape
from typing import Any

from playwright.sync_api import Locator, Page, expect

from minibatch.learning.blocks import Block
from minibatch.learning.lesson import Lesson, compile_lesson, folders, read_outline

KEYS = "0123456789ab"
"""Of the requests on a whiteboard, in their order."""
_ROWS = "(grid) => [...grid.tBodies[0].rows].map((row) => [...row.cells].slice(1).map((cell) => cell.textContent))"
_TEXTS = "(elements) => elements.map((element) => element.textContent.replace(/\\s+/g, ' ').trim())"


@cache
def lessons() -> dict[str, Lesson]:
    """Every lesson that ships, by its id, with its answers."""
    found = {}
    for folder in folders():
        lesson, problems = compile_lesson(folder, "en", str)
        assert lesson, problems
        found[lesson.outline.id] = lesson
    return found


NAMES = [read_outline(folder).id for folder in folders()]


def walk(page: Page, lesson: Lesson, answered: set[str] | None = None) -> None:
    """From the first block to the last; afterwards every card is answered right.

    With `answered`, only cards of kinds that are not in it are, and their kinds are added: both hosts of lessons run
    the same modules, so one is walked card by card, and of the other one card of each kind is.
    """
    done = 0
    for block in lesson.blocks:
        element = block_of(page, block)
        if block["kind"] == "notes":
            expect(element).to_be_hidden()
            continue
        element.scroll_into_view_if_needed()
        if block["kind"] in CARDS and answered is not None:
            kind = block.get("type", block["kind"])
            if kind in answered:
                see_card(element)
                continue
            answered.add(kind)
        WAYS[block["kind"]](element, block)
        done += block["kind"] in CARDS
    cards = [block for block in lesson.blocks if block["kind"] in CARDS]
    expect(page.locator(".mbl-head .mbl-tally")).to_have_text(f"{done} of {len(cards)} done")
    if done == len(cards):
        expect(page.locator(".mbl-foot .mbl-tally")).to_have_text("All questions of this lesson are answered.")
        all_is_told(page, lesson)


def all_is_told(page: Page, lesson: Lesson) -> None:
    """Every card is right and explained, every board drawn, and charts that lie are marked."""
    for block in lesson.blocks:
        element = block_of(page, block)
        if block["kind"] in CARDS:
            expect(element).to_have_attribute("data-state", "right")
            expect(element.locator(".mbl-reveal")).to_contain_text(explanation(block))
        if block.get("schedule"):
            assert drawn(element) == solution(block["schedule"])
        if block["kind"] == "chart":
            expect(element.locator(".mbl-lies")).to_be_visible(visible=block["lies"])


def block_of(page: Page, block: Block) -> Locator:
    return page.locator(f".mbl-block[data-block='{block['key']}']")


def plain(html: str) -> str:
    """The text of HTML, as a page shows it."""
    return " ".join(unescape(re.sub("<[^>]+>", "", html)).split())


def explanation(block: Block) -> str:
    return plain(block.get("explain_html") or block.get("reveal_html") or "")


def texts(element: Locator, selector: str) -> list[str]:
    return element.locator(selector).evaluate_all(_TEXTS)


# -- what is only looked at ----------------------------------------------------------------------------


def see_text(element: Locator, block: Block) -> None:
    expect(element).to_contain_text(plain(block["html"])[:40])


def see_player(element: Locator, block: Block) -> None:
    expect(element.locator(".mb-player .mb-lane").first).to_be_attached(timeout=30_000)


def see_chart(element: Locator, block: Block) -> None:
    expect(element.locator(".mbl-chart-plot svg")).to_be_visible(timeout=30_000)
    points = sum(len(series["points"]) for series in block["series"])
    expect(element.locator("tbody tr")).to_have_count(points)


def see_source(element: Locator, block: Block) -> None:
    assert element.locator("pre code").text_content() == block["code"]


def see_claim(element: Locator, block: Block) -> None:
    expect(element).to_contain_text(block["words"])


def see_card(card: Locator) -> None:
    """Open, with its question to be seen and nothing explained."""
    expect(card).to_have_attribute("data-state", "open")
    expect(card.locator(".mbl-ask")).to_be_visible()
    expect(card.locator(".mbl-reveal")).to_be_hidden()


# -- what is answered ----------------------------------------------------------------------------------


def commit(card: Locator, block: Block, state: str, words: str = "") -> None:
    """Answer, and see how it is judged; nothing is explained before."""
    assert card.get_attribute("data-state") == "open"
    assert card.locator(".mbl-reveal").text_content() == ""
    card.locator(".mbl-controls button.mbl-primary").click()
    judged(card, block, state, words)


def judged(card: Locator, block: Block, state: str, words: str = "") -> None:
    expect(card).to_have_attribute("data-state", state)
    expect(card.locator(".mbl-mark")).to_have_text({"right": "Right", "close": "Close", "wrong": "Not right"}[state])
    expect(card.locator(".mbl-verdict")).to_contain_text(words or re.compile("."))
    expect(card.locator(".mbl-reveal")).to_contain_text(explanation(block))


def again(card: Locator) -> None:
    card.get_by_role("button", name="Answer again").click()


def answer_predict(card: Locator, block: Block) -> None:
    """Within a quarter is right, within a factor of two is close."""
    for factor, state in ((0.48, "wrong"), (1.95, "close"), (0.82, "right")):
        _answer_number(card, block, factor, state)
    expect(card.locator(".mbl-answer strong")).to_have_text(block["answer_words"])


def answer_number(card: Locator, block: Block) -> None:
    tolerance = block["tolerance"]
    for factor, state in ((0.97 / tolerance, "wrong"), (0.99 * tolerance, "right")):
        _answer_number(card, block, factor, state)


def _answer_number(card: Locator, block: Block, factor: float, state: str) -> None:
    if card.get_attribute("data-state") != "open":
        again(card)
    card.locator("input").fill(repr(block["answer"] * factor))
    commit(card, block, state)


def answer_choice(card: Locator, block: Block) -> None:
    shown = texts(card, ".mbl-option-text")
    options = {shown.index(plain(option["html"])): option for option in block["options"]}
    inputs = card.locator(".mbl-option input")
    wrong = next(place for place, option in options.items() if not option["right"])
    inputs.nth(wrong).check()
    commit(card, block, "wrong")
    assert texts(card, ".mbl-why") == [plain(options[place]["why_html"]) for place in sorted(options)]
    signs = {True: "✓ right", False: ""}
    assert texts(card, ".mbl-sign") == [
        "✗ not right" if place == wrong else signs[options[place]["right"]] for place in sorted(options)
    ]
    again(card)
    for place, option in options.items():
        if option["right"]:
            inputs.nth(place).check()
    commit(card, block, "right")


def answer_order(card: Locator, block: Block) -> None:
    """Wrong by dragging what comes first to the end, right with the keyboard."""
    right = [plain(item) for item in block["items"]]
    rows = card.locator(".mbl-order li")
    _drag(rows.nth(texts(card, ".mbl-order-text").index(right[0])), rows.last)
    order = texts(card, ".mbl-order-text")
    assert order[-1] == right[0]
    fit = sum(one == other for one, other in zip(order, right, strict=True))
    commit(card, block, "wrong", f"{fit} of {len(right)}")
    assert texts(card, ".mbl-reveal ol li") == right
    again(card)
    for place, item in enumerate(right):
        distance = order.index(item) - place
        order.insert(place, order.pop(order.index(item)))
        if distance:
            card.get_by_role("button", name=f"Move up: {item}", exact=True).focus()
        for _ in range(distance):
            card.page.keyboard.press("Enter")  # the focus stays with what is moved
    assert texts(card, ".mbl-order-text") == right
    commit(card, block, "right")


def _drag(row: Locator, target: Locator) -> None:
    mouse = row.page.mouse
    row.hover(position={"x": 8, "y": 8})
    mouse.down()
    target.scroll_into_view_if_needed()
    box = target.bounding_box()
    assert box
    mouse.move(box["x"] + 8, box["y"] + box["height"] - 2, steps=4)
    mouse.up()


def answer_explore(card: Locator, block: Block) -> None:
    """Wrong by giving up, right by leaving the setting and coming back."""
    settings = block["settings"]
    found = next(setting for setting in settings if setting["found"])
    miss = next(setting for setting in settings if not setting["found"] and _differ(setting, found) == 1)
    start = next(setting for setting in settings if not setting["found"])
    if near := next((each for each in settings if not each["found"] and _differ(each, start) == 1), None):
        _turn(card, block, near)
        _misses(card, block, near)
    card.get_by_role("button", name="Show a setting that does it").click()
    judged(card, block, "wrong", "Here is one that does it.")
    _shows(card, block, found)
    again(card)
    _turn(card, block, miss)
    _misses(card, block, miss)
    _turn(card, block, found)
    judged(card, block, "right", "Found")
    _shows(card, block, found)


def _differ(one: dict[str, Any], other: dict[str, Any]) -> int:
    return sum(one["values"][name] != value for name, value in other["values"].items())


def _misses(card: Locator, block: Block, setting: dict[str, Any]) -> None:
    expect(card.locator(".mbl-explore-status")).to_have_text("Not yet.")
    assert card.get_attribute("data-state") == "open"
    assert card.locator(".mbl-verdict, .mbl-reveal").all_text_contents() == ["", ""]
    _shows(card, block, setting)


def _turn(card: Locator, block: Block, setting: dict[str, Any]) -> None:
    for fieldset, knob in zip(card.locator(".mbl-knob").all(), block["knobs"], strict=True):
        knob_input = fieldset.locator("input").nth(knob["values"].index(setting["values"][knob["name"]]))
        if not knob_input.is_checked():
            knob_input.check()


def _shows(card: Locator, block: Block, setting: dict[str, Any]) -> None:
    assert texts(card, ".mbl-now") == [setting["words"][each["key"]] for each in block["show"]]


def answer_schedule(card: Locator, block: Block) -> None:
    """Wrong by having it shown, right by drawing it after one cell was wrong."""
    card.get_by_role("button", name="Show the solution").click()
    judged(card, block, "wrong")
    assert drawn(card) == solution(block["schedule"])
    again(card)
    draw_after_a_fault(card, block["schedule"])
    judged(card, block, "right")


def draw_after_a_fault(board: Locator, exercise: dict[str, Any]) -> None:
    """Draw the engine's schedule with one cell wrong, read why, and put that cell right with the pointer."""
    assert not any(any(row) for row in drawn(board))
    steps = exercise["solution"]
    last = exercise["requests"][-1]["id"]
    step = next(step for step, row in enumerate(steps) if last in row)
    slot = steps[step].index(last)
    _draw(board, exercise, without=(step, slot))
    check = board.get_by_role("button", name="Check")
    check.click()
    cell = board.locator(f"td[data-step='{step}'][data-slot='{slot}']")
    expect(board.locator("td[aria-invalid]")).to_have_count(1)
    expect(cell).to_have_attribute("aria-invalid", "true")
    said = f"Step {step}, slot {slot}: you drew idle, the engine has {last}. Why: {exercise['reasons'][step][slot]}."
    expect(board.locator(".mbr-said")).to_have_text(said)
    board.locator(f".mbr-choice[data-id='{last}']").click()
    cell.click()
    assert drawn(board) == solution(exercise)
    check.click()
    expect(board.locator(".mbr-said")).to_have_text("Right: the engine does the same. Attempts: 2.")


def _draw(board: Locator, exercise: dict[str, Any], without: tuple[int, int]) -> None:
    keys = {request["id"]: KEYS[k] for k, request in enumerate(exercise["requests"])} | {"pad": "p", "": "ArrowRight"}
    board.locator("td[tabindex='0']").focus()
    press = board.page.keyboard.press
    for slot in range(exercise["slots"]):
        press("Home")
        if slot:
            press("ArrowDown")
        for step, row in enumerate(exercise["solution"]):
            press("ArrowRight" if (step, slot) == without else keys[row[slot]])


def drawn(board: Locator) -> list[list[str]]:
    """What stands in each slot by steps, without idle steps at the end."""
    return _trimmed(board.locator(".mbr-grid").evaluate(_ROWS))


def solution(exercise: dict[str, Any]) -> list[list[str]]:
    return _trimmed([list(slot) for slot in zip(*exercise["solution"], strict=True)])


def _trimmed(slots: list[list[str]]) -> list[list[str]]:
    steps = max((k + 1 for slot in slots for k, cell in enumerate(slot) if cell), default=0)
    return [slot[:steps] for slot in slots]


def right_votes(card: Locator, block: Block) -> list[str]:
    """How the right option of a show of hands may read; nothing for numbers, which hands tell roughly."""
    if block["kind"] == "explore":
        found = [setting["values"] for setting in block["settings"] if setting["found"]]
        words = block["labels"]
        named = len(block["knobs"]) > 1
        return [
            ", ".join(
                f"{name if named else ''} {words.get(str(value), value)}".strip() for name, value in values.items()
            )
            for values in found
        ]
    if "options" in block:
        letters = dict(zip(texts(card, ".mbl-option-text"), texts(card, ".mbl-option .mbl-letter"), strict=True))
        return [letters[plain(option["html"])] for option in block["options"] if option["right"]]
    if "items" in block:
        letters = dict(zip(texts(card, ".mbl-order-text"), texts(card, ".mbl-letter"), strict=True))
        return [" → ".join(letters[plain(item)] for item in block["items"])]
    steps = block.get("schedule", {}).get("solution", [])
    words = {"pad": "held by a finished request", "": "idle"}
    return [
        f"step {step}, slot {slot}: {words.get(what, what)}"
        for step, row in enumerate(steps)
        for slot, what in enumerate(row)
    ]


def answer_quiz(card: Locator, block: Block) -> None:
    QUIZZES[block["type"]](card, block)


Way = Callable[[Locator, Block], None]
QUIZZES: dict[str, Way] = {
    "choice": answer_choice, "number": answer_number, "order": answer_order, "schedule": answer_schedule,
}  # fmt: skip
CARDS: dict[str, Way] = {"predict": answer_predict, "quiz": answer_quiz, "explore": answer_explore}
WAYS: dict[str, Way] = CARDS | {
    "text": see_text, "player": see_player, "chart": see_chart, "source": see_source, "claim": see_claim,
}  # fmt: skip
