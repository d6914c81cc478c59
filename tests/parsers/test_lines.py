"""What lines of an answer say about letters and operations: SeeAct's ELEMENT and ACTION lines.

The files in `lines` hold what a model wrote behind ELEMENT, one reply per line: letters at the
start of the line (L), in running text (L), before and behind the text of their option (H), several
letters, denied letters, descriptions and names without a letter, and names that are written like
an answer.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from parsers import Answer, Status, letters_for, read_answer
from parsers.values import operation_in_prose, read_operation

FOLDER = Path(__file__).parent / "lines"
TEXTS = {
    "C": "<a id=2> Search flights </a>",
    "F": "<option id=5 value> L </option>",
    "H": "<a id=7> Search flights </a>",
    "K": "<input id=10 text where to? />",
}
OPTIONS = [TEXTS.get(letter, f"<a id={letter}> Entry {letter} </a>") for letter in letters_for(26)]


def answer(line: str, options: list[str], *, first_of_many: bool = False) -> Answer:
    text = f"ELEMENT: {line}\n\nACTION: CLICK\n\nVALUE: None"
    return read_answer(text, options, none_letter=None, first_of_many=first_of_many)


def named(found: Answer) -> str:
    """The letter, with `~` if it is read from running text, else the status."""
    if found.option is None:
        return found.status.value
    return letters_for(26)[found.option] + "~" * ("in_text" in found.flags)


def lines(name: str) -> list[str]:
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("line", lines("at_start"))
def test_a_letter_alone_or_at_the_start_of_the_line_is_the_answer(line: str) -> None:
    for options in (OPTIONS, ["x"] * 26, [""] * 26):
        found = answer(line, options)
        assert (found.status, found.option) == (Status.ANSWERED, 11)
        assert found.flags == ()


@pytest.mark.parametrize("line", lines("in_text"))
def test_a_letter_in_running_text_is_read_and_flagged(line: str) -> None:
    for options in (OPTIONS, ["x"] * 26):
        assert named(answer(line, options)) == "L~"


@pytest.mark.parametrize("letter", "BESXZ")
def test_every_letter_is_read_alike(letter: str) -> None:
    for name in ("at_start", "in_text"):
        for line in lines(name):
            if "l" not in line.split() and not re.search(r"(?<![a-z])l(?![a-z])", line):
                other = re.sub(r"(?<![A-Za-z])L(?![A-Za-z])", letter, line)
                assert named(answer(other, ["some choice"] * 26)).rstrip("~") == letter, other


@pytest.mark.parametrize("line", lines("with_text"))
def test_a_letter_beside_its_own_text_is_the_answer(line: str) -> None:
    assert answer(line, OPTIONS) == Answer(Status.ANSWERED, 7, "CLICK")


@pytest.mark.parametrize("line", lines("behind_text"))
def test_a_letter_behind_its_own_text_is_read_and_flagged(line: str) -> None:
    assert named(answer(line, OPTIONS)) == "H~"


@pytest.mark.parametrize("line", ["H.Search flights", "H-Search flights", "Search flights (H)"])
def test_text_of_no_option_makes_a_word_of_the_letter(line: str) -> None:
    assert named(answer(line, ["x"] * 26)) == "no_element"


@pytest.mark.parametrize("line", lines("ambiguous"))
def test_several_letters_are_ambiguous_unless_the_first_is_wanted(line: str) -> None:
    assert named(answer(line, OPTIONS)) == "ambiguous"
    found = answer(line, OPTIONS, first_of_many=True)
    first = re.sub(r"\b(?:[Nn]one|Both|It|either|first|option|Search|Where)\b", "", line)
    expected = "none" if line.lower().startswith("none") else re.findall(r"\b[A-H]\b", first)[0]
    assert named(found).rstrip("~") == expected
    assert "first_of_many" in found.flags


@pytest.mark.parametrize("line", lines("denied"))
def test_letters_that_are_denied_are_no_answer(line: str) -> None:
    for options in (OPTIONS, ["x"] * 26):
        assert answer(line, options) == Answer(Status.NO_ELEMENT, operation="CLICK")
    prose = read_answer(line, OPTIONS, none_letter=None)
    assert (prose.status, prose.option) == (Status.NO_ELEMENT, None)


@pytest.mark.parametrize("line", lines("no_letters"))
def test_a_description_names_no_letter(line: str) -> None:
    for options in (OPTIONS, ["x"] * 26, [""] * 26):
        assert named(answer(line, options)) == "no_element"


@pytest.mark.parametrize("line", lines("doubtful"))
def test_a_name_that_is_written_like_an_answer_is_at_least_flagged(line: str) -> None:
    for options in (OPTIONS, ["x"] * 26, [""] * 26):
        found = named(answer(line, options))
        assert found in ("no_element", "ambiguous") or found.endswith("~")


OPERATIONS = {
    "TYPE": r"""
        TYPE
        typing
        Type the name
        CLICK? No, TYPE
        CLICK? Actually TYPE
        CLICK... wait, TYPE
        CLICK - no, TYPE
        CLICK? TYPE instead
        not CLICK but TYPE
        don't CLICK, TYPE
        TYPE, not CLICK
        TYPE (not CLICK)
        TYPE, no CLICK needed
        TYPE instead of CLICK
        TYPE rather than SELECT
        TYPE without clicking
        CLICK is wrong, so TYPE
        CLICK is not right; TYPE
        neither CLICK nor SELECT but TYPE
        It is not CLICK. It is TYPE
        SCROLL? No, TYPE
        select all text and type
        Select all and type
        SELECT ALL, then TYPE
        select all the text, then type
        SELECT the existing text and TYPE
        select the contents and type
    """,
    "CLICK": r"""
        CLICK
        left_click
        CLICK the SELECT box
        CLICK on the type field
        CLICK (not TYPE)
        CLICK, no typing
        CLICK (no value needed)
        CLICK instead of SCROLL
        SCROLL? no, CLICK
        not TYPE but CLICK
        Not TYPE. CLICK
        PRESS ENTER
        hover
    """,
    "SELECT": r"""
        SELECT
        select all
        Select from the list
        select all that apply
        not TYPE but SELECT
    """,
    "unknown_action": r"""
        anything but CLICK
        not CLICK
        neither CLICK nor TYPE
        everything except TYPE
        never CLICK
        CLICK is wrong
        PONDER
    """,
    "several_actions": r"""
        CLICK, TYPE, SELECT
        CLICK or TYPE
        CLICK and TYPE
        CLICK/TYPE
        one of CLICK, TYPE or SELECT
        Choose an action from {CLICK, TYPE, SELECT}.
    """,
    "other_action": r"""
        SCROLL
        SCROLL DOWN
        NONE
        None (not CLICK)
        SCROLL, not CLICK
        N/A
    """,
}


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        (expected, line.strip())
        for expected, table in OPERATIONS.items()
        for line in table.strip().split("\n")
    ],
)
def test_the_operation_that_a_line_does_not_deny_counts(expected: str, line: str) -> None:
    found = read_operation(line)
    flags = found.flags(named=True) - {"mapped_operation"}
    assert (found.operation or flags.pop()) == expected


def test_operations_in_prose_are_denied_and_corrected_too() -> None:
    assert operation_in_prose("I would not CLICK but TYPE.").operation == "TYPE"
    assert operation_in_prose("It is CLICK? No, TYPE.").operation == "TYPE"
    assert operation_in_prose("I would CLICK it, not TYPE.").operation == "CLICK"
    assert operation_in_prose("I would CLICK it. Then TYPE.").several
