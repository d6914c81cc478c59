"""Requests to a worker, its results, and the interface of workers. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Protocol

from adapters.contract import Dialogue, Fault, Generation
from adapters.conversation import Finish
from adapters.local.contract import Encoded


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """One reply to generate."""

    unit_id: str
    repeat: int
    place: str
    """The call's place in the dialogue (`round-1`, ...)."""
    encoded: Encoded
    generation: Generation
    continues: bool = False
    """True if a later call of the dialogue will build on the reply."""
    shown: tuple[tuple[str, str], ...] = ()
    """(digest, recipe) of the prompt's pictures, which its ids do not tell apart."""

    sample: int = 0
    """The number of the reply among those of the dialogue at this place, from 0."""

    @property
    def dialogue(self) -> Dialogue:
        return self.unit_id, self.repeat


@dataclass(frozen=True, slots=True)
class Generated:
    """One generated reply."""

    ids: tuple[int, ...]
    """Token ids, the stop id included."""
    finish: Finish
    prompt: int
    """Tokens of the prompt."""
    cached: int
    """Tokens of the prompt whose keys and values were kept from an earlier round."""
    seconds: float
    """Duration of the batch."""


@dataclass(frozen=True, slots=True)
class WorkerStats:
    """Counts since a worker was made."""

    batches: int = 0
    rows: int = 0
    reused: int = 0
    """Rows continued from kept keys and values."""
    recomputed: int = 0
    """Rows that could have gone on from an earlier round but were computed in full."""
    dropped: int = 0
    """Cohorts dropped for lack of memory."""
    halved: int = 0
    """Times that a batch did not fit into memory and was split."""
    prompt_tokens: int = 0
    """Prompt tokens computed, those reused not included."""
    cached_tokens: int = 0
    """Prompt tokens reused."""
    generated_tokens: int = 0
    peak_bytes: int = 0
    """Peak memory of the device, weights included; 0 on a CPU."""
    busy_s: float = 0.0
    starved_s: float = 0.0
    """Seconds that the device was idle between two batches because none was waiting."""

    def plus(self, **more: float) -> WorkerStats:
        """Return a copy with the named counts increased."""
        # Every field is a number, and stays what it was: int plus int, float plus float.
        return replace(self, **{name: getattr(self, name) + more[name] for name in more})

    def __add__(self, other: WorkerStats) -> WorkerStats:
        return self.plus(**{name: getattr(other, name) for name in other.__slots__})


@dataclass(frozen=True, slots=True)
class Plan:
    """Rows per batch, and the most dialogues that may be open."""

    rows: int
    open_dialogues: int


class Ignored:
    """Reports every generation parameter that models on this machine lack, once each."""

    def __init__(self, name: str) -> None:
        """`name` is the model's."""
        self._name = name
        self._told: set[str] = set()

    def of(self, generation: Generation) -> list[str]:
        """Notices about parameters that are set here for the first time."""
        names = [
            name
            for name in ("effort", "thinking_budget")
            if getattr(generation, name) is not None and name not in self._told
        ]
        self._told.update(names)
        return [f"{self._name} has no {name.replace('_', ' ')}: ignored" for name in names]


class Worker(Protocol):
    """One device with one copy of the model: a thread of this process, or a process.

    Batches are worked on in the order of submission. The state of a dialogue is
    kept by the worker that had it.
    """

    @property
    def device(self) -> str: ...

    @property
    def plan(self) -> Plan: ...

    @property
    def ended(self) -> str | None:
        """One line on why it accepts no more batches; None while it does."""
        ...

    def submit(self, batch: Sequence[Work]) -> Future[list[Generated | Fault]]:
        """Return a result per work, in order; the future raises `Fatal`. Returns at once."""
        ...

    def release(self, unit_id: str) -> None:
        """Drop the state of a finished step. Returns at once."""
        ...

    def stats(self) -> WorkerStats: ...

    def notices(self) -> list[str]:
        """Notices for the user since the last call."""
        ...

    def close(self) -> None:
        """Cancel all batches and free the device. May be called twice."""
        ...
