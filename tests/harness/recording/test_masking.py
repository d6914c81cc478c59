"""What is hidden, and in which spellings."""

from __future__ import annotations

import base64
import html
import json
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.recording.masking import MASK, Secrets, masked_page
from harness.recording.tab import PageDescription, Painted, html_of


def secrets(*texts: str) -> Secrets:
    found = Secrets()
    for text in texts:
        assert found.add(text)
    return found


@pytest.mark.parametrize("secret", ["hunter2", 'p"a&s<s', "Müller 9!", "a+b=c/d", "4111 1111 1111"])
@pytest.mark.parametrize(
    "spelled",
    [
        str,
        str.upper,
        html.escape,
        quote,
        quote_plus,
        lambda text: json.dumps(text)[1:-1],
        lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
        lambda text: " ".join(text),
        lambda text: text.replace(" ", "-"),
        lambda text: text.replace(" ", ""),
        lambda text: "\u00ad".join(text),
        lambda text: "\u200d\u2060".join(text),
        lambda text: "&shy;".join(map(html.escape, text)),
        lambda text: r"\u200b".join(text),
        lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    ],
)
def test_a_secret_is_found_however_pages_write_it(secret: str, spelled: Any) -> None:
    assert secrets(secret).masked(f"before {spelled(secret)} after") == f"before {MASK} after"


def test_a_secret_is_found_as_base64() -> None:
    encoded = base64.b64encode(b"hunter2").decode()
    assert "aHVu" not in secrets("hunter2").masked(f"Basic {encoded}")


@pytest.mark.parametrize("text", ["", "a", "12", " - "])
def test_what_is_too_short_is_looked_for_nowhere(text: str) -> None:
    assert not Secrets().add(text)


def test_nothing_else_is_changed() -> None:
    assert secrets("hunter2").masked("hunter 3, hunters, 2") == "hunter 3, hunters, 2"


@given(
    st.text(min_size=3, max_size=12).filter(lambda text: Secrets().add(text)),
    st.lists(st.text(alphabet="xyz ", max_size=4), max_size=4),
    st.integers(1, 3),
)
def test_a_secret_over_several_texts_is_in_none_of_them(
    secret: str, around: list[str], cut: int
) -> None:
    texts = [*around, secret[:cut], secret[cut:], *around]
    found = secrets(secret).masked_texts(texts)
    assert len(found) == len(texts)
    joined = "".join(found)
    assert MASK in joined
    assert secret not in joined.replace(MASK, "")


def element(node_id: str, parent: int | None, tag: str, **attributes: str) -> dict[str, Any]:
    return {
        "id": node_id,
        "parent": parent,
        "tag": tag,
        "attributes": attributes,
        "live": {},
        "box": [0, 10 * int(node_id), 100, 10],
        "visible": True,
        "clickable": False,
    }


def test_a_hidden_element_keeps_its_kind_and_nothing_of_what_is_in_it() -> None:
    nodes = (
        element("1", None, "body", title="ours"),
        element("2", 0, "p", title="theirs", id="card"),
        {"id": "3", "parent": 1, "text": "a name"},
        element("4", 1, "img", src="/face.png", alt="a face"),
    )
    pieces = [
        ("markup", "<body>"),
        ("hide", ""),
        ("markup", '<p title="'),
        ("value", "theirs", "title"),
        ("markup", '" id="'),
        ("value", "card", "id"),
        ("markup", '">'),
        ("text", "a name"),
        ("markup", "</p>"),
        ("show", ""),
        ("text", "more"),
        ("markup", "</body>"),
    ]
    drawn = (Painted("", (0, 20, 100, 10), True, True), Painted("more", (0, 40, 50, 10)))
    page = PageDescription(nodes, tuple(pieces), hidden=frozenset({"2"}), drawn=drawn)
    hidden, boxes = masked_page(page, Secrets())
    assert html_of(hidden.pieces).endswith(
        f'<body><p title="{MASK}" id="card">{MASK}</p>more</body>'
    )
    assert hidden.nodes[0]["attributes"] == {"title": "ours"}
    assert hidden.nodes[1]["attributes"] == {"title": MASK, "id": "card"}
    assert hidden.nodes[3]["attributes"] == {"src": MASK, "alt": MASK}
    assert boxes == ((0, 20, 100, 10),)
    assert hidden.drawn == drawn[1:]


def test_lines_that_read_as_a_secret_in_any_order_are_painted_over() -> None:
    drawn = [
        Painted("ter2", (60, 0, 30, 10)),
        Painted("not this", (0, 20, 90, 10)),
        Painted("hun", (30, 1, 30, 10)),
        Painted("2retnuh", (0, 40, 90, 10)),
        Painted("hunt", (0, 60, 90, 10), whole=True),
        Painted("er2", (90, 60, 90, 10), whole=True),
        Painted("hun\u00adt", (0, 80, 90, 10)),
        Painted("er2", (0, 100, 90, 10)),
    ]
    assert secrets("hunter2").drawn_over(drawn) == {0, 2, 3, 6, 7}
