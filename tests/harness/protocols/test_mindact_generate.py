"""Elements that a model writes out, and the candidates that they are taken for."""

from __future__ import annotations

import pytest

from harness.protocols.mindact_generate import match_element
from harness.records import Choice
from parsers import Answer, Status
from parsers.mindact import read_element

NONE, ANSWERED = Status.NONE, Status.ANSWERED

CHOICES = [
    Choice("", "n0", "a", "<a id=0> Home </a>", rank=3),
    Choice("", "n1", "input", "<input id=1 text zip code 10203 />", rank=1),
    Choice("", "n2", "a", "<a id=2> Home </a>", rank=0),
    Choice("", "n3", "button", "<button id=3 submit search> Search </button>", rank=2),
]


@pytest.mark.parametrize(
    ("said", "position", "rule"),
    [
        ("<button id=3 submit", 3, "match-number"),
        ('id="0"', 0, "match-number"),
        # The number is believed before the words, as in the reference.
        ("<button id=1> Search", 1, "match-number"),
        # A number that is not shown is no number.
        ("<input id=77 text zip code 10203 />", 1, "match-text"),
        ("<BUTTON submit  search> search </button>", 3, "match-text"),
        # Equal texts: the ranker's better one.
        ("<a> Home </a>", 2, "match-text"),
        ("the zip code field", 1, "match-words"),
        ("link Home", 2, "match-words"),
        ("bnid=3 home", 2, "match-words"),
        ("checkout", None, ""),
        ("", None, ""),
    ],
)
def test_an_element_is_matched_by_number_then_text_then_words(
    said: str, position: int | None, rule: str
) -> None:
    assert match_element(said, CHOICES) == (None if position is None else (position, (rule,)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Element: search\nAction: CLICK", Answer(ANSWERED, 3, "CLICK", "", ("match-words",))),
        (
            "**Element:** <input id=1\nAction: TYPE\nValue: 'Ohio'",
            Answer(ANSWERED, 1, "TYPE", "Ohio", ("match-number",)),
        ),
        ("Element:\n<a id=0>\nAction: CLICK", Answer(ANSWERED, 0, "CLICK", "", ("match-number",))),
        ("Element: None", Answer(NONE)),
        ("Element: none of them\nAction: CLICK", Answer(NONE, None, "CLICK")),
        ("Element: checkout\nAction: CLICK", Answer(Status.NO_ELEMENT, None, "CLICK")),
        (
            "<think>Element: <a id=0></think>Element: <a id=2>\nAction: CLICK",
            Answer(ANSWERED, 2, "CLICK", "", ("match-number",)),
        ),
        (
            "Element: <a id=0>\nAction: CLICK\n\nElement: <a id=2>\nAction: CLICK",
            Answer(ANSWERED, 0, "CLICK", "", ("match-number", "multiple")),
        ),
        ("I cannot help with that.", Answer(Status.REFUSAL)),
        ("", Answer(Status.EMPTY)),
    ],
)
def test_written_elements(text: str, expected: Answer) -> None:
    found = read_element(text, lambda said: match_element(said, CHOICES), len(CHOICES))
    assert found == expected
