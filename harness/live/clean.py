"""The node tree of a page, and its elements as XML in the format of Mind2Web.

Texts of hostile pages may contain halves of characters, which cannot be encoded, control
characters, or millions of words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.page.html import FORBIDDEN
from harness.printing import printable
from parsers.actions import mended
from parsers.records import Box


@dataclass(frozen=True, slots=True, eq=False)
class TextNode:
    """A piece of text."""

    id: str
    text: str
    parent: Node | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An element.

    live: the visitor's input, under the attribute names of the data.
    visible: True if it is rendered, also outside of the viewport.
    in_view: True if a part of it was within the viewport and all scrolling elements around it.
    bare: True if it is empty and invisible.
    """

    id: str
    tag: str
    attributes: Mapping[str, str]
    live: Mapping[str, str]
    box: Box
    visible: bool
    clickable: bool
    in_view: bool = False
    bare: bool = False
    parent: Node | None = field(default=None, repr=False)
    children: list[Node | TextNode] = field(default_factory=list, repr=False)

    def elements(self) -> Iterator[Node]:
        """Yield this element and its descendants, in document order."""
        yield self
        for child in self.children:
            if isinstance(child, Node):
                yield from child.elements()

    def ancestors(self) -> Iterator[Node]:
        """Yield this element and its ancestors, nearest first."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.parent

    def own_text(self) -> str:
        """Return the text directly in this element, with blanks collapsed."""
        return _collapse(child.text for child in self.children if isinstance(child, TextNode))

    def full_text(self) -> str:
        """Return the text of this element and its descendants without scripts, blanks collapsed."""
        return _collapse(
            child.text if isinstance(child, TextNode) else child.full_text()
            for child in self.children
            if isinstance(child, TextNode) or child.tag not in ("script", "style")
        )


def tree_of(described: Sequence[Mapping[str, Any]]) -> Node:
    """Build the tree from the list of `describe.js`, and return its root.

    Raises:
        ValueError: the list is malformed.
    """
    found: list[Node | TextNode] = []
    try:
        for one in described:
            place = one["parent"]
            above = None if place is None else found[place]
            if not isinstance(above, Node) and found:
                raise ValueError(f"node {len(found)} has no parent")
            node: Node | TextNode
            if "text" in one:
                node = TextNode(one["id"], mended(one["text"]), above)
            else:
                attributes, live = (
                    {mended(name): mended(value) for name, value in one[kind].items()}
                    for kind in ("attributes", "live")
                )
                node = Node(
                    one["id"],
                    one["tag"],
                    attributes,
                    live,
                    Box(*one["box"]),
                    one["visible"],
                    one["clickable"],
                    one.get("in_view", False),
                    one.get("bare", False),
                    above,
                )
            if above is not None:
                above.children.append(node)
            found.append(node)
        if isinstance(found[0], Node):
            return found[0]
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError(f"not the description of a page: {error!r}") from None
    raise ValueError("not the description of a page: it begins with a text")


def find(root: Node, node_id: str) -> Node:
    """Find the element with this id.

    Raises:
        KeyError: no element has this id.
    """
    for node in root.elements():
        if node.id == node_id:
            return node
    raise KeyError(node_id)


def _collapse(pieces: Iterator[str]) -> str:
    return " ".join(" ".join(pieces).split())


_DROPPED = frozenset({"head", "script", "style", "link", "meta", "title", "template", "br"})
_KEPT_ATTRIBUTES = frozenset(
    {"role", "type", "alt", "aria_description", "aria_label", "label", "title"}
    | {"name", "value", "placeholder"}
)


@dataclass(frozen=True, slots=True)
class KeptParts:
    """Parts of pages to keep in addition to those that Mind2Web keeps.

    drawings: True to treat the parts of SVG pictures as elements.
    colours: True to give coloured boxes and shapes the attributes `rgba` and `size`.
    attributes: further attributes of elements, named as in the data.
    left_out: a CSS selector of elements to leave out; "" for none.
    """

    drawings: bool = False
    colours: bool = False
    attributes: frozenset[str] = frozenset()
    left_out: str = ""


USUAL = KeptParts()
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


CUT = "… [cut]"
"""Mark at the end of a text that was cut."""


def clean_text(text: str, longest: int) -> str:
    """Return a page's text with at most `longest` characters, all of which can be written.

    >>> clean_text("half of \ud83d", 100) == "half of \N{REPLACEMENT CHARACTER}"
    True
    >>> clean_text("a long goal", 10)
    'a … [cut]'
    """
    kept = text if len(text) <= longest else text[: longest - len(CUT)] + CUT
    return printable(kept)


def clean_line(text: str, longest: int) -> str:
    """Return the first line of a page's text, cleaned by `clean_text`."""
    return clean_text(text.strip().partition("\n")[0], longest)


def is_drawing(node: Node) -> bool:
    """Return True for a part of an SVG picture; the `svg` element itself is kept."""
    return any(above.tag == "svg" for above in node.ancestors() if above is not node)


def is_kept(node: Node, kept: KeptParts = USUAL) -> bool:
    """Return True if cleaning keeps the element itself, even if it keeps nothing inside it.

    Options of a closed list are invisible on the page, but kept if the list is visible.
    """
    if node.tag in _DROPPED or (is_drawing(node) and not kept.drawings):
        return False
    if node.tag in ("option", "optgroup"):
        return any(above.tag == "select" and above.visible for above in node.ancestors())
    return node.visible


def attribute_name(name: str) -> str:
    """Return an attribute's name in the data: dashes become underscores."""
    return name.replace("-", "_")


def clean(root: Node, kept: KeptParts = USUAL) -> str:
    """Write the page without invisible elements, pretty-printed, with text in `<text>` elements.

    An invisible element is kept if it contains a visible one. The root is always kept.
    """
    return "\n".join(_lines(root, 0, kept)) or f'<{tag_of(root)} backend_node_id="{root.id}"/>'


def _lines(node: Node, depth: int, kept: KeptParts) -> list[str]:
    if node.tag in _DROPPED or (is_drawing(node) and not kept.drawings):
        return []
    is_shown = is_kept(node, kept)
    inner: list[str] = []
    for child in node.children:
        if isinstance(child, Node):
            inner += _lines(child, depth + 1, kept)
        elif is_shown and (words := escape(" ".join(child.text.split()))):
            inner.append(f"{'  ' * (depth + 1)}{_text(child, words)}")
    if not is_shown and not inner:
        return []
    indent = "  " * depth
    tag = tag_of(node)
    start = f"{indent}<{tag} {' '.join(_attributes(node, kept))}"
    return [f"{start}>", *inner, f"{indent}</{tag}>"] if inner else [f"{start}/>"]


def tag_of(node: Node) -> str:
    """Return the element's tag in the data, where `text` is a text node but in SVG an element.

    Pages can create elements with names that XML does not allow.
    """
    if node.tag == "text":
        return "tspan"
    return node.tag if _NAME.fullmatch(node.tag) else "div"


def _text(text: TextNode, words: str) -> str:
    return f'<text backend_node_id="{text.id}">{words}</text>'


def _attributes(node: Node, kept: KeptParts) -> Iterator[str]:
    yield f'backend_node_id="{node.id}"'
    shown = _KEPT_ATTRIBUTES | kept.attributes
    for name, value in node.attributes.items():
        if attribute_name(name) in shown:
            yield f'{attribute_name(name)}="{escape(value)}"'
    for name, value in node.live.items():
        yield f'{name}="{escape(value)}"'


def escape(text: str) -> str:
    """Escape text for XML; characters that XML does not allow become blanks."""
    return FORBIDDEN.sub(" ", text).translate(_ESCAPES)
