"""A comparison arranged for readers: which lines it has and what stands around them.

Text, Markdown and LaTeX print the same sheet. Nothing is escaped here.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from reports.comparison.results import Comparison, Comparisons, Contrast, Progress
from reports.comparison.verdict import p_text
from reports.layout import FEW_MARK, about, percent

HEADS = ("baseline", "run", "diff.", "95 % interval", "p perm.", "p McN.", "won/lost", "needed")
NAMES = {
    "element": "Ele. Acc",
    "operation_f1": "Op. F1",
    "step_success": "Step SR",
    "task_success": "Task SR",
}
CORRECTED = {"holm": "Holm", "bh": "Benjamini and Hochberg"}


@dataclass(frozen=True, slots=True)
class Block:
    """A run beside the baseline: title, facts as lines, table rows (label first), the verdict."""

    title: str
    facts: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    verdict: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """Everything that is printed."""

    about: tuple[str, ...]
    blocks: tuple[Block, ...]
    footnotes: tuple[str, ...]


def arrange(found: Comparisons) -> Sheet:
    """The sheet of a comparison."""
    attrs: dict[Hashable, Any] = {
        "constants": found.settings.constants,
        "differences": found.settings.differences,
        "given": found.given,
        "corrupt": found.corrupt,
    }
    unfinished = [_progress(own) for own in found.progress if not own.complete]
    blocks = [Block(_title(one), _facts(one), _rows(one), one.verdict) for one in found.others]
    planned = () if found.planned is None else (f"needed: tasks for {_wanted(found.planned)}",)
    return Sheet((*about(attrs), *planned, *unfinished), tuple(blocks), _footnotes(found))


def _wanted(planned: float) -> str:
    return f"a difference of {100 * planned:.10g} points, not for the observed one"


def _title(one: Comparison) -> str:
    return f"{one.run} against {one.baseline} (baseline)"


def _progress(own: Progress) -> str:
    share = "" if own.share is None else f", {percent(own.share)} %"
    return (
        f"UNFINISHED: {own.run} has settled {own.settled:,} of {own.valid:,} rows{share}; "
        "what finished first may not be a fair sample"
    )


def _facts(one: Comparison) -> tuple[str, ...]:
    splits = ", ".join(f"{name} {count:,}" for name, count in one.splits.items())
    left = one.left
    out = [
        (left.invalid, "invalid"),
        (left.unsettled, "not settled in both"),
        (left.only_first, f"only in {one.baseline}"),
        (left.only_second, f"only in {one.run}"),
    ]
    told = ", ".join(f"{count:,} {why}" for count, why in out if count) or "none"
    lines = [
        f"compared: {one.subject}",
        f"steps on both sides: {one.steps:,} of {one.tasks:,} tasks ({splits}); left out: {told}",
    ]
    if one.incomplete_tasks:
        lines.append(f"tasks left out of Task SR as incomplete: {one.incomplete_tasks:,}")
    return tuple(lines)


def _rows(one: Comparison) -> tuple[tuple[str, ...], ...]:
    return tuple(_row(contrast) for contrast in one.contrasts)


def _row(contrast: Contrast) -> tuple[str, ...]:
    own, won = contrast.difference, contrast.effect
    average = "" if contrast.average == "tasks" else f" {contrast.average}"
    interval = "n/a"
    if own.low is not None and own.high is not None:
        mark = FEW_MARK if own.few else ""
        interval = f"[{100 * own.low:+.1f}, {100 * own.high:+.1f}]{mark}"
    return (
        f"{NAMES[contrast.metric]}{average}",
        percent(own.first),
        percent(own.second),
        f"{100 * own.difference:+.1f}",
        interval,
        p_text(contrast.p_permutation),
        p_text(contrast.p_mcnemar),
        f"{won.better:,}/{won.worse:,}",
        "n/a" if contrast.needed is None else f"{contrast.needed:,}",
    )


def _footnotes(found: Comparisons) -> tuple[str, ...]:
    needed = "needed: tasks that would show such a difference in four of five experiments."
    if found.planned is not None:
        needed = (
            f"needed: tasks that would show a difference of {100 * found.planned:.10g} points, the "
            "one given, in four of five experiments with the observed spread of the pairs."
        )
    lines = [
        "Per cent and points; macro over tasks, micro over steps. Tasks are the units of chance in "
        f"every interval and p value. Op. F1 variant: {found.variant}.",
        "p perm.: runs exchanged task by task. p McN.: McNemar, corrected for tasks on steps, "
        "exact on tasks. won/lost: steps (micro) or tasks in which the run is better, worse. "
        f"{needed}",
    ]
    if found.correction != "none":
        lines.append(
            f"p values and verdicts are corrected for {len(found.others)} comparisons "
            f"({CORRECTED[found.correction]}); intervals are not."
        )
    if any(c.difference.few for one in found.others for c in one.contrasts):
        lines.append(f"{FEW_MARK} fewer than 30 tasks: read the interval as too narrow.")
    return tuple(lines)
