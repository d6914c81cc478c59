"""Write the folder of a page, one run in memory at a time."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import jinja2

from harness.runs import Run, open_run
from harness.tables import TEST_DATA_NOTE, clean
from reports.load import corrupt_lines, open_runs
from reports.settings import settings_of
from reports.view import POLICY
from reports.view.agreement import matrix, pairs
from reports.view.classes import (
    CLASS_TITLES,
    DEFAULT_LABELS,
    class_rows,
    classes_of,
    label_problems,
    labels_of,
)
from reports.view.detail import detail
from reports.view.folder import check, prepare
from reports.view.pictures import Picture, Wanted, write_pictures
from reports.view.plots import Plot, rates_plot
from reports.view.points import Points, as_rows, collect, sample
from reports.view.script import call, note
from reports.view.tables import (
    Summary,
    setting_text,
    shown_tables,
    side_by_side_tables,
    summarise,
    verdicts,
)

HERE = Path(__file__).parent
SCRIPTS = (
    "dom",
    "data",
    "words",
    "filter",
    "labels",
    "list",
    "boxes",
    "talk",
    "step",
    "task",
    "keys",
    "app",
)
STYLES = ("base", "summary", "list", "step")
Warn = Callable[[str], None]


class Made(NamedTuple):
    """The number of steps that the page shows, and of all steps."""

    shown: int
    total: int


def write(
    paths: Iterable[Path | str],
    out: Path,
    *,
    count: int | None = None,
    pictures: bool = True,
    overwrite: bool = False,
    warn: Warn = lambda _: None,
) -> Made:
    """Write the page of runs into a folder, which is left alone until the runs have been read.

    paths: the run directories.
    out: the folder.
    count: show at most this many steps; by default all.
    pictures: whether to write the screenshots.
    overwrite: whether to replace an earlier page.
    warn: called with a message about missing pictures.

    Raises `RunError` for runs that cannot be read, and `ViewError` for a folder that cannot be
    used.
    """
    check(out, overwrite=overwrite)
    runs = open_runs(list(paths))
    summary = summarise(runs)
    points = collect(runs, {label: classes_of(run) for label, run in runs.items()})
    prepare(out, overwrite=overwrite)
    shown = list(points.steps) if count is None else sample(points, count)
    numbers = {step_id: number for number, step_id in enumerate(shown)}
    wanted = _write_details(runs, points, numbers, out / "data")
    files = _pictures(runs, wanted, out / "pictures", warn) if pictures else {}
    reason = "" if pictures else "the page was written without pictures"
    listed = as_rows(points, shown, {s: _picture(files.get(s), reason) for s in shown})
    listed |= _about(runs, points, len(shown))
    script = note(TEST_DATA_NOTE) + call("VLM.load", listed) + "\n"
    (out / "data" / "steps.js").write_text(script, encoding="ascii")
    plots = _plots(summary, out / "data")
    for name in [*(f"{s}.js" for s in SCRIPTS), *(f"{s}.css" for s in STYLES)]:
        shutil.copyfile(HERE / "assets" / name, out / "assets" / name)
    page = _page(runs, points, summary, plots, len(shown))
    (out / "index.html").write_text(page, encoding="utf-8", errors="replace")
    return Made(len(shown), len(points.steps))


def _write_details(
    runs: Mapping[str, Run], points: Points, numbers: Mapping[str, int], folder: Path
) -> list[tuple[str, list[Wanted]]]:
    """Write a script per step, with a statement per lane. Return the pictures needed by run."""
    wanted: list[tuple[str, list[Wanted]]] = []
    begun: set[str] = set()
    lanes = {(lane.run, lane.repeat): number for number, lane in enumerate(points.lanes)}
    for label, run in runs.items():
        of_run: list[Wanted] = []
        for record in run.records():
            number = numbers.get(record.step_id)
            if number is None:
                continue
            new = record.step_id not in begun
            begun.add(record.step_id)
            if record.repeat == 0:
                of_run.append(Wanted(record.step_id, record.source, record.screenshot_digest))
            values = detail(record, run.calls_of(record.step_id, record.repeat))
            line = call("VLM.add", number, lanes[label, record.repeat], values)
            with (folder / f"step-{number}.js").open("w" if new else "a", encoding="ascii") as file:
                file.write((note(TEST_DATA_NOTE) if new else "") + line + "\n")
        wanted.append((label, of_run))
    return wanted


def _pictures(
    runs: Mapping[str, Run], wanted: list[tuple[str, list[Wanted]]], folder: Path, warn: Warn
) -> dict[str, Picture]:
    made: dict[str, Picture] = {}
    for label, listed in wanted:
        # A later run may have a picture that an earlier one lost.
        missing = [one for one in listed if one.step_id not in made or not made[one.step_id].name]
        if missing:
            # Opened separately, so that its index of the data is freed afterwards.
            made |= write_pictures(open_run(runs[label].path, tolerant=True), missing, folder)
    lost = [picture for picture in made.values() if picture.name is None]
    if lost:
        steps = "1 step" if len(lost) == 1 else f"{len(lost):,} steps"
        warn(f"{steps} without a picture: {clean(lost[0].reason)}")
    return made


def _picture(picture: Picture | None, reason: str) -> list[Any]:
    if picture is None or picture.name is None:
        return [None, picture.reason if picture else reason]
    return [picture.name, picture.width, picture.height]


def _about(runs: Mapping[str, Run], points: Points, shown: int) -> dict[str, Any]:
    settings = {
        label: [[name, setting_text(value)] for name, value in settings_of(run.manifest).items()]
        for label, run in runs.items()
    }
    labels = {label: labels_of(run) for label, run in runs.items()}
    manifests = "".join(f"{run.manifest.created} {run.manifest.name}" for run in runs.values())
    return {
        "key": hashlib.sha256(manifests.encode("utf-8", "replace")).hexdigest()[:16],
        "total": len(points.steps),
        "shown": shown,
        "lanes": [
            {
                "label": lane.label,
                "run": lane.run,
                "name": runs[lane.run].name,
                "repeat": lane.repeat,
                "settings": settings[lane.run],
            }
            for lane in points.lanes
        ],
        "classes": CLASS_TITLES,
        "defaults": list(DEFAULT_LABELS),
        "labels": [
            [number, one.step_id, one.label, one.note, one.who, one.when]
            for number, lane in enumerate(points.lanes)
            for one in labels[lane.run]
            if one.repeat == lane.repeat
        ],
        "note": TEST_DATA_NOTE,
    }


def _readable(value: Any) -> Any:
    """Strip control and formatting characters from what templates print."""
    return clean(value) if type(value) is str else value


def _plots(summary: Summary, folder: Path) -> list[Plot]:
    drawn = (("split", "Step success by split"), ("website", "Step success by website"))
    return [rates_plot(summary.frames[key], title, key, folder) for key, title in drawn]


def _page(
    runs: Mapping[str, Run], points: Points, summary: Summary, plots: list[Plot], shown: int
) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_readable,
    )
    return environment.get_template("index.html").render(
        policy=POLICY,
        note=TEST_DATA_NOTE,
        title=", ".join(runs),
        labels=list(runs),
        lanes=points.lanes,
        summary=summary,
        plots=plots,
        tables=shown_tables(summary),
        beside=side_by_side_tables(summary),
        classes=class_rows(points),
        paired=verdicts(runs),
        pairs=pairs(points),
        matrix=matrix(points),
        left_out=(*corrupt_lines(dict(runs)), *label_problems(runs)),
        shown=shown,
        total=len(points.steps),
        tasks=len({point.task_id for point in points.steps.values()}),
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        scripts=SCRIPTS,
        styles=STYLES,
    )
