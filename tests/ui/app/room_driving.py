"""The interview room in a page: an interview held, numbers answered, a schedule drawn, cards taken along."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from minibatch.learning.drills import make_drills
from minibatch.learning.expressions import Figures
from minibatch.learning.room import Question, read_exercises, read_questions
from minibatch.learning.schedule import exercise_dict
from minibatch.learning.text import to_html
from tests.ui.app.driving import SECONDS
from tests.ui.app.lesson_driving import draw_after_a_fault, drawn, plain, solution, texts


def shown(text: str, figures: Figures) -> str:
    """The text of Markdown, as a page shows it."""
    return plain(to_html(text, figures, str))


def hold_interview(page: Page) -> None:
    """Every question of the shortest topic with an experiment, one idea said of each; the experiment is run."""
    by_topic: dict[str, list[Question]] = {}
    for question in read_questions():
        by_topic.setdefault(question.topic, []).append(question)
    topic, asked = min(by_topic.items(), key=lambda each: (not any(one.experiment for one in each[1]), len(each[1])))
    page.get_by_label("Topic").first.select_option(topic)
    page.get_by_label("Questions").select_option(index=3)  # all
    page.get_by_role("button", name="Start the interview").click()
    questions = {shown(question.ask, question.figures): question for question in asked}
    for _ in asked:
        question = questions.pop(texts(page.locator(".mbr-mock"), ".mbr-ask")[0])
        answer_question(page, question)
        page.get_by_role("button", name="Next question" if questions else "See the score").click()
    ideas = sum(len(question.rubric) for question in asked)
    expect(page.locator(".mbr-mock .mbr-ask")).to_contain_text(f"{len(asked)} of {ideas} ideas")


def answer_question(page: Page, question: Question) -> None:
    mock = page.locator(".mbr-mock")
    clock = mock.locator(".mbr-clock")
    begun = f"{question.seconds // 60}:{question.seconds % 60:02}"
    assert not mock.locator(".mbr-answer").count(), "nothing is answered before"
    if question.experiment:
        expect(clock).not_to_have_text(begun)  # it runs
    mock.get_by_role("button", name="Show the answer").click()
    assert texts(mock, ".mbr-rubric li") == [shown(idea, question.figures) for idea in question.rubric]
    expect(mock.locator(".mbr-answer")).to_have_text(shown(question.answer, question.figures))
    mock.locator(".mbr-rubric input").first.check()
    if question.experiment and not page.locator(".mb-player").count():
        mock.get_by_role("button", name=f"Run the experiment: {question.experiment.title}").click()
        expect(mock.locator(".mb-player .mb-lane").first).to_be_attached(timeout=SECONDS)
        assert mock.locator(".mb-player").evaluate("(element) => element.player.theme.isDark") is True


def answer_numbers(page: Page) -> None:
    """One number wrong, another right."""
    page.get_by_role("tab", name="Numbers").click()
    drills = {shown(drill.ask, Figures({})): drill for drill in make_drills()}
    card = page.locator(".mbr-drills .mbr-card")
    for factor, verdict in ((0.9, "Not quite"), (1, "Right")):
        drill = drills[texts(card, ".mbr-ask")[0]]
        factor = factor if factor == 1 else factor / drill.tolerance
        card.locator("input").fill(repr(drill.answer * factor))
        card.get_by_role("button", name="Check").click()
        expect(card.locator(".mbr-result p").first).to_have_text(f"{verdict}: {drill.answer_words}")
        expect(card.locator(".mbr-answer")).to_have_text(shown(drill.explain, Figures({})))
        card.get_by_role("button", name="Next number").click()


def draw_whiteboard(page: Page) -> None:
    """A schedule drawn, with one cell wrong first: it stands there again after the page is loaded anew."""
    exercise = exercise_dict(read_exercises()[0].exercise)
    board = page.locator(".mbr-whiteboard")
    page.get_by_role("tab", name="Whiteboard").click()
    draw_after_a_fault(board, exercise)
    page.reload()
    page.get_by_role("tab", name="Whiteboard").click(timeout=SECONDS)
    assert drawn(board) == solution(exercise)
    choices = page.get_by_label("Exercise")
    expect(choices.locator("option", has_text="✓")).to_have_count(1)
    board.get_by_role("button", name="Clear").click()
    assert not any(drawn(board))
    expect(choices.locator("option", has_text="✓")).to_have_count(0)


def take_cards(page: Page) -> None:
    """A file for Anki: as many notes as cards."""
    page.get_by_role("tab", name="Cards").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export for Anki").click()
    lines = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    notes = [line.split("\t") for line in lines if not line.startswith("#")]
    assert len(notes) == len(read_questions()) + len(make_drills())
    assert {len(note) for note in notes} == {3}
    assert all(front and back for front, back, _ in notes)
