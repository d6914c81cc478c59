"""Clean a page: what a visitor sees, as well-formed XML in the format of Mind2Web."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from harness.live.nodes import Node, Text
from harness.page import FORBIDDEN

_DROPPED = frozenset({"head", "script", "style", "link", "meta", "title", "template", "br"})
_KEPT_ATTRIBUTES = frozenset(
    {"role", "type", "alt", "aria_description", "aria_label", "label", "title"}
    | {"name", "value", "placeholder"}
)


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of pages beyond what Mind2Web keeps.

    drawings: whether the parts of SVG pictures are elements like others.
    colours: whether boxes of a colour and shapes have attributes `rgba` and `size`.
    attributes: further attributes of elements, in the data's names.
    left_out: a CSS selector of elements that are no part of the page; "" for none.
    """

    drawings: bool = False
    colours: bool = False
    attributes: frozenset[str] = frozenset()
    left_out: str = ""


USUAL = Kept()
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


def is_drawing(node: Node) -> bool:
    """Whether the element is part of an SVG picture; the `svg` element itself is kept."""
    return any(above.tag == "svg" for above in node.ancestors() if above is not node)


def is_kept(node: Node, kept: Kept = USUAL) -> bool:
    """Whether cleaning keeps the element itself, even if nothing inside it is kept.

    Options of a closed list are not visible on the page, but kept if the list is visible.
    """
    if node.tag in _DROPPED or (is_drawing(node) and not kept.drawings):
        return False
    if node.tag in ("option", "optgroup"):
        return any(above.tag == "select" and above.visible for above in node.ancestors())
    return node.visible


def attribute_name(name: str) -> str:
    """An attribute's name in the data: dashes become underscores."""
    return name.replace("-", "_")


def clean(root: Node, kept: Kept = USUAL) -> str:
    """Write the page without invisible elements, pretty-printed, with text in `<text>` elements.

    An invisible element is kept if it contains a visible one. The root is always kept.
    """
    return "\n".join(_lines(root, 0, kept)) or f'<{tag_of(root)} backend_node_id="{root.id}"/>'


def _lines(node: Node, depth: int, kept: Kept) -> list[str]:
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
    """The element's tag in the data, where `text` is a piece of text, and in SVG an element.

    A page can make elements with names that XML does not allow.
    """
    if node.tag == "text":
        return "tspan"
    return node.tag if _NAME.fullmatch(node.tag) else "div"


def _text(text: Text, words: str) -> str:
    return f'<text backend_node_id="{text.id}">{words}</text>'


def _attributes(node: Node, kept: Kept) -> Iterator[str]:
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
