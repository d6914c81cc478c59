"""A ranker that needs nothing: words of the task in the candidate and around it.

Okapi BM25 (Robertson and Zaragoza 2009) with the task and the last three actions as the query, and
three texts per candidate: its own subtree, what stands around it (the smallest enclosing element
with words of its own, where a field's label is), and the names of its ancestors. Inverse document
frequencies are those of the page's own candidates. What people act on (fields, buttons, links) is
preferred among candidates that read alike. The page is gone through once; then each candidate is a
range of places, and each word of the query a sorted list of them.

The weights were set on the sample's `dev` split.
"""

from __future__ import annotations

import hashlib
import math
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from harness.errors import UserError
from harness.page import Page, PageNode
from harness.policies.words import KIN, STOP, names, read_line, stem
from harness.rankers.contract import ByScore, Ranks
from harness.records import Row

VERSION = "1"
HISTORY = 3
"""Earlier actions that are part of the query, as in Mind2Web's ranker."""

_NAMES = [
    "aria_label",
    "label",
    "alt",
    "title",
    "placeholder",
    "value",
    "input_value",
    "text_value",
    "option_selected",
    "name",
    "id",
    "aria_description",
]
_WORD = re.compile(r"[^\W_]+(?:[.,:'][^\W_]+)*")
_SATURATION, _LENGTH = 1.2, 0.75
_KIN, _EARLIER, _DEALT_WITH = 0.5, 0.2, 0.4
_AROUND, _ABOVE = 0.5, 0.2
_AROUND_WORDS = 80
_LEVELS = 4
_TAGS = {
    "input": 1.0,
    "select": 1.0,
    "textarea": 1.0,
    "button": 1.0,
    "a": 0.8,
    "option": 0.5,
    "label": 0.5,
    "li": 0.3,
    "summary": 0.8,
}
_ROLES = names("button link checkbox radio combobox option tab menuitem textbox switch")
_TAG_WEIGHT = 6.0
_PLAIN = 0.6
_HIDDEN = -1.0


@dataclass(frozen=True, slots=True)
class LexicalScorer:
    """The scorer behind the name `lexical`."""

    name: str = "lexical"
    digest: str = hashlib.sha256(f"lexical {VERSION}".encode()).hexdigest()
    parallel: bool = True

    def scores(self, steps: Sequence[tuple[Row, Page, Sequence[str]]]) -> list[list[float]]:
        """See `Scorer.scores`."""
        return [_scores(row, page, ids) for row, page, ids in steps]


def lexical(argument: str = "") -> Ranks:
    """The ranker `lexical`, which takes no argument."""
    if argument:
        raise UserError(f"the ranker lexical takes no argument, not '{argument}'")
    return ByScore(LexicalScorer())


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    return stem(word.lower())


def _words(text: str) -> list[str]:
    return [_stem(word) for word in _WORD.findall(text)]


def _query(task: str, history: Sequence[str]) -> dict[str, float]:
    """The weight of each word that is looked for."""
    weights: dict[str, float] = {}
    done: set[str] = set()
    for line in history[-HISTORY:]:
        action = read_line(line)
        about = [word for word in _words(f"{action.what} {action.value}") if word not in STOP]
        done.update(about)
        weights.update(dict.fromkeys(about, _EARLIER))
    for word in (word for word in _words(task) if word not in STOP):
        for kin in KIN.get(word, ()):
            weights[kin] = max(weights.get(kin, 0.0), _KIN)
    for word in (word for word in _words(task) if word not in STOP):
        # What an earlier action dealt with is seldom what the next one is about.
        weights[word] = _DEALT_WITH if word in done else 1.0
    return weights


def _scores(row: Row, page: Page, ids: Sequence[str]) -> list[float]:
    query = _query(row.info.task, row.history)
    nodes = page.nodes()
    found: dict[str, list[int]] = {word: [] for word in query}
    counts = []
    for place, node in enumerate(nodes):
        words = _words(node.text) if node.text and not node.text.isspace() else []
        if node.attributes:
            named = node.attributes
            for name in _NAMES:
                if value := named.get(name):
                    words += _words(value)
        counts.append(len(words))
        for word in words:
            if word in found:
                found[word].append(place)
    before = [0, *accumulate(counts)]
    # Where an id occurs twice, the first node has it, as everywhere.
    place_of = {nodes[place].id: place for place in range(len(nodes) - 1, -1, -1)}
    places = [place_of[node_id] for node_id in ids]
    return _weighed(query, found, before, nodes, places)


def _weighed(
    query: dict[str, float],
    found: dict[str, list[int]],
    before: list[int],
    nodes: list[PageNode],
    places: list[int],
) -> list[float]:
    terms = [(word, hits) for word, hits in found.items() if hits]
    inside = [_hits(terms, place, nodes[place].end) for place in places]
    rare = {
        word: query[word]
        * math.log(1 + (len(places) + 1) / (sum(1 for own in inside if word in own) + 0.5))
        for word, _ in terms
    }
    sizes = [before[nodes[place].end] - before[place] for place in places]
    usual = max(1.0, sum(size for size in sizes if size < 200) / max(1, len(sizes)))
    around: dict[int, float] = {}
    scores = []
    for place, own, size in zip(places, inside, sizes, strict=True):
        score = _bm25(own, rare, size, usual)
        outer = _surrounding(nodes, before, place)
        if outer is not None:
            if outer not in around:
                end = nodes[outer].end
                hits = _hits(terms, outer, end)
                around[outer] = _bm25(hits, rare, before[end] - before[outer], usual)
            score += _AROUND * around[outer]
        score += _ABOVE * _path(nodes, terms, rare, place)
        likely = _likely(nodes[place])
        scores.append(score * (1 - _PLAIN + _PLAIN * likely) + _TAG_WEIGHT * likely)
    return scores


def _hits(terms: Sequence[tuple[str, list[int]]], start: int, end: int) -> dict[str, int]:
    """How often each word occurs in a range of places."""
    hits = {}
    for word, where in terms:
        first = bisect_left(where, start)
        if first < len(where) and where[first] < end:
            hits[word] = bisect_left(where, end, first) - first
    return hits


def _bm25(hits: dict[str, int], rare: dict[str, float], size: int, usual: float) -> float:
    if not hits:
        return 0.0
    room = _SATURATION * (1 - _LENGTH + _LENGTH * size / usual)
    return sum(rare[w] * n * (_SATURATION + 1) / (n + room) for w, n in hits.items())


def _surrounding(nodes: list[PageNode], before: list[int], place: int) -> int | None:
    """The nearest enclosing element with more words than the candidate, if it is a small one."""
    own = before[nodes[place].end] - before[place]
    outer = nodes[place].parent
    while outer >= 0:
        size = before[nodes[outer].end] - before[outer]
        if size > own:
            return outer if size <= _AROUND_WORDS else None
        outer = nodes[outer].parent
    return None


def _path(
    nodes: list[PageNode],
    terms: Sequence[tuple[str, list[int]]],
    rare: dict[str, float],
    place: int,
) -> float:
    """The words of the query in the names of the nearest ancestors, each counted once."""
    seen: set[str] = set()
    outer = nodes[place].parent
    for _ in range(_LEVELS):
        if outer < 0:
            break
        if nodes[outer].attributes:
            seen.update(_hits(terms, outer, outer + 1))
        outer = nodes[outer].parent
    return sum(rare[word] for word in seen)


def _likely(node: PageNode) -> float:
    if node.tag == "input" and node.attributes.get("type") == "hidden":
        return _HIDDEN
    return max(_TAGS.get(node.tag, 0.0), 0.8 if node.attributes.get("role") in _ROLES else 0.0)
