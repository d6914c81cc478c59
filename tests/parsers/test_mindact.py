"""MindAct's own readers."""

from __future__ import annotations

import pytest

from parsers import Answer, Status
from parsers.mindact import read_element, read_first_character, read_reference

NONE, OUT, ANSWERED = Status.NONE, Status.OUT_OF_RANGE, Status.ANSWERED
NO_ELEMENT, PARSE_ERROR = Status.NO_ELEMENT, Status.PARSE_ERROR


@pytest.mark.parametrize(
    ("text", "status", "option", "operation", "value"),
    [
        ("Answer: B.\nAction: CLICK", ANSWERED, 0, "CLICK", ""),
        ("I think so.\nAnswer: F.\nAction: SELECT\nValue: Pickup", ANSWERED, 4, "SELECT", "Pickup"),
        ("Answer: A.", NONE, None, None, ""),
        # Missing or written otherwise: the None option, as in the reference.
        ("C.\nAction: CLICK", NONE, None, "CLICK", ""),
        ("Answer:C", NONE, None, None, ""),
        ("answer: C", NONE, None, None, ""),
        ("Answer: G.", NONE, None, None, ""),
        ("", NONE, None, None, ""),
        # The first of several counts; the action needs capitals.
        ("Answer: D. or Answer: E.\nAction: click", ANSWERED, 2, None, ""),
        # CLICK takes no value, whatever is written.
        ("Answer: B.\nAction: CLICK\nValue: None", ANSWERED, 0, "CLICK", ""),
    ],
)
def test_the_reference_reader(
    text: str, status: Status, option: int | None, operation: str | None, value: str
) -> None:
    found = read_reference(text, 5)
    assert (found.status, found.option, found.operation, found.value) == (
        status,
        option,
        operation,
        value,
    )


@pytest.mark.parametrize(("letter", "option"), [("B", 0), ("C", 1), ("D", None), ("F", None)])
def test_a_letter_beyond_a_small_group_is_rejected(letter: str, option: int | None) -> None:
    for found in (read_reference(f"Answer: {letter}.", 2), read_first_character(letter, 2)):
        assert found.option == option
        assert found.status is (OUT if option is None else ANSWERED)


@pytest.mark.parametrize("character", list("@?>=[1bz<"))
def test_characters_that_the_reference_counts_from_the_end_are_rejected(character: str) -> None:
    assert read_first_character(character, 5) == Answer(OUT)


def test_the_first_character_of_a_fine_tuned_model_is_its_letter() -> None:
    # Flan-T5 has no line breaks: its lines come out as one.
    found = read_first_character(" C. Action: SELECT Value: 2 people", 5)
    assert found == Answer(ANSWERED, 1, "SELECT", "2 people")
    assert read_first_character("A.", 5).status is NONE
    assert read_first_character("  ", 5).status is Status.EMPTY


@pytest.mark.parametrize("finish", ["refusal", "content_filter", "too_long"])
def test_replies_that_were_withheld_are_no_answers(finish: str) -> None:
    readers = [
        read_reference("Answer: B.", 5, finish=finish),
        read_first_character("B.", 5, finish=finish),
        read_element("Element: x", lambda _: (0, ()), 5, finish=finish),
    ]
    assert {found.status.value for found in readers} == {finish}


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Answer: B.\nAction: TYPE\nValue: 2", NO_ELEMENT),
        ("B.\nAction: CLICK", NO_ELEMENT),
        ("I would take B.", PARSE_ERROR),
        ("Answer: none of these\nAction: CLICK", NONE),
        ("Element: B\nAction: CLICK", ANSWERED),
    ],
)
def test_a_letter_means_nothing_where_no_letters_were_offered(text: str, status: Status) -> None:
    # `find` would take anything, as words of a page may do.
    assert read_element(text, lambda content: (1, ("match-words",)), 5).status is status
