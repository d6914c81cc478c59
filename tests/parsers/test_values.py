"""What a VALUE line stands for, and which lines stand for no value."""

from __future__ import annotations

import pytest

from parsers.values import clean_value, is_missing, written_value

CLEANED = {
    # Marks behind a digit are inches or feet, marks between letters are apostrophes.
    '"27"-32" Samsung"': '27"-32" Samsung',
    '"32""': '32"',
    "\u201c32\u201d\u201d": "32\u201d",
    "'5'10 tall'": "5'10 tall",
    "'Levi's jeans'": "Levi's jeans",
    '"10203"': "10203",
    # Two quotations are not one.
    '"New York" or "Boston"': '"New York" or "Boston"',
    '"5" or "6"': '"5" or "6"',
    "'Men's' or 'Women's'": "'Men's' or 'Women's'",
    '"Ohio" (not "Iowa")': '"Ohio" (not "Iowa")',
    # What follows a quotation is no part of it.
    '"Ohio".': "Ohio",
    "'Ohio'.": "Ohio",
    "**Ohio**.": "Ohio",
    '"Ohio" (as required)': "Ohio",
    '"Ohio" (as required).': "Ohio",
    "`Ohio`(the state)": "Ohio",
    '"Washington D.C."': "Washington D.C.",
    '"Ohio" or so': '"Ohio" or so',
    # Without quotes nothing tells a remark from a value.
    "Ohio (the state)": "Ohio (the state)",
    "Ohio.": "Ohio.",
    '"': '"',
    '""': "",
}


@pytest.mark.parametrize(("written", "value"), CLEANED.items())
def test_quotes_around_a_value_are_removed(written: str, value: str) -> None:
    assert clean_value(written) == value


@pytest.mark.parametrize("value", [*CLEANED.values(), '"a" "b"', "'a'", '27"'])
def test_a_written_value_is_read_back(value: str) -> None:
    assert clean_value(written_value(value)) == value


MISSING = [
    *("None", "none.", "N/A", "n/a.", "N.A.", "null", "", '""', '"None"', "-", "--", "\u2014"),
    *("None (not needed)", "None (no input is required).", "(none)", "[None]", "<none>", "(empty)"),
    *("not applicable", "Not applicable.", "N/A (CLICK)", "not needed", "None required"),
    *("no value needed", "No input is required", "None, as the action is CLICK", "None - a click"),
]
PRESENT = [
    *("No", "No preference", "None of the above", "Nonesuch", "none-such", "Not yet", "empty"),
    *("-1", "0", "No value meals", "Null Island", "n", "NA"),
]


@pytest.mark.parametrize("written", MISSING)
def test_words_for_no_value_and_dashes_are_missing_values(written: str) -> None:
    assert is_missing(clean_value(written))


@pytest.mark.parametrize("written", PRESENT)
def test_values_that_only_look_like_such_words_are_values(written: str) -> None:
    assert not is_missing(clean_value(written))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", ['"', "'a", '1"', "(", "**", "none ", "- ", '"."', "\u201c"])
def test_long_values_take_no_time(piece: str) -> None:
    for text in (piece * 200_000, f'"{piece * 200_000}"', f'"a" ({piece * 200_000}'):
        is_missing(clean_value(text))
