"""Which rule the tokens of pictures follow: the published one, another limit, another model.

Differences of counts cancel the template; a few marks around each picture are allowed for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from adapters.open_models import qwen_size
from adapters.picture_tokens import FAMILIES, Family, Rule, Seen, limits
from harness.pictures import within_side
from harness.verify.words import BROKEN, CANNOT_TELL, OK, SUSPICIOUS, Found

Size = tuple[int, int]
Counted = Sequence[tuple[Size, int | None]]
"""Sizes in pixels with the tokens of a picture of that size; None where they were not given."""
Kind = Literal["published", "pixels", "side", "twice", "tiles", "fixed"]
MOST_MARKS, MOST_SPREAD = 12, 2
UNCOUNTED = 8
"""Fewer tokens than this are no picture, but for families that count one."""
_ONCE_MORE = {28: (32, 65_536, 16_777_216), 32: (28, 3_136, 12_845_056)}
"""The sizes of Qwen's other generation, by the factor of the one that is declared."""


class Fit(NamedTuple):
    """A rule that explains the counts: whose, which change, and the range of its number."""

    family: str | None
    kind: Kind
    least: int = 0
    most: int = 0
    rule: Rule | None = None
    """The rule, in the middle of that range; None for one that has no form."""


def judge_sizes(
    counted: Counted,
    declared: str | None,
    *,
    limit: int | None = None,
    own: Rule | None = None,
    absolute: bool = False,
) -> tuple[Found, Fit | None]:
    """Judge the counts of pictures.

    Args:
        declared: the model's family; None or an unknown name takes the first that fits.
        limit: the limit in pixels that the user declared.
        own: the adapter's own rule, used in place of the family's.
        absolute: True if the model's numbers are pixels of the picture that it sees.
    """
    known = [(size, count) for size, count in counted if count is not None]
    family = FAMILIES.get(declared or "")
    if not known:
        return Found(CANNOT_TELL, "no usage"), None
    if len(known) < 3:
        return Found(CANNOT_TELL, "too few sizes were answered"), None
    published = own or (family.rule if family else None)
    expected = published
    if limit is not None and family is not None and family.limited is not None:
        expected = family.limited(limit)
    if expected is not None and fits(known, expected):
        return Found(OK, "as published"), Fit(declared, "published", rule=expected)
    if max(count for _, count in known) < UNCOUNTED:
        return Found(CANNOT_TELL, "pictures are not counted"), None
    fit = _explained(known, declared, family, published)
    if fit is None:
        verdict = CANNOT_TELL if published is None else SUSPICIOUS
        return Found(verdict, "the counts follow no known rule"), None
    is_own = fit.family == declared and fit.family is not None
    if published is None:
        verdict = OK
    elif fit.kind in ("twice", "fixed") or (is_own and absolute):
        verdict = BROKEN
    else:
        verdict = SUSPICIOUS
    return Found(verdict, [fit.family, fit.kind, fit.least, fit.most]), fit


def fits(known: Sequence[tuple[Size, int]], rule: Rule) -> bool:
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
    known: Sequence[tuple[Size, int]], name: str | None, family: Family | None, own: Rule | None
) -> Fit | None:
    """Return the first rule that explains the counts, in the order of how usual each fault is."""
    if own is not None:
        if fits(known, own):
            return Fit(name, "published", rule=own)
        for kind, found in _changed(known, family, own):
            if found:
                middle = found[len(found) // 2][2]
                return Fit(name, kind, found[0][0], found[-1][1], middle)
        counts = [count for _, count in known]
        varies = len({own(*size).tokens for size, _ in known}) > 1
        if varies and max(counts) - min(counts) <= MOST_SPREAD:
            return Fit(None, "fixed", min(counts), max(counts))
    others = ((other, one.rule) for other, one in FAMILIES.items() if other != name)
    return next((Fit(n, "published", rule=rule) for n, rule in others if fits(known, rule)), None)


_Range = list[tuple[int, int, Rule]]
"""Values that fit, in order: least and most of each, and its rule."""


def _changed(
    known: Sequence[tuple[Size, int]], family: Family | None, own: Rule
) -> Iterator[tuple[Kind, _Range]]:
    """Yield the changes of a family's own rule with the values under which the counts fit."""
    step = family.cell**2 if family else 0
    largest = max(width * height for (width, height), _ in known)
    scanned = limits(family, round(1.1 * largest)) if family else iter(())
    yield "pixels", [(n, n + step - 1, rule) for n, rule in scanned if fits(known, rule)]
    # Before sides: shrinking changes the counts of tiles by chance only.
    if family is not None and family.capped is not None:
        capped = ((n, n, family.capped(n)) for n in range(1, family.tiles))
        yield "tiles", [found for found in capped if fits(known, found[2])][:1]
    sides = ((side, side, shrunk(own, side)) for side in range(112, 2688))
    yield "side", [found for found in sides if fits(known, found[2])]
    if family is not None and family.factor in _ONCE_MORE:
        before = _ONCE_MORE[family.factor]
        twice = _after(own, lambda width, height: qwen_size(width, height, *before))
        yield "twice", [(0, 0, twice)] if fits(known, twice) else []


def _after(rule: Rule, before: Callable[[int, int], Size]) -> Rule:
    def seen(width: int, height: int) -> Seen:
        return rule(*before(width, height))

    return seen
