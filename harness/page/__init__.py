"""A page's DOM: its candidates, and the texts of them that a model is shown.

    page = Page.parse(row_html)
    page.choices(["8635", "8719"])         # MindAct's choice texts, in document order
    page.snippet(["8635"]).text            # the page pruned to a candidate
    page.compact("8635", count=tokens_of)  # one element on one line, capped
    page.refined({"8635": "A"})            # the page as AutoWebGLM reads it
    page.segment("8635", {"8635": "A"})    # an element that was acted upon, as it shows it

A `Page` is parsed once and can be asked about any number of candidate sets; `decode_candidates`
reads the candidate columns of a row. The rules are those of MindAct (Deng et al. 2023, "Mind2Web"),
which SeeAct adopted, and for `refined` and `segment` those of AutoWebGLM (Lai et al. 2024).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Self

import msgspec

from adapters.decoding import decoder_of
from harness.page._render import (
    AUTOWEBGLM,
    SEGMENT,
    Brackets,
    Outline,
    Pruning,
    RankingText,
    collected,
    outline,
    ranking_text,
    render,
)
from harness.page._tree import (
    BASIC_ATTRIBUTES,
    MIND2WEB_ATTRIBUTES,
    MINIWOB_ATTRIBUTES,
    NODE_ID,
    WEBARENA_ATTRIBUTES,
    Attributes,
    Element,
    NodeFacts,
    PageNode,
    Style,
    Tree,
    ancestors,
    facts_of,
    is_text,
    name_of,
    nodes_of,
    parse,
    text_below,
)
from parsers.cleaned_page import PageError
from parsers.records import Box


class Candidate(msgspec.Struct, frozen=True, gc=False, eq=False):
    """A candidate of a row: one entry of `pos_candidates` or `neg_candidates`.

    A page has hundreds of them: structures of msgspec are several times cheaper to make than
    dataclasses, and of no concern to the garbage collector.
    """

    id: str
    tag: str
    place: Box | msgspec.Raw | None
    """Its box, or the JSON text of it, which is parsed on first use: most are never used."""
    original_target: bool
    """True if this is the recorded element; always False for negatives."""
    top_level_target: bool
    """True if it is the topmost of the positives that share a box; always False for negatives."""
    raw_attributes: str
    """The recorded attributes as JSON text."""

    @property
    def box(self) -> Box | None:
        """None if it is missing or not four finite numbers."""
        place = self.place
        return _box(place) if isinstance(place, msgspec.Raw) else place

    def __eq__(self, other: object) -> bool:
        """Return True if both have the same content, also with boxes in different forms."""
        return isinstance(other, Candidate) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash((self.id, self.raw_attributes))

    def _content(self) -> tuple[object, ...]:
        targets = self.original_target, self.top_level_target
        return self.id, self.tag, self.box, *targets, self.raw_attributes

    @property
    def attributes(self) -> dict[str, str]:
        """The recorded attributes, decoded on each call.

        Raises:
            ValueError: `raw_attributes` is not a JSON object, which `decode_candidates` rules out.
        """
        try:
            stored = _ALL_ATTRIBUTES.decode(self.raw_attributes)
        except msgspec.MsgspecError as error:
            raise ValueError(f"attributes of candidate {self.id}: {error}") from error
        return {name: str(value) for name, value in stored.items()}


class _Stored(msgspec.Struct, gc=False):
    backend_node_id: str | int
    tag: str = ""
    attributes: str = "{}"
    is_original_target: bool | None = False
    is_top_level_target: bool | None = False


class _StoredAttributes(msgspec.Struct, gc=False):
    bounding_box_rect: msgspec.Raw = msgspec.Raw(b"")


_STORED = decoder_of(_Stored)
_STORED_ATTRIBUTES = decoder_of(_StoredAttributes)
_BOX = decoder_of(Box)
_ALL_ATTRIBUTES = decoder_of(dict[str, object])


def decode_candidates(encoded: Iterable[str | msgspec.Raw]) -> list[Candidate]:
    """Decode the entries of a candidate column, in order: JSON whose `attributes` are JSON text.

    Raises:
        ValueError: an entry or its attributes are not the expected JSON; the message gives the
            entry's position, from 0.
    """
    candidates: list[Candidate] = []
    decode, decode_attributes = _STORED.decode, _STORED_ATTRIBUTES.decode
    try:
        for text in encoded:
            stored = decode(text)
            attributes = stored.attributes
            candidates.append(
                Candidate(
                    str(stored.backend_node_id),
                    stored.tag,
                    decode_attributes(attributes).bounding_box_rect,
                    bool(stored.is_original_target),
                    bool(stored.is_top_level_target),
                    attributes,
                )
            )
    except (msgspec.MsgspecError, TypeError, UnicodeError, RecursionError) as error:
        raise ValueError(f"candidate {len(candidates)} cannot be decoded: {error}") from error
    return candidates


def _box(rect: msgspec.Raw) -> Box | None:
    """Read a box stored as `"x,y,width,height"`; None for anything but four finite numbers."""
    try:
        # Reading it as a JSON array is several times faster than splitting and converting.
        return _BOX.decode(b"[%b]" % bytes(rect)[1:-1])
    except msgspec.MsgspecError:
        return None


__all__ = [
    "BASIC_ATTRIBUTES",
    "MIND2WEB_ATTRIBUTES",
    "MINIWOB_ATTRIBUTES",
    "NODE_ID",
    "WEBARENA_ATTRIBUTES",
    "Attributes",
    "Box",
    "Brackets",
    "Candidate",
    "ChoiceText",
    "NodeFacts",
    "Page",
    "PageError",
    "PageNode",
    "Pruning",
    "RankingText",
    "Style",
    "decode_candidates",
]

_CHOICE_WORDS = 10


class ChoiceText(NamedTuple):
    """The id of a candidate and its text in the list of choices."""

    id: str
    text: str


class _Snippet(NamedTuple):
    """A page pruned to some candidates, as text, with the texts of the candidates."""

    text: str
    choices: list[ChoiceText]


class Page:
    """The DOM of a page before an action; parse it once and ask about any number of candidates.

    Ids are those of the data (`backend_node_id`). Methods raise `ValueError` for an id that is not
    on the page, or of a text node where only elements can be asked for. Except for caches, a page
    never changes.
    """

    __slots__ = ("_tree", "_wording")

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._wording: dict[Element, str] = {}

    @classmethod
    def parse(cls, cleaned_html: str) -> Self:
        """Parse a cleaned page (well-formed XML).

        Raises:
            PageError: not well-formed, too deeply nested, or with declared entities.
        """
        return cls(parse(cleaned_html))

    def __contains__(self, node_id: object) -> bool:
        return node_id in self._tree.places

    def choices(self, ids: Iterable[str], *, brackets: Brackets = "angle") -> list[ChoiceText]:
        """Write candidates as MindAct lists them, in document order, in at most ten words.

        A text is the beginning of how the candidate is rendered in the page pruned to all of the
        candidates, so it depends on which candidates are listed together.

        Args:
            ids: candidates in any order; duplicates are ignored.
            brackets: "angle" for prompted models, "round" for models fine-tuned on that form.
        """
        candidates = self._candidates(ids)
        return self._texts(candidates, outline(self._tree, candidates, whole=False), brackets)

    def snippet(self, ids: Iterable[str], *, brackets: Brackets = "angle") -> _Snippet:
        """Prune the whole page to the candidates, and write it and their texts; see `choices`."""
        candidates = self._candidates(ids)
        inner = outline(self._tree, candidates, whole=True)
        numbers = {node: number for number, node in enumerate(candidates)}
        text = render(self._tree.root, inner, numbers, self._wording, brackets)
        return _Snippet(text, self._texts(candidates, inner, brackets))

    def _texts(
        self, candidates: Sequence[Element], inner: Outline, brackets: Brackets
    ) -> list[ChoiceText]:
        numbers = {node: number for number, node in enumerate(candidates)}
        return [
            ChoiceText(
                node.get(NODE_ID, ""),
                render(node, inner, numbers, self._wording, brackets, _CHOICE_WORDS),
            )
            for node in candidates
        ]

    def refined(
        self,
        ids: Mapping[str, str],
        *,
        pruning: Pruning | None = AUTOWEBGLM,
        attributes: Attributes = MIND2WEB_ATTRIBUTES,
        style: Style = "refine",
    ) -> str:
        """Write the page as AutoWebGLM reads it (Lai et al. 2024), on one line.

        Args:
            ids: elements that may be acted upon, with the ids that they are shown with.
            pruning: how much around these elements is kept; None keeps the whole page.
            attributes: attributes whose values are shown.
            style: `refine`, `<a[A]| value; text child >`, `xml`, `<a id="A">text child </a>`, or
                `axtree`, a line `[A] link 'text'` for each, which shows no other attributes.
        """
        from harness.page._refine import axtree, refine

        shown = self._shown(ids)
        kept = None if pruning is None else collected(shown, pruning)
        if style == "axtree":
            return axtree(self._tree.nodes, kept, shown)
        return refine(self._tree.nodes, kept, shown, attributes, style)

    def segment(
        self,
        node_id: str,
        ids: Mapping[str, str],
        *,
        attributes: Attributes = MIND2WEB_ATTRIBUTES,
    ) -> str:
        """Write an element with its nearest surroundings, for the line of an action done to it.

        `ids` are those of the page it was acted upon.
        """
        from harness.page._refine import refine

        kept = collected(self._candidates([node_id]), SEGMENT)
        return refine(self._tree.nodes, kept, self._shown(ids), attributes, "refine")

    def compact(
        self, node_id: str, *, max_tokens: int | None = 400, count: Callable[[str], int]
    ) -> str:
        """Write a node on one line, cut at an element boundary to at most `max_tokens`.

        `<...>` marks the cut; everything after it in document order is missing. `count` gives the
        tokens of a text. With None as the limit the node is written whole.
        """
        from harness.page.html import compact

        return compact(self._node(node_id), max_tokens, count)

    def related(self, a: str, b: str) -> bool:
        """Return True if two nodes are the same or one contains the other."""
        one, other = self._node(a), self._node(b)
        return one is other or other in ancestors(one) or one in ancestors(other)

    def in_order(self, ids: Iterable[str]) -> list[str]:
        """Return the ids in document order, without duplicates."""
        return sorted(dict.fromkeys(ids), key=self._place)

    def text_of(self, node_id: str, max_words: int = 50) -> str:
        """Return the first words of the text inside a node, single-spaced, in their own case."""
        return text_below(self._node(node_id), max_words)

    def elements(self, ids: Iterable[str]) -> list[str]:
        """Return the ids that are elements of the page, in document order, without duplicates."""
        places, nodes = self._tree.places, self._tree.nodes
        place_of = {node_id: place for node_id in ids if (place := places.get(node_id)) is not None}
        elements = (node_id for node_id, place in place_of.items() if not is_text(nodes[place]))
        return sorted(elements, key=place_of.__getitem__)

    def nodes(self) -> list[PageNode]:
        """Return all nodes in document order, including text nodes."""
        return nodes_of(self._tree)

    def ranking_text(self, node_id: str) -> RankingText:
        """Write a candidate as MindAct's ranker reads it."""
        (node,) = self._candidates([node_id])
        return ranking_text(self._tree, node, self._wording)

    def tag_of(self, node_id: str) -> str:
        """Return the tag of a node; `text` for a text node."""
        return name_of(self._node(node_id))

    def role_of(self, node_id: str) -> NodeFacts:
        """Return tag, role, type and labels of a node."""
        return facts_of(self._node(node_id))

    def _place(self, node_id: str) -> int:
        place = self._tree.places.get(node_id)
        if place is None:
            raise ValueError(f"the page has no node {node_id!r}")
        return place

    def _node(self, node_id: str) -> Element:
        return self._tree.nodes[self._place(node_id)]

    def _shown(self, ids: Mapping[str, str]) -> dict[Element, str]:
        return {node: ids[node.get(NODE_ID, "")] for node in self._candidates(ids)}

    def _candidates(self, ids: Iterable[str]) -> list[Element]:
        """Return elements in document order, without duplicates."""
        found = {self._place(node_id): node_id for node_id in ids}
        nodes = self._tree.nodes
        for place, node_id in found.items():
            if is_text(nodes[place]):
                raise ValueError(f"node {node_id!r} is a text node; only elements can be choices")
        return [nodes[place] for place in sorted(found)]
