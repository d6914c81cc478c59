"""Prune a page to some candidates, and write it, or one candidate of it, as text.

The rule is MindAct's (Deng et al. 2023). For every candidate, these are kept: the candidate and its
ancestors; the first `children` of its descendants in document order, including text nodes, down to
`depth` + 1 levels; its siblings up to `siblings` places to either side, counting elements only.
Text is kept if its parent is. An element without attributes, without direct text and with at
most one child is then replaced by that child, unless it is a candidate or the root. AutoWebGLM's
pruner (Lai et al. 2024, algorithm 1, with its usual one round) keeps ancestors only so far up; the
children of what it leaves out move up. The page itself is never changed.

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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from harness.page._tree import NODE_ID, Element, Tree, ancestors, is_text, name_of


class Pruning(NamedTuple):
    """Size of the surroundings of an element that are kept.

    depth: one less than the levels of descendants, and for AutoWebGLM of ancestors.
    children: most descendants, including text nodes.
    siblings: most elements to either side.
    """

    depth: int
    children: int
    siblings: int


MINDACT = Pruning(depth=5, children=50, siblings=3)
AUTOWEBGLM = Pruning(depth=3, children=30, siblings=3)
SEGMENT = Pruning(depth=0, children=2, siblings=1)
"""What AutoWebGLM shows of the surroundings of an element that was acted upon."""

Outline = dict[Element, list[Element]]
"""Each kept element to the nodes directly inside it after pruning, in document order."""


def outline(tree: Tree, candidates: Sequence[Element], *, whole: bool) -> Outline:
    """Prune a page to candidates by MindAct's rule.

    Args:
        tree: the page.
        candidates: elements in document order, without duplicates.
        whole: True to prune the whole page. Without it only what lies inside candidates is
            computed, which is all that the texts of choices depend on.
    """
    top = tree.root if whole else None
    kept, nested = _keep(candidates, top)
    in_order: Collection[Element] = sorted(kept, key=tree.place()) if nested else kept
    return _collapse(in_order, set(candidates), top)


def collected(wanted: Collection[Element], limits: Pruning) -> set[Element]:
    """Return the elements that AutoWebGLM's pruner keeps; text is kept where its parent is.

    The last step of the algorithm, to remove elements without text, without attributes and with at
    most one child, is left to rendering, which writes none of them (`harness.page._refine`).
    """
    kept = set(wanted)
    for node in wanted:
        kept.update(islice(ancestors(node), limits.depth + 1))
        kept.update(_descendants(node, limits))
        kept.update(_siblings(node, limits.siblings))
    return kept


def _keep(candidates: Sequence[Element], top: Element | None) -> tuple[dict[Element, None], bool]:
    """Return the elements that are kept, and whether they need sorting.

    Without nested candidates they are found in document order.
    """
    kept: dict[Element, None] = {} if top is None else {top: None}
    # Elements known to have a candidate (or the top) at or above them, and elements known not to.
    # Every element enters one of the two at most once, so deep pages stay linear. An element
    # outside cannot become a candidate later: it would have come earlier in document order.
    inside, outside = set(kept), set[Element]()
    nested = top is not None
    for candidate in candidates:
        path = []
        above = candidate.getparent()
        while above is not None and above not in inside and above not in outside:
            path.append(above)
            above = above.getparent()
        if above in inside:
            nested = True
            inside.update(path)
            kept.update(dict.fromkeys(path))
            kept.update(dict.fromkeys(_siblings(candidate, MINDACT.siblings)))
        else:
            outside.update(path)
        inside.add(candidate)
        kept[candidate] = None
        kept.update(dict.fromkeys(_descendants(candidate, MINDACT)))
    return kept, nested


def _descendants(top: Element, limits: Pruning) -> list[Element]:
    """Return the elements below `top` that are kept for it, in document order."""
    deepest = limits.depth + 1
    budget = limits.children
    kept = []
    node, level = top, 0
    while budget > 0:
        if level < deepest and len(node):
            node = node[0]
            level += 1
        else:
            following = None
            while level and (following := node.getnext()) is None:
                parent = node.getparent()
                assert parent is not None
                node = parent
                level -= 1
            if following is None:
                break
            node = following
        budget -= 1
        if node.tag != "text" or len(node):
            kept.append(node)
    return kept


def _siblings(node: Element, reach: int) -> Iterator[Element]:
    for preceding in (True, False):
        siblings: Iterable[Element] = node.itersiblings(preceding=preceding)
        yield from islice((one for one in siblings if not is_text(one)), reach)


def _collapse(
    in_order: Collection[Element], candidates: Collection[Element], top: Element | None
) -> Outline:
    """Replace bare elements by their only child, children before parents."""
    inner: Outline = {}
    stand_in: dict[Element, Element] = {}
    for node in reversed(list(in_order)):
        inside = []
        has_text = False
        for child in node:
            if child.tag == "text" and not len(child):
                inside.append(child)
                has_text = True
            elif child in stand_in:
                inside.append(stand_in[child])
        # Any attribute except its id counts, shown or not.
        named = len(node.attrib) > 1 or (len(node.attrib) == 1 and NODE_ID not in node.attrib)
        if has_text or len(inside) > 1 or node in candidates or node is top or named:
            inner[node] = inside
            stand_in[node] = node
        elif inside:
            stand_in[node] = inside[0]
    return inner


SHOWN_ATTRIBUTES = (
    *("role", "aria_role", "type", "alt", "aria_description", "aria_label", "label", "title"),
    *("name", "text_value", "value", "placeholder", "input_checked", "input_value"),
    *("option_selected", "class"),
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
