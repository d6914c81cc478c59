"""Generated pages: elements and text nodes in every arrangement that the rules tell apart."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from xml.sax.saxutils import escape, quoteattr

from hypothesis import strategies as st

TAGS = ["div", "span", "a", "button", "input", "li", "p", "grid"]
NAMES = ["role", "type", "alt", "aria_label", "title", "name", "value", "class", "data_x", "style"]
WORDS = [
    *("Search", "zip code", "OK", "fifteen-letters", "fourteen-chars", "ÄÖ ß"),
    *('say "hi" there', '"', "R&D", "a < b > c", "&lt;b&gt;", "&amp;nbsp;", "&#40;x&#41;"),
    *("meta= x", "id= 7", "valid= 3", "ends id=", "ends meta=", "(8)", "\xa0wide\xa0", "&nbsp;"),
    *("HIDDEN", "none", "null", "http://example.org", "one two three four five six seven"),
]
GAPS = ["", "", " ", "\n    ", "\n", "loose text", 'loose "quoted" & more ', " id= 4 "]


@dataclass(frozen=True)
class Made:
    """A page and the ids of its elements, in document order."""

    html: str
    elements: list[str]


Item = str | tuple[str, dict[str, str]]
"""The text of a text node, or the tag and attributes of an element."""


def _item(chance: Random) -> Item:
    def phrase(most: int) -> str:
        return " ".join(chance.choices(WORDS, k=chance.randint(0, most)))

    if chance.random() < 0.25:
        return phrase(chance.choice([1, 2, 25]))
    # Half of the elements are bare, since those are the ones that may collapse.
    named = chance.sample(NAMES, k=chance.choice([0, 0, 0, 1, 2, len(NAMES)]))
    return chance.choice(TAGS), {name: phrase(chance.choice([1, 3, 6])) for name in named}


_chance = Random(7)
# Levels to climb before adding, and what is added. Drawn from a fixed table, the plainest first,
# because hypothesis makes large pages quickly only from cheap draws.
ITEMS: list[tuple[int, Item]] = [(0, ("div", {})), (0, ("a", {})), (1, ("div", {})), (1, "OK")]
ITEMS += [(_chance.choice([0, 0, 0, 1, 1, 1, 1, 2, 3, 6]), _item(_chance)) for _ in range(500)]
nodes = st.sampled_from(ITEMS)


@st.composite
def pages(draw: st.DrawFn) -> Made:
    """A page of 1 to some 160 nodes, pretty-printed, compact or neither."""
    items = draw(
        st.one_of(st.lists(nodes, max_size=25), st.lists(nodes, min_size=80, max_size=160))
    )
    layout = draw(st.sampled_from(["pretty", "compact", "mixed"]))
    gaps = draw(st.lists(st.sampled_from(GAPS), min_size=7, max_size=7))
    pieces: list[str] = []
    opened: list[str] = []
    elements: list[str] = []

    def gap() -> None:
        if layout == "pretty":
            pieces.append("\n" + "  " * len(opened))
        elif layout == "mixed":
            pieces.append(escape(gaps[len(pieces) % len(gaps)]))

    def open_element(tag: str, named: dict[str, str]) -> None:
        node_id = str(1000 - 3 * (len(elements) + len(pieces)))
        spelled = "".join(f" {name}={quoteattr(value)}" for name, value in named.items())
        pieces.append(f'<{tag} backend_node_id="{node_id}"{spelled}>')
        elements.append(node_id)
        opened.append(tag)

    def close_element() -> None:
        if not pieces[-1].startswith("<") or pieces[-1].startswith("</"):
            gap()
        pieces.append(f"</{opened.pop()}>")
        if opened:
            gap()

    open_element("html", {})
    for climb, item in items:
        for _ in range(min(climb, len(opened) - 1)):
            close_element()
        gap()
        if isinstance(item, str):
            node_id = str(1001 - 3 * (len(elements) + len(pieces)))
            pieces.append(f'<text backend_node_id="{node_id}">{escape(item)}</text>')
        else:
            open_element(*item)
    while opened:
        close_element()
    return Made("".join(pieces), elements)


@st.composite
def pages_with_candidates(draw: st.DrawFn) -> tuple[Made, list[str]]:
    """A page and some of its elements, nested or not, in any order."""
    page = draw(pages())
    some = st.lists(st.sampled_from(page.elements), min_size=1, max_size=6)
    many = st.permutations(page.elements).map(lambda ids: ids[: max(1, len(ids) // 2)])
    return page, draw(st.one_of(some, some, many))
