"""Prune a page to some candidates: which nodes are kept.

The rule is MindAct's (Deng et al. 2023). For every candidate, these are kept: the candidate and its
ancestors; the first `children` of its descendants in document order, including text nodes, down to
`depth` + 1 levels; its siblings up to `siblings` places to either side, counting elements only.
Text is kept if its parent is. An element without attributes, without direct text and with at
most one child is then replaced by that child, unless it is a candidate or the root.

AutoWebGLM's pruner (Lai et al. 2024, algorithm 1) collects in rounds instead, each of them with
smaller limits around everything collected before, and keeps ancestors only so far up. What it does
not collect is taken out of the page, and the children move up into its place.

The page is never copied or changed: the result is, for each element that is kept, the list of nodes
directly inside it, or the set of what was collected.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from harness.page._tree import NODE_ID, Element, ancestors, is_text


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Size of a candidate's kept surroundings; the defaults are MindAct's."""

    depth: int = 5
    children: int = 50
    siblings: int = 3


MINDACT = Surroundings()


@dataclass(frozen=True, slots=True)
class Pruning(Surroundings):
    """How AutoWebGLM prunes a page, with the defaults of its code.

    depth: counts for ancestors as well; `depth` + 1 levels are kept either way.
    rounds: how often surroundings are collected; at least once.
    keep_parent: True if all ancestors of the elements asked for are kept.
    """

    depth: int = 3
    children: int = 30
    siblings: int = 3
    rounds: int = 1
    keep_parent: bool = False

    def smaller(self) -> Pruning:
        """Return the limits of the next round."""
        return replace(
            self,
            depth=int(0.5 * self.depth),
            children=int(0.5 * self.children),
            siblings=int(0.7 * self.siblings),
        )


SEGMENT = Pruning(depth=0, children=2, siblings=1)
"""What AutoWebGLM shows of the surroundings of an element that was acted upon."""

Outline = dict[Element, list[Element]]
"""Each kept element to the nodes directly inside it after pruning, in document order."""


def outline(
    candidates: Sequence[Element],
    limits: Surroundings,
    place: Callable[[], Callable[[Element], int]],
    top: Element | None = None,
) -> Outline:
    """Prune a page to candidates.

    Args:
        candidates: elements in document order, without duplicates.
        limits: how much of their surroundings to keep.
        place: gives a function to a node's place in document order; called only if candidates nest.
        top: the root of the page, to prune the whole page. Without it only what lies inside
            candidates is computed, which is all that the texts of choices depend on.
    """
    kept, nested = _keep(candidates, limits, top)
    in_order: Collection[Element] = kept
    if nested:
        in_order = sorted(kept, key=place())
    return _collapse(in_order, set(candidates), top)


def collected(wanted: Collection[Element], pruning: Pruning) -> set[Element]:
    """Return the elements that AutoWebGLM's pruner keeps; text is kept where its parent is.

    The last step of the algorithm, to remove elements without text, without attributes and with at
    most one child, is left to rendering, which writes none of them (`harness.page._refine`).
    """
    kept, limits = set(wanted), pruning
    for _ in range(max(1, pruning.rounds)):
        found = set(kept)
        for node in kept:
            found.update(islice(ancestors(node), limits.depth + 1))
            found.update(_descendants(node, limits))
            found.update(_siblings(node, limits.siblings))
        kept, limits = found, limits.smaller()
    if pruning.keep_parent:
        for node in wanted:
            kept.update(ancestors(node))
    return kept


def _keep(
    candidates: Sequence[Element], limits: Surroundings, top: Element | None
) -> tuple[dict[Element, None], bool]:
    """Return the elements that are kept, and whether they need sorting.

    Without nested candidates they are found in document order.
    """
    kept: dict[Element, None] = {}
    # Elements known to have a candidate (or the top) at or above them, and elements known not to.
    # Every element enters one of the two at most once, so deep pages stay linear. An element
    # outside cannot become a candidate later: it would have come earlier in document order.
    inside: set[Element] = set()
    outside: set[Element] = set()
    nested = False
    if top is not None:
        inside.add(top)
        kept[top] = None
        nested = True
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
            kept.update(dict.fromkeys(_siblings(candidate, limits.siblings)))
        else:
            outside.update(path)
        inside.add(candidate)
        kept[candidate] = None
        kept.update(dict.fromkeys(_descendants(candidate, limits)))
    return kept, nested


def _descendants(top: Element, limits: Surroundings) -> list[Element]:
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
        count = 0
        siblings: Iterable[Element] = node.itersiblings(preceding=preceding)
        for sibling in siblings:
            if count == reach:
                break
            if not is_text(sibling):
                count += 1
                yield sibling


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
        if (
            has_text
            or len(inside) > 1
            or node in candidates
            or node is top
            or _has_attributes(node)
        ):
            inner[node] = inside
            stand_in[node] = node
        elif inside:
            stand_in[node] = inside[0]
    return inner


def _has_attributes(node: Element) -> bool:
    """Return True if the element has any attribute except its id, shown or not."""
    attributes = node.attrib
    return len(attributes) > 1 or (len(attributes) == 1 and NODE_ID not in attributes)
