"""One page of a recorded trajectory: parsed once, asked many times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from harness.page._compact import compact
from harness.page._nodes import NodeFacts, PageNode, facts_of, nodes_of, text_below
from harness.page._prune import MINDACT, Limits, outline
from harness.page._render import Brackets, RankingText, Wording, ranking_text, render
from harness.page._tree import (
    NODE_ID,
    Element,
    TextNodeCandidate,
    Tree,
    UnknownNode,
    ancestors,
    is_text,
    parse,
)

_CHOICE_WORDS = 10


@dataclass(frozen=True, slots=True)
class ChoiceText:
    """A candidate's id on the page and its text in the list of choices."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Snippet:
    """A page pruned to some candidates, as text, and the choices cut from it."""

    text: str
    choices: tuple[ChoiceText, ...]


class Page:
    """The DOM of a page as it was before an action.

    Made by `parse`; nothing about it changes afterwards but stores of what was worked out, so
    one page serves any number of questions about any candidates. Ids are those of the data
    (`backend_node_id`). Methods raise `UnknownNode` for an id that the page does not have.
    """

    __slots__ = ("_tree", "_wording")

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._wording = Wording()

    @classmethod
    def parse(cls, cleaned_html: str) -> Self:
        """Parse a cleaned page (well-formed XML).

        Raises:
            PageError: the text is not well-formed or declares entities.
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
        """The candidates' texts as MindAct lists them.

        A text is the beginning of the candidate's own rendering within the page pruned to all
        the candidates, so it depends on which others are asked for along with it.

        Args:
            ids: candidates in any order; repetitions count once.
            brackets: "angle" for prompted models, "round" for models fine-tuned on that form.
            words: how many blank-separated words a text has at most, brackets included.

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
    ) -> Snippet:
        """The whole page pruned to the candidates, and their texts.

        Args:
            ids: candidates in any order; repetitions count once.
            brackets: see `choices`.
            words: see `choices`.
            max_depth: descendants stay down to this many levels plus one.
            max_children: at most this many descendants per candidate stay, text included.
            max_sibling: siblings stay up to this many places away.

        Raises:
            UnknownNode: the page has no such id.
            TextNodeCandidate: the id belongs to a text node.
        """
        candidates = self._candidates(ids)
        root = self._tree.root
        limits = Limits(max_depth, max_children, max_sibling)
        inner = outline(candidates, limits, self._tree.place, root)
        numbers = {node: number for number, node in enumerate(candidates)}
        return Snippet(
            render(root, inner, numbers, self._wording, brackets),
            tuple(
                ChoiceText(
                    node.get(NODE_ID, ""),
                    render(node, inner, numbers, self._wording, brackets, words),
                )
                for node in candidates
            ),
        )

    def compact(
        self, node_id: str, *, max_tokens: int | None = 400, count: Callable[[str], int]
    ) -> str:
        """A node in full on one line, cut at an element boundary to at most `max_tokens`.

        Where it was cut stands `<...>`; everything after that point in document order is
        missing. `count` gives the tokens of a text; None as a cap leaves the node whole and
        `count` uncalled.
        """
        return compact(self._node(node_id), max_tokens, count)

    def related(self, a: str, b: str) -> bool:
        """Whether one of two nodes lies within the other, or both are the same."""
        one, other = self._node(a), self._node(b)
        return one is other or other in ancestors(one) or one in ancestors(other)

    def in_order(self, ids: Iterable[str]) -> list[str]:
        """The ids in document order, each once."""
        places = self._tree.places
        try:
            return sorted(dict.fromkeys(ids), key=places.__getitem__)
        except KeyError as error:
            raise UnknownNode(str(error.args[0])) from error

    def text_of(self, node_id: str, max_words: int = 50) -> str:
        """The first words of the text inside a node, single-spaced, in their own case."""
        return text_below(self._node(node_id), max_words)

    def elements(self, ids: Iterable[str]) -> list[str]:
        """Those of the ids that the page has as elements, in document order, each once."""
        places, nodes = self._tree.places, self._tree.nodes
        found = {node_id: place for node_id in ids if (place := places.get(node_id)) is not None}
        there = (node_id for node_id, place in found.items() if not is_text(nodes[place]))
        return sorted(there, key=found.__getitem__)

    def nodes(self) -> list[PageNode]:
        """All nodes in document order, text nodes included."""
        return nodes_of(self._tree)

    def ranking_text(
        self, node_id: str, *, ancestor_words: int = 50, target_words: int = 100
    ) -> RankingText:
        """A candidate as MindAct's ranker reads it.

        Raises:
            UnknownNode: the page has no such id.
            TextNodeCandidate: the id belongs to a text node.
        """
        (node,) = self._candidates([node_id])
        return ranking_text(self._tree, node, self._wording, ancestor_words, target_words)

    def role_of(self, node_id: str) -> NodeFacts:
        """A node's tag, role, type and labels."""
        return facts_of(self._node(node_id))

    def _node(self, node_id: str) -> Element:
        place = self._tree.places.get(node_id)
        if place is None:
            raise UnknownNode(node_id)
        return self._tree.nodes[place]

    def _candidates(self, ids: Iterable[str]) -> list[Element]:
        places, nodes = self._tree.places, self._tree.nodes
        found = set()
        for node_id in ids:
            place = places.get(node_id)
            if place is None:
                raise UnknownNode(node_id)
            if is_text(nodes[place]):
                raise TextNodeCandidate(node_id)
            found.add(place)
        return [nodes[place] for place in sorted(found)]
