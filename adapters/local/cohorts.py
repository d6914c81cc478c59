"""Cohorts: the rows of a batch whose dialogues continue, with the cache that they share.

Continuing a cohort changes its cache in place, so a row belongs to one call at a time and leaves
the store when it is taken. A row is found by its dialogue and its ids, never by its position or
text: two calls of a step never share one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from adapters.contract import Dialogue
from adapters.local.contract import Encoded, Family, Padded, Work
from adapters.local.writer import cache_bytes, copy_rows, select_rows


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A dialogue in a cohort's cache."""

    dialogue: Dialogue
    ids: torch.Tensor
    """Ids in the cache, [length]."""
    prompt: int
    """Number of ids in the last prompt; the rest are the reply's."""
    pictures: Mapping[str, int] = field(default_factory=dict)
    """Length of each picture tensor, by name."""
    shown: tuple[tuple[str, str], ...] = ()
    """(digest, recipe) of the pictures."""


@dataclass(slots=True, eq=False)
class Cohort:
    """Dialogues of one batch that continue from one cache."""

    rows: list[Row | None]
    """None for a dialogue that is finished."""
    kept: Padded
    """Ids of the cache's columns, [rows, columns], and the mask of those that count."""
    cache: Any

    @property
    def open(self) -> list[int]:
        return [number for number, row in enumerate(self.rows) if row is not None]

    @property
    def columns(self) -> int:
        return int(self.kept.ids.shape[1])

    @property
    def nbytes(self) -> int:
        return cache_bytes(self.cache)

    def select(self, numbers: Sequence[int]) -> None:
        """Keep these rows only."""
        if list(numbers) != list(range(len(self.rows))):
            select_rows(self.cache, numbers)
            self.kept = _rows_of(self.kept, numbers)
            self.rows = [self.rows[number] for number in numbers]

    def copy(self, numbers: Sequence[int]) -> Cohort:
        """Copy these rows and their cache."""
        return Cohort(
            [self.rows[number] for number in numbers],
            _rows_of(self.kept, numbers),
            copy_rows(self.cache, numbers),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """Calls that continue rows of one cohort."""

    cohort: Cohort
    calls: tuple[tuple[int, int, int], ...]
    """(index in the batch, row of the cohort, ids of the call that the cache holds), by row."""


class Cohorts:
    """All cohorts that are kept, oldest first."""

    def __init__(self) -> None:
        self._cohorts: list[Cohort] = []

    def __len__(self) -> int:
        return len(self._cohorts)

    @property
    def nbytes(self) -> int:
        return sum(cohort.nbytes for cohort in self._cohorts)

    def keep(self, cohort: Cohort) -> None:
        self._cohorts.append(cohort)

    def drop_newest(self) -> bool:
        """Drop the cohort that will be needed last. Returns False if there is none.

        Dialogues are answered in the order of their opening, so dropping the oldest would
        lose every cohort just before its turn.
        """
        if not self._cohorts:
            return False
        self._cohorts.pop()
        return True

    def clear(self) -> None:
        self._cohorts.clear()

    def release(self, unit_id: str) -> None:
        """Drop a step's rows; memory is freed once half of a cohort's rows are finished."""
        for cohort in list(self._cohorts):
            touched = False
            for number, row in enumerate(cohort.rows):
                if row is not None and row.dialogue[0] == unit_id:
                    cohort.rows[number] = None
                    touched = True
            if not touched:
                continue
            if not cohort.open:
                self._cohorts.remove(cohort)
            elif len(cohort.open) <= len(cohort.rows) // 2:
                # Not in the store meanwhile: an error leaves layers with different rows.
                place = self._cohorts.index(cohort)
                self._cohorts.remove(cohort)
                cohort.select(cohort.open)
                self._cohorts.insert(place, cohort)

    def match(self, batch: Sequence[Work], family: Family) -> list[Match]:
        """Match calls with kept rows that they can continue. Every row goes to one call at most."""
        matches: dict[int, list[tuple[int, int, int]]] = {}
        taken: set[tuple[int, int]] = set()
        for place, work in enumerate(batch):
            best: tuple[int, int, int] | None = None
            for index, cohort in enumerate(self._cohorts):
                for number, row in enumerate(cohort.rows):
                    if row is None or row.dialogue != work.dialogue or (index, number) in taken:
                        continue
                    if row.shown != work.shown:
                        # Parts of one dialogue may read alike and show different crops.
                        continue
                    known = shared(row, work.encoded, family)
                    if known and (best is None or known > best[2]):
                        best = index, number, known
            if best is not None:
                taken.add(best[:2])
                matches.setdefault(best[0], []).append((place, best[1], best[2]))
        return [
            Match(self._cohorts[index], tuple(sorted(calls, key=lambda call: call[1])))
            for index, calls in matches.items()
        ]

    def take(self, match: Match) -> Cohort | None:
        """Take the matched rows out of the store; rows of other dialogues stay in it.

        Returns None if the cohort was dropped since it was matched.
        """
        cohort = match.cohort
        if cohort not in self._cohorts:
            return None
        wanted = [number for _, number, _ in match.calls]
        waiting = [number for number in cohort.open if number not in wanted]
        self._cohorts.remove(cohort)
        if waiting:
            self._cohorts.append(cohort.copy(waiting))
        cohort.select(wanted)
        return cohort


def shared(row: Row, now: Encoded, family: Family) -> int:
    """Count the ids of a prompt that a row's cache holds; 0 if all of it must be computed.

    The row's own prompt must be a prefix, id by id. Of the reply, any part may have been kept: the
    template may end it in another way than the model did. At least one id is left to compute.
    """
    if now.built_on < row.prompt or not family.reusable(row.prompt, now.length):
        return 0
    if now.sizes != row.pictures:
        return 0
    most = min(row.ids.shape[0], now.built_on, now.length - 1)
    differing = (row.ids[:most] != now.ids[:most]).nonzero()
    known = int(differing[0, 0]) if differing.numel() else most
    return known if known >= row.prompt else 0


def _rows_of(padded: Padded, numbers: Sequence[int]) -> Padded:
    chosen = torch.tensor(list(numbers), dtype=torch.long)
    types = padded.token_types
    return Padded(padded.ids[chosen], padded.mask[chosen], None if types is None else types[chosen])
