from __future__ import annotations

import pytest

from parsers import index_of, letter, letters_for


@pytest.mark.parametrize(
    ("index", "letters"),
    [(0, "A"), (25, "Z"), (26, "AA"), (27, "AB"), (51, "AZ"), (52, "BA"), (364, "NA"), (701, "ZZ")],
)
def test_letters_run_like_the_columns_of_a_spreadsheet(index: int, letters: str) -> None:
    assert letter(index) == letters
    assert index_of(letters) == index


@pytest.mark.parametrize("index", [-1, 702])
def test_no_letter_before_a_or_beyond_zz(index: int) -> None:
    with pytest.raises(ValueError, match="letter"):
        letter(index)


@pytest.mark.parametrize("text", ["", "a", "AAA", "1", "É", "A ", "["])
def test_only_capitals_are_letters(text: str) -> None:
    with pytest.raises(ValueError, match="letter"):
        index_of(text)


def test_the_none_letter_is_left_out() -> None:
    assert letters_for(3) == letters_for(3, "D") == ("A", "B", "C")
    assert letters_for(3, "A") == ("B", "C", "D")
    assert letters_for(26, "A")[-1] == "AA"
