"""Rank the candidates of a whole benchmark once and store the ranks; may be killed and continued.

Finished steps are stored in a folder next to the output file, in parts that are written, synced and
renamed one by one and never changed afterwards. When every selected step is there, the parts are
joined into the output file, in the order of the data, and the folder is removed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adapters.processes import ChildEnded, Pool
from adapters.processes.child import Receive, Send
from harness import __version__
from harness.benchmarks import StepDataset, open_steps
from harness.candidates import page_of
from harness.errors import DataError, UserError
from harness.rankers import ByScore, Ranks, open_ranks, rank
from harness.rankers.files import Entry, RankTable, table_writer

STEPS_PER_PART = 32
_SETTINGS = "settings.json"
Part = tuple[Path, Sequence[str]]
"""A parquet file to write and the ids of its steps."""


@dataclass(frozen=True, slots=True)
class Source:
    """Values for a child process to open the same data."""

    benchmark: str
    data: str | None
    splits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RankedBenchmark:
    """Counts of a finished ranking."""

    steps: int
    resumed: int
    """Steps that an earlier, interrupted call had already ranked."""


def rank_benchmark(
    dataset: StepDataset,
    source: Source,
    ranker: str,
    out: Path,
    *,
    workers: int = 1,
    overwrite: bool = False,
    on_progress: Callable[[int], None] = lambda _: None,
) -> RankedBenchmark:
    """Rank the candidates of every selected step and write the ranks to `out`.

    Args:
        dataset: the selected steps.
        source: the same data for child processes.
        ranker: a name or file for `open_ranks`.
        out: the parquet file to write; finished parts are kept in `OUT.parts` until then.
        workers: number of processes; rankers that fill a device always use one.
        overwrite: replace `out` if it exists.
        on_progress: called with the number of steps finished so far.

    Raises:
        DataError: `out` exists, or a page cannot be read.
        UserError: `OUT.parts` holds parts of a different ranking.
    """
    if out.is_dir():
        raise DataError(f"{out} is a folder; name a file for the ranks")
    if out.exists() and not overwrite:
        raise DataError(f"{out} exists; name another file or pass --overwrite")
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
        todo = [e.unit_id for e in dataset.entries if e.unit_id not in finished]
        resumed = len(dataset) - len(todo)
        on_progress(resumed)
        chunks = [todo[i : i + STEPS_PER_PART] for i in range(0, len(todo), STEPS_PER_PART)]
        number = 1 + max((int(path.stem) for path in folder.glob("*.parquet")), default=-1)
        parts = [(folder / f"{number + i:06d}.parquet", chunk) for i, chunk in enumerate(chunks)]
        count = resumed
        scorer = ranks.scorer if isinstance(ranks, ByScore) else None
        if workers > 1 and len(parts) > 1 and scorer is not None and scorer.parallel:
            finished_parts = _in_processes(source, ranker, min(workers, len(parts)), parts)
        else:
            finished_parts = _in_this_process(dataset, ranks, parts)
        with closing(finished_parts):  # ends the processes at once, whatever happens here
            for steps in finished_parts:
                count += steps
                on_progress(count)
        _join(dataset, folder, out, settings, overwrite=overwrite)
    return RankedBenchmark(len(dataset), resumed)


def serve(receive: Receive, send: Send) -> None:
    """Rank in a child process: open data and ranker, then write one part per message.

    The answer is the number of steps written, or an error message.
    """
    opened: tuple[StepDataset, Ranks] | str
    source, ranker = receive()
    try:
        data = Path(source.data) if source.data else None
        dataset = open_steps(source.benchmark, splits=source.splits or None, data=data)
        opened = dataset, open_ranks(ranker)
    except UserError as error:
        opened = str(error)
    while True:
        path, step_ids = receive()
        send(opened if isinstance(opened, str) else _write_part(*opened, path, step_ids))


def _write_part(
    dataset: StepDataset, ranks: Ranks, path: Path, step_ids: Sequence[str]
) -> int | str:
    try:
        return _write(path, _ranked(ranks, _pages(dataset, step_ids)))
    except UserError as error:
        return str(error)


def _in_processes(source: Source, ranker: str, count: int, parts: Sequence[Part]) -> Generator[int]:
    """Rank in child processes; yield the number of steps of each finished part."""
    pool = Pool("harness.ranker_models.job:serve", count, name="rank", first=(source, ranker))
    with closing(pool):
        for future in as_completed([pool.threads.submit(pool.ask, part) for part in parts]):
            try:
                answer: int | str = future.result()
            except ChildEnded as error:
                raise DataError(
                    f"a ranking process ended: {error}; run the same command again to continue, "
                    "with fewer --workers if memory ran out"
                ) from None
            if isinstance(answer, str):
                raise DataError(answer)
            yield answer


def _in_this_process(dataset: StepDataset, ranks: Ranks, parts: Sequence[Part]) -> Generator[int]:
    """Rank part after part; the pages of the next part are read while this one is ranked."""
    with ThreadPoolExecutor(1, thread_name_prefix="pages") as reader:
        ahead = None
        for number, (path, _) in enumerate(parts):
            steps = ahead.result() if ahead else _pages(dataset, parts[0][1])
            following = parts[number + 1][1] if number + 1 < len(parts) else None
            ahead = reader.submit(_pages, dataset, following) if following else None
            yield _write(path, _ranked(ranks, steps))


def _pages(dataset: StepDataset, step_ids: Sequence[str]) -> list[Any]:
    wanted = frozenset(step_ids)
    entries = tuple(entry for entry in dataset.entries if entry.unit_id in wanted)
    rows = replace(dataset, entries=entries).rows()
    # Rankers do not use the screenshot, which is larger than all the rest.
    return [
        (replace(row, detail=replace(row.detail, screenshot=None)), page_of(row)) for row in rows
    ]


def _ranked(ranks: Ranks, steps: Sequence[Any]) -> list[Entry]:
    if isinstance(ranks, ByScore):
        return [
            Entry(ranking.step_id, ranking.ids, range(len(ranking.ids)), ranking.scores)
            for ranking in rank(ranks.scorer, steps)
        ]
    orders = [(row.unit_id, list(ranks.of(row, page))) for row, page in steps]
    return [Entry(step_id, order, range(len(order))) for step_id, order in orders]


def _write(path: Path, entries: Sequence[Entry]) -> int:
    with table_writer(path, {}) as table:
        for entry in entries:
            table.add(entry)
    return len(entries)


@contextmanager
def _claimed(folder: Path, settings: Mapping[str, object]) -> Iterator[None]:
    """Lock the folder of parts against other processes and bind it to these settings."""
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
        path, text = folder / _SETTINGS, json.dumps(settings, sort_keys=True)
        if path.exists() and any(folder.glob("*.parquet")):
            if path.read_text(encoding="utf-8") != text:
                raise UserError(
                    f"{folder} holds parts of another ranking (other data, ranker or version); "
                    "remove it or name another output file"
                )
        else:
            partial = path.with_suffix(".partial")
            with partial.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        yield
    except BaseException:
        # Nothing was finished: leave nothing behind.
        if not any(folder.glob("*.parquet")):
            shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        lock.release()
    shutil.rmtree(folder, ignore_errors=True)


def _finished(folder: Path) -> set[str]:
    return {step for path in sorted(folder.glob("*.parquet")) for step in RankTable(path).steps()}


def _join(
    dataset: StepDataset,
    folder: Path,
    out: Path,
    settings: Mapping[str, object],
    *,
    overwrite: bool,
) -> None:
    part_of: dict[str, Path] = {}
    for path in sorted(folder.glob("*.parquet")):
        part_of.update(dict.fromkeys(RankTable(path).steps(), path))
    current: tuple[Path, RankTable] | None = None
    with table_writer(out, settings, overwrite=overwrite) as table:
        for entry in dataset.entries:
            path = part_of[entry.unit_id]
            if current is None or current[0] != path:
                current = (path, RankTable(path))
            table.add(current[1].entry(entry.unit_id))
