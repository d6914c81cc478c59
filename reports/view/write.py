"""Write the folder of a page, one run in memory at a time, once or again as the runs go on."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import jinja2

from harness.runs import STEPS, SUMMARY, Run, open_run
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
from reports.view.pictures import Picture, PictureFolder, Wanted, wanted_of
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
Bar = Callable[[str, int], AbstractContextManager[Callable[[], None]]]
"""Shows progress: from a label and a number of items, a context whose value is called per item."""


class Made(NamedTuple):
    """The number of steps that the page shows, and of all steps."""

    shown: int
    total: int


@contextmanager
def no_bar(label: str, length: int) -> Iterator[Callable[[], None]]:
    """Show nothing."""
    yield lambda: None


class Page:
    """The page of runs in a folder; it can be written again as the runs go on.

    paths: the run directories.
    out: the folder.
    count: show at most this many steps; by default all.
    pictures: whether to write the screenshots.
    follow: whether the page, served, asks from time to time whether it has been written again.
    warn: called with a message about missing pictures.
    bar: shows how far the writing is.
    """

    def __init__(
        self,
        paths: Iterable[Path | str],
        out: Path,
        *,
        count: int | None = None,
        pictures: bool = True,
        follow: bool = False,
        warn: Warn = lambda _: None,
        bar: Bar = no_bar,
    ) -> None:
        self._paths = list(paths)
        self._out = out
        self._count = count
        self._pictures = PictureFolder(out / "pictures") if pictures else None
        self._follow = follow
        self._warn = warn
        self._bar = bar
        self._written: tuple[object, ...] | None = None
        self._numbers: dict[str, int] = {}
        """The numbers of the steps' scripts, which they keep when the page is written again."""

    @property
    def outdated(self) -> bool:
        """Whether a run has gone on since the page was written."""
        return self._state() != self._written

    def _state(self) -> tuple[object, ...]:
        files = (Path(path) / name for path in self._paths for name in (STEPS, SUMMARY))
        stats = (file.stat() if file.exists() else None for file in files)
        return tuple((stat.st_size, stat.st_mtime_ns) if stat else None for stat in stats)

    def write(self, *, overwrite: bool = False) -> Made:
        """Write the page; the folder is left alone until the runs have been read.

        overwrite: whether to replace a page of somebody else's making.

        Raises `RunError` for runs that cannot be read, and `ViewError` for a folder that cannot be
        used.
        """
        again = self._written is not None
        if not again:
            check(self._out, overwrite=overwrite)
        state = self._state()
        runs = open_runs(self._paths)
        summary = summarise(runs)
        points = collect(runs, {label: classes_of(run) for label, run in runs.items()})
        if not again:
            prepare(self._out, overwrite=overwrite)
            for name in [*(f"{s}.js" for s in SCRIPTS), *(f"{s}.css" for s in STYLES)]:
                shutil.copyfile(HERE / "assets" / name, self._out / "assets" / name)
        shown = list(points.steps) if self._count is None else sample(points, self._count)
        numbers = {step: self._numbers.setdefault(step, len(self._numbers)) for step in shown}
        wanted = self._write_details(runs, points, numbers)
        files = self._write_pictures(runs, wanted)
        listed = as_rows(points, numbers, files)
        listed |= _about(runs, points, len(shown))
        stamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        going_on = not all(run.complete for run in runs.values())
        listed["stamp"] = stamp if self._follow and going_on else ""
        plots = _plots(summary, self._out / "data")
        page = _page(runs, points, summary, plots, len(shown))
        script = note(TEST_DATA_NOTE) + call("VLM.load", listed) + "\n"
        _replace(self._out / "data" / "steps.js", script.encode("ascii"))
        _replace(self._out / "index.html", page.encode("utf-8", "replace"))
        if self._follow:
            _replace(self._out / "data" / "stamp.js", (call("VLM.stamp", stamp) + "\n").encode())
        self._written = state
        return Made(len(shown), len(points.steps))

    def _write_details(
        self, runs: Mapping[str, Run], points: Points, numbers: Mapping[str, int]
    ) -> list[tuple[str, list[Wanted]]]:
        """Write a script per step, with a statement per lane. Return the pictures needed by run."""
        folder = self._out / "data"
        wanted: list[tuple[str, list[Wanted]]] = []
        begun: set[str] = set()
        lanes = {(lane.run, lane.repeat): number for number, lane in enumerate(points.lanes)}
        with self._bar("steps", len(numbers) * len(lanes)) as advance:
            for label, run in runs.items():
                of_run: dict[str, Wanted] = {}
                for record in run.records():
                    number = numbers.get(record.unit_id)
                    if number is None:
                        continue
                    new = record.unit_id not in begun
                    begun.add(record.unit_id)
                    if self._pictures is not None and record.unit_id not in of_run:
                        of_run[record.unit_id] = wanted_of(record)
                    values = detail(record, run.calls_of(record.unit_id, record.repeat))
                    line = call("VLM.add", number, lanes[label, record.repeat], values)
                    path = folder / f"step-{number}.js.new"
                    with path.open("w" if new else "a", encoding="ascii") as file:
                        file.write((note(TEST_DATA_NOTE) if new else "") + line + "\n")
                    advance()
                wanted.append((label, list(of_run.values())))
        for step_id in begun:
            path = folder / f"step-{numbers[step_id]}.js.new"
            path.replace(path.with_suffix(""))
        return wanted

    def _write_pictures(
        self, runs: Mapping[str, Run], wanted: list[tuple[str, list[Wanted]]]
    ) -> dict[str, list[Any]]:
        """Write the pictures of steps; return name, width and height by step, or the reason."""
        folder = self._pictures
        if folder is None:
            gone = [None, "the page was written without pictures"]
            return dict.fromkeys(self._numbers, gone)
        with self._bar("pictures", sum(len(listed) for _, listed in wanted)) as advance:
            for label, listed in wanted:
                # A later run may have a picture that an earlier one lost.
                lacking = [one for one in listed if folder.lacks(one)]
                for _ in range(len(listed) - len(lacking)):
                    advance()
                if lacking:
                    # Opened separately, so that its index of the data is freed afterwards.
                    run = open_run(runs[label].path, tolerant=True)
                    folder.write(run, lacking, advance)
        lost = [picture for picture in folder.screenshots.values() if picture.name is None]
        if lost:
            steps = "1 step" if len(lost) == 1 else f"{len(lost):,} steps"
            self._warn(f"{steps} without a picture: {clean(lost[0].reason)}")
        return {step: _picture(picture) for step, picture in folder.screenshots.items()}


def _replace(path: Path, data: bytes) -> None:
    """Write a file that may be being read."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(data)
    new.replace(path)


def _picture(picture: Picture) -> list[Any]:
    if picture.name is None:
        return [None, picture.reason]
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
