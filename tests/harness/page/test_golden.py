"""Snippets and choices of the recorded step are what MindAct's code gave, to the letter."""

from __future__ import annotations

import pytest

from harness.page import Brackets, Page
from tests.harness.page import literal, recorded


@pytest.fixture(scope="module")
def html() -> str:
    return str(recorded.row()["cleaned_html"])


def test_golden_sets_give_the_expected_snippets_and_choices(html: str) -> None:
    page = Page.parse(html)
    cases = recorded.golden()
    assert len(cases) == 22
    for case in cases:
        brackets: Brackets = "angle" if case["angle_brackets"] else "round"
        expected = [tuple(choice) for choice in case["choices"]]
        ids = case["candidate_ids"]
        snippet = page.snippet(ids, brackets=brackets)
        assert snippet.text == case["context"], case["case"]
        assert [(c.id, c.text) for c in snippet.choices] == expected, case["case"]
        choices = page.choices(ids, brackets=brackets)
        assert [(c.id, c.text) for c in choices] == expected, case["case"]


def test_stored_batches_give_the_stored_choices_and_context() -> None:
    batches = recorded.batches()
    assert [len(batch["choices"]) for batch in batches] == [16, 17, 17]
    for batch in batches:
        page = Page.parse(batch["cleaned_html"])
        expected = [tuple(choice) for choice in batch["choices"]]
        ids = [node_id for node_id, _ in reversed(expected)]
        assert [(c.id, c.text) for c in page.choices(ids)] == expected
        assert page.snippet(ids).text == batch["context_html"]


def test_the_literal_reading_agrees_with_the_golden_file_too(html: str) -> None:
    for case in recorded.golden():
        brackets = "angle" if case["angle_brackets"] else "round"
        text, choices = literal.snippet(html, case["candidate_ids"], brackets)
        assert text == case["context"], case["case"]
        assert choices == [tuple(choice) for choice in case["choices"]], case["case"]
