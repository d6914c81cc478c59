"""The keys that two results must share to be comparable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from harness.runs import Run

UNSTATED = "unstated"


class Keys(NamedTuple):
    """How a number was measured. `UNSTATED` never matches, not even itself.

    population: which tasks.
    candidates: where the candidates came from and how they were asked about.
    invalid: rule for invalid rows.
    average: over tasks (macro) or over steps (micro).
    f1: variant of operation F1.
    """

    population: str
    candidates: str
    invalid: str
    average: str
    f1: str

    def __str__(self) -> str:
        return ", ".join(f"{name}: {value}" for name, value in zip(KEY_NAMES, self, strict=True))


KEY_NAMES = Keys._fields
PARTS = ("websites", "domains", "task_ids", "step_ids", "limit", "shard", "exclude_statuses")
"""Settings that select a part of a benchmark."""
TILDE = "mm-mind2web-tilde"
POPULATIONS = {"mind2web": "mind2web, 252/177/912 tasks"}
"""Whole benchmarks whose published rows are named with their size."""
USUAL = "snapshot, one list"
"""Description of the candidates of a run with two rounds and seeded choices."""


def keys_of(run: Run, average: str, invalid: str | None = None, f1: str | None = None) -> Keys:
    """Return the keys of a run under an average; `invalid` and `f1` replace its own rules.

    A part of a benchmark, or an unfinished run, is a different population from the whole.
    """
    config = run.manifest.config
    name = str(config.get("benchmark"))
    population = POPULATIONS.get(name, name)
    if any(config.get(part) for part in PARTS):
        population = f"a part of {name}"
    elif not run.complete:
        population = f"the finished part of {name}"
    return Keys(
        population=population,
        candidates=_candidates(name, config),
        invalid=invalid or str(config.get("invalid") or "exclude"),
        average=average,
        f1=f1 or str(config.get("f1") or "mind2web"),
    )


def _candidates(name: str, config: Mapping[str, Any]) -> str:
    """Describe the candidates of a run in the words of the published rows."""
    if name == TILDE:
        return "snapshot 1+20, as stored"
    description = str(config.get("candidates_told") or UNSTATED)
    if config.get("candidates", "snapshot") != "snapshot":
        return description
    drawn = f"snapshot 1+{config.get('distractors')}, seed {config.get('seed')}"
    return (
        drawn
        if description in (USUAL, UNSTATED)
        else f"{drawn}, {description.removeprefix('snapshot, ')}"
    )


def what_differs(first: Keys, second: Keys) -> tuple[str, ...]:
    """The names of the keys in which two results differ, or may differ.

    >>> a = Keys("p", "c", "fail", "macro", "mind2web")
    >>> what_differs(a, a._replace(average="micro")), what_differs(a, a._replace(f1="unstated"))
    (('average',), ('f1',))
    """
    pairs = zip(KEY_NAMES, first, second, strict=True)
    return tuple(name for name, one, two in pairs if one != two or UNSTATED in (one, two))
