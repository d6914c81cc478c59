"""Five lines about an element, and how models bend them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.attributes import ElementAttributes, read_attributes, write_attributes
from parsers.records import OPERATIONS, Operation, Status
from parsers.reply_text import tidy
from parsers.values import is_missing
from tests.clock import linear_time

OK = Status.ANSWERED
LINES = "ELEMENT: the search button\nELEMENT TYPE: BUTTON\nELEMENT TEXT: Search\nACTION: CLICK\n"


@pytest.mark.parametrize(
    "text",
    [
        LINES + "VALUE: None",
        LINES.replace("\n", "\n\n"),
        "**ELEMENT:** the search button\n**ELEMENT TYPE:** BUTTON\n**ELEMENT TEXT: Search**\n"
        "**ACTION:** CLICK",
        '1. Element: the search button\n2. Element type: BUTTON\n3. Element text: "Search"\n'
        "4. Action: click",
        "ELEMENT:\nthe search button\nELEMENT TYPE:\nBUTTON\nELEMENT TEXT:\nSearch\nACTION:\nCLICK",
        '{"ELEMENT": "the search button", "ELEMENT TYPE": "BUTTON", "ELEMENT TEXT": "Search", '
        '"ACTION": "CLICK", "VALUE": null}',
        '```json\n{\n  "element": "the search button",\n  "element_type": "BUTTON",\n'
        '  "element_text": "Search",\n  "action": "CLICK"\n}\n```',
        "<think>ELEMENT TEXT: Cancel\nACTION: CLICK</think>" + LINES,
        "I look for the button. ELEMENT and ACTION follow.\r\n" + LINES.replace("\n", "\r\n"),
    ],
)
def test_the_lines_as_models_write_them(text: str) -> None:
    assert read_attributes(text) == ElementAttributes(
        OK, "the search button", "BUTTON", "Search", "CLICK"
    )


def test_of_complete_blocks_in_a_row_the_first_counts() -> None:
    other = LINES.replace("Search", "Cancel").replace("CLICK", "TYPE")
    found = read_attributes(LINES + other + "ELEMENT TEXT: Sign in")
    assert (found.text, found.operation, found.flags) == ("Search", "CLICK", ("multiple",))


def test_an_echo_of_the_format_is_no_answer() -> None:
    echo = "ELEMENT: what it is\nELEMENT TYPE: BUTTON, TEXTBOX, SELECTBOX or LINK\nACTION: CLICK\n"
    assert read_attributes(echo + LINES).text == "Search"
    assert read_attributes(echo).status is Status.NO_ELEMENT


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("ELEMENT: None\nELEMENT TYPE: None\nELEMENT TEXT: None\nACTION: NONE", Status.NONE),
        ("ELEMENT: N/A\nACTION: CLICK", Status.NONE),
        ("ACTION: CLICK", Status.NO_ELEMENT),
        ("Press it.", Status.PARSE_ERROR),
        ("I'm sorry, but I can't do that.", Status.REFUSAL),
        ("\n", Status.EMPTY),
    ],
)
def test_replies_without_a_description(text: str, status: Status) -> None:
    assert read_attributes(text).status is status


def test_what_was_cut_off_counts_only_when_nothing_can_be_missing() -> None:
    assert read_attributes(LINES + "VAL", finish="length").flags == ("truncated",)
    typed = LINES.replace("CLICK", "TYPE") + "VALUE: Ohi"
    assert read_attributes(typed, finish="length").status is Status.TRUNCATED
    assert read_attributes(typed + "o\n", finish="length").value == "Ohio"


def test_braces_in_a_text_are_text() -> None:
    text = LINES.replace("Search", '{"ELEMENT": "x", "ACTION": "TYPE"}')
    found = read_attributes(text)
    assert (found.text, found.operation) == ('{"ELEMENT": "x", "ACTION": "TYPE"}', "CLICK")


@given(st.text(max_size=300) | st.text('ELMNTXYPACIOVU :\n{}"*_').map(lambda t: "ELEMENT" + t))
def test_no_text_raises(text: str) -> None:
    read_attributes(text)


@pytest.mark.parametrize("piece", ["ELEMENT: ", "{", "ELEMENT TYPE:\n", "*", '{"ELEMENT": "', " "])
def test_hostile_texts_take_no_time(piece: str) -> None:
    with linear_time():
        read_attributes(piece * (200_000 // len(piece)))


TEXTS = (
    st.text(min_size=1, max_size=30)
    .map(lambda text: " ".join(tidy(text.encode("utf-8", "ignore").decode()).split()))
    # Joiners around a text are read as spaces.
    .map(lambda text: text.strip(" \u200c\u200d"))
    .filter(lambda text: not is_missing(text))
)


@given(st.sampled_from(["BUTTON", "LINK", "DIV"]), TEXTS, st.sampled_from(OPERATIONS), TEXTS)
def test_what_is_spelled_is_read_back(
    kind: str, text: str, operation: Operation, value: str
) -> None:
    about = {"name": f"it is {text}", "type": kind, "text": text}
    found = read_attributes(write_attributes(about, operation, value))
    assert (found.status, found.type, found.text) == (OK, kind, text)
    assert (found.operation, found.value) == (operation, "" if operation == "CLICK" else value)
    none = read_attributes(write_attributes(None, operation, value))
    assert none.status is Status.NONE
