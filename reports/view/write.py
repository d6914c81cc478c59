"""Write the folder of a page, one run in memory at a time, once or again as the runs go on."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from harness.runs import STEPS, SUMMARY, Run, RunError, open_run
from harness.tables import clean
from harness.tables.markup import html_table
from reports.load import corrupt_lines, notes_of, open_runs
from reports.names import name_of
from reports.view import POLICY
from reports.view.detail import detail
from reports.view.figures import results, write
from reports.view.folder import call, check, note, prepare
from reports.view.marks import convention_of
from reports.view.parts import measure_words, part_of, title_of
from reports.view.pictures import PictureFile, PictureFolder, UnitWithPictures, wanted_of
from reports.view.sheets import Sheet, listed, sheets_of
from reports.view.tables import outer_keys

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
    "frames",
    "parts",
    "step",
    "task",
    "keys",
    "app",
)
STYLES = ("base", "summary", "list", "step")
LEAST_PAUSE_S = 5.0
"""Seconds between two writings of a page whose runs go on."""
Warn = Callable[[str], None]
Bar = Callable[[str, int], AbstractContextManager[Callable[[], None]]]
"""Shows progress: from a label and a number of items, a context whose value is called per item."""


@contextmanager
def no_bar(label: str, length: int) -> Iterator[Callable[[], None]]:
    """Show nothing."""
    yield lambda: None


@dataclass
class RunsPage:
    """The page of runs in a folder; it can be written again as the runs go on.

    paths: the run directories.
    out: the folder.
    pictures: whether to write the screenshots.
    follow: whether the page is served: it asks from time to time whether it has been written
        again.
    warn: called with a message about missing pictures.
    bar: shows how far the writing is.
    """

    paths: Sequence[Path | str]
    out: Path
    _: KW_ONLY
    pictures: bool = True
    follow: bool = False
    warn: Warn = lambda _: None
    bar: Bar = no_bar

    def __post_init__(self) -> None:
        self._folders: dict[int, PictureFolder] = {}
        self._written: tuple[object, ...] | None = None
        self._writing = threading.Lock()
        self._rests_until = 0.0
        self._numbers: dict[tuple[int, str], int] = {}
        """The numbers of the units' scripts, which they keep when the page is written again."""

    @property
    def outdated(self) -> bool:
        """Return True if a run has gone on since the page was written."""
        return self._state() != self._written

    def _state(self) -> tuple[object, ...]:
        files = (Path(path) / name for path in self.paths for name in (STEPS, SUMMARY))
        stats = (file.stat() if file.exists() else None for file in files)
        return tuple((stat.st_size, stat.st_mtime_ns) if stat else None for stat in stats)

    def refresh(self) -> None:
        """Write the page again if a run has gone on, at most a tenth of the time."""
        with self._writing:
            start = time.monotonic()
            if not self._written or not self.outdated or start < self._rests_until:
                return
            with suppress(RunError, OSError):  # It is tried again.
                self.write()
            end = time.monotonic()
            self._rests_until = end + max(LEAST_PAUSE_S, 10 * (end - start))

    def write(self, *, overwrite: bool = False) -> str:
        """Write the page and return how many units it shows, in words.

        The folder is left alone until the runs have been read.

        overwrite: True to replace a page that this program did not write.

        Raises `RunError` for runs that cannot be read, and `ViewError` for a folder that cannot be
        used.
        """
        again = self._written is not None
        if not again:
            check(self.out, overwrite=overwrite)
        state = self._state()
        runs = open_runs(self.paths)
        sheets = sheets_of(runs)
        if not again:
            prepare(self.out, overwrite=overwrite)
            for name in [*(f"{s}.js" for s in SCRIPTS), *(f"{s}.css" for s in STYLES)]:
                shutil.copyfile(HERE / "assets" / name, self.out / "assets" / name)
        stamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        going_on = not all(run.complete for run in runs.values())
        script = note(notes_of(runs.values()))
        for sheet in sheets:
            numbers = self._numbers
            scripts = {
                unit: numbers.setdefault((sheet.number, unit), len(numbers))
                for unit in sheet.points.units
            }
            wanted = self._write_details(sheet, scripts)
            files = self._write_pictures(sheet, wanted)
            rows = listed(sheet, scripts, files)
            rows["stamp"] = stamp if self.follow and going_on else ""
            sheet.plots = [*_plots(sheet, self.out / "data")]
            script += call("VLM.load", rows) + "\n"
        page = _page(runs, sheets)
        _replace(self.out / "data" / "steps.js", script.encode("ascii"))
        _replace(self.out / "index.html", page.encode("utf-8", "replace"))
        if self.follow:
            _replace(self.out / "data" / "stamp.js", (call("VLM.stamp", stamp) + "\n").encode())
        self._written = state
        units = " and ".join(dict.fromkeys(sheet.declared.units for sheet in sheets))
        return f"{sum(sheet.total for sheet in sheets):,} {units}"

    def _write_details(
        self, sheet: Sheet, scripts: Mapping[str, int]
    ) -> list[tuple[str, list[UnitWithPictures]]]:
        """Write a script per unit, with a statement per lane. Return the pictures needed by run."""
        folder, points = self.out / "data", sheet.points
        begin = note(notes_of(sheet.runs.values()))
        pictures = self._pictures_of(sheet)
        wanted: list[tuple[str, list[UnitWithPictures]]] = []
        begun: set[str] = set()
        lanes = {(lane.run, lane.repeat): number for number, lane in enumerate(points.lanes)}
        with self.bar(sheet.declared.units, len(scripts) * len(lanes)) as advance:
            for label, run in sheet.runs.items():
                of_run: dict[str, UnitWithPictures] = {}
                convention = convention_of(run.manifest.config)
                for record in run.records():
                    number = scripts.get(record.unit_id)
                    if number is None:
                        continue
                    new = record.unit_id not in begun
                    begun.add(record.unit_id)
                    calls = run.calls_of(record.unit_id, record.repeat)
                    part = part_of(points.page, record, calls)
                    one = wanted_of(record, part, calls)
                    seen = (
                        digest for made in calls if made.act for digest in made.act.blobs.values()
                    )
                    blobs = pictures.blobs(run, seen) if pictures else {}
                    if pictures is not None and part.strip:
                        pictures.film(run, record, [frame.picture for frame in part.strip])
                    elif pictures is not None and (one.digest or points.page.pictured):
                        known = of_run.get(record.unit_id, one)
                        of_run[record.unit_id] = one._replace(sent={**known.sent, **one.sent})
                    values = detail(record, calls, points, part, blobs, one.layers, convention)
                    line = call("VLM.add", number, lanes[label, record.repeat], values)
                    path = folder / f"step-{number}.js.new"
                    with path.open("w" if new else "a", encoding="ascii") as file:
                        file.write((begin if new else "") + line + "\n")
                    advance()
                wanted.append((label, list(of_run.values())))
        for unit_id in begun:
            path = folder / f"step-{scripts[unit_id]}.js.new"
            path.replace(path.with_suffix(""))
        return wanted

    def _pictures_of(self, sheet: Sheet) -> PictureFolder | None:
        if not self.pictures:
            return None
        folder = self._folders.get(sheet.number)
        if folder is None:
            folder = self._folders[sheet.number] = PictureFolder(self.out / "pictures")
        return folder

    def _write_pictures(
        self, sheet: Sheet, wanted: list[tuple[str, list[UnitWithPictures]]]
    ) -> dict[str, list[Any]]:
        """Write the pictures of units; return name, width and height by unit, or the reason."""
        folder = self._pictures_of(sheet)
        if folder is None:
            if not sheet.points.page.pictured:
                return {}
            gone = [None, "the page was written without pictures"]
            return dict.fromkeys(sheet.points.units, gone)
        with self.bar("pictures", sum(len(one) for _, one in wanted)) as advance:
            for label, of_run in wanted:
                # A later run may have a picture that an earlier one lost.
                lacking = [one for one in of_run if folder.lacks(one)]
                for _ in range(len(of_run) - len(lacking)):
                    advance()
                if lacking:
                    # Opened separately: its index of the data is freed afterwards.
                    run = open_run(sheet.runs[label].path, tolerant=True)
                    folder.write(run, lacking, advance)
        lost = [picture for picture in folder.screenshots.values() if picture.name is None]
        if lost:
            declared = sheet.declared
            units = f"{len(lost):,} {declared.unit if len(lost) == 1 else declared.units}"
            self.warn(f"{units} without a picture: {clean(lost[0].reason)}")
        return {unit: _picture(picture) for unit, picture in folder.screenshots.items()}


def _replace(path: Path, data: bytes) -> None:
    """Write a file that may be being read."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(data)
    new.replace(path)


def _picture(picture: PictureFile) -> list[Any]:
    if picture.name is None:
        return [None, picture.reason]
    return [picture.name, picture.width, picture.height]


def readable(value: Any) -> Any:
    """Strip control and formatting characters from what templates print."""
    return clean(value) if type(value) is str else value


def _plots(sheet: Sheet, folder: Path) -> Iterator[tuple[str, str]]:
    """Draw the main measure by the outer keys; yield the title and the file of each plot."""
    main = sheet.declared.main_of_units
    average = main.averages[0]
    column = f"{name_of(main, sheet.declared)}_{average}"
    for key in outer_keys(sheet.summary):
        file = f"{sheet.number}-{key}.svg"
        write(results(sheet.summary.frames[key], average, only=column), folder / file)
        yield f"{title_of(measure_words(sheet.declared))} by {key}", file


def template(name: str) -> jinja2.Template:
    """Return a template of this folder: what it prints is escaped, and control characters go."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=readable,
    )
    environment.filters["title_of"] = title_of
    environment.filters["html_table"] = lambda grid: Markup(html_table(grid, grid.title))
    return environment.get_template(name)


def _page(runs: Mapping[str, Run], sheets: Sequence[Sheet]) -> str:
    problems = (problem for sheet in sheets for problem in sheet.label_problems)
    return template("index.html").render(
        policy=POLICY,
        note=notes_of(runs.values()),
        title=", ".join(runs),
        sheets=sheets,
        left_out=(*corrupt_lines(dict(runs)), *problems),
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        scripts=SCRIPTS,
        assets="assets",
        styles=STYLES,
    )
