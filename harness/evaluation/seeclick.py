"""A run by SeeClick's own rules, beside the row that was published (`vlm-eval score --as`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import UserError
from harness.evaluation.rescoring import rescored, settings_of
from harness.evaluation.summary import TEST_DATA_NOTE, plain
from harness.printing import printable
from harness.runs import StepRecord, open_run
from parsers.records import Prediction, Status
from parsers.seeclick import SKIPS, SeeClickScores, seeclick_scores, seeclick_step

if TYPE_CHECKING:
    from rich.console import Console

PUBLISHED: dict[str, tuple[float, float, float]] = {
    "Qwen-VL, published": (12.6, 10.1, 8.0),
    "SeeClick, published": (23.7, 18.8, 20.2),
}
"""Step success on test_task, test_website, test_domain (AutoWebGLM's table quotes SeeClick's)."""
SPLITS = ("test_task", "test_website", "test_domain")
NOT_COMPARABLE = (
    "The published row was measured on screenshots that the authors distribute, which are not the "
    "full pages of Multimodal-Mind2Web; whether it is a mean over steps or over tasks is not said."
)


def show_as_seeclick(path: Path, console: Console, *, as_json: bool = False) -> int:
    """Print the table; the exit code. Raises `UserError` for a run without points."""
    run = open_run(path)
    records, _ = rescored(run, settings_of(run))
    said = [record.prediction for record in records if record.prediction and record.settled]
    if all(one.point is None for one in said) and any(one.element is not None for one in said):
        raise UserError(
            f"{path} has no answers by coordinates, and SeeClick scores nothing else; "
            "run with --protocol coordinates"
        )
    splits = list(dict.fromkeys(record.split for record in records))
    parts = {split: scores_of([r for r in records if r.split == split]) for split in splits}
    unsettled = sum(not record.settled and record.invalid is None for record in records)
    if as_json:
        content = {"note": TEST_DATA_NOTE, "unsettled": unsettled, "by_split": plain(parts)}
        console.print_json(json.dumps(content))
        return 0
    _print(console, parts)
    notes = [
        "Per cent. Passed over as in SeeClick: " + ", ".join(map(_skips, parts.items())) + ".",
        "2-decimal ceiling: steps whose box some click of two decimals can hit.",
        NOT_COMPARABLE,
    ]
    if unsettled:
        notes.append(f"{unsettled} steps have no reply yet and are left out.")
    for note in notes:
        console.print(note, style="dim", markup=False, highlight=False, soft_wrap=True)
    return 0


def scores_of(records: Sequence[StepRecord]) -> SeeClickScores:
    """The scores of some lines; unsettled ones of valid rows are left out."""
    return seeclick_scores(
        (
            record.task_id,
            seeclick_step(
                record.prediction or Prediction(Status.NO_REPLY),
                record.gold,
                record.page_size if record.invalid is None or record.screenshot_digest else None,
                record.task_id,
            ),
        )
        for record in records
        if record.settled or record.invalid is not None
    )


def _skips(part: tuple[str, SeeClickScores]) -> str:
    split, scores = part
    told = ", ".join(f"{scores.skipped[skip]} {skip.replace('_', ' ')}" for skip in SKIPS)
    empty = f", {scores.empty_tasks} tasks left without a step" if scores.empty_tasks else ""
    return f"{printable(split)} ({told}{empty})"


def _print(console: Console, parts: dict[str, SeeClickScores]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    heads = (
        "",
        "steps",
        "Ele",
        "Operation F1",
        "Step SR",
        "Macro Ele",
        "Macro SR",
        "2-decimal ceiling",
    )
    for number, head in enumerate(heads):
        table.add_column(head, justify="right" if number else "left")
    for split, scores in parts.items():
        rates = (
            scores.element,
            scores.operation_f1,
            scores.success,
            scores.macro_element,
            scores.macro_success,
            scores.ceiling,
        )
        table.add_row(Text(printable(split)), str(scores.steps), *map(_percent, rates))
        if split in SPLITS:
            for name, row in PUBLISHED.items():
                quoted = f"{row[SPLITS.index(split)]:.1f}"
                table.add_row(f"  {name}", "", "", "", quoted, "", "", "", style="dim")
    console.print(table)


def _percent(rate: float | None) -> str:
    return "n/a" if rate is None else f"{100 * rate:.1f}"
