"""Reading a run, complete or not; finding the runs below a folder, and how far each is."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from adapters.decoding import decode_json
from adapters.registry import UnknownName, load
from harness.dialogue import Result
from harness.errors import DataGone, RunError
from harness.runs.directory import SUMMARY, is_in_use, manifest_before
from harness.runs.files import CALLS, STEPS, Blobs, Line, decode, read_lines, read_records
from harness.runs.manifest import MANIFEST, Manifest, read_manifest
from harness.runs.on_record import CallHead, StepKey, Waiting, read_cost, waiting_at
from harness.runs.records import CallRecord, Unit, line_decoder, result_of
from harness.runs.steps import latest_steps
from harness.settings import Settings, from_record

if TYPE_CHECKING:
    import pandas as pd

    from harness.runs.scores import RunScores
    from harness.tables import Grid


RESOLVER = "harness.benchmarks.lookup:step_data"
"""Loader of pictures and pages. Fixed here and not in the run: a run may come from
another user, and its contents must not decide which code is called."""

DECLARED = "harness.benchmarks:declared"
"""Where the declaration of a run's benchmark comes from, for the same reason."""

DETAILS = {
    "step": "harness.runs.steps:StepDetail",
    "grounding": "parsers.grounding:GroundingDetail",
    "question": "parsers.question:QuestionDetail",
    "screen-step": "parsers.screen:ScreenDetail",
    "prompt": "harness.benchmarks.prompt.autowebbench:PromptDetail",
    "episode": "harness.benchmarks.episode.task:EpisodeDetail",
    "trajectory": "harness.judging.trajectory:TrajectoryDetail",
}
"""Types of the details of the kinds that ship: their results can be read without a benchmark."""

SUMMARY_OF = "harness.session.rescoring:summary_of"
RESULT_GRID = "harness.session.rescoring:grid_of"
STEPS_FRAME = "reports.frames.units:steps_frame"
"""Makers of a summary, a table and a frame of a run. By name: reports are made from runs, and a
caller without frames needs neither reports nor pandas."""


class StepData(NamedTuple):
    """Data outside of a run: the page as HTML and the encoded picture, None when lost."""

    html: str
    screenshot: bytes | None


Resolver = Callable[[Mapping[str, Any], Collection[str]], Iterator[tuple[str, StepData | DataGone]]]
"""From the manifest's `dataset` and step ids to the data of each step, in any order, or why there
is none. Raises `DataGone` if there is none at all."""

_Place = tuple[int, int, int]
"""Number, offset and length of a line."""


class Run:
    """A run on disk, complete or not, possibly being written to right now.

    Attributes:
        tolerant: whether lines that cannot be read are left out instead of raising `RunError`.
    """

    def __init__(
        self, path: Path, resolver: Resolver | None = None, *, tolerant: bool = False
    ) -> None:
        self.path = path
        self.manifest: Manifest = read_manifest(path)
        self.tolerant = tolerant
        self._resolver = resolver
        self._unreadable: dict[str, None] = {}

    def __repr__(self) -> str:
        state = "complete" if self.complete else "incomplete"
        return f"<Run {self.path}: {self.manifest.model.get('name')}, {state}>"

    @property
    def unreadable(self) -> tuple[str, ...]:
        """The lines that a tolerant run has left out so far and why, one text each."""
        return tuple(self._unreadable)

    @property
    def name(self) -> str:
        """Its name, as the manifest has it."""
        return self.manifest.name

    @property
    def waiting(self) -> Waiting | None:
        """Return the part that a provider has in batches, or None. Raises `RunError`."""
        return waiting_at(self.path)

    @property
    def summary(self) -> dict[str, Any]:
        """`summary.json`, or before the run is complete, what it would hold by now.

        Raises `RunError`.
        """
        if self._final_summary is not None:
            return self._final_summary
        summarise: Callable[[Run], dict[str, Any]] = load(SUMMARY_OF)
        return {"complete": False, **summarise(self)}

    @property
    def scores(self) -> RunScores:
        """The headline scores of `summary`: `run.scores.task_success.value`.

        Raises `RunError`.
        """
        from harness.runs.scores import scores_of

        return scores_of(self.summary, self.manifest.declaration, f"scores of {self.path}")

    def table(self) -> Grid:
        """Return the table of results that is printed after a run. Raises `RunError`."""
        make: Callable[[Run], Grid] = load(RESULT_GRID)
        return make(self)

    @cached_property
    def _final_summary(self) -> dict[str, Any] | None:
        path = self.path / SUMMARY
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            return decode_json(data, dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise RunError(f"{path} cannot be read: {error}") from error

    @property
    def complete(self) -> bool:
        """Return True if every selected valid row is settled."""
        return bool(self._final_summary and self._final_summary.get("complete"))

    def incomplete(self, records: Sequence[Unit[Any]] | None = None) -> str:
        """Return how far the run is ("INCOMPLETE: 55 of 158 steps"), "" if it is complete.

        `records` are its lines, read here if they are not given. Raises `RunError`.
        """
        if self.complete:
            return ""
        records = self.records() if records is None else records
        done = sum(record.settled or record.invalid is not None for record in records)
        most = max(len(records), self.manifest.planned)
        total = f" of {most:,}" if not self.manifest.config.get("shard") else ""
        return f"INCOMPLETE: {done:,}{total} {self.manifest.declaration.units}"

    @cached_property
    def benchmark(self) -> Any:
        """The declaration of the run's benchmark, a `harness.benchmarks.Benchmark`.

        None where the package that has the benchmark is not installed.
        """
        find: Callable[[str], Any] = load(DECLARED)
        return find(str(self.manifest.config.get("benchmark")))

    @cached_property
    def detail(self) -> Any:
        """The type of the details of its units; see `detail_type`."""
        return detail_type(self.benchmark, self.manifest.declaration.kind)

    def records(self) -> list[Unit[Any]]:
        """Return the latest line of every step and repeat, by split, task, index and repeat.

        Raises `RunError` for a line that cannot be read, an unfinished last one apart.
        """
        return latest_steps(self.path / STEPS, self._leave_out, self.detail)

    def steps(self, *, texts: bool = False) -> pd.DataFrame:
        """Return a row per step and repeat, as in `reports.steps_frame`; loads pandas.

        With `texts` the task and the history are among the columns. Raises `RunError`.
        """
        make: Callable[..., pd.DataFrame] = load(STEPS_FRAME)
        return make(self, texts=texts)

    def calls(self) -> Iterator[CallRecord]:
        """Return the recorded calls. Raises `RunError` for a line that cannot be
        read."""
        return read_records(self.path / CALLS, CallRecord, self._leave_out)

    def calls_of(self, unit_id: str, repeat: int = 0) -> list[CallRecord]:
        """Return the recorded calls of one unit's last trial, and the shared ones it
        used.

        Reads only their lines.
        """
        key = unit_id, repeat
        try:
            calls = list(self._indexed_calls(key))
        except RunError:
            if not self.tolerant:
                raise
            used = self._calls_used.get(key, ())
            calls = [call for call in self.calls() if call.key == key or call.id in used]
        last = max((call.trial for call in calls), default=0)
        return [call for call in calls if call.asked_by or call.trial == last]

    def result_of(self, call: CallRecord) -> Result:
        """Return the answer of a call. Raises `RunError` if its vectors are lost."""
        return result_of(call, self.blobs.get)

    @cached_property
    def blobs(self) -> Blobs:
        """The large things that lines refer to."""
        return Blobs(self.path)

    def _indexed_calls(self, key: StepKey) -> Iterator[CallRecord]:
        path = self.path / CALLS
        own, shared = self._call_places
        places = list(own.get(key, ()))
        if shared:
            places += [shared[id] for id in self._calls_used.get(key, ()) if id in shared]
        if not places:
            return
        decoder = line_decoder(CallRecord)
        with path.open("rb") as file:
            for number, offset, length in sorted(places):
                file.seek(offset)
                yield decode(decoder, Line(number, offset, file.read(length)), path)

    @property
    def _leave_out(self) -> Callable[[str], None] | None:
        return self._note_unreadable if self.tolerant else None

    def _note_unreadable(self, line: str) -> None:
        self._unreadable[line] = None

    def screenshot(self, unit_id: str) -> bytes:
        """Return the encoded picture of a step, as the data set has it. Raises `DataGone`."""
        ((_, found),) = self.screenshots([unit_id])
        if isinstance(found, DataGone):
            raise found
        return found

    def screenshots(self, unit_ids: Collection[str]) -> Iterator[tuple[str, bytes | DataGone]]:
        """Yield the encoded pictures of units, or why there is none, in the order of the data."""
        wanted = {unit_id: self._step(unit_id).screenshot for unit_id in unit_ids}
        for unit_id in [unit_id for unit_id, digest in wanted.items() if digest is None]:
            del wanted[unit_id]
            yield unit_id, DataGone(f"step {unit_id} was recorded without a screenshot")
        try:
            resolved = self._resolve(self.manifest.dataset, list(wanted)) if wanted else ()
            for unit_id, data in resolved:
                yield unit_id, _checked(unit_id, data, wanted.pop(unit_id))
        except DataGone as gone:
            yield from ((unit_id, gone) for unit_id in wanted)

    def page(self, unit_id: str) -> str:
        """Return the page of a step as HTML, as the data set has it. Raises `DataGone`."""
        html = self._data(unit_id).html
        if hashlib.sha256(html.encode()).hexdigest() != self._step(unit_id).digests.get("html"):
            raise DataGone(f"the page of step {unit_id} is not the one of the run any more")
        return html

    @cached_property
    def _call_places(self) -> tuple[dict[StepKey, list[_Place]], dict[str, _Place]]:
        """Where the lines of calls are: by unit, and of shared ones by id."""
        path = self.path / CALLS
        decoder = line_decoder(CallHead)
        index: dict[StepKey, list[_Place]] = {}
        shared: dict[str, _Place] = {}
        for line in read_lines(path):
            head = decode(decoder, line, path)
            place = line.number, line.offset, len(line.data)
            if head.asked_by:
                shared[head.id] = place
            else:
                index.setdefault(head.key, []).append(place)
        return index, shared

    @cached_property
    def _calls_used(self) -> dict[StepKey, tuple[str, ...]]:
        return {record.key: record.calls for record in self.records()}

    @cached_property
    def _by_id(self) -> dict[str, Unit[Any]]:
        return {record.unit_id: record for record in self.records()}

    def _step(self, unit_id: str) -> Unit[Any]:
        try:
            return self._by_id[unit_id]
        except KeyError:
            raise DataGone(f"the run has no step {unit_id}") from None

    def _data(self, unit_id: str) -> StepData:
        self._step(unit_id)
        ((_, data),) = self._resolve(self.manifest.dataset, [unit_id])
        if isinstance(data, DataGone):
            raise data
        return data

    @cached_property
    def _resolve(self) -> Resolver:
        if self._resolver is not None:
            return self._resolver
        try:
            resolver: Resolver = load(RESOLVER)
        except (UnknownName, ImportError, AttributeError) as error:
            raise DataGone(f"nothing here can look up the data set: {error}") from error
        return resolver


def detail_type(benchmark: Any, kind: str) -> Any:
    """Return the type of the details of a benchmark's units: the one that it names, else that of
    its kind if that ships. Others are JSON values.

    `benchmark` is None where the package that has it is not installed.
    """
    named = getattr(benchmark, "Detail", None)
    if named is not None:
        return named
    try:
        return load(DETAILS[kind])
    except (KeyError, UnknownName):
        return Any


def _checked(unit_id: str, data: StepData | DataGone, digest: str | None) -> bytes | DataGone:
    if isinstance(data, DataGone):
        return data
    if data.screenshot is None or hashlib.sha256(data.screenshot).hexdigest() != digest:
        return DataGone(f"the screenshot of step {unit_id} is not the one of the run any more")
    return data.screenshot


def open_run(path: Path | str, resolver: Resolver | None = None, *, tolerant: bool = False) -> Run:
    """Return a run for reading. Raises `RunError` when there is none at `path` or of another
    format.

    `resolver` finds pictures and pages; without one the benchmarks do, when first asked. A
    `tolerant` run leaves lines out that cannot be read, and lists them in `Run.unreadable`.
    """
    return Run(Path(path), resolver, tolerant=tolerant)


def settings_of(run: Run) -> Settings:
    """Return the settings that a run was started with. Raises `RunError` if they cannot be read."""
    try:
        return from_record(run.manifest.config)
    except ValueError as error:
        raise RunError(f"the settings of {run.path} cannot be read: {error}") from error


State = Literal["complete", "running", "waiting", "incomplete", "not started"]


class _Found(NamedTuple):
    """The runs below a folder by path, shards inside of their run included.

    passed_over: folders that hold another format, or another program's manifest, with why.
    """

    runs: dict[Path, Run]
    passed_over: dict[Path, str]

    @property
    def note(self) -> str:
        """The first of those passed over, and how many more there are."""
        path, why = next(iter(self.passed_over.items()))
        more = f", and {len(self.passed_over) - 1:,} more" if len(self.passed_over) > 1 else ""
        return f"passed over: {path.as_posix()} ({why}){more}"

    @property
    def outermost(self) -> list[Path]:
        """The runs that are inside of no other."""
        return [path for path in self.runs if not any(one in self.runs for one in path.parents)]


def find_runs(folder: Path) -> _Found:
    """Return the runs at and below `folder`, sorted by path. Hidden folders are left out."""
    found = _Found({}, {})
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if MANIFEST in files:
            path = Path(place)
            try:
                found.runs[path] = open_run(path, tolerant=True)
            except RunError as error:
                found.passed_over[path] = str(error)
    return found


def state_of(run: Run) -> State:
    """Return how far a run is: `incomplete` is one that ended before its last unit.

    Raises `RunError`.
    """
    if run.complete:
        return "complete"
    if is_in_use(run.path):
        return "running"
    if run.waiting:
        return "waiting"
    return "not started" if manifest_before(run.path) is None else "incomplete"


def spent_by(run: Run) -> float:
    """Return what a run has spent so far, in US dollars. Raises `RunError`.

    It includes what may have been spent on calls that are not on record. What another run has paid
    for the steps that this one took over is left out.
    """
    redone = run.manifest.redone
    taken_over = redone.cost if redone else 0.0
    return max(0.0, read_cost(run.path) - taken_over + run.manifest.unrecorded)
