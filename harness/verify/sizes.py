"""The rule that tokens of pictures follow: the published one, another limit, another model.

Differences of counts cancel the template; a few marks around each picture are allowed for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from adapters.open_models import qwen_size
from adapters.picture_tokens import FAMILIES, Processor, Rule
from harness.pictures import within_side
from harness.verify.words import BROKEN, CANNOT_TELL, OK, SUSPICIOUS, Found

Size = tuple[int, int]
Known = Sequence[tuple[Size, int]]
Kind = Literal["published", "pixels", "side", "twice", "tiles", "fixed"]
Fit = tuple[str | None, Kind, int, int, Rule | None]
"""A rule that explains the counts: whose, which change, and the range of its number; the rule in
the middle of that range, None for one that has no form."""
MOST_MARKS, MOST_SPREAD = 12, 2
UNCOUNTED = 8
"""Fewer tokens than this are no picture, but for families that count one."""
_ONCE_MORE = {28: (32, 65_536, 16_777_216), 32: (28, 3_136, 12_845_056)}
"""The sizes of Qwen's other generation, by the factor of the one that is declared."""


def judge_sizes(
    counted: Sequence[tuple[Size, int | None]],
    declared: str | None,
    *,
    limit: int | None = None,
    own: Rule | None = None,
    absolute: bool = False,
) -> Found:
    """Judge the counts of pictures.

    Args:
        counted: sizes in pixels with the tokens of a picture of that size; None where they were
            not given.
        declared: the model's family; None or an unknown name takes the first that fits.
        limit: the limit in pixels that the user declared.
        own: the adapter's own rule, used in place of the family's.
        absolute: True if the model's numbers are pixels of the picture that it sees.
    """
    known = [(size, count) for size, count in counted if count is not None]
    family = FAMILIES.get(declared or "")
    if len(known) < 3:
        return Found(CANNOT_TELL, "too few sizes were answered" if known else "no usage")
    published = own or (family.rule if family else None)
    expected = published
    if limit is not None and family is not None and family.limited is not None:
        expected = family.limited(limit)
    if expected is not None and fits(known, expected):
        return Found(OK, "as published", seen=expected)
    if max(count for _, count in known) < UNCOUNTED:
        return Found(CANNOT_TELL, "pictures are not counted")
    fit = _explained(known, declared, family, published)
    if fit is None:
        verdict = CANNOT_TELL if published is None else SUSPICIOUS
        return Found(verdict, "the counts follow no known rule")
    *detail, rule = fit
    name, kind = fit[:2]
    verdict = OK if published is None else SUSPICIOUS
    if published is not None and (kind in ("twice", "fixed") or (absolute and name == declared)):
        verdict = BROKEN
    return Found(verdict, detail, {"limit": detail[1:]} if kind != "published" else {}, rule)


def fits(known: Known, rule: Rule) -> bool:
    """Return True if the counts are the rule's, up to the same few marks around each picture."""
    rest = list[int]()
    for size, count in known:
        seen = rule(*size)
        rest.append(count - seen.tokens - seen.tags)
        if not 0 <= rest[-1] <= MOST_MARKS:
            return False
    return max(rest) - min(rest) <= MOST_SPREAD


def shrunk(rule: Rule, side: int) -> Rule:
    """The rule for pictures that a server shrinks to a longest side before."""
    return lambda width, height: rule(*within_side(width, height, side))


def _explained(
    known: Known, name: str | None, family: Processor | None, own: Rule | None
) -> Fit | None:
    """Return the first rule that explains the counts, in the order of how usual each fault is."""
    if own is not None:
        if fits(known, own):
            return name, "published", 0, 0, own
        for kind, rules in _changed(known, family, own):
            found = [one for one in rules if fits(known, one[2])]
            if kind == "tiles":
                found = found[:1]
            if found:
                return name, kind, found[0][0], found[-1][1], found[len(found) // 2][2]
        counts = [count for _, count in known]
        varies = len({own(*size).tokens for size, _ in known}) > 1
        if varies and max(counts) - min(counts) <= MOST_SPREAD:
            return None, "fixed", min(counts), max(counts), None
    for other, one in FAMILIES.items():
        if other != name and fits(known, one.rule):
            return other, "published", 0, 0, one.rule
    return None


def _changed(
    known: Known, family: Processor | None, own: Rule
) -> Iterator[tuple[Kind, Iterator[tuple[int, int, Rule]]]]:
    """Yield the changes of a family's own rule, each with its values in order: least and most of
    the number, and the rule."""
    if family is not None:
        if (limited := family.limited) is not None:
            largest = max(width * height for (width, height), _ in known)
            step, most = family.cell**2, round(1.1 * largest)
            scanned = range(step, most + 1, step)
            yield "pixels", ((n, n + step - 1, limited(n)) for n in scanned)
        # Before sides: shrinking changes the counts of tiles by chance only.
        if (capped := family.capped) is not None:
            yield "tiles", ((n, n, capped(n)) for n in range(1, family.tiles))
    yield "side", ((side, side, shrunk(own, side)) for side in range(112, 2688))
    if family is not None and family.factor in _ONCE_MORE:
        before = _ONCE_MORE[family.factor]
        twice = lambda width, height: own(*qwen_size(width, height, *before))  # noqa: E731
        yield "twice", iter([(0, 0, twice)])
