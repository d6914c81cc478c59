"""Notes on test data, which are in every output that could leak it."""

from __future__ import annotations


def test_data_note(terms: str = "") -> str:
    """Return the note on test data of a benchmark, with the terms that its authors state."""
    stated = f" ({terms})" if terms else ""
    return f"Contains test data of a benchmark{stated}: do not publish where crawlers collect text."


TEST_DATA_NOTE = test_data_note("Mind2Web asks that it stay out of training corpora")
"""Included in every output with texts of tasks or pages, or scores on them; benchmarks with other
terms declare another note (`Benchmark.note`)."""
