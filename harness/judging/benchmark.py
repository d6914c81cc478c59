"""The units of a run as the data of a judgement (`judgment:METHOD:RUN`).

METHOD is a judging protocol, RUN the directory of a complete run. Each trajectory is read when its
turn comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.benchmarks import Benchmark, Dataset, Items
from harness.benchmarks.contract import illustrated
from harness.benchmarks.shows import Ready, Shows
from harness.errors import DataError, RunError, UserError
from harness.judging.trajectory import (
    TRAJECTORY,
    JudgingProtocol,
    TrajectoryDetail,
    TrajectoryView,
    digest_of,
    identity_of,
    read_trajectory,
    trajectory_id,
)
from harness.protocols import open_protocol
from harness.runs import Run, Unit, open_run
from parsers import Declaration, Measure, Prediction
from parsers.declaration import Level
from parsers.records import Scores

NAME = "judgment"
_WORDS: Mapping[str, Any] = {"kind": TRAJECTORY, "unit": TRAJECTORY, "units": "trajectories"}
NO_ANSWER, NO_PICTURE = "no_answer", "no_picture"
"""Why a unit is not judged: nothing was answered, or a judge that needs pictures has none."""
FOLDER = "judgments"
"""Where the judgements of a run lie in its directory."""


@dataclass(frozen=True)
class Judgment(Benchmark):
    """The trajectories of one run, judged by one method."""

    method: str = ""
    run: Path = Path()

    View = TrajectoryView
    Detail = TrajectoryDetail
    pictures = True
    guarded = True

    @property
    def protocol(self) -> str:  # type: ignore[override]
        """The method, which decides the measures."""
        return self.method

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        """Raises `DataError`, also for a run that is not complete."""
        if not self.method:
            raise DataError(f"which run, and by which method? Write {NAME}:METHOD:RUN")
        try:
            run = open_run(self.run)
            if run.manifest.declaration.kind == TRAJECTORY:
                raise DataError(f"{self.run} is a judgement; name the run that it judges")
            if not run.complete:
                raise DataError(f"{self.run} is not finished: go on with it first")
            ended = {trajectory_id(unit): unit for unit in run.records()}
        except RunError as error:
            raise DataError(str(error)) from error

        def pictures(unit: Unit[Any]) -> tuple[bytes, ...]:
            return read_trajectory(run, ended[unit.unit_id])[1]

        items = Items.of(map(self.trajectory, ended.values()), splits=splits, pictures=pictures)
        return replace(items, origin={"origin": "run"}, digest=identity_of(run))

    def trajectory(self, unit: Unit[Any]) -> Unit[TrajectoryDetail]:
        """Return the unit of a judgement for a unit and repeat, without what was done."""
        return self.unit(
            trajectory_id(unit),
            TrajectoryDetail(),
            unit.split,
            parents=unit.parents,
            labels=unit.labels,
            position=unit.position,
            total=unit.total,
            source=unit.source,
        )

    def score(self, prediction: Prediction, detail: Any) -> Scores:
        """Return the values that the method returned; None for what is not a number."""
        return {name: _number(prediction.parsed.get(name)) for name in self.declared.scores}

    @property
    def home(self) -> Path:  # type: ignore[override]
        """Its runs lie in the run that is judged."""
        return self.run / FOLDER

    def check(self, units: Dataset[Any], shows: Shows) -> None:
        """Raise `UserError` if the run changed after some of it was judged."""
        path = Path(shows.settings.out or "")
        if not (path / "manifest.json").exists():
            return
        known = {unit.unit_id: unit.digests.get("unit") for unit in open_run(path).records()}
        for unit in open_run(self.run).records():
            before = known.get(trajectory_id(unit))
            if before is not None and before != digest_of(unit):
                raise UserError(
                    f"{self.run} changed after it was judged (the first is {trajectory_id(unit)}): "
                    "judge it again under another name, with --out"
                )

    def ready(self, part: Dataset[Any], whole: Dataset[Any], shows: Shows) -> Iterator[Ready[Any]]:
        """Prepare the units. Raises `UserError` for one whose calls cannot be read."""
        run, left = open_run(self.run), {unit.unit_id: unit for unit in part.entries}
        for ended in run.records():
            if (unit := left.get(trajectory_id(ended))) is not None:
                yield self._about(unit, ended, run, shows)

    def _about(self, unit: Unit[Any], ended: Unit[Any], run: Run, shows: Shows) -> Ready[Any]:
        unit = replace(unit, digests={"unit": digest_of(ended)})
        if ended.invalid is not None or ended.prediction is None:
            return self.recall(replace(unit, invalid=ended.invalid or NO_ANSWER))
        try:
            trajectory, pictures = read_trajectory(run, ended)
        except RunError as error:
            raise UserError(f"{self.run}: {unit.unit_id} cannot be judged: {error}") from error
        unit = unit.with_detail(TrajectoryDetail(trajectory), goal=trajectory.goal)
        if shows.protocol.needs.sees and not pictures:
            return self.recall(replace(unit, invalid=NO_PICTURE))
        shown = () if shows.pictures.name == "none" else pictures
        return illustrated(self, unit, shown, shows)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def judgment(argument: str = "") -> Judgment:
    """Return the data of `judgment:METHOD:RUN`; without an argument one that cannot be opened.

    Raises `DataError` if there is no such method.
    """
    method, _, path = argument.partition(":")
    if not argument:
        measure = Measure("judged", main=True)
        return Judgment(NAME, declared=Declaration((measure,), **_WORDS))
    if not path:
        raise DataError(f"{NAME}:METHOD:RUN names a judging protocol and a run, not '{argument}'")
    try:
        protocol = open_protocol(method)
    except UserError as error:
        raise DataError(str(error)) from error
    if not isinstance(protocol, JudgingProtocol):
        raise DataError(
            f"protocol '{method}' judges no trajectories: it answers {protocol.View.__name__}"
        )
    run = Path(path)
    return Judgment(
        f"{NAME}:{argument}",
        method=method,
        run=run,
        declared=_declared(protocol, run),
    )


def _declared(protocol: JudgingProtocol, run: Path) -> Declaration:
    """Return the measures of the method, with the levels and groups of the run."""
    try:
        known = open_run(run).manifest.declaration
    except RunError:  # It was moved or deleted; its judgements have their declaration on record.
        return Declaration(protocol.measures, (Level("task"),), **_WORDS)
    return Declaration(
        protocol.measures,
        known.levels,
        known.groups,
        known.clusters,
        shared=known.shared,
        **_WORDS,
    )
