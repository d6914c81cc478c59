"""A run's batches at a provider, as its own files record them; `harness.batches` writes them."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass
from pathlib import Path

import msgspec

from harness.runs.files import read_records

BATCHES, PACKS = "batches.jsonl", "batches"
"""The state of every pack, and the folder of their requests and results."""
OVER = frozenset({"drained", "dropped"})
"""Last events of a pack."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Calls of a run that a provider has, or will have, and that are not on record yet.

    packs, requests: number of batches, and of the calls in them.
    cost: the most that they may cost, in US dollars.
    text: the same in words.
    command: the command that shows them, and ends them with `--cancel`.
    """

    packs: int
    requests: int
    cost: float
    text: str
    command: str

    def __str__(self) -> str:
        return self.text


class PackHead(msgspec.Struct, kw_only=True):
    """The part of a pack's line that says what is left of it.

    n: its number.
    event: what happened to it last.
    upper: the most that its requests may cost, in US dollars.
    lost: US dollars that its failed requests have cost, or may have.
    """

    n: int
    event: str
    requests: int
    upper: float
    lost: float = 0.0


def waiting_at(path: Path) -> Waiting | None:
    """Return what a provider has of the run at `path`, if anything. Raises `RunError`."""
    live = [head for head in _heads(path) if head.event not in OVER]
    if not live:
        return None
    number, cost = sum(head.requests for head in live), math.fsum(head.upper for head in live)
    batches = "1 batch" if len(live) == 1 else f"{len(live)} batches"
    requests = "1 request" if number == 1 else f"{number:,} requests"
    command = f"vlm-eval batches {shlex.quote(str(path))}"
    return Waiting(len(live), number, cost, f"{batches} with {requests}", command)


def unrecorded_at(path: Path) -> float:
    """Return US dollars spent on failed requests. Raises `RunError`."""
    return math.fsum(head.lost for head in _heads(path))


def has_batches(path: Path) -> bool:
    """Return whether calls of the run at `path` were ever put into batches."""
    return (path / BATCHES).exists() or (path / PACKS).exists()


def _heads(path: Path) -> list[PackHead]:
    return list({head.n: head for head in read_records(path / BATCHES, PackHead)}.values())
