"""A ranker without a model: how well a candidate and its surroundings match words of the task.

The score is Okapi BM25 (Robertson and Zaragoza 2009). The query is the task and the last three
actions. Each candidate has three texts: its own subtree, its surroundings (the smallest enclosing
element that adds words, where the label of a field is found), and the attributes of its ancestors.
Inverse document frequencies are computed over the candidates of the page. Elements that people act
on (fields, buttons, links) are preferred among candidates with similar text. The page is traversed
once; a candidate is then a range of positions, and each query word a sorted list of positions.

The weights were tuned on the sample's `dev` split.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, islice

from harness.page import Page, PageNode
from harness.policies.lexical import KIN, STOP, WORD, names, read_line, stem
from harness.rankers import ByScore
from harness.records import Row

VERSION = "1"
HISTORY = 3
"""Number of earlier actions in the query, as in Mind2Web's ranker."""

_NAMES = (
    *("aria_label", "label", "alt", "title", "placeholder", "value", "input_value", "text_value"),
    *("option_selected", "name", "id", "aria_description"),
)
_SATURATION, _LENGTH = 1.2, 0.75
_KIN, _EARLIER, _DEALT_WITH = 0.5, 0.2, 0.4
_AROUND, _ABOVE = 0.5, 0.2
_AROUND_WORDS, _LEVELS = 80, 4
_TAGS = {
    **dict.fromkeys(("input", "select", "textarea", "button"), 1.0),
    **dict.fromkeys(("a", "summary"), 0.8),
    **dict.fromkeys(("option", "label"), 0.5),
    "li": 0.3,
}
_ROLES = names("button link checkbox radio combobox option tab menuitem textbox switch")
_TAG_WEIGHT, _PLAIN, _HIDDEN = 6.0, 0.6, -1.0


class LexicalRanks(ByScore):
    """The ranker `lexical`."""

    name = "lexical"
    digest = hashlib.sha256(f"lexical {VERSION}".encode()).hexdigest()

    def scores(self, row: Row, page: Page, ids: Sequence[str]) -> list[float]:
        query = _query(row.goal, row.detail.history)
        nodes = page.nodes()
        matches: dict[str, list[int]] = {word: [] for word in query}
        counts = []
        for place, node in enumerate(nodes):
            words = _words(node.text) if node.text and not node.text.isspace() else []
            if attributes := node.attributes:
                for value in filter(None, map(attributes.get, _NAMES)):
                    words += _words(value)
            counts.append(len(words))
            for word in words:
                if word in matches:
                    matches[word].append(place)
        # If an id occurs twice, it belongs to the first node, as in `Page`.
        place_of = {nodes[place].id: place for place in range(len(nodes) - 1, -1, -1)}
        places = [place_of[node_id] for node_id in ids]
        before = [0, *accumulate(counts)]
        terms = [(word, hits) for word, hits in matches.items() if hits]
        inside = [_hits(terms, place, nodes[place].end) for place in places]
        rare = {
            word: query[word]
            * math.log(1 + (len(places) + 1) / (sum(1 for hits in inside if word in hits) + 0.5))
            for word, _ in terms
        }
        sizes = [before[nodes[place].end] - before[place] for place in places]
        usual = max(1.0, sum(size for size in sizes if size < 200) / max(1, len(sizes)))
        around: dict[int, float] = {}
        scores = []
        for place, inner, size in zip(places, inside, sizes, strict=True):
            score = _bm25(inner, rare, size, usual)
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


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    return stem(word.lower())


def _words(text: str) -> list[str]:
    return [_stem(word) for word in WORD.findall(text)]


def _query(task: str, history: Sequence[str]) -> dict[str, float]:
    """Return the weight of each query word."""
    weights: dict[str, float] = {}
    done: set[str] = set()
    for line in history[-HISTORY:]:
        action = read_line(line)
        about = [word for word in _words(f"{action.what} {action.value}") if word not in STOP]
        done.update(about)
        weights.update(dict.fromkeys(about, _EARLIER))
    words = [word for word in _words(task) if word not in STOP]
    for kin in (kin for word in words for kin in KIN.get(word, ())):
        weights[kin] = max(weights.get(kin, 0.0), _KIN)
    # The next action is seldom about what an earlier one dealt with.
    weights.update((word, _DEALT_WITH if word in done else 1.0) for word in words)
    return weights


def _hits(terms: Sequence[tuple[str, list[int]]], start: int, end: int) -> dict[str, int]:
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
    """Return the nearest ancestor with more words than the candidate, unless it is too large."""
    inner_size = before[nodes[place].end] - before[place]
    for outer in _ancestors(nodes, place):
        size = before[nodes[outer].end] - before[outer]
        if size > inner_size:
            return outer if size <= _AROUND_WORDS else None
    return None


def _path(
    nodes: list[PageNode],
    terms: Sequence[tuple[str, list[int]]],
    rare: dict[str, float],
    place: int,
) -> float:
    """Sum the weights of query words in attributes of the nearest ancestors, each word once."""
    seen: set[str] = set()
    for outer in islice(_ancestors(nodes, place), _LEVELS):
        if nodes[outer].attributes:
            seen.update(_hits(terms, outer, outer + 1))
    return sum(rare[word] for word in seen)


def _ancestors(nodes: list[PageNode], place: int) -> Iterator[int]:
    while (place := nodes[place].parent) >= 0:
        yield place


def _likely(node: PageNode) -> float:
    if node.tag == "input" and node.attributes.get("type") == "hidden":
        return _HIDDEN
    return max(_TAGS.get(node.tag, 0.0), 0.8 if node.attributes.get("role") in _ROLES else 0.0)
