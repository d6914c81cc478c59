"""`vlm-eval recall`: how often a ranker has an acceptable element among its first k."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.commands.options import DATA, read_options, setting_options
from harness.errors import UserError
from harness.printing import say
from harness.ranker_models.commands import with_options
from harness.tables import (
    FORMATS,
    Cell,
    Column,
    Data,
    Grid,
    Row,
    Section,
    few_notes,
    interval_record,
    percent,
    render,
    terminal_width,
)
from harness.tables.grid import interval_text
from parsers import Interval, mean_interval

if TYPE_CHECKING:
    from harness.benchmarks import StepDataset

DEPTHS = (1, 5, 10, 20, 50)

PAPER_SOURCE = "Mind2Web (Deng et al. 2023), DeBERTa-v3-base"
PAPER = {"test_task": 0.889, "test_website": 0.853, "test_domain": 0.857}
"""Published Recall@50 by split, on 252, 177 and 912 tasks (also in `reports/published`)."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A step and how well it was ranked."""

    split: str
    task_id: str
    rank: int | None
    """Best rank of an acceptable element, from 0; None if none was ranked."""
    positive: bool
    """True if the step has an acceptable element."""
    candidates: int
    """Number of candidates that were ranked."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Recall@k of a split."""

    depth: int
    """The k."""
    value: float
    """Share of steps with an acceptable element among the first k, 0 to 1."""
    interval: Interval | None
    """95 % interval with tasks as clusters; None if it cannot be computed."""


@dataclass(frozen=True, slots=True)
class SplitRecall:
    """Recall of a ranker on one split."""

    split: str
    steps: int
    """Steps that count."""
    tasks: int
    without: int
    """Steps without any acceptable element."""
    without_fails: bool
    """True if steps without one count as misses; False if they are not among `steps`."""
    candidates: float
    """Mean number of candidates per step."""
    rates: tuple[Rate, ...] = ()


Measured = tuple[str, SplitRecall]
"""The name of a ranker, and its recall on a split."""


def ranked(split: str, task_id: str, right: Sequence[str], order: Sequence[str]) -> Ranked:
    """Find the best-ranked acceptable element of a step.

    Args:
        split: the step's split.
        task_id: the step's task, the cluster of intervals.
        right: ids of the acceptable elements.
        order: ids of the candidates, best first.

    >>> ranked("dev", "t", ["b", "c"], ["a", "c", "b"]).rank
    1
    """
    acceptable = frozenset(right)
    rank = next((rank for rank, node_id in enumerate(order) if node_id in acceptable), None)
    return Ranked(split, task_id, rank, bool(acceptable), len(order))


def recall_by_split(
    steps: Iterable[Ranked], depths: Sequence[int] = DEPTHS, *, without_fails: bool = False
) -> list[SplitRecall]:
    """Compute Recall@k by split, in order of appearance.

    Args:
        steps: the ranked steps.
        depths: the values of k.
        without_fails: count steps without an acceptable element as misses instead of leaving them
            out.
    """
    splits: dict[str, list[Ranked]] = {}
    for step in steps:
        splits.setdefault(step.split, []).append(step)
    return [_of_split(name, members, depths, without_fails) for name, members in splits.items()]


def _of_split(
    name: str, steps: Sequence[Ranked], depths: Sequence[int], without_fails: bool
) -> SplitRecall:
    kept = [step for step in steps if without_fails or step.positive]
    tasks = [step.task_id for step in kept]
    rates = []
    for depth in depths if kept else ():
        hits = [float(step.rank is not None and step.rank < depth) for step in kept]
        interval = mean_interval(hits, tasks, "micro")
        rates.append(Rate(depth, sum(hits) / len(hits), interval))
    return SplitRecall(
        split=name,
        steps=len(kept),
        tasks=len(set(tasks)),
        without=sum(not step.positive for step in steps),
        without_fails=without_fails,
        candidates=sum(step.candidates for step in kept) / len(kept) if kept else 0.0,
        rates=tuple(rates),
    )


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--ranker",
    "rankers",
    multiple=True,
    help="Ranker to run now (`vlm-eval rank --help` lists them); may be repeated.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="Output format.",
)
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    help="Write to this file instead of standard output.",
)
@click.option(
    "--no-positive",
    type=click.Choice(["exclude", "fail"]),
    default="exclude",
    show_default=True,
    help="Steps without an acceptable element: leave them out, or count them as missed.",
)
@click.option("--revision", help="Commit, branch or tag of a cross-encoder on the hub.")
@click.option("--device", help="Cross-encoder only: as for `vlm-eval rank`.")
@click.option("--dtype", help="Cross-encoder only: as for `vlm-eval rank`.")
@click.option(
    "--batch-size", type=click.IntRange(min=1), help="Cross-encoder only: pairs per batch."
)
@setting_options(DATA)
def recall(files: tuple[Path, ...], rankers: tuple[str, ...], form: str, **values: Any) -> int:
    """Print Recall@1, 5, 10, 20 and 50 of ranks in FILES, or of --ranker, by split.

    A step counts as a hit at k if any acceptable element is among the first k candidates. The 95 %
    intervals have tasks as clusters. For splits of Mind2Web the paper's figure is shown as well; it
    was measured on other steps than those of Multimodal-Mind2Web.
    """
    from harness.benchmarks import recorded_steps
    from harness.planning.data import open_data

    for ranker in rankers or map(str, files):
        with_options(ranker, values)
    named = [*map(str, files), *(with_options(ranker, values) for ranker in rankers)]
    if not named:
        raise UserError("name files of ranks, or a ranker with --ranker (lexical, say)")
    settings = read_options(distractors=0)
    dataset = recorded_steps(open_data(settings).part)
    for notice in dataset.notices:
        say(notice, err=True)
    measured = list(_measured(named, dataset, values["no_positive"] == "fail"))
    out: Path | None = values["out"]
    width = terminal_width() if out is None else None
    grid = recall_grid(measured, settings.benchmark, values["no_positive"])
    text = render(grid, form, width=width, note="")
    if out is None:
        say(text, nl=False)
        return 0
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror}") from error
    return 0


def _measured(named: list[str], dataset: StepDataset, without_fails: bool) -> Iterator[Measured]:
    from harness.candidates import page_of
    from harness.rankers import check_covered, open_ranks

    opened = [open_ranks(name) for name in named]
    for ranks in opened:
        check_covered(ranks, [entry.unit_id for entry in dataset.entries])
    steps: list[list[Ranked]] = [[] for _ in opened]
    # A page is parsed once for all of them.
    for row in dataset.rows():
        page = page_of(row)
        right = [candidate.id for candidate in row.detail.positives]
        for own, ranks in zip(steps, opened, strict=True):
            own.append(ranked(row.split, row.parents["task"], right, ranks.of(row, page)))
    for ranks, own in zip(opened, steps, strict=True):
        for part in recall_by_split(own, without_fails=without_fails):
            yield ranks.name, part


def recall_grid(measured: Sequence[Measured], benchmark: str, no_positive: str) -> Grid:
    """Return the table: a row per ranker and split; shares in its data."""
    rankers: dict[str, list[Row]] = {}
    for name, part in measured:
        rates = [Cell(percent(r.value), interval_text(r.interval)) for r in part.rates] or [
            Cell("–")
        ] * len(DEPTHS)
        paper = percent(PAPER[part.split]) if part.split in PAPER else "–"
        counts = (f"{part.steps:,}", f"{part.tasks:,}")
        rankers.setdefault(name, []).append(Row((part.split, *counts, *rates, paper)))
    records = [_record(name, part) for name, part in measured]
    notes = _notes(measured)
    heads = ("steps", "tasks", *(f"R@{k}" for k in DEPTHS), "paper R@50")
    return Grid(
        title="",
        columns=(Column("split", "left"), *map(Column, heads)),
        sections=tuple(Section(tuple(rows), name) for name, rows in rankers.items()),
        footnotes=tuple(notes),
        section_head="ranker",
        data=Data(
            names=tuple(records[0]),
            rows=tuple(tuple(record.values()) for record in records),
            facts={"benchmark": benchmark, "no_positive": no_positive, "notes": notes},
        ),
    )


def _record(name: str, part: SplitRecall) -> dict[str, Any]:
    values: dict[str, Any] = {
        "ranker": name,
        "split": part.split,
        "steps": part.steps,
        "tasks": part.tasks,
        "without_positive": part.without,
        "candidates": round(part.candidates, 1),
    }
    for rate in part.rates:
        values[f"recall_{rate.depth}"] = round(rate.value, 6)
        ends = interval_record(f"recall_{rate.depth}", rate.interval)
        values |= {k: round(v, 6) if isinstance(v, float) else v for k, v in ends.items()}
    return {**values, "paper_recall_50": PAPER.get(part.split)}


def _notes(measured: Sequence[Measured]) -> list[str]:
    parts = {part.split: part for _, part in measured}
    notes = []
    for part in parts.values():
        if part.without:
            counted = f"{part.split}: {part.without} steps have no acceptable element"
            outcome = "count as missed" if part.without_fails else "are left out"
            notes.append(f"{counted} and {outcome}.")
    intervals = [rate.interval for _, part in measured for rate in part.rates]
    notes += few_notes(rates=any(interval is not None and interval.few for interval in intervals))
    if set(parts) & set(PAPER):
        notes.append(
            f"Paper: {PAPER_SOURCE}, on Mind2Web's own 252, 177 and 912 test tasks; "
            "do not rank other populations against it."
        )
    return notes
