"""A table arranged for readers: which lines it has and what stands beside them.

Text, Markdown and LaTeX print the same sheet; only their signs differ. Nothing is escaped here.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from harness.runs import Run
from parsers import FEW
from reports.differences import difference_lines
from reports.grid import FEW_MARK as FEW_MARK
from reports.grid import FEW_NOTE
from reports.load import corrupt_lines, unfinished_lines
from reports.settings import Setting, compare, heading
from reports.tables import METRICS

Average = Literal["macro", "micro"]
ABSENT = "n/a"
HEADS = ("Ele. Acc", "Op. F1", "Step SR", "Task SR")
REPEATS_NOTE = "Task success over repeats has no interval: repeats of a task are not further tasks."
SECOND_LINE = {"strict": "invalid rows as 0", "valid": "invalid rows left out"}


@dataclass(frozen=True, slots=True)
class Cell:
    """A rate in per cent and its interval; both may be empty."""

    value: str
    bounds: str

    def __str__(self) -> str:
        return f"{self.value} {self.bounds}".strip()


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a run: the group, what the line is if not the headline, counts and rates."""

    group: str
    kind: str
    tasks: int
    steps: int
    cells: tuple[Cell, Cell, Cell, Cell]


@dataclass(frozen=True, slots=True)
class Block:
    """A run: its label, its lines, and facts as (name, text)."""

    label: str
    lines: tuple[Line, ...]
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """Everything that is printed. `about` are lines above the table, `footnotes` below it."""

    key: str
    about: tuple[str, ...]
    blocks: tuple[Block, ...]
    footnotes: tuple[str, ...]


def arrange(table: pd.DataFrame, average: Average) -> Sheet:
    """The sheet of a table made by `reports.tables`.

    The line that is not the headline is left out where a group has no invalid rows.
    """
    attrs = table.attrs
    records = table.to_dict("records")
    blocks = []
    for fact in attrs["runs"]:
        own = [record for record in records if record["run"] == fact["run"]]
        shown = [r for r in own if r["headline"] or r["invalid"]]
        shown.sort(key=lambda r: not r["headline"])
        groups = list(dict.fromkeys(record[attrs["key"]] for record in own))
        shown.sort(key=lambda r: groups.index(r[attrs["key"]]))
        lines = tuple(_line(record, attrs["key"], average) for record in shown)
        blocks.append(Block(str(fact["run"]), lines, _facts(fact)))
    return Sheet(attrs["key"], about(attrs), tuple(blocks), _footnotes(table, average))


def about(attrs: Mapping[Hashable, Any]) -> tuple[str, ...]:
    """The settings as lines: what the runs share, what replaces it here, every difference."""
    constants: Mapping[str, Setting] = attrs["constants"]
    shared = [f"{name}={value}" for name, value in heading(constants).items()]
    lines = [f"settings: {', '.join(shared)}"] if shared else []
    given = [f"{name}={value}" for name, value in attrs["given"].items()]
    lines += [f"given for this table: {', '.join(given)}"] if given else []
    lines += difference_lines(attrs["differences"])
    if _shows_answers(attrs):
        lines.append(
            "upper bounds only: where image_policy begins with oracle-, the picture shows where "
            "the answer is"
        )
    beside = (attrs.get(name, ()) for name in ("unranked", "unfinished", "corrupt"))
    return (*lines, *(line for told in beside for line in told))


def _shows_answers(attrs: Mapping[Hashable, Any]) -> bool:
    """Whether the pictures of a run depend on the right answers."""
    name = "image_policy"
    policies = [attrs["constants"].get(name), *attrs["differences"].get(name, {}).values()]
    return any(str(policy).startswith("oracle-") for policy in policies)


def about_runs(runs: dict[str, Run], *, own_rules: bool = False) -> tuple[str, ...]:
    """The same of runs, which of them are unfinished, and which lines could not be read.

    For tables that take all settled valid rows: where a run's rules do not, that is said. Tables
    that go by the `own_rules` of each run have nothing to say there.
    """
    settings = compare(runs)
    known: dict[Hashable, Any] = {
        "constants": settings.constants,
        "differences": settings.differences,
        "given": {},
    }
    lines = about(known)
    if not own_rules and any(_counts_otherwise(run) for run in runs.values()):
        lines += ("rates here are of settled valid rows, whatever the runs count as failed or not",)
    return (*lines, *unfinished_lines(runs), *corrupt_lines(runs))


def _counts_otherwise(run: Run) -> bool:
    """Whether the headline of a run is not over its settled valid rows."""
    rules = run.manifest.config
    return "fail" in (rules.get("invalid"), rules.get("unattempted")) or bool(
        rules.get("exclude_statuses")
    )


def _line(record: Mapping[Hashable, Any], key: str, average: Average) -> Line:
    few = record["tasks"] < FEW
    rates = [_cell(record, f"{metric}_{average}", few) for metric in METRICS]
    return Line(
        group=str(record[key]),
        kind="" if record["headline"] else SECOND_LINE[record["line"]],
        tasks=int(record["tasks"]),
        steps=int(record["steps"]),
        cells=(rates[0], rates[1], rates[2], _task_cell(record)),
    )


def _cell(record: Mapping[Hashable, Any], name: str, few: bool) -> Cell:
    low, high = record[f"{name}_low"], record[f"{name}_high"]
    mark = FEW_MARK if few else ""
    bounds = "" if pd.isna(low) else f"[{100 * low:.1f}, {100 * high:.1f}]{mark}"
    return Cell(percent(record[name]), bounds)


def _task_cell(record: Mapping[Hashable, Any]) -> Cell:
    if pd.isna(record["tasks_total"]):
        return Cell("", "")
    total, complete = int(record["tasks_total"]), int(record["tasks_complete"])
    if pd.isna(record["task_success"]):
        return Cell(f"{ABSENT} ({complete} of {total})", "")
    cell = _cell(record, "task_success", total < FEW)
    return Cell(f"{cell.value} ({int(record['tasks_succeeded'])}/{total})", cell.bounds)


def percent(value: Any) -> str:
    """A share in per cent with one decimal."""
    return ABSENT if pd.isna(value) else f"{100 * value:.1f}"


def _facts(fact: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    state = "complete" if fact["complete"] else "UNFINISHED"
    if fact["unreached"]:
        state += f", {fact['unreached']:,} rows not reached"
    if not fact["complete"] and fact["rows"]:
        done = (fact["settled"] + fact["invalid"]) / (fact["rows"] + fact["unreached"])
        state += f", {percent(done)}% done"
    rate = fact["parse_failure_rate"]
    share = "" if rate is None else f" ({percent(rate)}%)"
    told = [
        ("state", state),
        ("settled", f"{fact['settled']:,} of {fact['valid']:,} valid rows"),
        ("unsettled", f"{fact['unsettled']:,}"),
        ("invalid rows", f"{fact['invalid']:,}"),
        ("unreadable", f"{fact['parse_failures']:,}{share}"),
        ("statuses", fact["statuses"] or "none"),
    ]
    if fact["input_tokens"] is not None:
        told.append(("tokens", f"{fact['input_tokens']:,} in, {fact['output_tokens'] or 0:,} out"))
    if fact["cost"] is not None:
        told.append(("cost", f"${fact['cost']:.4f}"))
    if fact["repeat_sd"] is not None:
        told.append(("Step SR between repeats", f"SD {100 * fact['repeat_sd']:.1f}"))
    return tuple(told)


def _footnotes(table: pd.DataFrame, average: Average) -> tuple[str, ...]:
    over = "tasks" if average == "macro" else "steps"
    variants = sorted(set(table.attrs["variants"].values()))
    lines = [
        f"Per cent, {average} over {over}, 95 % intervals with tasks as clusters. "
        f"Op. F1 variant: {', '.join(variants)}."
    ]
    if len(variants) > 1:
        lines.append("The runs were scored with different Op. F1 variants: give one with --f1.")
    if (table["element_macro"].notna() & table["step_success_macro"].isna()).any():
        lines.append(
            f"{ABSENT}: only elements were asked for, so operations and success are unknown."
        )
    if table["few"].any():
        lines.append(FEW_NOTE)
    if (table["task_success"].notna() & table["task_success_low"].isna()).any():
        lines.append(REPEATS_NOTE)
    if any(not fact["complete"] for fact in table.attrs["runs"]):
        lines.append("Of unfinished runs, only the steps settled so far are counted.")
    return tuple(lines)
