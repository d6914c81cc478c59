"""A page's DOM: its candidates, and the texts of them that a model is shown.

    page = Page.parse(row_html)
    page.choices(["8635", "8719"])         # MindAct's choice texts, in document order
    page.snippet(["8635"]).text            # the page pruned to a candidate
    page.compact("8635", count=tokens_of)  # one element on one line, capped
    page.refined({"8635": "A"})            # the page as AutoWebGLM reads it
    page.segment("8635", {"8635": "A"})    # an element that was acted upon, as it shows it

A `Page` is parsed once and can be asked about any number of candidate sets; `decode_candidates`
reads the candidate columns of a row. The rules are those of MindAct (Deng et al. 2023, "Mind2Web"),
which SeeAct adopted, and for `refined` and `segment` those of AutoWebGLM (Lai et al. 2024). Errors
are `PageError`, `UnknownNode` and `TextNodeCandidate`, all `ValueError`s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from harness.page._candidates import Candidate, decode_candidates
from harness.page._prune import MINDACT, SEGMENT, Pruning, Surroundings, collected, outline
from harness.page._render import Brackets, RankingText, Wording, ranking_text, render
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
    TextNodeCandidate,
    Tree,
    UnknownNode,
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

__all__ = [
    "BASIC_ATTRIBUTES",
    "MIND2WEB_ATTRIBUTES",
    "MINIWOB_ATTRIBUTES",
    "NODE_ID",
    "SEGMENT",
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
    "Snippet",
    "Style",
    "TextNodeCandidate",
    "UnknownNode",
    "decode_candidates",
]

_CHOICE_WORDS = 10
_USUAL = Pruning()


@dataclass(frozen=True, slots=True)
class ChoiceText:
    """The id of a candidate and its text in the list of choices."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class _Snippet:
    """A page pruned to some candidates, as text, with the texts of the candidates."""

    text: str
    choices: tuple[ChoiceText, ...]


class Page:
    """The DOM of a page before an action; parse it once and ask about any number of candidates.

    Ids are those of the data (`backend_node_id`). Methods raise `UnknownNode` for an id that is not
    on the page. Except for caches, a page never changes.
    """

    __slots__ = ("_tree", "_wording")

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._wording = Wording()

    @classmethod
    def parse(cls, cleaned_html: str) -> Self:
        """Parse a cleaned page (well-formed XML).

        Raises:
            PageError: not well-formed, too deeply nested, or with declared entities.
        """
        return cls(parse(cleaned_html))

    def __contains__(self, node_id: object) -> bool:
        return node_id in self._tree.places

    def choices(
        self,
        ids: Iterable[str],
        *,
        brackets: Brackets = "angle",
        words: int = _CHOICE_WORDS,
    ) -> list[ChoiceText]:
        """Write candidates as MindAct lists them.

        A text is the beginning of how the candidate is rendered in the page pruned to all of the
        candidates, so it depends on which candidates are listed together.

        Args:
            ids: candidates in any order; duplicates are ignored.
            brackets: "angle" for prompted models, "round" for models fine-tuned on that form.
            words: longest text in blank-separated words, including brackets.

        Returns:
            A text per candidate, in document order.

        Raises:
            UnknownNode: the page has no such id.
            TextNodeCandidate: the id belongs to a text node.
        """
        candidates = self._candidates(ids)
        inner = outline(candidates, MINDACT, self._tree.place)
        numbers = {node: number for number, node in enumerate(candidates)}
        return [
            ChoiceText(
                node.get(NODE_ID, ""),
                render(node, inner, numbers, self._wording, brackets, words),
            )
            for node in candidates
        ]

    def snippet(
        self,
        ids: Sequence[str],
        *,
        brackets: Brackets = "angle",
        words: int = _CHOICE_WORDS,
        max_depth: int = MINDACT.depth,
        max_children: int = MINDACT.children,
        max_sibling: int = MINDACT.siblings,
    ) -> _Snippet:
        """Prune the whole page to the candidates, and write it and their texts.

        Args:
            ids: candidates in any order; duplicates are ignored.
            brackets: see `choices`.
            words: see `choices`.
            max_depth: descendants are kept down to this many levels plus one.
            max_children: most descendants kept per candidate, including text nodes.
            max_sibling: siblings are kept up to this many places away.

        Raises:
            UnknownNode: the page has no such id.
            TextNodeCandidate: the id belongs to a text node.
        """
        candidates = self._candidates(ids)
        root = self._tree.root
        limits = Surroundings(max_depth, max_children, max_sibling)
        inner = outline(candidates, limits, self._tree.place, root)
        numbers = {node: number for number, node in enumerate(candidates)}
        return _Snippet(
            render(root, inner, numbers, self._wording, brackets),
            tuple(
                ChoiceText(
                    node.get(NODE_ID, ""),
                    render(node, inner, numbers, self._wording, brackets, words),
                )
                for node in candidates
            ),
        )

    def refined(
        self,
        ids: Mapping[str, str],
        *,
        pruning: Pruning | None = _USUAL,
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

        Raises:
            UnknownNode: the page has no such element.
            TextNodeCandidate: an id belongs to a text node.
        """
        shown = self._shown(ids)
        kept = None if pruning is None else collected(shown, pruning)
        from harness.page._refine import axtree, refine

        if style == "axtree":
            return axtree(self._tree.nodes, kept, shown)
        return refine(self._tree.nodes, kept, shown, attributes, style)

    def segment(
        self,
        node_id: str,
        ids: Mapping[str, str],
        *,
        pruning: Pruning = SEGMENT,
        attributes: Attributes = MIND2WEB_ATTRIBUTES,
        style: Style = "refine",
    ) -> str:
        """Write an element with its nearest surroundings, for the line of an action done to it.

        `ids` are those of the page it was acted upon. Raises as `refined` does.
        """
        (node,) = self._candidates([node_id])
        shown = self._shown(ids)
        kept = collected([node], pruning)
        from harness.page._refine import refine

        return refine(self._tree.nodes, kept, shown, attributes, style)

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
        places = self._tree.places
        try:
            return sorted(dict.fromkeys(ids), key=places.__getitem__)
        except KeyError as error:
            raise UnknownNode(str(error.args[0])) from error

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

    def ranking_text(
        self, node_id: str, *, ancestor_words: int = 50, target_words: int = 100
    ) -> RankingText:
        """Write a candidate as MindAct's ranker reads it.

        Raises:
            UnknownNode: the page has no such id.
            TextNodeCandidate: the id belongs to a text node.
        """
        (node,) = self._candidates([node_id])
        return ranking_text(self._tree, node, self._wording, ancestor_words, target_words)

    def tag_of(self, node_id: str) -> str:
        """Return the tag of a node; `text` for a text node."""
        return name_of(self._node(node_id))

    def role_of(self, node_id: str) -> NodeFacts:
        """Return tag, role, type and labels of a node."""
        return facts_of(self._node(node_id))

    def _node(self, node_id: str) -> Element:
        place = self._tree.places.get(node_id)
        if place is None:
            raise UnknownNode(node_id)
        return self._tree.nodes[place]

    def _shown(self, ids: Mapping[str, str]) -> dict[Element, str]:
        return {node: ids[node.get(NODE_ID, "")] for node in self._candidates(ids)}

    def _candidates(self, ids: Iterable[str]) -> list[Element]:
        places, nodes = self._tree.places, self._tree.nodes
        candidate_places = set()
        for node_id in ids:
            place = places.get(node_id)
            if place is None:
                raise UnknownNode(node_id)
            if is_text(nodes[place]):
                raise TextNodeCandidate(node_id)
            candidate_places.add(place)
        return [nodes[place] for place in sorted(candidate_places)]
