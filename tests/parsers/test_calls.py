"""Calls in replies: Python's literals, what is repaired, and what no text may do."""

from __future__ import annotations

import random
import sys

import pytest

from parsers.actions import Value
from parsers.calls import ATTEMPTS, LONGEST, read_arguments, read_calls, write_call
from parsers.literals import DEPTH, DIGITS
from parsers.reply_text import source
from tests.clock import linear_time
from tests.parsers.call_texts import arguments, python_arguments

NAMES = ("click", "go", "finish", "type_string")


def first(text: str) -> tuple[str, tuple[Value, ...], bool] | None:
    call = next(read_calls(source(text), NAMES), None)
    return (call.name, call.arguments, call.repaired) if call else None


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("'SD'", ("SD",)),
        ('"SD", ', ("SD",)),
        ("'it\\'s', \"a\\nb\"", ("it's", "a\nb")),
        ("'a' \"b\" '''c\nd'''", ("abc\nd",)),
        ("r'\\n', u'é', '\\u00e9\\x41\\101\\N{BULLET}'", ("\\n", "é", "éAA•")),
        ("'C:\\dir', '\\q'", ("C:\\dir", "\\q")),
        ("'a\\\nb'", ("ab",)),
        ("1, -2, +3, - 4, 1_000, 0xff, 0b11, 0o17, 00", (1, -2, 3, -4, 1000, 255, 3, 15, 0)),
        ("1.5, .5, 2., 1e3, -1E-2", (1.5, 0.5, 2.0, 1000.0, -0.01)),
        ("True, False, None", (True, False, None)),
        ("(('A')), -(2), # a comment ) \n 3", ("A", -2, 3)),
        ("", ()),
    ],
)
def test_literals_are_those_of_python(written: str, read: tuple[Value, ...]) -> None:
    assert list(map(repr, python_arguments(written) or ())) == list(map(repr, read))
    assert read_arguments(written) == read
    assert first(f"click({written})") == ("click", read, False)


@pytest.mark.parametrize(
    "written",
    [
        *("SD", "f'x'", "b'x'", "1j", "...", "[A]", "{[]}", "{1: 2, 3}", "-[]", "'A'.lower()"),
        *("*'AB'", "**{}", "id='A', 'B'", "id='A', id='B'", "x for x in 'A'", "lambda: 1"),
        *("'A' if 1 else 'B'", "'A' + 'B'", "not 1", "~1", "--1", "-True", "-'A'", "-None"),
        *("007", "1__0", "0x", "1.2.3", ",", "'A',,", "'A' 1", "__import__('os')", "True=1"),
    ],
)
def test_what_is_no_literal_is_not_read(written: str) -> None:
    assert read_arguments(written) is None
    assert first(f"click({written})") is None


@pytest.mark.parametrize(
    "written", ["['A']", "{}", "()", "('A', 'B')", "{1, 'a', (2, ())}", "{(1,): [{}]}", "('A',)"]
)
def test_a_container_is_a_value_without_content(written: str) -> None:
    assert list(map(repr, read_arguments(f"{written}, 'B'") or ())) == ["nan", "'B'"]
    assert first(f"click({written})") is None


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("'one\n\ntwo', True", ("one\n\ntwo", True)),
        ("'It's done'", ("It's done",)),
        ("“SD”, ‘it’s’", ("SD", "it’s")),
        ("＇ＳＤ＇，１", ("ＳＤ", 1)),
        ("'C:\\users\\x'", ("C:\\users\\x",)),
        ("'A', true, null", ("A", True, None)),
    ],
)
def test_what_python_could_not_read_is_repaired(written: str, read: tuple[Value, ...]) -> None:
    assert python_arguments(written) is None and read_arguments(written) is None
    assert first(f"type_string({written})") == ("type_string", read, True)


def test_a_quote_that_is_never_closed_takes_nothing_of_the_next_call() -> None:
    assert first("click('the players' own')") is None, "a quote behind a word may as well end it"
    assert first("click('A) or click('B')") == ("click", ("B",), False)


def test_a_call_stands_in_any_text_and_ends_with_its_comment() -> None:
    text = (
        "I click (the menu) of item(s); click(id: str) opens it.\n\nA: ```python\n"
        "click('A')  # and not go('up')\n```\nthen **go('down')**, [finish ('x')], myclick('B')"
    )
    calls = list(read_calls(source(text), NAMES))
    assert [(call.name, call.arguments) for call in calls] == [
        ("click", ("A",)),
        ("go", ("down",)),
        ("finish", ("x",)),
    ]
    assert text[calls[0].start : calls[0].end] == "click('A')  # and not go('up')"
    assert text[calls[1].start : calls[1].end] == "go('down')"


def test_other_functions_count_where_there_is_none_of_the_known_ones() -> None:
    assert first("It has users(3).") == ("users", (3,), False)
    assert first("It has users (3).") is None
    assert first("users(3), then go('up')") == ("go", ("up",), False)


def test_arguments_may_have_names() -> None:
    (call,) = read_calls(source("click('A', id = 'B', n=-1)"), NAMES)
    assert (call.arguments, call.keywords) == (("A",), {"id": "B", "n": -1})
    assert read_arguments("'A', id='B'") is None


def test_a_bracket_closes_the_arguments_if_only_a_comment_follows() -> None:
    assert read_arguments("'A') # (see B") == ("A",)
    assert read_arguments("'A')") is None
    assert read_arguments("'A' # see B") == python_arguments("'A' # see B") is None
    assert read_arguments("'A'), ('B'") is None


def test_depth_length_and_digits_are_bounded() -> None:
    def nested(depth: int) -> str:
        return "(" * (depth - 1) + "'x'" + ")" * (depth - 1)

    for read in (read_arguments, lambda text: first(f"click({text})")):
        assert read(nested(DEPTH)) is not None
        assert read(nested(DEPTH + 1)) is None
        assert read(f"'{'(' * 5000}'") is not None, "brackets inside of quotes are text"
        assert read(f"{'9' * DIGITS}, -{'9' * 400}.5") is not None
        assert read("9" * (DIGITS + 1)) is None
        assert read(f"'{'x' * (LONGEST - 20)}'") is not None
        assert read(f"'{'x' * LONGEST}'") is None
        assert read("[" * 100_000) is None and read("-" * 100_000) is None


def test_a_text_that_is_no_source_has_no_arguments() -> None:
    assert read_arguments("'\0'") is None and read_arguments("'\ud800'") is None
    assert first("click('\0')") == ("click", ("\0",), False)


def test_calls_that_cannot_be_read_are_passed_over_at_both_ends() -> None:
    wrong = "click(A) "
    assert first(wrong * (ATTEMPTS - 1) + "click('B')" + wrong * 1000) is not None
    assert first(wrong * 1000 + "click('B')" + wrong * (ATTEMPTS - 1)) is not None
    assert first(wrong * 1000 + "click('B')" + wrong * 1000) is None


@pytest.mark.parametrize(
    "unit",
    [
        *("click('", "click(", "click(#", "click('a' ", "a(", "click('A') ", "((((", "click('\\"),
        *('click("', "click(“", "click('A', ", "x('a'\n", "click(1", "click('it's ", "'", "A: "),
        *("click(-", "click(0x1", "click('\\N{", "click('''", "click(\\\n", "click(a=", "_"),
    ],
)
def test_reading_takes_linear_time(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    with linear_time():
        list(read_calls(source(text), NAMES))
        read_arguments(text)


def test_arguments_are_read_as_python_reads_them() -> None:
    draw = random.Random(12)
    counted = 0
    for _ in range(20_000):
        text = arguments(draw)
        if "\ud800" in text or "\0" in text:
            continue
        expected = python_arguments(text)
        # Apart from their representation, True would be 1, and 0.0 would be -0.0.
        assert repr(read_arguments(text)) == repr(expected), text
        counted += expected is not None
    assert counted > 5000


def test_the_spelling_is_one_line_of_python() -> None:
    values: list[Value] = [
        "it's",
        'a "b"',
        "\\",
        "a\nb\r\t\0\u2028\x85",
        "请登录",
        "é 😀",
        1,
        -2.5,
        True,
        None,
    ]
    written = write_call("finish", values)
    assert len(written.splitlines()) == 1
    assert first(written) == ("finish", tuple(values), False)
    assert write_call("click", ["SD"]) == "click('SD')"


def test_nothing_is_printed_and_no_warning_is_given(capfd: pytest.CaptureFixture[str]) -> None:
    assert "parsers.calls" in sys.modules
    for text in ("'\\d\\777'", "1if", "0x1for x", "'\\N{no such}'", "0777", "'a' is 'b'"):
        read_arguments(text)
        first(f"click({text})")
    assert capfd.readouterr() == ("", "")
