"""Figures as the published scripts add them up, where that is not a mean over steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from harness.runs import Unit
from parsers.screen import ScreenDetail, parts
from parsers.screen.scripts import script_weight

Records = Sequence[Unit[ScreenDetail]]
Sums = Callable[[Records], float | None]


def as_published(records: Records) -> Iterator[str]:
    """Lines on the rules that the records have scores of and whose scripts add up otherwise."""
    settled = [one for one in records if one.settled and not one.invalid and one.scores]
    for rule, (how, sums) in _SUMS.items():
        scored = [one for one in settled if rule in (one.scores or {})]
        value = sums(scored) if scored else None
        if value is not None:
            yield f"{rule} as its script adds it up ({how}): {100 * value:.1f}"


def _score(record: Unit[ScreenDetail], name: str) -> float | None:
    return (record.scores or {}).get(name)


def _gui_r1(records: Records) -> float | None:
    """Classes of actions without a single hit are in neither sum."""
    kinds: dict[str, list[float]] = {}
    for one in records:
        if (value := _score(one, "gui-r1")) is not None:
            kinds.setdefault(one.detail.gold.action.name, []).append(value)
    found = [value for values in kinds.values() if any(values) for value in values]
    return sum(found) / len(found) if found else None


def _omniact(records: Records) -> float | None:
    """Scripts weigh as many as their lines, less 0.9."""
    weights = [script_weight(one.detail.gold.action) for one in records]
    pairs = zip(weights, records, strict=True)
    return sum(weight * (_score(one, "omniact") or 0) for weight, one in pairs) / sum(weights)


def _atlas(records: Records) -> float | None:
    """A mean over the lines that both scripts have."""
    hits, lines = 0.0, 0
    for one in records:
        said = one.prediction.action if one.prediction else None
        value = _score(one, "os-atlas-omniact")
        if said is not None and value is not None:
            both = min(len(parts(said)), len(parts(one.detail.gold.action)))
            hits, lines = hits + value * both, lines + both
    return hits / lines if lines else None


_SUMS: Mapping[str, tuple[str, Sums]] = {
    "gui-r1": ("without classes of actions that have no hit", _gui_r1),
    "omniact": ("scripts weighed by their lines", _omniact),
    "os-atlas-omniact": ("over the lines that both scripts have", _atlas),
}
