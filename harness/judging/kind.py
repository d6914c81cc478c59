"""Trajectories as units of a run: each is read from the judged run when its turn comes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from adapters.contract import AdapterInfo
from harness.benchmarks import Dataset, benchmark
from harness.errors import RunError, UserError
from harness.judging.benchmark import FEEDS, FOLDER, Judgment, ended_units
from harness.judging.trajectory import Recorded, TrajectoryDetail, trajectory_id
from harness.kinds.contract import Question, UnitKind
from harness.protocols import AskingProtocol
from harness.runs import Unit, open_run
from harness.settings import Settings, directory_name

NO_ANSWER, NO_PICTURE = "no_answer", "no_picture"
"""Why a unit is not judged: nothing was answered, or a judge that needs pictures has none."""


class Trajectories(UnitKind):
    """What an agent did, for a judge."""

    @classmethod
    def completed(cls, settings: Settings, protocol: AskingProtocol) -> dict[str, Any]:
        changes = super().completed(settings, protocol)
        if settings.out is None:
            known = replace(
                settings, benchmark=protocol.name, lacks=cls.never_has(_source(settings))
            )
            changes["out"] = str(_source(settings).run / FOLDER / directory_name(known))
        return changes

    def check(self, selected: Dataset[Any]) -> None:
        """Raise `UserError` if the run changed after some of it was judged."""
        path, run = Path(self.settings.out or ""), _source(self.settings).run
        if run.absolute() in FEEDS or not (path / "manifest.json").exists():
            return
        known = {unit.unit_id: unit.digests.get("unit") for unit in open_run(path).records()}
        recorded = Recorded(run)
        for unit in open_run(run).records():
            before = known.get(trajectory_id(unit))
            if before is not None and before != recorded.digest(unit):
                raise UserError(
                    f"{run} changed after it was judged (the first is {trajectory_id(unit)}): "
                    "judge it again under another name, with --out"
                )

    def questions(
        self, dataset: Dataset[Any], whole: Dataset[Any], info: AdapterInfo, *, is_blind: bool
    ) -> Iterator[Question]:
        """Prepare the units that ended, in the order in which they did.

        Raises `UserError` for one whose calls cannot be read.
        """
        run = _source(self.settings).run
        recorded, left = Recorded(run), {unit.unit_id: unit for unit in dataset.entries}
        for ended in ended_units(run):
            unit = left.get(trajectory_id(ended))
            if unit is not None and ended.settled:
                del left[unit.unit_id]
                yield self._about(unit, ended, recorded, info)
            if not left:
                return

    def _about(
        self, unit: Unit[Any], ended: Unit[Any], recorded: Recorded, info: AdapterInfo
    ) -> Question:
        unit = replace(unit, digests={"unit": recorded.digest(ended)})
        if ended.invalid is not None or ended.prediction is None:
            return self.of_record(replace(unit, invalid=ended.invalid or NO_ANSWER))
        try:
            trajectory, pictures = recorded.trajectory(ended)
        except RunError as error:
            raise UserError(f"{recorded.path}: {unit.unit_id} cannot be judged: {error}") from error
        unit = unit.with_detail(TrajectoryDetail(trajectory), goal=trajectory.goal)
        if self.protocol.needs.sees and not pictures:
            return self.of_record(replace(unit, invalid=NO_PICTURE))
        shown = () if self.pictures.name == "none" else pictures
        return self._question(unit, shown, info.image_rule)


def _source(settings: Settings) -> Judgment:
    source = benchmark(settings.benchmark)
    assert isinstance(source, Judgment)
    return source
