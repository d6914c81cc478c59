"""Replies for batches of conversations, with one model on one device."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import torch

from adapters.contract import Fatal, Fault
from adapters.local.cohorts import Cohort, Cohorts, Match, Row
from adapters.local.contract import Generated, Loaded, Padded, Work, WorkerStats
from adapters.local.memory import KeptRoom, WorkingSize, free_bytes, give_back, is_out_of_memory
from adapters.local.options import model_failed
from adapters.local.padding import alike, pad, pad_after
from adapters.local.writer import Writer, can_be_kept, new_cache

Result = Generated | Fault


@dataclass(frozen=True, slots=True, eq=False)
class _Prepared:
    """Rows about to be generated: the calls, their padded ids and the model's other inputs."""

    works: Sequence[Work]
    padded: Padded
    inputs: dict[str, Any]
    cache: Any
    cached: Sequence[int]


class Generator:
    """Generates replies. Not thread-safe; use it from one thread only."""

    def __init__(
        self,
        loaded: Loaded,
        *,
        rows: int = 64,
        kv_reuse: bool = True,
    ) -> None:
        """
        Args:
            loaded: the model.
            rows: largest number of rows in a batch.
            kv_reuse: whether the keys and values of a dialogue that continues stay on the device
                until the step is released; otherwise every round prefills its conversation in full.
        """
        self._model = loaded.model
        self._family = loaded.family
        self._device = loaded.device
        self._kv_reuse = kv_reuse
        self._writer = Writer(loaded)
        self._room = KeptRoom(loaded.device)
        self._notices: list[str] = []
        self.size = WorkingSize(rows)
        self.cohorts = Cohorts()
        self.stats = WorkerStats()

    def run(self, batch: Sequence[Work]) -> list[Result]:
        """Return a result per call, in order.

        A batch that does not fit into memory is tried again without what is kept for other
        dialogues, and then in halves; a single call that does not fit gives a `Fault`, and the
        others are answered. Raises `Fatal` for any other error of the model.
        """
        started = time.monotonic()
        results: dict[int, Result] = {}
        fresh = set(range(len(batch)))
        for match in self.cohorts.match(batch, self._family) if self._kv_reuse else ():
            places = [place for place, _, _ in match.calls]
            answers = self._unless_out_of_memory(partial(self._continue, batch, match))
            if answers is not None:
                fresh.difference_update(places)
                results |= zip(places, answers, strict=True)
        again = sum(1 for place in fresh if batch[place].encoded.built_on)
        self.stats = self.stats.plus(rows=len(batch), reused=len(results), recomputed=again)
        results |= self._in_full(batch, sorted(fresh))
        self.stats = self.stats.plus(batches=1, busy_s=time.monotonic() - started)
        self.stats = replace(self.stats, peak_bytes=self._room.peak)
        return [results[place] for place in range(len(batch))]

    def release(self, unit_id: str) -> None:
        """Drop what is kept for a finished step.

        The rows of its cohort that go on are copied. If there is no memory for that, they are
        dropped, too, and computed again.
        """
        try:
            self.cohorts.release(unit_id)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            self.stats = self.stats.plus(dropped=1)
        else:
            return
        give_back(self._device)

    def interrupt(self) -> None:
        """Stop the current batch, which then raises `Fatal`. May be called from any thread."""
        self._writer.interrupt()

    def close(self) -> None:
        self.cohorts.clear()
        self._model = self._writer = None  # type: ignore[assignment]
        give_back(self._device)

    def notices(self) -> list[str]:
        notices, self._notices = self._notices, []
        return notices

    def _in_full(self, batch: Sequence[Work], places: Sequence[int]) -> dict[int, Result]:
        results: dict[int, Result] = {}
        while places:
            widths = [_width(batch[place]) for place in places]
            chosen = [places[index] for index in self.size.split(widths)[0]]
            chosen = [chosen[index] for index in alike([batch[place].encoded for place in chosen])]
            works = [batch[place] for place in chosen]
            widest = max(widths)
            if len(works) == 1 and self.size.hopeless(widest):
                answers = None
            else:
                answers = self._unless_out_of_memory(partial(self._fresh, works))
                if answers is None and self._less(len(works), widest):
                    continue
            settled: Sequence[Result] = answers or [self._no_room(works[0])]
            results |= zip(chosen, settled, strict=True)
            places = [place for place in places if place not in results]
        return results

    def _unless_out_of_memory(
        self, attempt: Callable[[], list[Generated] | None]
    ) -> list[Generated] | None:
        """Return the results of an attempt, or None if memory ran out."""
        try:
            return attempt()
        except (Fatal, Fault):
            raise
        except Exception as error:
            if not is_out_of_memory(error):
                raise self._failed(error) from error
        # Only after the except block are the tensors in the error's frames released.
        give_back(self._device)
        return None

    def _fresh(self, works: Sequence[Work]) -> list[Generated]:
        padded = pad([work.encoded for work in works], self._family.pad_id, self._device)
        inputs = self._family.inputs(self._model, padded)
        cache = new_cache(self._model)
        return self._generate(_Prepared(works, padded, inputs, cache, [0] * len(works)))

    def _continue(self, batch: Sequence[Work], match: Match) -> list[Generated] | None:
        """Continue a cohort. Returns None if it was dropped meanwhile."""
        cohort = self.cohorts.take(match)
        if cohort is None:
            return None
        works = [batch[place] for place, _, _ in match.calls]
        cached = [known for _, _, known in match.calls]
        rows = [work.encoded for work in works]
        padded = pad_after(cohort.kept, rows, cached, self._family.pad_id)
        inputs = self._family.continued_inputs(self._model, padded, cohort.columns)
        # The match still names the cohort; the memory is this call's alone.
        cache, cohort.cache = cohort.cache, None
        return self._generate(_Prepared(works, padded, inputs, cache, cached))

    def _generate(self, batch: _Prepared) -> list[Generated]:
        started = time.monotonic()
        works = batch.works
        self._room.begin()
        written = self._writer.write(works, batch.padded, batch.inputs, batch.cache)
        self._room.end()
        replies = [
            self._writer.reply(work, ids.tolist()) for work, ids in zip(works, written, strict=True)
        ]
        self._keep(batch, written, [len(ids) for ids, _ in replies])
        seconds = time.monotonic() - started
        self.stats = self.stats.plus(
            prompt_tokens=sum(w.encoded.length for w in works) - sum(batch.cached),
            cached_tokens=sum(batch.cached),
            generated_tokens=sum(len(ids) for ids, _ in replies),
        )
        return [
            Generated(ids, finish, work.encoded.length, known, seconds)
            for (ids, finish), work, known in zip(replies, works, batch.cached, strict=True)
        ]

    def _keep(self, batch: _Prepared, written: torch.Tensor, lengths: Sequence[int]) -> None:
        """Keep the rows whose dialogues continue, if there is room."""
        going_on = [
            number
            for number, work in enumerate(batch.works)
            if work.continues and self._family.reusable(work.encoded.length, work.encoded.length)
        ]
        if not (self._kv_reuse and going_on and can_be_kept(batch.cache)):
            return
        # The last column was written, but nothing was computed from it.
        ids = torch.cat([batch.padded.ids, written[:, :-1]], dim=1)
        made = torch.zeros_like(written[:, :-1])
        for number, length in enumerate(lengths):
            made[number, :length] = 1
        mask = torch.cat([batch.padded.mask, made], dim=1)
        types = batch.padded.token_types
        if types is not None:
            types = torch.cat([types, torch.zeros_like(made)], dim=1)
        rows: list[Row | None] = [
            Row(
                work.dialogue,
                ids[n][mask[n].bool()],
                work.encoded.length,
                work.encoded.sizes,
                work.shown,
            )
            for n, work in enumerate(batch.works)
        ]
        cohort = Cohort(rows, Padded(ids, mask, types), batch.cache)
        cohort.select(going_on)
        self.cohorts.keep(cohort)
        while self._room.crowded(self.cohorts.nbytes) and self.cohorts.drop_newest():
            self.stats = self.stats.plus(dropped=1)

    def _less(self, rows: int, columns: int) -> bool:
        """After memory ran out: make room, or reduce the batch for good. Returns whether there is
        anything left to try."""
        if self.cohorts.drop_newest():
            # Kept state can be computed again; a smaller batch slows down the rest of the run.
            self.stats = self.stats.plus(dropped=1)
            give_back(self._device)
            return True
        self.size.failed(rows, columns)
        if rows == 1:
            return False
        self.stats = self.stats.plus(halved=1)
        self._notices.append(
            f"{rows} conversations of up to {columns:,} tokens do not fit into the memory of "
            f"{self._device}: continuing with {max(1, rows // 2)} at a time"
        )
        return True

    def _no_room(self, work: Work) -> Fault:
        needed = ""
        with suppress(Exception):
            # It takes a small call of the model, which may not fit either.
            kept = _width(work) * self._kept_per_token
            needed = f"keys and values alone need {kept / 2**30:.1f} GiB, "
        return Fault(
            "server",
            f"step {work.unit_id}: {work.encoded.length:,} tokens do not fit into the memory of "
            f"{self._device} ({needed}{free_bytes(self._device) / 2**30:.1f} GiB are free): lower "
            "--adapter-option max_pixels or --max-tokens, or use a larger device",
        )

    @cached_property
    def _kept_per_token(self) -> int:
        return self._family.cache_bytes_per_token(self._model)

    def _failed(self, error: Exception) -> Fatal:
        return Fatal(model_failed(self._device, error))


def _width(work: Work) -> int:
    """Return columns that a call takes: its prompt and its reply."""
    return work.encoded.length + work.generation.max_tokens
