"""What a page answers, and what it says when it cannot."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.page import Page, PageError

FORM = """
<html backend_node_id="1">
  <body backend_node_id="2">
    <form backend_node_id="3" role="search">
      <input backend_node_id="4" type="text" name="zip_code" placeholder="Zip code" value="10203"/>
      <button backend_node_id="5" type="submit">
        <text backend_node_id="6">Search  all
          pros</text>
      </button>
    </form>
    <text backend_node_id="7"/>
    <p backend_node_id="8" style="x">
      <text backend_node_id="9">Or call</text>
    </p>
  </body>
</html>
"""


@pytest.fixture
def page() -> Page:
    return Page.parse(FORM)


def test_choices_come_in_document_order_and_once(page: Page) -> None:
    choices = page.choices(["5", "4", "5"])
    assert [(choice.id, choice.text) for choice in choices] == [
        ("4", "<input id=0 text zip_code 10203 zip code />"),
        ("5", "<button id=1 submit> Search all pros </button>"),
    ]


def test_round_brackets(page: Page) -> None:
    (choice,) = page.choices(["5"], brackets="round")
    assert choice.text == "(button id=0 submit Search all pros )"


def test_no_candidates_leave_no_choices_and_a_bare_root(page: Page) -> None:
    assert page.choices([]) == []
    assert page.snippet([]).text == "<html> </html>"


def test_unknown_ids_and_text_nodes_are_named(page: Page) -> None:
    asks: list[Callable[[], object]] = [
        lambda: page.choices(["4", "77"]),
        lambda: page.snippet(["4", "77"]),
        lambda: page.related("4", "77"),
        lambda: page.compact("77", count=len),
        lambda: page.in_order(["77"]),
    ]
    for ask in asks:
        with pytest.raises(ValueError, match="the page has no node '77'"):
            ask()
    with pytest.raises(ValueError, match="node '6' is a text node"):
        page.choices(["6"])


def test_related_means_one_within_the_other(page: Page) -> None:
    assert page.related("1", "6")
    assert page.related("6", "1")
    assert page.related("5", "5")
    assert not page.related("4", "5")


def test_text_and_facts_of_a_node(page: Page) -> None:
    assert page.text_of("1") == "Search all pros Or call"
    assert page.text_of("1", max_words=2) == "Search all"
    assert page.text_of("4") == ""
    facts = page.role_of("4")
    assert (facts.tag, facts.role, facts.type) == ("input", "", "text")
    assert facts.labels == ("Zip code", "10203", "zip_code")
    assert page.role_of("3").role == "search"


def test_a_text_element_with_children_counts_as_an_element() -> None:
    drawing = (
        '<svg backend_node_id="1"><text backend_node_id="2"><text backend_node_id="3">12 km</text>'
        '</text><text backend_node_id="4">left</text></svg>'
    )
    page = Page.parse(drawing)
    assert page.elements(["1", "2", "3", "4"]) == ["1", "2"]
    assert page.choices(["2"])[0].text == "<text id=0>12 km</text>"


def test_elements_without_an_id_and_repeated_ids_are_tolerated() -> None:
    page = Page.parse(
        '<html><div name="first" backend_node_id="1"><b><i backend_node_id="2"/></b></div>'
        '<div name="second" backend_node_id="1"/></html>'
    )
    assert page.snippet(["1", "2"]).text == (
        "<html><div id=0 first><i id=1 /></div><div second /></html>"
    )


@pytest.mark.parametrize(
    "broken",
    ["", "   ", "plain words", "<a><b></a>", "<a/><b/>", "<a>\0</a>", "<a x=1/>", "<a>\ud800</a>"],
)
def test_what_is_not_well_formed_is_refused_with_a_reason(broken: str) -> None:
    with pytest.raises(PageError, match=r"cannot be parsed as XML: ."):
        Page.parse(broken)


def test_an_xml_declaration_is_no_obstacle() -> None:
    assert "1" in Page.parse('<?xml version="1.0" encoding="utf-8"?>\n<a backend_node_id="1"/>')
    assert "1" in Page.parse('<!DOCTYPE html>\n<a backend_node_id="1"/>')


def test_comments_and_instructions_are_ignored() -> None:
    page = Page.parse(
        '<a backend_node_id="1"><!-- x --><?y z?><b backend_node_id="2" type="q"/></a>'
    )
    assert page.snippet(["1"]).text == "<a id=0><b q /></a>"
