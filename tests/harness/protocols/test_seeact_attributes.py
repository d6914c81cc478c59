"""Descriptions matched with elements: worked examples, ties, and what spelling can carry."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.page import Box
from harness.protocols.seeact_attributes import (
    SeeActAttributes,
    described_as,
    match,
    normal,
    texts_of,
    types_of,
)
from harness.records import Choice
from harness.views import StepView
from parsers import OPERATIONS, Operation
from parsers.records import Description, Prediction, Status
from tests.harness.protocols.examples import step, talk


def element(
    node_id: str,
    tag: str,
    text: str = "",
    *labels: str,
    role: str = "",
    kind: str = "",
    box: Box | None = None,
    place: int | None = None,
) -> Choice:
    about = Description(role, kind, labels, text)
    return Choice("", node_id, tag, "", box or Box(0, 10, 50, 20), description=about, place=place)


PAGE = (
    element("logo", "img", "", "Thumbtack home"),
    element("home", "a", "Home"),
    element("find", "button", "Search"),
    element("what", "input", "", "What are you looking for?", kind="text"),
    element("go", "input", "", "Go!", kind="submit"),
    element("size", "select", "Small Medium Large", "Size"),
    element("menu", "div", "Search Home Sign in / Register"),
    element("sign", "a", "Sign in / Register"),
)


@pytest.mark.parametrize(
    ("kind", "text", "found", "flags"),
    [
        ("BUTTON", "Search", "find", ("matched-exactly",)),
        ("BUTTON", "search.", "find", ("matched-exactly",)),
        ("button", '"Go!"', "go", ("matched-exactly",)),
        ("LINK", "Sign In: Register", "sign", ("matched-exactly",)),
        ("TEXTBOX", "what are you looking for?", "what", ("matched-exactly",)),
        ("Text box", "What are you looking", "what", ("matched-nearly",)),
        ("SELECTBOX", "Size", "size", ("matched-exactly",)),
        ("IMG", "Thumbtack home", "logo", ("matched-exactly",)),
        # The type is wrong, the text is not.
        ("LINK", "Search", "find", ("matched-nearly",)),
        ("", "Home", "home", ("matched-nearly",)),
        ("BUTTON", "Delete my account", None, ("matcher-none",)),
        ("SELECTBOX", "", None, ("matcher-none",)),
        ("", "", None, ("matcher-none",)),
    ],
)
def test_worked_examples(kind: str, text: str, found: str | None, flags: tuple[str, ...]) -> None:
    result = match(PAGE, kind, text)
    assert (result.choice.id if result.choice else None, result.flags) == (found, flags)


def test_a_description_of_two_elements_means_the_higher_then_the_one_on_the_left() -> None:
    low = element("low", "a", "More", box=Box(0, 900, 10, 10))
    right = element("right", "a", "More", box=Box(300, 20, 10, 10))
    left = element("left", "a", "MORE", box=Box(10, 20, 10, 10))
    hidden = element("hidden", "a", "More", box=Box(0, 0, 0, 10))
    result = match([hidden, low, right, left], "LINK", "more")
    assert result.choice is left
    assert result.flags == ("matched-exactly", "matcher-tie")
    same = [element("b", "a", "x", place=2), element("a", "a", "x", place=1)]
    assert match(same, "LINK", "x").choice is same[1]


def test_similarity_is_the_share_of_common_words() -> None:
    # 2 x 2 common words of 3 + 5 is one half, 2 x 1 of 3 + 5 less.
    five = [element("e", "a", "one two three four five")]
    assert match(five, "LINK", "one two six").choice is five[0]
    assert match(five, "LINK", "one seven six").choice is None


def test_types_come_from_role_tag_and_input_type() -> None:
    assert types_of(element("", "div", role="button")) == ("BUTTON",)
    assert types_of(element("", "input", role="combobox")) == ("SELECTBOX", "TEXTBOX")
    assert types_of(element("", "input", kind="checkbox")) == ("BUTTON",)
    assert types_of(element("", "div")) == ()
    assert described_as(element("", "div", "x")) == ("DIV", "x")
    assert normal("A.B:C/D'E\"F,  G") == "abcdef g"


def test_a_wrong_model_and_a_wrong_match_can_be_told_apart() -> None:
    protocol = SeeActAttributes()
    answer = "ELEMENT: it\nELEMENT TYPE: LINK\nELEMENT TEXT: {}\nACTION: TYPE\nVALUE: Ohio"
    asked, found = talk(
        protocol.dialogue(StepView(step(), PAGE)), ["The home link.", answer.format("Home")]
    )
    assert [ask.place for ask in asked] == ["describe", "attributes"]
    assert found == Prediction.of(
        Status.ANSWERED, element="home", operation="TYPE", value="Ohio", flags=("matched-exactly",)
    )
    _, lost = talk(protocol.dialogue(StepView(step(), PAGE)), ["", answer.format("Imprint")])
    assert (lost.status, lost.element) == (Status.NO_ELEMENT, None)
    assert (lost.operation, lost.flags) == ("TYPE", ("matcher-none",))


def test_no_choice_is_shown_and_the_picture_once() -> None:
    asked, _ = talk(SeeActAttributes().dialogue(StepView(step(), PAGE)), ["x", "y"])
    said = "".join(m.text for ask in asked for m in ask.conversation.messages)
    assert "Thumbtack" not in said
    assert len(asked[1].conversation.pictures) == 1


WORDS = st.sampled_from(["Search", "sign in", "Größe", "a/b", "x*y", "_", "5 PM", '"q"', "None"])
PAGES = st.lists(
    st.builds(
        lambda tag, text, label, role: (tag, text, label, role),
        st.sampled_from(["a", "button", "input", "div", "select"]),
        st.lists(WORDS, max_size=3).map(" ".join),
        st.lists(WORDS, max_size=2).map(" ".join),
        st.sampled_from(["", "button", "tab"]),
    ),
    min_size=1,
    max_size=12,
)


@given(PAGES, st.integers(0, 11), st.sampled_from(OPERATIONS))
@settings(max_examples=150, deadline=None)
def test_spelling_gives_back_an_element_whose_description_is_its_own(
    parts: Sequence[tuple[str, str, str, str]], picked: int, operation: Operation
) -> None:
    """And, where several share it, the highest of those, flagged as a tie."""
    pool = tuple(
        element(f"n{i}", tag, text, label, role=role, box=Box(0, 10.0 * i, 9, 9))
        for i, (tag, text, label, role) in enumerate(parts)
    )
    chosen = pool[picked % len(pool)]
    kind, text = described_as(chosen)
    if normal(text) in ("", "none"):
        return  # nothing to be described by
    value = "" if operation == "CLICK" else "5 PM"
    wanted = Prediction.of(Status.ANSWERED, element=chosen.id, operation=operation, value=value)
    protocol = SeeActAttributes()
    told = protocol.write(StepView(step(), pool), wanted)
    _, found = talk(
        protocol.dialogue(StepView(step(), pool)), [told[place] for place in protocol.places]
    )
    alike = [
        c
        for c in pool
        if normal(text) in texts_of(c) and (kind in types_of(c) or kind in (c.tag.upper(),))
    ]
    assert chosen in alike
    assert found.element == alike[0].id
    assert found.flags == (
        ("matched-exactly", "matcher-tie") if len(alike) > 1 else ("matched-exactly",)
    )
    assert (found.status, found.operation, found.value) == (Status.ANSWERED, operation, value)


def test_on_a_real_page_two_buttons_say_search_and_position_decides_wrongly() -> None:
    """One of the 468 candidates is a second such button, higher up and out of sight."""
    root = os.environ.get("VLM_EVAL_TEST_DATA")
    if not root:
        pytest.skip("VLM_EVAL_TEST_DATA is not set")
    import pyarrow.parquet as pq

    from harness.page import Page, decode_candidates

    path = Path(root) / "seeact-example" / "multimodal_mind2web_row.parquet"
    (row,) = pq.read_table(path).to_pylist()
    page = Page.parse(row["cleaned_html"])
    pool = []
    for candidate in decode_candidates([*row["pos_candidates"], *row["neg_candidates"]]):
        facts = page.role_of(candidate.id)
        about = Description(facts.role, facts.type, facts.labels, page.text_of(candidate.id))
        pool.append(Choice("", candidate.id, candidate.tag, "", candidate.box, description=about))
    positive = json.loads(row["pos_candidates"][0])["backend_node_id"]
    found = match(pool, "BUTTON", "Search")
    assert found.choice is not None
    assert (found.choice.id, found.exact, found.tied) == ("10628", True, True)
    without = [choice for choice in pool if choice.id != "10628"]
    assert getattr(match(without, "BUTTON", "Search").choice, "id", None) == positive
    own = sum(match(pool, *described_as(choice)).choice is choice for choice in pool)
    assert own / len(pool) > 0.75, "most elements are found by what they say of themselves"
