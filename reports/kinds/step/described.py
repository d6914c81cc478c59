"""Find replies whose round 1 describes the target although round 2 picks another element.

Protocols that ask about candidates in batches describe the action once per batch; one description
of the target is enough. The rule, in this order:

1. Only the part of a describing reply after the last line that begins with "Next Action" counts (a
   heading that SeeAct's prompt asks for); without such a line, the whole reply counts.
2. A quoted string ("...", “...”, '...', `...`) that occurs in the target's wording and not in the
   chosen element's is a vote for the target, and vice versa. The side with more votes wins.
3. In a tie, words decide that only one of the two elements has. A word that n choices have weighs
   1/n, and each side scores the share of its weight that the reply mentions. The target wins if its
   share is larger and one of its mentioned words is rare: in at most a fifth of the choices, or in
   a single one. Names of actions ("select") do not count as mentioned.

Wording means the words of a choice without tag names and node ids. A paraphrase ("the magnifying
glass") is not recognised.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from harness.runs import CallRecord
from parsers.cleaned_page import parse_page
from parsers.records import Choice

if TYPE_CHECKING:
    from lxml import etree


Box = tuple[float, float, float, float]
"""(x, y, width, height) in page pixels."""

NEAR = 40.0
"""Largest gap in pixels between the boxes of neighbours: about the height of a button."""

_ID = "backend_node_id"
_NAMES = ("aria_label", "placeholder", "alt", "title", "value", "name")
_ROLES = {"a": "link", "button": "button", "textarea": "text field", "select": "list"}
_TYPES = {
    **dict.fromkeys(("submit", "button", "reset", "image"), "button"),
    **dict.fromkeys(("checkbox", "radio", "range", "file", "color")),
}


class Relation(StrEnum):
    """Relations of a wrongly chosen element to the right one, the closest first."""

    SAME_TEXT = "same text"
    ANCESTOR = "ancestor"
    DESCENDANT = "descendant"
    NEIGHBOUR = "neighbour"
    SAME_ROLE = "same role"
    ELSEWHERE = "elsewhere"
    UNKNOWN_PAGE = "unknown page"


@dataclass(frozen=True, slots=True)
class FoundRelation:
    """A relation, with the evidence for it in words."""

    relation: Relation
    detail: str = ""


class PageNodes:
    """The elements of a page by `backend_node_id`; the first counts if ids repeat."""

    def __init__(self, html: str) -> None:
        """Raises `PageError` for a page that is not well-formed or declares entities."""
        root = parse_page(html)
        self._nodes: dict[str, etree._Element] = {}
        for node in root.iter():
            self._nodes.setdefault(node.get(_ID, ""), node)
        self._nodes.pop("", None)

    def __contains__(self, node_id: str) -> bool:
        return node_id in self._nodes

    def relation(self, chosen: str, target: str) -> FoundRelation | None:
        """Return the relation of two nodes in the tree; None if they only share the page.

        Raises `KeyError` for an id that is not on the page.
        """
        chosen_node, target_node = self._nodes[chosen], self._nodes[target]
        up = _levels(target_node, chosen_node)
        if up is not None:
            return FoundRelation(Relation.ANCESTOR, f"{up} above the target")
        down = _levels(chosen_node, target_node)
        if down is not None:
            return FoundRelation(Relation.DESCENDANT, f"{down} below the target")
        label = label_of(chosen_node)
        if label and label == label_of(target_node):
            return FoundRelation(Relation.SAME_TEXT, "the same words on the page")
        if _adjacent(chosen_node, target_node):
            return FoundRelation(Relation.NEIGHBOUR, "adjacent sibling")
        return None

    def roles(self, chosen: str, target: str) -> tuple[str, str]:
        """Return the roles of two nodes. Raises `KeyError` for an id that is not on the page."""
        return role_of(self._nodes[chosen]), role_of(self._nodes[target])


def label_of(node: etree._Element) -> str:
    """Return the visible text of an element, or else the first attribute that names it, in lower
    case."""
    shown = " ".join(" ".join(text.split()) for text in _texts(node))
    named = (node.get(name) or "" for name in _NAMES)
    return " ".join((shown or next((n for n in named if n.strip()), "")).split()).casefold()


def role_of(node: etree._Element) -> str:
    """Return the role of an element: its `role` attribute, or else by its tag and type."""
    declared = (node.get("role") or "").strip().lower()
    tag = _tag(node)
    if declared:
        return declared
    if tag == "input":
        kind = (node.get("type") or "").strip().lower()
        return (_TYPES[kind] or kind) if kind in _TYPES else "text field"
    return _ROLES.get(tag, tag)


def gap(first: Box, second: Box) -> float:
    """Pixels between two boxes, 0 where they touch or overlap.

    >>> gap((0, 0, 10, 10), (13, 14, 5, 5))
    5.0
    """
    (x, y, width, height), (u, v, wide, high) = first, second
    return math.hypot(max(0.0, u - x - width, x - u - wide), max(0.0, v - y - height, y - v - high))


def near(first: Box | None, second: Box | None) -> FoundRelation | None:
    """Neighbours by their boxes; None if too far apart or a box is unknown."""
    if first is None or second is None or not _real(first) or not _real(second):
        return None
    distance = gap(first, second)
    return (
        FoundRelation(Relation.NEIGHBOUR, f"{distance:.0f} px away") if distance <= NEAR else None
    )


def _real(box: Box) -> bool:
    return all(map(math.isfinite, box)) and box[2] >= 0 and box[3] >= 0


def _levels(node: etree._Element, ancestor: etree._Element) -> int | None:
    for level, above in enumerate(node.iterancestors(), 1):
        if above is ancestor:
            return level
    return None


def _adjacent(one: etree._Element, other: etree._Element) -> bool:
    after = next(_elements_after(one), None)
    return after is other or next(_elements_after(other), None) is one


def _elements_after(node: etree._Element) -> Iterator[etree._Element]:
    return (sibling for sibling in node.itersiblings() if sibling.tag != "text" or len(sibling))


def _texts(node: etree._Element) -> Iterator[str]:
    texts: Any = node.itertext()
    return (text for text in texts if text.strip())


def _tag(node: etree._Element) -> str:
    return str(node.tag).rpartition("}")[2].lower()


DESCRIBING = ("round-1", "describe")
"""Places of calls that ask for the next action in words; in batches they end in `-describe`."""
ACTIONS = frozenset({"click", "type", "select", "press", "enter"})
RARE = 5
"""A word is rare if at most one in this many choices has it."""

_NEXT = re.compile(r"^[^a-z\n]*next\s+action\b", re.IGNORECASE | re.MULTILINE)
_TAG = re.compile(r"</?[\w:-]+|\b(?:bn)?id=[^\s<>)]+|/?>")
_WORD = re.compile(r"[^\W_]+")
_QUOTED = re.compile(
    r"\"([^\"\n]{1,200})\"|“([^”\n]{1,200})”|`([^`\n]{1,200})`|(?<!\w)'([^'\n]{1,200})'(?!\w)"
)
_LONGEST = 20_000


def described_target(
    calls: Sequence[CallRecord], target: Choice, chosen: Choice, choices: Sequence[Choice]
) -> bool:
    """Return True if a reply of round 1 is about `target` rather than `chosen`."""
    if wording(listed_text(target)) == wording(listed_text(chosen)):
        return False
    return any(_is_about_target(reply, target, chosen, choices) for reply in first_replies(calls))


def _is_about_target(reply: str, target: Choice, chosen: Choice, choices: Sequence[Choice]) -> bool:
    right, wrong = wording(listed_text(target)), wording(listed_text(chosen))
    quotes = [words(quote) for quote in quoted(reply)]
    for_right = sum(_within(q, right) and not _within(q, wrong) for q in quotes)
    for_wrong = sum(_within(q, wrong) and not _within(q, right) for q in quotes)
    if for_right != for_wrong:
        return for_right > for_wrong
    listed = Counter(word for choice in choices for word in set(wording(listed_text(choice))))
    mentioned = set(words(reply)) - ACTIONS
    only_right, only_wrong = set(right) - set(wrong), set(wrong) - set(right)
    limit = max(1, len(choices) // RARE)
    if not any(listed[word] <= limit for word in only_right & mentioned):
        return False
    return _share(only_right, mentioned, listed) > _share(only_wrong, mentioned, listed)


def first_replies(calls: Sequence[CallRecord]) -> list[str]:
    """Return the descriptions of the next action, in the order of the calls.

    Empty if there is nothing but describing calls: the step ended before a choice.
    """
    if all(_describes(call.place) for call in calls):
        return []
    texts: dict[str, str] = {}
    for call in calls:
        if _describes(call.place):
            texts.setdefault(call.place, call.reply.text)
    return [_about_action(text) for text in texts.values()]


def _about_action(text: str) -> str:
    heads = list(_NEXT.finditer(text))
    return text[heads[-1].end() if heads else 0 :][:_LONGEST]


def _describes(place: str) -> bool:
    return place in DESCRIBING or place.endswith("-describe")


def listed_text(choice: Choice) -> str:
    """Return a choice as listed; if no list was shown, the element's own text and labels."""
    if choice.text or choice.description is None:
        return choice.text
    description = choice.description
    return " ".join([f"<{choice.tag}>", description.text, *description.labels])


def wording(choice_text: str) -> list[str]:
    """Return the words of a choice as listed, without markup.

    >>> wording("<button id=12 submit> Save address </button>")
    ['submit', 'save', 'address']
    """
    return words(_TAG.sub(" ", choice_text))


def words(text: str) -> list[str]:
    """Lower-cased words and numbers."""
    return _WORD.findall(text.casefold())


def quoted(text: str) -> list[str]:
    """Return the strings in quotation marks."""
    return [next(filter(None, match.groups()), "") for match in _QUOTED.finditer(text)]


def _within(part: list[str], whole: list[str]) -> bool:
    """Return True if the words of `part` occur in `whole` as a contiguous sequence."""
    size = len(part)
    return size > 0 and any(whole[i : i + size] == part for i in range(len(whole) - size + 1))


def _share(distinctive: set[str], mentioned: set[str], listed: Counter[str]) -> Fraction:
    # Exact fractions: the order of summation must not decide a tie.
    weights = {word: Fraction(1, max(1, listed[word])) for word in distinctive}
    total = sum(weights.values(), Fraction(0))
    mentioned_weight = sum(
        (weight for word, weight in weights.items() if word in mentioned), Fraction(0)
    )
    return mentioned_weight / total if total else total
