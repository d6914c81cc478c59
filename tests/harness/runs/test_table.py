"""The parquet table of a run: built without pandas, as Arrow builds it with pandas."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.runs.steps import arrow_table

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.one_of(
    st.just(st.none()),
    st.just(st.booleans()),
    st.just(st.integers(-(2**53), 2**53)),
    st.just(NUMBERS),
    st.just(st.one_of(NUMBERS, st.integers(-(2**53), 2**53))),
    st.just(TEXTS | st.sampled_from(["2026-11-22", "2026-11-22T01:02:03Z", "1", "null", "\u2028"])),
    st.just(st.lists(TEXTS)),
    st.just(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6))),
)


@st.composite
def rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows with the same columns, each of one kind of value, or null."""
    columns = draw(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=6))
    some = {name: st.none() | values for name, values in columns.items()}
    return draw(st.lists(st.fixed_dictionaries(some), min_size=1, max_size=8))


@given(rows())
def test_the_table_is_the_one_that_arrow_makes(content: list[dict[str, Any]]) -> None:
    expected = pa.Table.from_pylist(content)
    table = arrow_table(content)
    assert table.schema == expected.schema
    assert table.to_pylist() == expected.to_pylist()


def test_no_rows_make_an_empty_table() -> None:
    assert arrow_table([]) == pa.Table.from_pylist([])


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 5e-324, 1.7976931348623157e308, -0.0, 0.1])
def test_numbers_keep_every_bit(value: float) -> None:
    (row,) = arrow_table([{"n": value}]).to_pylist()
    assert (type(row["n"]), repr(row["n"])) == (type(value), repr(value))
