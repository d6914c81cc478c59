"""A result for a reader: the table, and the counts that belong beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from adapters import Usage
from harness.evaluation.summary import Part, aggregation_rules, not_offered, part, parts
from harness.evaluation.table import show
from harness.pictures import show_answers
from harness.protocols.matcher import MATCHING, TIE
from harness.protocols.seeact_annotation import UNMARKED
from harness.runs import StepRecord
from harness.settings import Settings
from parsers.records import Status

if TYPE_CHECKING:
    from rich.console import Console

ORACLE_NOTE = "the pictures were cut around the right answer; an upper bound and no result"

FOUND_BY = {"match-number": "number", "match-text": "text", "match-words": "words in common"}
"""How elements that a model wrote were found, by flag (`harness.protocols.element_match`)."""
PASSED_OVER = "group-"
"""What flags for groups and batches without a usable reply begin with."""

FINE = frozenset({Status.ANSWERED, Status.NONE, Status.NOT_OFFERED})


def print_result(
    console: Console,
    records: Sequence[StepRecord],
    settings: Settings,
    task_rows: Mapping[str, int],
    pictures: str = "",
    top_k: int | None = None,
) -> None:
    """Print metrics by split and overall, and what a reader should know beside them.

    `pictures` is the text of the picture policy, "" where no pictures were shown; `top_k` how many
    candidates of a ranker were offered, None where no ranker was asked.
    """
    rules = aggregation_rules(settings)
    if not records:
        console.print("no steps")
        return
    joint = settings.wrong_element_zeroes_operation
    splits = parts(records, "split", rules, task_rows, joint=joint)
    total = part(records, rules, task_rows, joint=joint)
    show(console, splits, total, settings.step_rule)
    if show_answers(pictures):
        console.print(f"{pictures}: {ORACLE_NOTE}", markup=False, highlight=False, soft_wrap=True)
    for line in counts(records, total, task_rows, top_k):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def counts(
    records: Sequence[StepRecord],
    total: Part,
    task_rows: Mapping[str, int],
    top_k: int | None = None,
) -> list[str]:
    """Validity, failures settled and unsettled, properties of the lists, tokens and cost."""
    found = total.metrics.counts
    reasons = ", ".join(f"{n} {reason}" for reason, n in found.invalid.items())
    lines = [
        f"rows: {found.n_valid} valid, {found.n_invalid} invalid"
        + (f" ({reasons}; not asked)" if reasons else "")
    ]
    if short := _tasks_with_missing_rows(records, task_rows):
        lines.append(
            f"tasks: {short} of {found.n_tasks} have more recorded actions than rows; "
            "task success is about the rows"
        )
    if top_k is not None:
        valid = [record for record in records if record.invalid is None]
        told = f"{sum(map(not_offered, valid))} of {len(valid)} steps"
        lines.append(f"positive not among the top {top_k}: {told}")
    failures = {name: n for name, n in found.statuses.items() if name not in FINE}
    told = ", ".join(f"{n} {name}" for name, n in failures.items()) or "none"
    share = f"{100 * (found.parse_failure_rate or 0):.1f} % unreadable"
    lines.append(f"settled without an element: {told} ({share})")
    lines += grounding(records, found.flags)
    errors = Counter(r.error.partition(":")[0] for r in records if r.error and not r.settled)
    unsettled = ", ".join(f"{reason}: {n}" for reason, n in sorted(errors.items()))
    lines.append(f"unsettled: {found.n_unsettled}" + (f" ({unsettled})" if unsettled else ""))
    asked = [record for record in records if record.asked]
    for count, what in (
        (sum(r.short for r in asked), "show fewer negatives than asked for"),
        (sum(r.same_text > 0 for r in asked), "have a negative that reads like the positive"),
        (sum(r.related > 0 for r in asked), "have a negative around or inside the positive"),
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
        lines.append(f"cost: ${sum(costs):.4f}")
    return lines


def grounding(records: Sequence[StepRecord], flags: Mapping[str, int]) -> list[str]:
    """How answers that are no letters came to elements: by mark, by description, by point."""
    lines = []
    if unmarked := flags.get(UNMARKED, 0):
        lines.append(f"marks: {unmarked} steps have candidates without a visible box, not marked")
    exact, near, none = (flags.get(f"{how}", 0) for how in MATCHING)
    if exact or near or none:
        tied = flags.get(TIE, 0)
        lines.append(
            f"matched with an element: {exact} exactly, {near} nearly ({tied} of both by position "
            f"among equals), {none} with none"
        )
    if found := {how: n for flag, how in FOUND_BY.items() if (n := flags.get(flag, 0))}:
        told = ", ".join(f"{n} by {how}" for how, n in found.items())
        lines.append(f"elements that were written, found: {told}")
    passed = {f.removeprefix(PASSED_OVER): n for f, n in flags.items() if f.startswith(PASSED_OVER)}
    if passed:
        told = ", ".join(f"{n} with {status}" for status, n in sorted(passed.items()))
        lines.append(f"steps with groups whose reply could not count: {told}")
    points = [r.scores for r in records if r.scores and r.scores.element_in_box is not None]
    if points:
        boxed, under = (
            sum(map(bool, which))
            for which in zip(*((s.element_in_box, s.element_under) for s in points), strict=True)
        )
        lines.append(
            f"points: {len(points)}, of which {boxed} in the box of an acceptable element, "
            f"and {under} with one as the smallest candidate under them"
        )
    return lines


def _tasks_with_missing_rows(records: Sequence[StepRecord], task_rows: Mapping[str, int]) -> int:
    rows: dict[str, set[str]] = {}
    actions: dict[str, int] = {}
    for record in records:
        rows.setdefault(record.task_id, set()).add(record.step_id)
        actions[record.task_id] = max(actions.get(record.task_id, 0), record.total_steps)
    # What the data holds, where that is known: an interrupted run has not seen every row.
    return sum(task_rows.get(task, len(rows[task])) < actions[task] for task in rows)
