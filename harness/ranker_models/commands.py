"""`vlm-eval rankers`: list rankers, rank, convert published scores, measure and fine-tune."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from harness import __version__
from harness.benchmarks import StepDataset, recorded_steps
from harness.candidates import page_of
from harness.commands.listing import print_names
from harness.commands.options import DATA, read_options, setting_options
from harness.errors import UserError
from harness.parquet import check_new
from harness.planning.data import open_data
from harness.printing import say
from harness.ranker_models.pickles import convert as convert_pickle
from harness.ranker_models.train import train
from harness.rankers import (
    RANKERS,
    ByScore,
    RankedStep,
    Ranks,
    check_covered,
    open_ranks,
    write_ranks,
)
from harness.records import Row as Step
from harness.settings import allow_code
from harness.tables import (
    FORMATS,
    Cell,
    Data,
    Grid,
    Heading,
    Row,
    Section,
    counted,
    few_notes,
    interval_record,
    percent,
    render,
    terminal_width,
)
from harness.tables.grid import bounds
from parsers import mean_interval

DEPTHS = (1, 5, 10, 20, 50)
PAPER = {"test_task": 0.889, "test_website": 0.853, "test_domain": 0.857}
"""Published Recall@50 by split, on 252, 177 and 912 tasks (also in `reports/published`)."""


@click.group(invoke_without_command=True)
@click.pass_context
def rankers(ctx: click.Context) -> None:
    """Rank the candidates of pages, and measure and fine-tune rankers.

    Without a command, list the rankers for --ranker, which also takes files of ranks.
    """
    if ctx.invoked_subcommand is None:
        print_names(RANKERS.names().items())


rankers.add_command(train)


@rankers.command(short_help="Convert Mind2Web's published scores from their pickle.")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help="Parquet file.")
@click.option("--name", default="mind2web", show_default=True, help="Ranker that made them.")
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
def convert(source: Path, out: Path, name: str, overwrite: bool) -> int:
    """Convert SOURCE, a pickle such as scores_all_data.pkl, into a file of ranks.

    A pickle can contain code. Only plain dicts, lists, strings, numbers and the classes
    collections.defaultdict and builtins.dict are accepted; anything else is refused by name before
    anything in the file is called. Only ranks named mind2web are compared with published rows.
    """
    steps, candidates, parts = convert_pickle(source, out, ranker=name, overwrite=overwrite)
    say(f"{out}: {' and '.join(parts)} of {candidates:,} candidates in {steps:,} steps")
    return 0


def _selected() -> StepDataset:
    """Open the data that the options of the command select, and print its notices."""
    dataset = recorded_steps(open_data(read_options()).part)
    for notice in dataset.notices:
        say(notice, err=True)
    return dataset


@rankers.command(short_help="Rank the candidates of a benchmark, and store the ranks.")
@click.option("--ranker", default="lexical", show_default=True, help="One of the rankers above.")
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help="Parquet file.")
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
@setting_options(DATA)
def rank(ranker: str, out: Path, overwrite: bool, **_: Any) -> int:
    """Rank the candidates of every step, best first, and store the ranks in a file.

    \b
    Rankers: lexical            words of the task, no model
             cross-encoder:PATH a checkpoint in a folder or on the hub (needs the extra rank)
             FILE               scores or ranks, JSON or parquet

    Settings of a cross-encoder follow its path: cross-encoder:PATH,device=cuda,dtype=bfloat16
    (also batch-size= and revision=). Use the file in a run with --benchmark-option
    candidates=ranker --ranker FILE, and measure it with vlm-eval rankers recall.
    """
    dataset = _selected()
    allow_code({"ranker": ranker})
    ranked = rank_benchmark(dataset, ranker, out, overwrite=overwrite)
    say(f"{out}: ranks of {counted(ranked, 'step')} by {ranker}")
    return 0


def rank_benchmark(dataset: StepDataset, ranker: str, out: Path, *, overwrite: bool = False) -> int:
    """Rank the candidates of every selected step, write the ranks to `out`, a parquet file that is
    there once they are complete, and return the number of steps. Raises `UserError`, `DataError`.
    """
    check_new(out, overwrite=overwrite)
    ranks = open_ranks(ranker)
    settings = {
        "ranker": ranks.name,
        "digest": ranks.digest,
        "version": __version__,
        "benchmark": dataset.fingerprint,
    }
    with click.progressbar(
        dataset.rows(), len(dataset), "ranking", file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as rows:
        return write_ranks(
            out, settings, (_ranked(row, ranks) for row in rows), overwrite=overwrite
        )


def _ranked(row: Step, ranks: Ranks) -> RankedStep:
    page = page_of(row)
    scored = ranks.scored(row, page) if isinstance(ranks, ByScore) else None
    ids = list(ranks.of(row, page) if scored is None else scored)
    scores = None if scored is None else list(scored.values())
    return RankedStep(row.unit_id, ids, range(len(ids)), scores)


class Ranked(NamedTuple):
    """A step, and the best rank of an acceptable element, from 0; None if none was ranked."""

    split: str
    task_id: str
    rank: int | None
    has_acceptable: bool
    candidates: int


def recall_by_split(
    steps: Iterable[Ranked], *, without_fails: bool = False
) -> list[dict[str, Any]]:
    """Compute recall by split, in order of appearance.

    `without_fails` counts steps without an acceptable element as misses instead of leaving them
    out. Returns for each split the numbers of steps that count, of their tasks, of steps without an
    acceptable element and of candidates per step; for each k of `DEPTHS` the share of steps with an
    acceptable element among the first k, 0 to 1 (None without steps), and its 95 % interval with
    tasks as clusters.
    """
    splits: dict[str, list[Ranked]] = {}
    for step in steps:
        splits.setdefault(step.split, []).append(step)
    records = []
    for split, members in splits.items():
        kept = [step for step in members if without_fails or step.has_acceptable]
        tasks = [step.task_id for step in kept]
        record: dict[str, Any] = {
            "split": split,
            "steps": len(kept),
            "tasks": len(set(tasks)),
            "without_positive": sum(not step.has_acceptable for step in members),
            "candidates": round(sum(step.candidates for step in kept) / max(1, len(kept)), 1),
        }
        for k in DEPTHS:
            hits = [float(step.rank is not None and step.rank < k) for step in kept]
            record[f"recall_{k}"] = sum(hits) / len(hits) if hits else None
            record |= interval_record(f"recall_{k}", mean_interval(hits, tasks, "micro"))
        records.append(record)
    return records


@rankers.command(short_help="Measure how often a ranker has the right element among its first k.")
@click.argument("files", nargs=-1)
@click.option("--ranker", "named", multiple=True, help="Ranker to run now; may be repeated.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="Output format.")
@click.option(
    "--no-positive",
    type=click.Choice(["exclude", "fail"]),
    default="exclude",
    show_default=True,
    help="Steps without an acceptable element: leave them out, or count them as missed.",
)
@setting_options(DATA)
def recall(
    files: tuple[str, ...], named: tuple[str, ...], form: str, no_positive: str, **_: Any
) -> int:
    """Print Recall@1, 5, 10, 20 and 50 of ranks in FILES, or of --ranker, by split.

    A step counts as a hit at k if any acceptable element is among the first k candidates. The 95 %
    intervals have tasks as clusters. For splits of Mind2Web the paper's figure is shown as well; it
    was measured on other steps than those of Multimodal-Mind2Web.
    """
    if not files + named:
        raise UserError("name files of ranks, or a ranker with --ranker (lexical, say)")
    dataset = _selected()
    allow_code({"ranker": named})
    opened = [(open_ranks(name), list[Ranked]()) for name in files + named]
    for ranks, _found in opened:
        check_covered(ranks, [entry.unit_id for entry in dataset.entries])
    for row in dataset.rows():
        page = page_of(row)  # parsed once for all rankers
        right = [candidate.id for candidate in row.detail.positives]
        for ranks, found in opened:
            order = ranks.of(row, page)
            rank = next((rank for rank, node_id in enumerate(order) if node_id in right), None)
            found.append(Ranked(row.split, row.parents["task"], rank, bool(right), len(order)))
    records = [
        {"ranker": ranks.name, **record, "paper_recall_50": PAPER.get(record["split"])}
        for ranks, found in opened
        for record in recall_by_split(found, without_fails=no_positive == "fail")
    ]
    grid = _grid(records, {"benchmark": read_options().benchmark, "no_positive": no_positive})
    say(render(grid, form, width=terminal_width(), note=""), nl=False)
    return 0


def _grid(records: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> Grid:
    """Return the table: a row per ranker and split; shares in its data."""
    rankers: dict[str, list[Row]] = {}
    for one in records:
        rates = []
        for rate in (f"recall_{k}" for k in DEPTHS):
            interval = bounds(one[f"{rate}_low"], one[f"{rate}_high"], few=one[f"{rate}_few"])
            rates.append(Cell(_share(one[rate]), interval))
        counts = (f"{one['steps']:,}", f"{one['tasks']:,}")
        cells = (one["split"], *counts, *rates, _share(one["paper_recall_50"]))
        rankers.setdefault(one["ranker"], []).append(Row(cells))
    outcome = "are left out" if facts["no_positive"] == "exclude" else "count as missed"
    notes = [
        f"{split}: {without} steps have no acceptable element and {outcome}."
        for split, without in {one["split"]: one["without_positive"] for one in records}.items()
        if without
    ]
    notes += few_notes(rates=any(one[f"recall_{k}_few"] for one in records for k in DEPTHS))
    if any(one["split"] in PAPER for one in records):
        notes.append(
            "Paper: Mind2Web (Deng et al. 2023), DeBERTa-v3-base, on Mind2Web's own 252, 177 and "
            "912 test tasks; do not rank other populations against it."
        )
    heads = ("steps", "tasks", *(f"R@{k}" for k in DEPTHS), "paper R@50")
    return Grid(
        title="",
        columns=(Heading("split", "left"), *map(Heading, heads)),
        sections=tuple(Section(tuple(rows), name) for name, rows in rankers.items()),
        footnotes=tuple(notes),
        section_head="ranker",
        data=Data(
            names=tuple(records[0]),
            rows=tuple(
                tuple(round(v, 6) if isinstance(v, float) else v for v in one.values())
                for one in records
            ),
            facts={**facts, "notes": notes},
        ),
    )


def _share(value: float | None) -> str:
    return "–" if value is None else percent(value)
