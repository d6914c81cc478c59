"""Prune a page to some candidates: which nodes are kept.

The rule is MindAct's (Deng et al. 2023). For every candidate, these are kept: the candidate and its
ancestors; the first `children` of its descendants in document order, including text nodes, down to
`depth` + 1 levels; its siblings up to `siblings` places to either side, counting elements only.
Text is kept if its parent is. An element without attributes, without direct text and with at
most one child is then replaced by that child, unless it is a candidate or the root.

AutoWebGLM's pruner (Lai et al. 2024, algorithm 1, with its usual one round) keeps ancestors only so
far up. What it does not collect is taken out of the page, and the children move up into its place.

The page is never copied or changed: the result is, for each element that is kept, the list of nodes
directly inside it, or the set of what was collected.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from harness.page._tree import NODE_ID, Element, Tree, ancestors, is_text


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
