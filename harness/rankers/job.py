"""Scoring a benchmark once: in processes or batches, to be killed and continued at any instant.

Finished steps lie in a folder beside the result, in parts that are written, synced and renamed one
by one; nothing in it is ever changed. When every step of the selection is there, the parts become
the result, in the order of the data, and the folder goes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adapters.processes import ChildEnded, Pool, Receive, Send
from harness import __version__
from harness.benchmarks import Dataset, open_benchmark
from harness.candidates import page_of
from harness.errors import DataError, UserError
from harness.rankers import Ranks, open_ranks
from harness.rankers.contract import ByScore, rank
from harness.rankers.table import Entry, RankTable, table_writer

STEPS_PER_PART = 32
_SETTINGS = "settings.json"
Told = Callable[[int], None]
Part = tuple[Path, Sequence[str]]
"""A file to write, and the steps to rank into it."""


@dataclass(frozen=True, slots=True)
class Source:
    """How to open the data once more, in another process."""

    benchmark: str
    data: str | None
    splits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """What was written: steps, and how many of them had been ranked by an earlier call."""

    steps: int
    before: int


def rank_benchmark(
    dataset: Dataset,
    source: Source,
    ranker: str,
    out: Path,
    *,
    workers: int = 1,
    overwrite: bool = False,
    told: Told = lambda _: None,
) -> Done:
    """Rank the candidates of every step of a selection.

    Args:
        dataset: the selection.
        source: how to open the data it is of.
        ranker: its name for `open_ranks`.
        out: the parquet file; `out` with `.parts` appended is the folder for what is finished.
        workers: processes, where the ranker may be run in several.
        overwrite: whether `out` may exist.
        told: is called with the number of steps that are finished so far.

    Raises:
        DataError: `out` exists, a page cannot be read, or the parts are those of another ranking.
    """
    if out.is_dir():
        raise DataError(f"{out} is a folder; name a file for the ranks")
    if out.exists() and not overwrite:
        raise DataError(f"{out} exists; name another file, or say --overwrite")
    ranks = open_ranks(ranker)
    settings = {
        "ranker": ranks.name,
        "digest": ranks.digest,
        "version": __version__,
        "benchmark": dataset.fingerprint,
    }
    folder = out.with_name(out.name + ".parts")
    with _claimed(folder, settings):
        finished = _finished(folder)
        todo = [e.step_id for e in dataset.index() if e.step_id not in finished]
        before = len(dataset) - len(todo)
        told(before)
        chunks = [todo[i : i + STEPS_PER_PART] for i in range(0, len(todo), STEPS_PER_PART)]
        number = 1 + max((int(path.stem) for path in folder.glob("*.parquet")), default=-1)
        parts = [(folder / f"{number + i:06d}.parquet", chunk) for i, chunk in enumerate(chunks)]
        count = before
        scorer = ranks.scorer if isinstance(ranks, ByScore) else None
        if workers > 1 and len(parts) > 1 and scorer is not None and scorer.parallel:
            for steps in _side_by_side(source, ranker, min(workers, len(parts)), parts):
                count += steps
                told(count)
        else:
            for steps in _in_turn(dataset, ranks, parts):
                count += steps
                told(count)
        _join(dataset, folder, out, settings, overwrite=overwrite)
    return Done(len(dataset), before)


def serve(receive: Receive, send: Send) -> None:
    """Rank in a process: open data and ranker, then write part after part.

    An answer is the number of steps of a part, or what is wrong, as a text.
    """
    opened: tuple[Dataset, Ranks] | str
    source, ranker = receive()
    try:
        data = Path(source.data) if source.data else None
        dataset = open_benchmark(source.benchmark, splits=source.splits or None, data=data)
        opened = dataset, open_ranks(ranker)
    except UserError as error:
        opened = str(error)
    while True:
        path, step_ids = receive()
        send(opened if isinstance(opened, str) else _written(*opened, path, step_ids))


def _written(dataset: Dataset, ranks: Ranks, path: Path, step_ids: Sequence[str]) -> int | str:
    try:
        return _write(path, _ranked(ranks, _pages(dataset, step_ids)))
    except UserError as error:
        return str(error)


def _side_by_side(source: Source, ranker: str, count: int, parts: Sequence[Part]) -> Iterator[int]:
    """The number of steps of each part as it is finished, in processes that open the data anew."""
    with Pool("harness.rankers.job:serve", count, name="rank", first=(source, ranker)) as pool:
        for future in as_completed([pool.threads.submit(pool.ask, part) for part in parts]):
            try:
                answer: int | str = future.result()
            except ChildEnded as error:
                raise DataError(
                    f"a process that ranks ended: {error}; start again to go on, with fewer "
                    "--workers"
                ) from None
            if isinstance(answer, str):
                raise DataError(answer)
            yield answer


def _in_turn(dataset: Dataset, ranks: Ranks, parts: Sequence[Part]) -> Iterator[int]:
    """Part after part; the pages of the next one are read while this one is ranked."""
    with ThreadPoolExecutor(1, thread_name_prefix="pages") as reader:
        ahead = None
        for number, (path, _) in enumerate(parts):
            steps = ahead.result() if ahead else _pages(dataset, parts[0][1])
            following = parts[number + 1][1] if number + 1 < len(parts) else None
            ahead = reader.submit(_pages, dataset, following) if following else None
            yield _write(path, _ranked(ranks, steps))


def _pages(dataset: Dataset, step_ids: Sequence[str]) -> list[Any]:
    wanted = frozenset(step_ids)
    entries = tuple(entry for entry in dataset.index() if entry.step_id in wanted)
    rows = replace(dataset, entries=entries).rows()
    # The picture is of no use here, and weighs more than all the rest.
    return [(replace(row, screenshot=None), page_of(row)) for row in rows]


def _ranked(ranks: Ranks, steps: Sequence[Any]) -> list[Entry]:
    if isinstance(ranks, ByScore):
        return [
            Entry(found.step_id, found.ids, range(len(found.ids)), found.scores)
            for found in rank(ranks.scorer, steps)
        ]
    orders = [(row.step_id, list(ranks.of(row, page))) for row, page in steps]
    return [Entry(step_id, order, range(len(order))) for step_id, order in orders]


def _write(path: Path, entries: Sequence[Entry]) -> int:
    with table_writer(path, {}) as table:
        for entry in entries:
            table.add(entry)
    return len(entries)


@contextmanager
def _claimed(folder: Path, settings: Mapping[str, object]) -> Iterator[None]:
    """The folder of parts, held against a second process, and bound to these settings."""
    import os

    from filelock import FileLock, Timeout

    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / "lock")
        lock.acquire(timeout=0)
    except Timeout:
        raise DataError(f"another process is ranking into {folder}") from None
    except OSError as error:
        raise DataError(f"cannot write {folder}: {error.strerror}") from error
    try:
        path, told = folder / _SETTINGS, json.dumps(settings, sort_keys=True)
        if path.exists() and any(folder.glob("*.parquet")):
            if path.read_text(encoding="utf-8") != told:
                raise UserError(
                    f"{folder} holds parts of another ranking (other data, ranker or version); "
                    "remove it, or name another file"
                )
        else:
            partial = path.with_suffix(".partial")
            with partial.open("w", encoding="utf-8") as file:
                file.write(told)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        yield
    except BaseException:
        # A call that could not even begin leaves nothing behind.
        if not any(folder.glob("*.parquet")):
            shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        lock.release()
    shutil.rmtree(folder, ignore_errors=True)


def _finished(folder: Path) -> set[str]:
    return {step for path in sorted(folder.glob("*.parquet")) for step in RankTable(path).steps()}


def _join(
    dataset: Dataset, folder: Path, out: Path, settings: Mapping[str, object], *, overwrite: bool
) -> None:
    place: dict[str, Path] = {}
    for path in sorted(folder.glob("*.parquet")):
        place.update(dict.fromkeys(RankTable(path).steps(), path))
    held: tuple[Path, RankTable] | None = None
    with table_writer(out, settings, overwrite=overwrite) as table:
        for entry in dataset.index():
            path = place[entry.step_id]
            if held is None or held[0] != path:
                held = (path, RankTable(path))
            table.add(held[1].entry(entry.step_id))
