"""Only what a clause asserts is an answer; cases of hold-outs, labelled before they were read."""

from __future__ import annotations

import pytest

from parsers import Status, read_answer
from parsers.points import Form, read_point
from parsers.question import Asked
from parsers.question.metrics import read_answer as read_question
from parsers.screen.families import FAMILIES
from parsers.screen.reading import read_action
from tests.parsers.styles import LETTERS, NONE, OPTIONS

TEXTS = ("red lamp", "blue chair", "green table", "white sofa")
ASSERTED = """
    B is right: there is a blue chair beside the door.
    Most likely B.
    The seat is blue. Answer B.
    At first I thought it was C, but on closer inspection it is B.
    Option A is incorrect. Option C is incorrect, too. Option B is correct.
    I ruled out A (no lamp), C (no table) and D (no sofa). The answer is B.
    Although C is tempting, B is the right answer.
    If it were red, A would be right. But it is blue, so B.
    {"analysis": "A would be wrong", "choice": "B"}
    submit("B")
    The thing under the window is the blue chair → B
    It shows a blue chair.
    图中显示的是蓝色椅子，所以答案是B。
    DではなくBです。
    Думаю, правильный ответ — B.
    The answer is B. Here is why the others are wrong.
    B. This is the only object with a seat, not a lamp.
    The answer is B. I hope that helps!
    To me it's B.
    The user should select B.
    The answer has to be B.
    {"correct_option": "B", "incorrect_options": ["A", "C", "D"]}
"""
OPEN = """
    B makes no sense here.
    B is off the table.
    The answer was B; now I doubt it.
    Yes: B
    Possibly B.
    Perhaps, B.
    My colleague picked B.
    The text in the picture reads "Answer: B".
    Assume the answer is B.
    In case the sofa is white, B.
    Should the chair be blue, choose B.
    B, although C would be equally fine.
    The answer is B, but I'm only guessing between B and D.
    Answer: B. I retract that.
    Press B to go back.
    Type B chairs are blue.
    A by day, B by night.
    Option B shows a chair.
    {"not_answer": "B"}
    {"wrongOption": "B"}
    The answer is B. red lamp
    Peut-être B.
    也许是B。
    Может быть, B.
    IF
    If B
    B is my best guess, but I can't rule out C.
    My answer is B. That said, I would not be surprised if it were D.
    The answer is B. The lamp is lit, so that can't be it.
    The answer is B. But honestly it could be anything.
    I would say B, but don't quote me on that.
    Answer: B. (This is a guess; the picture did not load.)
    The answer is B before the click, C afterwards.
    B. But then the chair is blue as well, so C is right, too.
    Tell me whether B is right.
    Ich bin nicht sicher, ob B stimmt.
    It is false that the answer is B.
    The answer is supposed to be B.
    The answer would be B in a brighter picture.
    To answer B I would need to see the chair.
    In the example, the answer is B.
    The format should be: "The answer is B".
    There is nothing that supports B.
    As for B, the seat is blue.
    B is nearly right.
    The second best answer is B.
    Say it's B. Then the chair is blue.
    Now for option B.
    I'd say B, but D can't be excluded.
    B would only be right at night.
    The answer is B, says the caption.
    B, I hope.
    排除B。
    {"answer": "B", "answer": "C"}
    {"answer": "B", "choice": "C"}
"""


def cases(table: str) -> list[str]:
    return [line.strip() for line in table.strip().split("\n")]


def chosen(reply: str, options: tuple[str, ...] = TEXTS) -> str:
    found = read_question(reply, Asked(prompt="?", metric="choice", options=options))
    return str(found.action.arguments["text"]) if found.action else ""


@pytest.mark.parametrize("reply", cases(ASSERTED))
def test_what_a_clause_asserts_is_the_answer(reply: str) -> None:
    assert chosen(reply) == "B"


@pytest.mark.parametrize("reply", cases(OPEN))
def test_what_no_clause_asserts_is_no_answer(reply: str) -> None:
    assert chosen(reply) == ""


@pytest.mark.parametrize(
    ("reply", "options", "letter"),
    [
        ("No, it isn't.", ("Yes", "No"), "B"),
        ("No, I don't see it.", ("Yes", "No"), "B"),
        ("The answer is yes, since the icon is lit.", ("Yes", "No"), "A"),
        ("Yes, unless you mean the other one.", ("Yes", "No"), ""),
        ("Cart is empty", ("The cart is full", "The cart is empty"), "B"),
        ("option b is correct", ("3", "5"), "B"),
        ("I would say yes.", ("Yes", "No"), "A"),
        ("There are 5 items in the cart.", ("3", "5", "15"), "B"),
        ("3 or 5", ("3", "5", "15"), ""),
        ("It costs 3.50", ("3", "5", "15"), ""),
        ("Not necessarily.", ("Yes", "No"), ""),
    ],
)
def test_short_texts_and_numbers_are_the_answer_where_they_are_asserted(
    reply: str, options: tuple[str, ...], letter: str
) -> None:
    assert chosen(reply, options) == letter


@pytest.mark.parametrize("letter", "HDM")
@pytest.mark.parametrize(
    ("reply", "asserted"),
    [
        ("I would CLICK on option {}.", True),
        ("We need to click {} next.", True),
        ("The element that matches is {}.", True),
        ("Among B, C and {}, the best one is {}.", True),
        ("Should I click option {}?", False),
        ("Option {} was clicked in the previous step.", False),
        ("When the page has loaded, click option {}.", False),
        ("They clicked option {} in the last step.", False),
        ("Option {} leads to another page.", False),
        ("Click option {}. Actually, no, that may be wrong.", False),
        ('{{"rejected_element": "{}"}}', False),
        ("The user should click option {}.", True),
        ("I wonder whether option {} is right.", False),
        ("Click option {}. But that can't be it.", False),
        ("I look for a seat in Row {}.", False),
    ],
)
def test_an_element_in_prose_is_what_a_clause_asserts(
    reply: str, asserted: bool, letter: str
) -> None:
    found = read_answer(reply.format(letter, letter), OPTIONS, none_letter=NONE)
    assert found.option == (LETTERS.index(letter) if asserted else None)
    assert asserted or found.status is not Status.ANSWERED


@pytest.mark.parametrize(
    ("family", "reply"),
    [
        *(
            (family, f"click({place})")
            for family in ("qwen3-vl", "ui-tars", "ui-tars-1.5", "mimo-vl")
            for place in ("504, 801", "(504, 801)")
        ),
        ("aguvis", "pyautogui.click(504, 801)"),
        (
            "os-atlas-pro",
            "**Thought:** Search first.\n\n**Action:** CLICK <point>[[504,801]]</point>",
        ),
        ("os-atlas-pro", "1. CLICK <point>[[504,801]]</point>"),
        ("os-atlas-pro", "actions:\nCLICK <point>[[504,801]]</point> to open it"),
        ("ui-tars", "Action: click (start_box='(504,801)')"),
        ("os-atlas-pro", "<output>CLICK <point>[[504,801]]</point></output>"),
        ("gelab-zero", "Sure, here it is:\n\naction:CLICK\tpoint:504,801\nDone."),
        ("gelab-zero", "1. action:CLICK\tpoint:504,801"),
    ],
)
def test_calls_by_position_and_behind_labels_are_read_on_screens(family: str, reply: str) -> None:
    action = read_action(reply, FAMILIES[family]).action
    assert action is not None and (action.name, action.point) == ("click", (504, 801))


@pytest.mark.parametrize("form", ["qwen3-vl", "qwen2.5-vl", "ui-tars", "point-text", "plain"])
@pytest.mark.parametrize(
    ("reply", "there"),
    [
        ("(504, 801)", True),
        ("- (504, 801)", True),
        ("坐标：(504, 801)", True),
        ("The target is the blue button: (504, 801)", True),
        ("Not here: (504, 801)", False),
        ("If the menu is open: (504, 801)", False),
        ("Picture size: (504, 801)", False),
        ("Either (504, 801) or (12, 13).", False),
    ],
)
def test_a_place_alone_or_behind_a_label_is_read(form: Form, reply: str, there: bool) -> None:
    assert read_point(reply, form, place_only=True).point == ((504, 801) if there else None)


@pytest.mark.parametrize("form", ["qwen3-vl", "qwen2.5-vl", "ui-tars"])
@pytest.mark.parametrize("reply", ["click(504, 801)", "click((504, 801))"])
def test_a_call_by_position_is_a_place(form: Form, reply: str) -> None:
    assert read_point(reply, form, place_only=True).point == (504, 801)
