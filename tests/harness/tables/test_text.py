"""Grids as text: fitted to the width, never broken inside a word, nothing lost."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.tables import (
    TEST_DATA_NOTE,
    Cell,
    Grid,
    Heading,
    Row,
    Section,
    clean,
    render,
    rows_of,
)

RATES = ("Ele. Acc", "Op. F1", "Step SR", "Task SR")
HEAD = (Heading("split", "left"), Heading("tasks"), *map(Heading, RATES))
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


def test_labels_are_wrapped_and_gaps_narrowed_before_columns_are_parted() -> None:
    lines = _body(_results(), 76)
    assert {"    invalid", "      rows as", "      0"} <= {line[:15].rstrip() for line in lines}
    assert sum("Task SR" in line for line in lines) == 1


def test_columns_that_do_not_fit_continue_below_with_their_labels() -> None:
    lines = _body(_results(), 50)
    assert sum(line.startswith("split") for line in lines) > 1
    assert sum("test_website" in line for line in lines) > 1
    assert sum("state: complete" in line for line in lines) == 1


def test_values_without_an_interval_line_up_with_the_others() -> None:
    grid = Grid("", (Heading("", "left"), Heading("rate")), rows_of([["a", RATE], ["b", "4.8"]]))
    first, second = render(grid, "text", note="").splitlines()[-2:]
    assert first.index("46.4") + len("46.4") == second.index("4.8") + len("4.8")


def test_texts_are_wrapped_at_blanks() -> None:
    words = "a text of several words that is too long for one line of a narrow column"
    grid = Grid("", (Heading("text", "left"), Heading("n")), rows_of([[words, "1"]]))
    lines = render(grid, "text", width=40, note="").splitlines()[2:]
    assert " ".join(" ".join(lines).replace(" 1", "", 1).split()) == words


HOSTILE = [
    *("\x1b[31m", "\x1b]8;;http://x\x07", "[red]", "[/]", ":smile:", "\u202e", "\ue000", "\x00"),
    *("\x9b2J", "\u2028", "\r\n", "\ud800", "漢字", "e\u0301", "'1'", " ", "\xa0", "a-b"),
]
TEXTS = st.lists(st.sampled_from(HOSTILE), max_size=6).map("".join)


@settings(max_examples=30)
@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS, TEXTS), min_size=1, max_size=4), st.integers(1, 120))
def test_hostile_texts_are_shown_as_they_are_without_control_characters(
    texts: list[tuple[str, str, str, str]], width: int
) -> None:
    columns = (Heading("name", "left"), Heading(texts[0][0], "left"), Heading("rate"), Heading("n"))
    rows = tuple(
        Row((one, two, Cell(three, four), one), parent=two) for one, two, three, four in texts
    )
    section = Section(rows, texts[0][1], (texts[0][2],), (texts[0][3],))
    grid = Grid(texts[0][3], columns, (section,), (texts[0][0],), (texts[0][1],))
    shown = render(grid, "text", width=width, note="")
    assert not {c for c in shown if c != "\n" and unicodedata.category(c).startswith("C")}
    assert not [line for line in shown.split("\n") if line != line.rstrip()]
    words = set(shown.split())
    assert {word for row in texts for one in row for word in clean(one).split()} <= words


def test_no_colours_whatever_the_environment_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = render(_results(), "text", width=80)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLORTERM", "truecolor")
    assert render(_results(), "text", width=80) == plain


def test_the_widest_table_fits_a_terminal_of_80_columns() -> None:
    rates = [f"measure {number}" for number in range(20)]
    columns = (Heading("split", "left"), *map(Heading, rates))
    grid = Grid("", columns, rows_of([["test", *[RATE] * 20]]))
    lines = render(grid, "text", width=80, note="").splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.count("[41.0, 51.9]*") for line in lines) == 20


@settings(max_examples=30)
@given(
    st.lists(
        st.lists(st.text("ab -", max_size=30), min_size=3, max_size=3), min_size=1, max_size=4
    ),
    st.integers(20, 120),
)
def test_no_word_is_ever_broken(rows: list[list[str]], width: int) -> None:
    columns = (Heading("first", "left"), Heading("second", "left"), Heading("third"))
    shown = set(render(Grid("", columns, rows_of(rows)), "text", width=width, note="").split())
    assert {word for row in rows for cell in row for word in cell.split()} <= shown


def test_without_a_terminal_rows_and_the_note_stay_whole() -> None:
    assert render(_results(), "text").splitlines()[-1] == TEST_DATA_NOTE
    assert TEST_DATA_NOTE not in render(_results(), "text", width=80).splitlines()
    words = [f"word-{number}-{'x' * 20}" for number in range(9)]
    grid = Grid("", tuple(Heading(word, "left") for word in words), rows_of([words]))
    assert "  ".join(words).split() in [line.split() for line in render(grid).splitlines()]
    assert not any(
        "word-8" in line and "word-2" in line for line in render(grid, width=80).splitlines()
    )


def test_several_grids_carry_one_note() -> None:
    text = render([_results(), _results()], "text")
    assert text.count(TEST_DATA_NOTE) == 1
    assert text.count("Results by split") == 2
