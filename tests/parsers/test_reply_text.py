"""Thinking in replies, as every reader of replies sees it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from parsers import Answer, Status, read_answer
from parsers.attributes import ElementAttributes, read_attributes
from parsers.mindact import read_element, read_first_character, read_reference
from parsers.points import FORMS, PointAnswer, read_point

Read = Callable[[str], Answer | ElementAttributes | PointAnswer]
READERS: dict[str, Read] = {
    "letters": lambda text: read_answer(text, ["x"] * 9, none_letter=None),
    "description": read_attributes,
    "MindAct, element": lambda text: read_element(text, lambda _: (0, ()), 5),
    "MindAct, reference": lambda text: read_reference(text, 5),
    "MindAct, first character": lambda text: read_first_character(text, 5),
    **{form: (lambda text, form=form: read_point(text, form)) for form in FORMS},  # type: ignore[misc]
}
TAGS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<THINK>": "</THINK>",
    "[THINK]": "[/THINK]",
    "\u25c1think\u25b7": "\u25c1/think\u25b7",
}
THOUGHT = (
    "It may be C.\nAnswer: C.\nELEMENT: 10, 20\nACTION: CLICK\nVALUE: None\n"
    '{"action": "CLICK", "point_2d": [10, 20], "action_type": 4, "click_point": (0.1,0.2)}\n'
)
LINES = "ELEMENT: H\nACTION: CLICK\nVALUE: None\n"


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize("opening", TAGS)
@pytest.mark.parametrize("before", ["", "\n\n", "  "])
def test_a_thought_that_is_never_closed_is_a_reply_that_was_cut_off(
    reader: Read, opening: str, before: str
) -> None:
    assert reader(f"{before}{opening}\n{THOUGHT}").status is Status.TRUNCATED


@pytest.mark.parametrize(("opening", "closing"), TAGS.items())
def test_what_is_thought_is_not_answered(opening: str, closing: str) -> None:
    thought = f"{opening}{THOUGHT}{closing}"
    answer = read_answer(f"{thought}\n{LINES}", ["x"] * 9, none_letter=None)
    assert answer == Answer(Status.ANSWERED, 7, "CLICK")
    answer = read_answer(thought, ["x"] * 9, none_letter=None)
    assert answer == Answer(Status.EMPTY, flags=("only_thinking",))


def test_a_complete_answer_before_a_thought_without_end_counts_as_in_a_cut_reply() -> None:
    answer = read_answer(f"{LINES}<think>or C", ["x"] * 9, none_letter=None)
    assert answer == Answer(Status.ANSWERED, 7, "CLICK", flags=("truncated",))
    answer = read_answer("It is H.\n<think>or C", ["x"] * 9, none_letter=None)
    assert answer.status is Status.TRUNCATED


def test_a_tag_inside_a_value_is_text() -> None:
    text = "ELEMENT: H\nACTION: TYPE\nVALUE: the <think> tag and [THINK]"
    answer = read_answer(text, ["x"] * 9, none_letter=None)
    assert (answer.status, answer.value) == (Status.ANSWERED, "the <think> tag and [THINK]")
