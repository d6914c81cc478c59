"""Grids as text: fitted to the width, never broken inside a word, nothing lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.tables import TEST_DATA_NOTE, Cell, Column, Grid, Row, Section, render, rows_of

RATES = ("Ele. Acc", "Op. F1", "Step SR", "Task SR")
HEAD = (Column("split", "left"), Column("tasks"), *map(Column, RATES))
RATE = Cell("46.4", "[41.0, 51.9]*")


def _results() -> Grid:
    rows = (
        Row(("test_website", "177", *[RATE] * 4)),
        Row(("invalid rows as 0", "177", *[RATE] * 4), parent="test_website"),
    )
    return Grid(
        title="Results by split",
        columns=HEAD,
        sections=(Section(rows, "a run", ("compared: model",), ("state: complete",)),),
        above=("settings: seed=42",),
        footnotes=("Per cent.",),
        section_head="run",
    )


def _body(grid: Grid, width: int) -> list[str]:
    """The lines from the head on."""
    lines = render(grid, "text", width=width).splitlines()
    return lines[next(n for n, line in enumerate(lines) if line.startswith("split")) :]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 130])
def test_every_line_fits_the_width(width: int) -> None:
    assert max(map(len, render(_results(), "text", width=width).splitlines())) <= width


def test_intervals_stand_beside_their_values_where_there_is_room() -> None:
    assert "46.4 [41.0, 51.9]*" in "\n".join(_body(_results(), 130))


def test_intervals_move_below_their_values_where_there_is_none() -> None:
    head, _, run, above, first, second, *_ = _body(_results(), 100)
    assert (run, above) == ("a run", "  compared: model")
    assert first.split() == ["test_website", "177", *["46.4"] * 4]
    assert second.split() == ["[41.0,", "51.9]*"] * 4
    assert len(head) == len(first) == len(second)


def test_labels_get_lines_of_their_own_before_columns_are_parted() -> None:
    lines = _body(_results(), 76)
    assert lines[0] == "split"
    assert "  test_website" in lines
    assert "    invalid rows as 0" in lines
    assert sum("Task SR" in line for line in lines) == 1


def test_columns_that_do_not_fit_continue_below_with_their_labels() -> None:
    lines = _body(_results(), 50)
    assert sum(line.startswith("split") for line in lines) > 1
    assert sum("test_website" in line for line in lines) > 1
    assert sum("state: complete" in line for line in lines) == 1


def test_values_without_an_interval_line_up_with_the_others() -> None:
    grid = Grid("", (Column("", "left"), Column("rate")), rows_of([["a", RATE], ["b", "4.8"]]))
    first, second = render(grid, "text", note="").splitlines()[-2:]
    assert first.index("46.4") + len("46.4") == second.index("4.8") + len("4.8")


def test_texts_are_wrapped_at_blanks() -> None:
    words = "a text of several words that is too long for one line of a narrow column"
    grid = Grid("", (Column("text", "left"), Column("n")), rows_of([[words, "1"]]))
    lines = render(grid, "text", width=40, note="").splitlines()[2:]
    assert " ".join(" ".join(lines).replace(" 1", "", 1).split()) == words


@given(
    st.lists(
        st.lists(st.text("ab -", max_size=30), min_size=3, max_size=3), min_size=1, max_size=4
    ),
    st.integers(20, 120),
)
def test_no_word_is_ever_broken(rows: list[list[str]], width: int) -> None:
    columns = (Column("first", "left"), Column("second", "left"), Column("third"))
    shown = set(render(Grid("", columns, rows_of(rows)), "text", width=width, note="").split())
    assert {word for row in rows for cell in row for word in cell.split()} <= shown


def test_without_a_terminal_the_note_stays_in_one_line() -> None:
    assert render(_results(), "text").splitlines()[-1] == TEST_DATA_NOTE
    assert TEST_DATA_NOTE not in render(_results(), "text", width=80).splitlines()


def test_several_grids_carry_one_note() -> None:
    text = render([_results(), _results()], "text")
    assert text.count(TEST_DATA_NOTE) == 1
    assert text.count("Results by split") == 2
