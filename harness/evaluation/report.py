"""The result of a run for a reader: its table, and the counts that belong beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adapters import Usage
from harness.evaluation.bounds import Bounds, bounds_of
from harness.evaluation.model import limits_of
from harness.evaluation.reply_limit import unusable_replies
from harness.evaluation.summary import (
    Part,
    aggregation_rules,
    element_only,
    not_offered,
    part,
    parts,
    scoring_rules,
)
from harness.pictures import show_answers
from harness.runs import StepRecord, by_role
from harness.settings import Settings
from harness.tables import (
    ABSENT,
    ELEMENT_ONLY_NOTE,
    HEADS,
    POOLED,
    Average,
    Cell,
    Column,
    Grid,
    Row,
    Section,
    counted,
    few_notes,
    interval_text,
    invalid_label,
    percent,
    rate_cells,
    rates_note,
    record_bounds,
    result_records,
    text,
)
from parsers import Counts
from parsers.metrics import EXCLUDED
from parsers.records import Status

if TYPE_CHECKING:
    from rich.console import Console

ORACLE_NOTE = "the pictures were cropped around the right answer; an upper bound, not a result"

Notes = Callable[[Mapping[str, int]], Sequence[str]]
"""Lines of a protocol about its flags and their numbers (`AskingProtocol.notes`)."""

FINE = frozenset({Status.ANSWERED, Status.NONE, Status.NOT_OFFERED})


def print_result(
    console: Console,
    records: Sequence[StepRecord],
    settings: Settings,
    task_rows: Mapping[str, int],
    pictures: str = "",
    top_k: int | None = None,
    notes: Notes | None = None,
    bounds: Bounds | None = None,
) -> None:
    """Print the grid of `result_grid`, which says what the arguments are."""
    if not records:
        console.print("no steps")
        return
    grid = result_grid(records, settings, task_rows, pictures, top_k, notes, bounds)
    shown = text([grid], console.width, note="")
    console.print(shown, markup=False, highlight=False, soft_wrap=True, end="")


def result_grid(
    records: Sequence[StepRecord],
    settings: Settings,
    task_rows: Mapping[str, int],
    pictures: str = "",
    top_k: int | None = None,
    notes: Notes | None = None,
    bounds: Bounds | None = None,
) -> Grid:
    """Metrics by split and overall, with floor and ceiling, and what a reader should know of them.

    `pictures` is the text of the picture policy, "" where no pictures were shown; `top_k` how many
    candidates of a ranker were offered, None where no ranker was asked. `notes` are the protocol's.
    `bounds` are those of chance and oracle, worked out here if they are not known yet.
    """
    rules = aggregation_rules(settings)
    bounds = bounds or bounds_of(records, settings, scoring_rules(settings))
    by_split = parts(records, "split", rules, task_rows, bounds=bounds)
    total = part(records, rules, task_rows, bounds=bounds)
    if len(by_split) > 1:
        by_split[POOLED] = total
    return Grid(
        title="",
        columns=(Column("", "left"), *map(Column, HEADS)),
        sections=tuple(Section(tuple(_rows(group)), name) for name, group in by_split.items()),
        footnotes=(
            *_footnotes(list(by_split.values()), settings.step_rule),
            *([f"{pictures}: {ORACLE_NOTE}"] if show_answers(pictures) else []),
            *counts(records, total, task_rows, top_k, notes),
            *_warnings(records, settings),
        ),
    )


def _warnings(records: Sequence[StepRecord], settings: Settings) -> Iterator[str]:
    if unusable := unusable_replies(records, limits_of(settings)):
        yield f"warning: {unusable}"


def _rows(group: Part) -> Iterator[Row]:
    """The rows of one set of steps: both averages, the other rule for invalid rows, the bounds."""
    metrics, tasks = group.metrics, group.metrics.tasks
    records = {record["line"]: record for record in result_records(metrics)}
    headline = next(record for record in records.values() if record["headline"])
    yield _rates(f"macro, {counted(headline['tasks'], 'task')}", headline, "macro")
    if group.repeat_sd is not None:
        yield _values(f"SD over {group.repeats} repeats", "", "", percent(group.repeat_sd))
    times = f" x {group.repeats}" if group.repeats > 1 else ""
    steps = counted(headline["steps"] // group.repeats, "step")
    yield _rates(f"micro, {steps}{times}", headline, "micro")
    if metrics.counts.n_invalid and metrics.rules.invalid != "fail":
        yield _rates(invalid_label("strict"), records["strict"], "macro")
        if tasks:
            clean = Cell(
                _task_success(tasks.clean.value, tasks.clean.complete, tasks.clean.total),
                interval_text(tasks.clean.interval),
            )
            number = tasks.clean.total // group.repeats
            yield _values(f"clean tasks: {number}", "", "", "", clean)
    for label, bound in (("floor", group.floor), ("ceiling", group.oracle)):
        rates = bound.element, bound.operation_f1, bound.success
        yield _values(label, *map(percent, rates))


def _rates(label: str, record: Mapping[str, Any], average: Average) -> Row:
    success = Cell("")
    if average == "macro" and record["tasks_total"] is not None:
        value = record["task_success"]
        success = Cell(
            _task_success(value, record["tasks_complete"], record["tasks_total"]),
            record_bounds(record, "task_success"),
        )
    return Row((label, *rate_cells(record, average), success))


def _values(label: str, *values: str | Cell) -> Row:
    return Row((label, *values, *[""] * (len(HEADS) - len(values))))


def _task_success(value: float | None, complete: int, total: int) -> str:
    """The rate, or how many tasks are complete where some are not."""
    return f"{ABSENT} ({complete} of {total})" if value is None else percent(value)


def _footnotes(shown: Sequence[Part], step_rule: str) -> Iterator[str]:
    """What the signs in the table mean, and which definitions stand behind it."""
    needed = "Op. F1 = 1" if step_rule == "f1" else "exactly the recorded operation and value"
    yield rates_note("macro", [shown[0].metrics.rules.variant])
    yield f"A step succeeds with the right element and {needed}."
    known = any(group.oracle.element is not None for group in shown)
    ceiling = (
        "the oracle, under this protocol and these rules."
        if known
        else "unknown, as the oracle cannot be asked from the record of this protocol."
    )
    yield f"floor: always-click, expected; ceiling: {ceiling}"
    if any(element_only(group.metrics) for group in shown):
        yield ELEMENT_ONLY_NOTE
    if any(record["few"] for group in shown for record in result_records(group.metrics)):
        yield from few_notes(rates=True)
    if any(group.repeat_sd is not None for group in shown):
        yield "SD: standard deviation of macro Step SR between repeats."


def counts(
    records: Sequence[StepRecord],
    total: Part,
    task_rows: Mapping[str, int],
    top_k: int | None = None,
    notes: Notes | None = None,
) -> list[str]:
    """Validity, failures settled and unsettled, properties of the lists, tokens and cost."""
    totals = total.metrics.counts
    lines = [_rows_line(totals, total.repeats)]
    if short := _tasks_with_missing_rows(records, task_rows):
        lines.append(
            f"tasks: {short} of {totals.n_tasks} have more recorded actions than rows; "
            "task success counts the rows only"
        )
    if top_k is not None:
        valid = [record for record in records if record.invalid is None]
        share = f"{sum(map(not_offered, valid))} of {len(valid)} steps"
        lines.append(f"positive not among the top {top_k}: {share}")
    failures = {name: n for name, n in totals.statuses.items() if name not in FINE}
    by_status = ", ".join(f"{n} {name}" for name, n in failures.items()) or "0"
    share = f"{100 * (totals.parse_failure_rate or 0):.1f} % unreadable"
    lines.append(f"settled without an element: {by_status} ({share})")
    if declined := totals.statuses.get(Status.NONE, 0):
        share = f"{100 * declined / totals.n_settled:.1f} %"
        lines.append(f"answered 'none of these': {declined} of {totals.n_settled} ({share})")
    if in_text := totals.flags.get("in_text", 0):
        lines.append(f"letters read from running text: {in_text} of {totals.n_settled}")
    lines += notes(totals.flags) if notes is not None else ()
    lines += points(records)
    errors = Counter(r.error.partition(":")[0] for r in records if r.error and not r.settled)
    unsettled = ", ".join(f"{reason}: {n}" for reason, n in sorted(errors.items()))
    lines.append(f"unsettled: {totals.n_unsettled}" + (f" ({unsettled})" if unsettled else ""))
    asked = [record for record in records if record.asked]
    for count, what in (
        (sum(r.detail.short for r in asked), "show fewer negatives than asked for"),
        (
            sum(r.detail.same_text > 0 for r in asked),
            "have a negative that reads like the positive",
        ),
        (sum(r.detail.related > 0 for r in asked), "have a negative around or inside the positive"),
    ):
        if count:
            lines.append(f"choices: {count} of {len(asked)} steps {what}")
    if total.prompt_tokens:
        median, most = total.prompt_tokens
        lines.append(f"prompt tokens (estimated): median {median:,}, 99th percentile {most:,}")
    usage = sum((r.usage for r in records if r.usage is not None), Usage())
    if usage.input:
        cached = f" ({usage.cached:,} from a prompt cache)" if usage.cached else ""
        lines.append(f"tokens of all replies: {usage.input:,} in{cached}, {usage.output:,} out")
    costs = [record.cost for record in records if record.cost is not None]
    if any(costs):
        unpriced = sum(record.settled and record.cost is None for record in asked)
        but = f" (without {counted(unpriced, 'step')} of unknown cost)" if unpriced else ""
        lines.append(f"cost: ${sum(costs):.4f} billed in this run{but}")
    if roles := by_role(records):
        told = (f"{role or 'model under test'}: {spent}" for role, spent in roles.items())
        lines.append(f"by role: {'; '.join(told)}")
    return lines


def _rows_line(totals: Counts, repeats: int) -> str:
    """How many rows count and why the others do not, each row once however often it was asked."""
    excluded = sum(totals.excluded.values())
    valid = (totals.n_valid + excluded) // repeats
    line = f"rows: {valid} valid, {(totals.n_invalid - excluded) // repeats} invalid"
    reasons = [
        f"{n // repeats} {reason}"
        for reason, n in totals.invalid.items()
        if not reason.startswith(EXCLUDED)
    ]
    if reasons:
        line += f" ({', '.join(reasons)}; not asked)"
    if excluded:
        by_status = ", ".join(f"{n} {status}" for status, n in totals.excluded.items())
        line += f"; left out by --exclude-status: {by_status}"
    return line


def points(records: Sequence[StepRecord]) -> list[str]:
    """How many answers by coordinates lie in a box, and in whose."""
    scores = [r.scores for r in records if r.scores and r.scores.element_in_box is not None]
    if not scores:
        return []
    boxed, under = (
        sum(map(bool, which))
        for which in zip(*((s.element_in_box, s.element_under) for s in scores), strict=True)
    )
    return [
        f"points: {len(scores)}, of which {boxed} in the box of an acceptable element, "
        f"and {under} with one as the smallest candidate under them"
    ]


def _tasks_with_missing_rows(records: Sequence[StepRecord], task_rows: Mapping[str, int]) -> int:
    rows: dict[str, set[str]] = {}
    actions: dict[str, int] = {}
    for record in records:
        rows.setdefault(record.parents["task"], set()).add(record.unit_id)
        actions[record.parents["task"]] = max(actions.get(record.parents["task"], 0), record.total)
    # What the data holds, where that is known: an interrupted run has not seen every row.
    return sum(task_rows.get(task, len(rows[task])) < actions[task] for task in rows)
