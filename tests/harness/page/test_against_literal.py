"""The fast implementation agrees with the literal one on generated pages."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.page import Brackets, Page
from tests.harness.page import literal
from tests.harness.page.pages import Made, pages_with_candidates

brackets_of: st.SearchStrategy[Brackets] = st.sampled_from(["angle", "round"])
thorough = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@given(pages_with_candidates(), brackets_of)
@thorough
def test_choices_and_snippets_equal_the_literal_reading(
    made: tuple[Made, list[str]], brackets: Brackets
) -> None:
    page, ids = made
    text, expected = literal.snippet(page.html, ids, brackets)
    parsed = Page.parse(page.html)
    snippet = parsed.snippet(ids, brackets=brackets)
    assert (snippet.text, snippet.choices) == (text, expected)
    assert parsed.choices(ids, brackets=brackets) == expected
