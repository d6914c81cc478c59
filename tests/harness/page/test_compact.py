"""The compact form is whole or cut at an element boundary, never longer than its cap."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from harness.page import Page
from harness.page.html import CUT_MARK
from tests.harness.page import recorded
from tests.harness.page.pages import Made, pages

LABEL = """
<label backend_node_id="30979" aria_label="Dog &amp; cat">
  <b backend_node_id="31000"/>
  <text backend_node_id="31923">Senior  (8 &lt; 9)</text>
</label>
"""
TAG = re.compile(r"<(?P<close>/?)(?P<name>\w+)(?: bnid=(?P<id>-?\w+))?[^<>]*>")


def tokens(text: str) -> int:
    """A counter as blunt as can be: words and signs."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def ids_in(text: str) -> list[str]:
    """The ids in a compact text, after checking that every tag is closed in its turn."""
    opened: list[str] = []
    ids: list[str] = []
    for match in TAG.finditer(text.replace(CUT_MARK, "")):
        if match["close"]:
            assert opened.pop() == match["name"]
        else:
            opened.append(match["name"])
            ids.append(match["id"])
    assert not opened
    return ids


def counting(calls: list[str]) -> Callable[[str], int]:
    def count(text: str) -> int:
        calls.append(text)
        return tokens(text)

    return count


def test_attributes_are_unquoted_and_empty_elements_are_closed() -> None:
    page = Page.parse(LABEL)
    assert page.compact("30979", max_tokens=None, count=tokens) == (
        "<label bnid=30979 aria_label=Dog &amp; cat><b bnid=31000></b>"
        "<text bnid=31923>Senior (8 &lt; 9)</text></label>"
    )


def test_the_mark_stands_where_the_next_element_would_have_been() -> None:
    page = Page.parse(LABEL)
    whole = tokens(page.compact("30979", max_tokens=None, count=tokens))
    assert page.compact("30979", max_tokens=whole, count=tokens).endswith("</text></label>")
    assert page.compact("30979", max_tokens=whole - 1, count=tokens) == (
        "<label bnid=30979 aria_label=Dog &amp; cat><b bnid=31000></b><...></label>"
    )


@pytest.mark.parametrize("cap", [0, 1, 18])
def test_the_least_form_is_the_tag_and_the_mark(cap: int) -> None:
    page = Page.parse(LABEL)
    assert page.compact("30979", max_tokens=cap, count=tokens) == "<label bnid=30979><...></label>"


@given(pages(), st.integers(0, 400))
@settings(max_examples=100, deadline=None)
def test_cuts_keep_the_longest_beginning_that_fits(made: Made, cap: int) -> None:
    page = Page.parse(made.html)
    root = made.elements[0]
    everything = [str(node.get("backend_node_id")) for node in etree.fromstring(made.html).iter()]
    whole = page.compact(root, max_tokens=None, count=tokens)
    assert ids_in(whole) == everything
    calls: list[str] = []
    text = page.compact(root, max_tokens=cap, count=counting(calls))
    kept = ids_in(text)
    assert kept == everything[: len(kept)]
    assert len(calls) <= 12
    if CUT_MARK not in text:
        assert text == whole
        assert tokens(whole) <= cap or len(everything) == 1
        return
    assert text.count(CUT_MARK) == 1
    before, after = text.split(CUT_MARK)
    assert whole.startswith(before) or len(kept) == 1
    assert re.fullmatch(r"(</\w+>)+", after)
    if len(kept) > 1:
        assert tokens(text) <= cap
    one_more = page.compact(root, max_tokens=cap + 1, count=tokens)
    assert len(ids_in(one_more)) >= len(kept)


def test_capped_choices_of_the_recorded_page_fit() -> None:
    page = Page.parse(recorded.row()["cleaned_html"])
    case = recorded.golden()[0]
    for node_id in [*case["candidate_ids"], "8638"]:
        calls: list[str] = []
        assert tokens(page.compact(node_id, count=counting(calls))) <= 400
        assert len(calls) <= 14
        assert sum(map(len, calls)) < 60_000
