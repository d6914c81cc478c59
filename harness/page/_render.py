"""Write a pruned page, or one candidate of it, as text.

Angle brackets, `<a id=0 words> Text </a>`, are for prompted language models; round ones,
`(a id=0 words Text )`, for models that were fine-tuned on that form. Blanks between the pieces are
those of the page: pretty-printed pages have them, compact ones do not. An element is self-closing
if there is nothing at all between its tags.

MindAct's candidate generator (Deng et al. 2023, section 3.1) reads a candidate as the page pruned
to it alone: the part inside it, and the path of elements and near siblings that leads to it.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from harness.page._prune import MINDACT, Outline, outline
from harness.page._tree import Element, Tree, is_text, name_of
from harness.page._words import attribute_words, loose_text, text_words

Brackets = Literal["angle", "round"]

_OPENING = re.compile(r"\s*\(\s*")
_CLOSING = re.compile(r"\s*\)\s*")


class RankingText(NamedTuple):
    """A candidate as MindAct's ranker reads it: the path to it, and what is inside."""

    ancestors: str
    target: str


class Wording:
    """A cache of the words of a page's nodes."""

    __slots__ = ("_attributes", "_texts")

    def __init__(self) -> None:
        self._attributes: dict[Element, str] = {}
        self._texts: dict[Element, str] = {}

    def attributes(self, node: Element) -> str:
        words = self._attributes.get(node)
        if words is None:
            words = self._attributes[node] = attribute_words(node)
        return words

    def text(self, node: Element) -> str:
        words = self._texts.get(node)
        if words is None:
            words = self._texts[node] = text_words(node.text)
        return words


def render(
    top: Element,
    inner: Outline,
    numbers: dict[Element, int],
    wording: Wording,
    brackets: Brackets,
    words: int | None = None,
) -> str:
    """Write `top` and what pruning left inside it.

    Args:
        top: an element that was kept.
        inner: the outline of the pruned page.
        numbers: the number shown as `id=` for each candidate.
        wording: the page's cache of words.
        brackets: "angle" or "round".
        words: stop after this many blank-separated words; None: write all.
    """
    angle = brackets == "angle"
    pieces: list[str] = []
    # A stack of what is still to be written: nodes, and closing tags with what follows them. It is
    # explicit because pages may be nested deeper than Python's calls.
    waiting: list[Element | str] = [top]
    blanks = 0
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            piece = item
        elif is_text(item):
            piece = wording.text(item) + _between(item.tail)
        else:
            inside = inner[item]
            gap = _between(item.text)
            tail = "" if item is top else _between(item.tail)
            name = name_of(item)
            number = numbers.get(item)
            label = wording.attributes(item)
            if number is not None:
                label = f"id={number} {label}"
            if inside or gap:
                label = label.rstrip(" ")
                if angle:
                    piece = f"<{name} {label}>{gap}" if label else f"<{name}>{gap}"
                    waiting.append(f"</{name}>{tail}")
                else:
                    piece = f"({name} {label} {gap}" if label else f"({name} {gap}"
                    waiting.append(f"){tail}")
                waiting.extend(reversed(inside))
            else:
                if label:
                    name = f"{name} {label}"
                piece = f"<{name}/>{tail}" if angle else f"({name}){tail}"
        pieces.append(piece)
        if words is not None:
            # The number of blanks is an upper bound; count words only once it is reached.
            blanks += piece.count(" ")
            if blanks >= words:
                written = "".join(pieces).split(None, words)
                if len(written) > words:
                    return " ".join(written[:words])
                blanks = len(written) - 1
    return " ".join("".join(pieces).split(None, -1 if words is None else words)[:words])


def ranking_text(
    tree: Tree, node: Element, wording: Wording, ancestor_words: int, target_words: int
) -> RankingText:
    """Write the last words of the path to a node and the first words inside it.

    Brackets in the path become slashes, including those in the page's own text, because the
    published ranker was trained that way.
    """
    inner = outline([node], MINDACT, tree.place, tree.root)
    target = render(node, inner, {node: 0}, wording, "round", target_words)
    if node is tree.root:
        return RankingText("", target)
    around = {
        parent: [child for child in inside if child is not node] if node in inside else inside
        for parent, inside in inner.items()
    }
    path = render(tree.root, around, {}, wording, "round")
    path = _CLOSING.sub("", _OPENING.sub("/", path))
    return RankingText(" ".join(path.split()[-ancestor_words:]), target)


def _between(text: str | None) -> str:
    """Write text outside `text` elements, normally indentation, as one blank."""
    if text is None:
        return ""
    return " " if text.isspace() else loose_text(text)
