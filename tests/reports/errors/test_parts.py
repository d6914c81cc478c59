"""Distances, relations on a page, and what counts as a description of the target."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.benchmarks import open_steps
from harness.page import Page
from parsers.cleaned_page import PageError
from parsers.records import Description
from reports.kinds.step.described import (
    PageNodes,
    Relation,
    described_target,
    first_replies,
    gap,
    near,
)
from reports.kinds.step.errors import edit_distance
from tests.reports.errors.cases import CHOICES, record, rounds

TARGET, CLEAR, LINK = CHOICES[2], CHOICES[4], CHOICES[8]
ONCE = tuple(choice for choice in CHOICES if choice.id not in ("13", "29"))
"""Choices of which only the target has its words."""


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("", "", 0.0),
        ("", "abc", 1.0),
        ("kitten", "sitting", 3 / 7),
        ("flaw", "lawn", 2 / 4),
        ("Ohio", "oHIO", 0.0),
        ("a" * 5_000, "a" * 5_000 + "b", 0.0),
    ],
)
def test_edit_distance(first: str, second: str, expected: float) -> None:
    assert edit_distance(first, second) == pytest.approx(expected)


@settings(max_examples=60, deadline=None)
@given(st.text("abc ", max_size=12), st.text("abc ", max_size=12))
def test_edit_distance_is_symmetric_and_a_share(first: str, second: str) -> None:
    found = edit_distance(first, second)
    assert 0.0 <= found <= 1.0
    assert found == edit_distance(second, first)
    assert (found == 0.0) == (first.split() == second.split())


def test_gaps_between_boxes() -> None:
    assert gap((0, 0, 10, 10), (10, 10, 5, 5)) == 0.0
    assert gap((0, 0, 10, 10), (2, 2, 3, 3)) == 0.0
    assert near((0, 0, 10, 10), (0, 50, 10, 10)) is not None
    assert near((0, 0, 10, 10), (0, 50.1, 10, 10)) is None
    assert near(None, (0, 0, 1, 1)) is None
    assert near((float("nan"), 0, 1, 1), (0, 0, 1, 1)) is None


def test_relations_look_through_texts_between_siblings() -> None:
    page = PageNodes(
        '<a backend_node_id="1"><b backend_node_id="2">x</b><text backend_node_id="3">,</text>'
        '<i backend_node_id="4">y</i><u backend_node_id="5">z</u></a>'
    )
    for one, other in (("2", "4"), ("4", "2")):
        found = page.relation(one, other)
        assert found is not None
        assert found.relation is Relation.NEIGHBOUR
    assert page.relation("2", "5") is None


def test_fields_are_named_by_their_attributes() -> None:
    page = PageNodes(
        '<a backend_node_id="1"><p backend_node_id="9"><input backend_node_id="2" '
        'placeholder="Your  Town"/></p><q backend_node_id="8">-</q>'
        '<p backend_node_id="7"><input backend_node_id="3" aria_label="your town"/></p></a>'
    )
    found = page.relation("2", "3")
    assert found is not None
    assert found.relation is Relation.SAME_TEXT


@pytest.mark.parametrize(
    ("one", "role"),
    [
        ("<input/>", "text field"),
        ('<input type="EMAIL"/>', "text field"),
        ("<textarea/>", "text field"),
        ('<input type="submit"/>', "button"),
        ('<input type="radio"/>', "radio"),
        ('<div role="Tab"/>', "tab"),
        ("<select/>", "list"),
        ("<a/>", "link"),
        ("<td/>", "td"),
    ],
)
def test_roles(one: str, role: str) -> None:
    tagged = one.replace("/>", ' backend_node_id="2"/>')
    page = PageNodes(f'<x backend_node_id="1">{tagged}</x>')
    assert page.roles("2", "1") == (role, "x")


def test_the_first_of_equal_ids_counts_and_unknown_ones_are_key_errors() -> None:
    page = PageNodes('<a backend_node_id="1"><b backend_node_id="1"/><i/></a>')
    assert page.roles("1", "1") == ("link", "link")
    assert "" not in page
    with pytest.raises(KeyError):
        page.relation("1", "5")


def test_an_xml_declaration_is_passed_over_and_depth_is_no_problem() -> None:
    deep = "".join(f'<d backend_node_id="{i}">' for i in range(1_500)) + "</d>" * 1_500
    page = PageNodes(f'<?xml version="1.0" encoding="utf-8"?>{deep}')
    found = page.relation("1499", "0")
    assert found is not None
    assert found.detail == "1499 below the target"


@pytest.mark.parametrize(
    "page",
    [
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a backend_node_id="1">&x;</a>',
        '<!DOCTYPE a SYSTEM "http://example.org/a.dtd"><a/>',
        "<a>&unknown;</a>",
        "<d>" * 3_000 + "</d>" * 3_000,
        "\x00",
        "<a>\ud800</a>",
    ],
)
def test_pages_that_are_not_safe_or_not_whole_are_refused(page: str) -> None:
    with pytest.raises(PageError):
        PageNodes(page)


def _described(first: str, chosen: object = CLEAR) -> bool:
    made = record("15")
    return described_target(rounds(made, first), TARGET, chosen, ONCE)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ('Press "Save address".', True),
        ("Press the Save address button.", True),
        ("Press 'Clear everything' although save exists.", False),
        ("Clear everything, then save the address", False),
        ("The form is filled in. Go on.", False),
        ("", False),
        ('"Clear everything" is wrong.\n(Next Action Based on Analysis)\nSave the address.', True),
        ('"Save address" was pressed.\n4. **Next action**: clear everything', False),
        ('The next action is "Save address".', True),
    ],
)
def test_descriptions(first: str, expected: bool) -> None:
    assert _described(first) is expected


def test_a_common_word_does_not_describe() -> None:
    shared = tuple(replace(one, text=f"{one.text} save") for one in CHOICES if one is not CLEAR)
    target = replace(TARGET, text="<button id=2> Save </button>")
    made = record("15")
    calls = rounds(made, "I save now.")
    assert not described_target(calls, target, CLEAR, (*shared, CLEAR))
    assert described_target(calls, target, CLEAR, CHOICES[4:6])


def test_the_name_of_an_action_is_no_description() -> None:
    target = replace(TARGET, text="<button id=2> Select </button>")
    calls = rounds(record("15"), "SELECT: <svg id=10 />")
    assert not described_target(calls, target, CLEAR, (target, CLEAR))


def test_relations_agree_with_the_harness_on_real_pages() -> None:
    rows = [row for row in open_steps("sample", splits=("test",)).rows() if row.detail.positives]
    for row in rows[::8]:
        ours, theirs = PageNodes(row.detail.html), Page.parse(row.detail.html)
        target = row.detail.positives[0].id
        for other in row.detail.negatives:
            found = ours.relation(other.id, target)
            nested = found is not None and "the target" in found.detail
            assert nested == theirs.related(other.id, target)


def test_equal_wording_and_single_rounds_say_nothing() -> None:
    assert not _described('"Save address"', LINK)
    made = record("15")
    assert first_replies(rounds(made, "x")[:1]) == []
    assert first_replies([]) == []


@pytest.mark.parametrize(
    "places",
    [
        ("batch-1-describe", "batch-1-choose"),
        ("describe", "attributes"),
        ("batch-1-describe", "batch-1-choose", "batch-2-describe", "batch-2-choose"),
    ],
)
def test_every_describing_round_of_a_protocol_counts(places: tuple[str, ...]) -> None:
    first, second = rounds(record("15"), 'Press "Save address".')
    calls = [
        replace(first if "describe" in place else second, id=place, place=place) for place in places
    ]
    assert described_target(calls, TARGET, CLEAR, ONCE)
    assert not described_target(calls[1::2], TARGET, CLEAR, ONCE)


def test_elements_that_were_not_listed_are_known_by_what_they_say_of_themselves() -> None:
    said = Description(role="", type="", labels=("Keep it",), text="Save address")
    unlisted = tuple(
        replace(one, text="", description=said if one is TARGET else None) for one in ONCE
    )
    target, clear = (next(c for c in unlisted if c.id == one.id) for one in (TARGET, CLEAR))
    calls = rounds(record("15"), 'Press "Keep it".')
    assert described_target(calls, target, clear, unlisted)
    assert not described_target(calls, clear, target, unlisted)
