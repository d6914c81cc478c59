"""Callers by name: ways to have calls answered later than in the session that makes them.

A caller keeps what it has handed over in files of a run's folder. It is named after the tier that
asks for it (`--tier`), and imported only for that tier and for runs that have its files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.conversation import Tier
from adapters.registry import Registry, UnknownName
from harness.errors import RunError, UserError

CALLERS: Registry[Any] = Registry(
    "caller",
    "vlm_eval.callers",
    has=("check", "open", "waiting_at", "unrecorded_at", "heading", "estimate"),
)
"""Instances with these methods; `plain` has the files of a run that they write.

check(settings, lacks): raises `UserError` for settings, and missing features of units, that it
    cannot serve.
waiting_at(path): the `Waiting` of the run at a path, or None.
unrecorded_at(path): US dollars that the run at a path has spent on calls without a record.
open(plan, directory, pictures, ready, say): see `harness.session.run.Passes`.
heading(plan, calls), estimate(plan, waves, traffic): lines for the user before a run.
"""
CALLERS.add(
    "batch",
    "harness.batches.leaf:BATCHES",
    "replies within a day, at a lower price",
    plain=("batches.jsonl", "batches"),
)


def caller_named(name: str) -> Any:
    """Return the caller of a tier. Raises `UserError` if its leaf is not installed."""
    try:
        return CALLERS.make(name)
    except UnknownName as error:
        raise UserError(str(error)) from error


def at_once(tiers: Sequence[Tier]) -> tuple[Tier, ...]:
    """Return the tiers that single calls are sent on: those without a caller."""
    return tuple(tier for tier in tiers if tier not in CALLERS.names())


@dataclass(frozen=True, slots=True)
class Waiting:
    """Calls of a run that were handed over and are not on record yet.

    packs, requests: number of parcels sent, and of the calls in them.
    cost: the most that they may cost, in US dollars.
    text: what they are, for messages.
    command: the command that shows them, and ends them with `--cancel`.
    """

    packs: int
    requests: int
    cost: float
    text: str
    command: str

    def __str__(self) -> str:
        return self.text


def waiting_at(path: Path) -> Waiting | None:
    """Return the calls of the run at `path` that were handed over, if any. Raises `RunError`."""
    for name in callers_at(path):
        waiting: Waiting | None = _caller(path, name).waiting_at(path)
        if waiting is not None:
            return waiting
    return None


def unrecorded_at(path: Path) -> float:
    """Return US dollars that callers have spent on calls without a record. Raises `RunError`."""
    return float(sum(_caller(path, name).unrecorded_at(path) for name in callers_at(path)))


def callers_at(path: Path) -> list[str]:
    """Return the callers that have files in the run at `path`."""
    return [
        name
        for name in CALLERS.names()
        if any((path / file).exists() for file in CALLERS.plain(name))
    ]


def caller_files() -> set[str]:
    """Return names of files that callers write into the folder of a run."""
    return {file for name in CALLERS.names() for file in CALLERS.plain(name)}


def _caller(path: Path, name: str) -> Any:
    try:
        return CALLERS.make(name)
    except UnknownName as error:
        raise RunError(f"{path} has calls that were handed over: {error}") from error
