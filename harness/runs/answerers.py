"""The models behind a run, as servers describe them, and where that changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from harness.printing import printable

Facts = Mapping[str, str]
"""Known facts about a model: its name in replies, and what its server's list of models says."""
REPLY = "reply"
"""The name of the first of these facts."""
_LONGEST = 80
_COUNTED = {
    "pictures": ("448x448", "1000x620", "2688x1792", "560x2240", "1920x1080"),
    "texts": ("the first text", "the second text", "the third text"),
}
"""The counts of a verification, in order."""
WORDS = {REPLY: "its name in replies"}
_MAY_LACK = {REPLY, "created"}
"""Facts that are not known in every session: a list may give the time of the answer instead."""


def with_facts(known: Sequence[Facts], said: Facts, *, again: bool) -> tuple[Facts, ...]:
    """Return what is known of the models that answered a role, the last one now as `said`.

    There is a further entry if that is another model; one that is known from before is added only
    if it may be there `again`.
    """
    last = known[-1] if known else {}
    listed = said.keys() - {REPLY}
    now = {**{name: last[name] for name in last if not listed or name in _MAY_LACK}, **said}
    if _differing(last, now):
        other = said if listed else now
        return tuple(known) if other in known and not again else (*known, other)
    return (*known[:-1], now) if now else tuple(known)


def changes(answerers: Mapping[str, Sequence[Facts]]) -> list[str]:
    """Say where another model answered a role than before, a line for each change."""
    lines = []
    for role, known in answerers.items():
        for before, now in pairwise(known):
            told = (
                f"{WORDS.get(name, name)} is {_shown(now, name)}, and was {_shown(before, name)}"
                for name in _differing(before, now)
            )
            who = f" for the role {role}" if role else ""
            lines.append(f"another model answers than before{who}: {'; '.join(told)}")
    return lines


def another_deployment(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Say where two verified deployments of a model differ; "" if they do not.

    Unknown values of one are not a difference.
    """
    said = []
    for name, places in _COUNTED.items():
        for place, *both in zip(places, _counts(before, name), _counts(now, name), strict=False):
            if None not in both and both[0] != both[1]:
                said.append(f"{place} counts {both[0]:,} and {both[1]:,} tokens")
                break
    units = [one.get("numbers") for one in (before, now)]
    if all(units) and units[0] != units[1]:
        said.append(f"numbers are {units[0]} and {units[1]}")
    return "; ".join(said)


def _counts(deployment: Mapping[str, Any], name: str) -> list[int | None]:
    counts = deployment.get("counts")
    found = counts.get(name) if isinstance(counts, Mapping) else None
    listed = found if isinstance(found, list) else []
    return [one if isinstance(one, int) else None for one in listed]


def _shown(facts: Facts, name: str) -> str:
    text = printable(" ".join(facts.get(name, "not given").split()))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _differing(before: Facts, now: Facts) -> list[str]:
    """Return the facts where two models differ; what is not known of one is not a difference."""
    names = before.keys() & now.keys()
    if all(facts.keys() - {REPLY} for facts in (before, now)):
        names |= (before.keys() ^ now.keys()) - _MAY_LACK
    return sorted((n for n in names if before.get(n) != now.get(n)), key=lambda n: (n != REPLY, n))
