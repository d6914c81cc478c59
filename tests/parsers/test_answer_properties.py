"""What must hold for any text: no error, the inverse, and time linear in hostile input."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from parsers import (
    OPERATIONS,
    Answer,
    Operation,
    Status,
    clean_value,
    count_tokens,
    letters_for,
    read_answer,
    write_answer,
)
from parsers.reply_text import tidy, without_tokens
from parsers.values import is_missing
from tests.clock import linear_time

LONG = 200_000
"""Letters; quadratic work on them takes minutes."""

PIECES = st.sampled_from(
    [
        *(
            "ELEMENT",
            "ACTION",
            "VALUE",
            "Answer",
            ":",
            "：",
            " ",
            "\n",
            "\r\n",
            "**",
            '"',
            "'",
            "`",
        ),
        *("{", "}", '{"ELEMENT":', '"H"', ",", "<think>", "</think>", "H", "AA", "None", "N/A"),
        *("CLICK", "TYPE", "or", "I'm sorry, I can't", "```json\n", "A button", "\ud800", "é", "Н"),
        *(
            "not",
            "neither",
            "wait",
            "no,",
            "?",
            "is wrong",
            "option",
            "instead of",
            "(",
            ")",
            "->",
            "B",
        ),
    ]
)
TEXTS = st.text() | st.lists(PIECES | st.text(max_size=3), max_size=30).map("".join)
FINISHES = st.sampled_from(["stop", "length", "refusal", "content_filter", "too_long"])


@given(TEXTS, FINISHES, st.integers(0, 60), st.booleans(), st.sampled_from(["plain", "seeact"]))
@settings(max_examples=500, deadline=None)
def test_any_text_gives_a_consistent_answer(
    text: str, finish: str, count: int, first: bool, style: str
) -> None:
    options = [f"<a id={i}> {i} </a>" for i in range(count)]
    answer = read_answer(
        text,
        options,
        none_letter="B",
        finish=finish,
        first_of_many=first,
        value_style=style,  # type: ignore[arg-type]
    )
    assert (answer.option is not None) == (answer.status is Status.ANSWERED)
    assert answer.option is None or 0 <= answer.option < count
    assert not answer.value or answer.operation in ("TYPE", "SELECT")
    assert list(answer.flags) == sorted(set(answer.flags))
    answer.value.encode()
    if answer.status in (Status.PARSE_ERROR, Status.REFUSAL, Status.TRUNCATED, Status.EMPTY):
        assert answer.operation is None


VALUES = st.one_of(
    st.text(max_size=30),
    st.lists(PIECES, max_size=6).map(" ".join),
    st.from_regex(r"[\"'`*“”a ]{1,8}", fullmatch=True),
).map(lambda text: " ".join(tidy(text.encode("utf-8", "ignore").decode()).split()))


@given(
    st.integers(1, 60),
    st.data(),
    st.sampled_from(OPERATIONS),
    VALUES,
    st.sampled_from(["first", "last", "absent"]),
)
@settings(max_examples=500, deadline=None)
def test_spelled_answers_are_read_back(
    count: int, data: st.DataObject, operation: Operation, value: str, none: str
) -> None:
    # Tags and marks that end or begin a value are taken for the end of an answer.
    assume(without_tokens(value) == value and not value.startswith("</"))
    letters = letters_for(count + 1)
    none_letter = {"first": letters[0], "last": letters[-1], "absent": None}[none]
    letters = letters[1:] if none == "first" else letters[:-1]
    option = data.draw(st.none() | st.integers(0, count - 1))
    text = write_answer(option, operation, value, letters=letters, none_letter=none_letter)
    answer = read_answer(text, ["some choice"] * count, none_letter=none_letter, letters=letters)
    kept = "" if operation == "CLICK" or is_missing(value) else value
    flags = ("missing_value",) if operation != "CLICK" and not kept else ()
    status = Status.NONE if option is None else Status.ANSWERED
    assert answer == Answer(status, option, operation, kept, flags)


def test_a_step_without_operation_is_spelled_as_none() -> None:
    text = write_answer(0, None, "", letters=["A"], none_letter="B")
    answer = read_answer(text, ["x"], none_letter="B")
    assert answer == Answer(Status.ANSWERED, 0, flags=("other_action",))


def test_spelling_an_unlisted_option_is_an_error() -> None:
    with pytest.raises(IndexError):
        write_answer(2, "CLICK", "", letters=["A", "B"], none_letter=None)


@given(st.text(max_size=60))
def test_cleaning_a_value_never_adds_blanks(text: str) -> None:
    value = clean_value(text)
    assert value == " ".join(value.split())


HOSTILE = [
    *("ELEMENT:", "ELEMENT:\n", "ELEMENT: ", "ELEMENT\n", "ACTION:", "VALUE:", "VALUE:\n", "\n"),
    *(" ", "*", "**", "{", "{{", "[", '{"ELEMENT":', '{"a":', '{"ELEMENT":"H"}', "<think>", '"'),
    *("</think>", "<think>\n", "</think>\n", "</think>x\n", "<", "A", "A ", "H, ", "H/", "'a", "-"),
    *("a", "é", "：", "ELEMENT: H\n", "ELEMENT: H\nACTION: CLICK\nVALUE: x\n", "` ", "E", "1", "."),
    *("ACTION: CLICK ", "ACTION:\n\n", "FINAL ", "I'm sorry ", "sorry ", "none ", "PRESS ", "\r"),
    *("not C ", "C? No, ", "A or ", "H (", 'option "H" ', "none or ", "A. ", "neither ", "is H\n"),
    *("H\n", "C is wrong, ", "wait ", "A/", "A&", "<b>H</b>", "不是C", "H <", "- H ", "I, "),
    *(
        "</s>",
        "<|im_end|>",
        "<answer>",
        "</b>",
        "<value>",
        "<answer>x</answer>",
        "~~",
        "~~H~~",
        "|",
    ),
    *(
        "| ELEMENT | ACTION |\n",
        "<b>",
        "{'a':",
        "<a></a>",
        "so ",
        "The answer is H. ",
        "** ",
        "``` ",
    ),
    *("ELEMENT: H ACTION: CLICK VALUE: '", "option ", "\\", '\\"', "\u2028", "😀", "“", "x\n"),
]


PREFIXES = ["", "ELEMENT: ", "ACTION: TYPE\nVALUE: ", '{"ELEMENT": "']


@pytest.mark.parametrize("prefix", PREFIXES)
def test_hostile_text_is_read_in_linear_time(prefix: str) -> None:
    for piece in HOSTILE:
        text = prefix + piece * (LONG // 20 // len(piece))
        with linear_time():
            read_answer(text, ["x"] * 30, none_letter="AE", finish="length")
            read_answer(text + "\nELEMENT: H\n", ["x"] * 3, none_letter=None)


@pytest.mark.parametrize(
    "piece", ["ELEMENT:", "ELEMENT:\n", "{", "<think>", "</think>\n", "H, ", "VALUE:\n", "*", " "]
)
def test_much_of_one_thing_is_read(piece: str) -> None:
    answer = read_answer(piece * (LONG // len(piece)), ["x"] * 3, none_letter=None)
    assert answer.option is None


@pytest.mark.timeout(120)
def test_tokens_of_a_long_text_are_counted() -> None:
    for piece in ("ELEMENT:", "a", " ", "\n", "é", "ab ", "!", "\u200b", "\t ", "<|endoftext|>"):
        text = piece * (LONG // len(piece))
        assert 0 < count_tokens(text) <= 3 * len(text)
