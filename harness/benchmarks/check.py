"""Validate a user's recorded steps, and count the steps that a run would ask about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.benchmarks.index import Scanned, StoredStep, in_order, step_of, with_lengths
from harness.benchmarks.recorded import StepDataset
from harness.benchmarks.step_columns import COLUMNS, StepColumns
from harness.benchmarks.steps import SimpleBenchmark, StepsLayout
from harness.errors import DataError, suggestion
from harness.page import Page, PageError
from harness.parquet import column_names, opened
from harness.pictures import PictureError, check_picture, read_size
from harness.records import NO_POSITIVE, NO_SCREENSHOT, Row
from harness.tables import counted
from parsers.declaration import Declaration, Level


@dataclass(slots=True)
class Problem:
    """A problem of rows, with their number and the first of them.

    With an error, a row cannot be read or contradicts itself; with a warning it can be read, though
    perhaps not as intended.
    """

    text: str
    error: bool
    first: str
    rows: int = 0


@dataclass(slots=True)
class RowCounts:
    """Rows and their parents (`levels`) by split, and rows by operation and by validity."""

    levels: Sequence[Level] = (Level("task"),)
    _rows: dict[str, Counter[str]] = field(default_factory=dict)
    _parents: dict[tuple[str, str], set[str]] = field(default_factory=dict)

    def add(self, row: Row, entry: StoredStep) -> None:
        """Count a row."""
        counts = self._rows.setdefault(row.split, Counter())
        for level in self.levels:
            found = self._parents.setdefault((row.split, level.name), set())
            found.add(entry.parents.get(level.name, ""))
        counts["rows"] += 1
        counts[row.detail.operation] += 1
        counts["valid" if row.invalid is None else row.invalid] += 1

    @property
    def valid(self) -> int:
        return sum(counts["valid"] for counts in self._rows.values())

    def lines(self) -> Iterator[str]:
        """Yield a line per split."""
        for split, counts in self._rows.items():
            parts = ", ".join(f"{n} {name}" for name, n in sorted(counts.items()) if name != "rows")
            totals = [(counts["rows"], "row")]
            totals += [(len(self._parents[split, one.name]), one.one) for one in self.levels]
            yield f"{split}: {', '.join(counted(*one) for one in totals)}; {parts}"


@dataclass(slots=True)
class _Checked:
    """The findings in files of steps.

    Attributes:
        problems: problems of rows, in order of their first rows.
        counts: the rows that can be read.
        counted: where these are.
        bad: the rows with errors.
        unused: columns that are not read, each with a suggestion of the one meant ("" if none).
    """

    problems: dict[str, Problem] = field(default_factory=dict)
    counts: RowCounts = field(default_factory=RowCounts)
    counted: set[str] = field(default_factory=set)
    bad: set[str] = field(default_factory=set)
    unused: dict[str, str] = field(default_factory=dict)

    @property
    def errors(self) -> list[Problem]:
        return [problem for problem in self.problems.values() if problem.error]

    def count(self, row: Row, entry: StoredStep) -> None:
        """Count a row that can be read."""
        self.counts.add(row, entry)
        self.counted.add(str(entry.detail))

    def add(self, text: str, where: str, *, error: bool = True) -> None:
        """Note a problem of a row."""
        problem = self.problems.setdefault(text, Problem(text, error, where))
        problem.rows += 1
        if error:
            self.bad.add(where)

    def lines(self) -> Iterator[str]:
        """Yield the findings as lines, errors first."""
        for problem in sorted(self.problems.values(), key=lambda problem: not problem.error):
            kind = "error" if problem.error else "warning"
            rows = counted(problem.rows, "row")
            yield f"{kind}: {rows}: {problem.text} (first: {problem.first})"
        for name, hint in self.unused.items():
            yield f"warning: column '{name}' is not used" + (f"; {hint}" if hint else "")
        yield from self.counts.lines()
        yield self.last_line

    @property
    def last_line(self) -> str:
        """The number of rows, of those with errors, and what a run would do."""
        rows = counted(len(self.bad | self.counted), "row")
        if self.bad:
            return (
                f"{rows}, {len(self.bad):,} with errors: a run would stop at the first of them "
                "(--benchmark-option skip_bad_rows=yes counts them as invalid)"
            )
        return f"{rows}, no errors: a run would ask about {counted(self.counts.valid, 'step')}"


def check_steps(benchmark: SimpleBenchmark, data: Path | None = None) -> _Checked:
    """Read and check every row. Raises `DataError` if there are none."""
    layout, files = benchmark.layout(data)
    checked = _Checked()
    scanned = {file.path: _scan(layout, file.path, checked) for file in files}
    layout = replace(layout, scanned=scanned)
    splits_of = {file.path: file.split or "" for file in files}
    entries = with_lengths(list(_entries(layout, benchmark.name, splits_of, checked)))
    with suppress(DataError):  # Reported per row below.
        layout = layout.with_actions(entries)
    for entry in entries:
        _check_row(layout, entry, checked)
    if not entries and not checked.problems:
        raise DataError(f"no rows in {', '.join(str(file.path) for file in files)}")
    return checked


def check_rows(dataset: StepDataset, declared: Declaration) -> _Checked:
    """Decode every row of a data set, with its page and screenshot."""
    levels = declared.levels[: declared.rank(dataset.whole) + 1] if dataset.whole else ()
    checked = _Checked(counts=RowCounts(levels))
    for entry, row in dataset.decoded():
        try:
            if isinstance(row, DataError):
                raise row
            if row.detail.stored is None:
                Page.parse(row.detail.html)
            if row.detail.screenshot is not None:
                check_picture(row.detail.screenshot)
        except (DataError, PageError) as error:
            checked.add(str(error).removeprefix(f"{entry.detail!s}: "), str(entry.detail))
        else:
            checked.count(row, entry)
    return checked


def _scan(layout: StepsLayout, path: Path, checked: _Checked) -> list[Scanned]:
    """Return the rows that have all required columns."""
    if layout.is_table(path):
        with opened(path) as file:
            _note_unused(layout.columns, column_names(file), checked)
    sound = []
    try:
        for scanned, problem in layout.lines(path):
            if problem:
                checked.add(problem, f"{path}, row {scanned.row}")
                if not layout.is_table(path):
                    with suppress(DataError):  # Not a record: reported already.
                        ((_, record),) = layout.records((path, scanned.group), {scanned.offset})
                        _note_unused(layout.columns, record, checked)
            else:
                sound.append(scanned)
    except DataError as error:
        checked.add(str(error).removeprefix(f"{path}: "), str(path))
    return sound


def _note_unused(columns: StepColumns, present: Collection[str], checked: _Checked) -> None:
    used = columns.stored()
    for name in present:
        if name not in used and name not in checked.unused:
            missing = [one.name for one in COLUMNS if columns.name_of(one.name) not in present]
            hint = suggestion(name, missing)
            checked.unused[name] = hint if hint.startswith("did you mean") else ""


def _entries(
    layout: StepsLayout, benchmark: str, splits: Mapping[Path, str], checked: _Checked
) -> Iterator[StoredStep]:
    """Yield the distinct rows, in file order."""
    lengths: dict[str, int] = {}
    seen: set[tuple[str, str | None]] = set()
    for path, rows in layout.scanned.items():
        for scanned in rows:
            where = f"{path}, row {scanned.row}"
            try:
                key = in_order(layout.key(scanned.record, where), lengths)
            except DataError as error:
                checked.add(str(error).removeprefix(f"{where}: "), where)
                continue
            if (key.task_id, key.action_uid) in seen:
                names = " and ".join(f"'{layout.columns.name_of(n)}'" for n in ("task_id", "step"))
                checked.add(f"{names} repeat an earlier row; only the first is read", where)
                continue
            seen.add((key.task_id, key.action_uid))
            yield step_of(key, benchmark, splits[path] or key.split or "", path, scanned)


def _check_row(layout: StepsLayout, entry: StoredStep, checked: _Checked) -> None:
    at, where = entry.detail, str(entry.detail)
    try:
        ((_, record),) = layout.records(at.group, {at.offset})
        if not layout.is_table(at.file):
            _note_unused(layout.columns, record, checked)
        row = layout.decode(record, entry)
        layout.columns.action(record, where)  # Read for the steps behind it.
    except DataError as error:
        checked.add(str(error).removeprefix(f"{where}: "), where)
        return
    checked.count(row, entry)
    for text, is_error in _problems(row):
        checked.add(text, where, error=is_error)


def _problems(row: Row) -> Iterator[tuple[str, bool]]:
    """Yield the problems of a readable row, each with True for an error."""
    page = Page.parse(row.detail.html)
    if not any(node.id for node in page.nodes()):
        yield "no element of the page has an id; name their attribute with id_attribute", True
        return
    absent = [candidate.id for candidate in row.detail.positives if candidate.id not in page]
    if absent and len(absent) == len(row.detail.positives):
        yield "no positive is an element of the page", True
    elif absent:
        yield "a positive is not an element of the page, and is never shown", False
    if any(candidate.id not in page for candidate in row.detail.negatives):
        yield "a negative is not an element of the page, and is never shown", False
    if not row.detail.negatives:
        yield "no negatives: the positive is the only choice", False
    if row.detail.operation != "CLICK" and not row.detail.value:
        yield f"{row.detail.operation} without a value", False
    if row.detail.screenshot is not None:
        try:
            check_picture(row.detail.screenshot)
            size = read_size(row.detail.screenshot)
        except PictureError:
            yield "the screenshot cannot be decoded", True
        else:
            boxes = [c.box for c in row.detail.positives if c.box is not None]
            if any(box.x >= size.width or box.y >= size.height for box in boxes):
                yield "a positive's box lies outside the screenshot", False
    if NO_SCREENSHOT in row.detail.problems:
        yield ("no screenshot: asked about only as text (lost_rows=yes)", False)
    if NO_POSITIVE in row.detail.problems:
        yield "no positives: never asked about", False
