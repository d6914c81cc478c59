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
def test_choices_equal_the_literal_reading(
    made: tuple[Made, list[str]], brackets: Brackets
) -> None:
    page, ids = made
    _, expected = literal.snippet(page.html, ids, brackets)
    choices = Page.parse(page.html).choices(ids, brackets=brackets)
    assert [(choice.id, choice.text) for choice in choices] == expected


@given(
    pages_with_candidates(),
    brackets_of,
    st.one_of(
        st.just((5, 50, 3)),
        st.tuples(st.integers(0, 7), st.sampled_from([0, 1, 5, 30]), st.integers(0, 4)),
    ),
    st.integers(1, 25),
)
@thorough
def test_snippets_equal_the_literal_reading_for_any_limits(
    made: tuple[Made, list[str]], brackets: Brackets, limits: tuple[int, int, int], words: int
) -> None:
    page, ids = made
    depth, children, reach = limits
    text, expected = literal.snippet(
        page.html, ids, brackets, words=words, depth=depth, children=children, reach=reach
    )
    snippet = Page.parse(page.html).snippet(
        ids,
        brackets=brackets,
        words=words,
        max_depth=depth,
        max_children=children,
        max_sibling=reach,
    )
    assert snippet.text == text
    assert [(choice.id, choice.text) for choice in snippet.choices] == expected
