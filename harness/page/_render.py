"""Write a pruned page, or one candidate of it, as text.

Angle brackets, `<a id=0 words> Text </a>`, are for prompted language models; round ones,
`(a id=0 words Text )`, for models that were fine-tuned on that form. Blanks between the pieces are
those of the page: pretty-printed pages have them, compact ones do not. An element is self-closing
if there is nothing at all between its tags.

MindAct shows attribute values without their names and shortens everything. Three quirks of its
string handling are reproduced for equal texts: a double quote in page text becomes a blank,
after the text is cut; `meta= ` is removed and `id= ` loses its blank even in the page's own text;
sequences such as `&lt;` that remain after parsing are decoded once more.

MindAct's candidate generator (Deng et al. 2023, section 3.1) reads a candidate as the page pruned
to it alone: the part inside it, and the path of elements and near siblings that leads to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from harness.page._prune import Outline, outline
from harness.page._tree import Element, Tree, is_text, name_of

SHOWN_ATTRIBUTES = (
    "role",
    "aria_role",
    "type",
    "alt",
    "aria_description",
    "aria_label",
    "label",
    "title",
    "name",
    "text_value",
    "value",
    "placeholder",
    "input_checked",
    "input_value",
    "option_selected",
    "class",
)
"""Attributes whose values are shown, in this order."""

_RANK = {name: rank for rank, name in enumerate(SHOWN_ATTRIBUTES)}
_SILENT_VALUES = frozenset({"hidden", "none", "presentation", "null", "undefined"})
_WORD_LENGTH = 15
_WORDS_PER_VALUE = 5
_WORDS_PER_NODE = 20
_ANCESTOR_WORDS, _TARGET_WORDS = 50, 100
_SEQUENCE = re.compile(r"&(lt|gt|amp|quot|apos|nbsp|#[0-9]{1,7});")
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'", "nbsp": "\xa0"}


def attribute_words(node: Element) -> str:
    """Join the shown attribute values of an element, with a trailing blank; "" if there are none.

    Example: `<input type="text" name="zip_code" value="10203"/>` gives `"text zip_code 10203 "`.
    """
    shown = [(_RANK[name], value) for name, value in node.items() if name in _RANK]
    if not shown:
        return ""
    shown.sort()
    phrases: dict[str, None] = {}
    for _, raw in shown:
        value = raw.lower()
        if value in _SILENT_VALUES or value.startswith("http"):
            continue
        words = [word for word in value.split() if len(word) < _WORD_LENGTH]
        if words:
            phrases[" ".join(words[:_WORDS_PER_VALUE])] = None
    if not phrases:
        return ""
    phrase = " ".join(phrases)
    if len(phrases) > _WORDS_PER_NODE // _WORDS_PER_VALUE:
        phrase = " ".join(phrase.split(" ")[:_WORDS_PER_NODE])
    return _as_serialised(phrase + " ")


def text_words(text: str | None) -> str:
    """Return the first 20 words of a text node, in their own case; "" for a node without text."""
    if text is None:
        return ""
    return loose_text(" ".join(text.split(None, _WORDS_PER_NODE)[:_WORDS_PER_NODE]))


def loose_text(text: str) -> str:
    """Replace double quotes by blanks and decode remaining sequences."""
    return _as_serialised(text.replace('"', " "))


def _as_serialised(text: str) -> str:
    if "= " in text:
        text = text.replace("meta= ", "").replace("id= ", "id=")
    if "&" in text:
        text = _SEQUENCE.sub(_decoded, text)
    return text


def _decoded(match: re.Match[str]) -> str:
    name = match[1]
    if name[0] != "#":
        return _NAMED[name]
    code = int(name[1:])
    # Not a valid character: leave it unchanged.
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else match[0]


Brackets = Literal["angle", "round"]

_OPENING = re.compile(r"\s*\(\s*")
_CLOSING = re.compile(r"\s*\)\s*")


class RankingText(NamedTuple):
    """A candidate as MindAct's ranker reads it: the path to it, and what is inside."""

    ancestors: str
    target: str


def render(
    top: Element,
    inner: Outline,
    numbers: Mapping[Element, int],
    wording: dict[Element, str],
    brackets: Brackets,
    words: int | None = None,
) -> str:
    """Write `top` and what pruning left inside it.

    Args:
        top: an element that was kept.
        inner: the outline of the pruned page.
        numbers: the number shown as `id=` for each candidate.
        wording: a cache of the words of the page's nodes.
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
            piece = _worded(item, wording) + _between(item.tail)
        else:
            inside = inner[item]
            gap = _between(item.text)
            tail = "" if item is top else _between(item.tail)
            name = name_of(item)
            number = numbers.get(item)
            label = _worded(item, wording)
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


def _worded(node: Element, wording: dict[Element, str]) -> str:
    words = wording.get(node)
    if words is None:
        words = text_words(node.text) if is_text(node) else attribute_words(node)
        wording[node] = words
    return words


def ranking_text(tree: Tree, node: Element, wording: dict[Element, str]) -> RankingText:
    """Write the last 50 words of the path to a node and the first 100 words inside it.

    Brackets in the path become slashes, including those in the page's own text, because the
    published ranker was trained that way.
    """
    inner = outline(tree, [node], whole=True)
    target = render(node, inner, {node: 0}, wording, "round", _TARGET_WORDS)
    if node is tree.root:
        return RankingText("", target)
    around = {
        parent: [child for child in inside if child is not node] for parent, inside in inner.items()
    }
    path = render(tree.root, around, {}, wording, "round")
    path = _CLOSING.sub("", _OPENING.sub("/", path))
    return RankingText(" ".join(path.split()[-_ANCESTOR_WORDS:]), target)


def _between(text: str | None) -> str:
    """Write text outside `text` elements, normally indentation, as one blank."""
    if text is None:
        return ""
    return " " if text.isspace() else loose_text(text)
