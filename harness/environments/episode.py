"""One pass through a recorded task or conversation: which step is asked about, and how it went."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from harness.environments.actions import Said
from harness.evaluation.questions import StepQuestion
from harness.evaluation.scene import PageScene
from harness.page import Page
from harness.records import Row
from harness.runs import StepRecord
from parsers.records import Scores


@dataclass(frozen=True)
class Rules:
    """What holds for all episodes of an environment.

    prepare: makes the question of a row.
    scored: gives a record its scores.
    succeeds: whether scores are those of a successful step.
    strict: whether the first wrong step ends an episode.
    zero: whether steps without a right answer count as failed.
    """

    prepare: Callable[[Row], StepQuestion]
    scored: Callable[[StepRecord], StepRecord]
    succeeds: Callable[[Scores], bool]
    strict: bool
    zero: bool

    def counts(self, record: StepRecord) -> bool:
        """Whether a step counts, though it may not have been asked about."""
        return record.scores is not None or self.zero

    def failed(self, record: StepRecord) -> bool:
        """Whether a step counts as failed."""
        return self.counts(record) and not (record.scores and self.succeeds(record.scores))

    def succeeded(self, records: Iterable[StepRecord]) -> bool | None:
        """Whether all steps that count succeeded; None if none counts."""
        counted = [record for record in records if self.counts(record)]
        return not any(map(self.failed, counted)) if counted else None


class Episode:
    """An episode at its first step; `rows` are its steps in order, each with the id of its turn.

    A turn is what the user has asked for in one go; a task of Mind2Web has one.

    Attributes:
        question: what is asked about now; None once nothing is left to ask.
        turn, row, shown: the step that is shown: the one that is asked about, else the last one.
        records: the steps that are behind it, by turn.
        said: the instructions so far by turn, the current one last.

    Raises `DataError` for a row that cannot be read, as `answer` does.
    """

    def __init__(self, rows: Iterable[tuple[str, Row]], rules: Rules) -> None:
        self._left = deque(rows)
        self._rules = rules
        self._unreached: set[str] = set()
        self.question: StepQuestion | None = None
        self.records: dict[str, list[StepRecord]] = {}
        self.said: dict[str, str] = {}
        self._advance()

    @property
    def page(self) -> Page:
        """The page of the step that is shown."""
        scene = self.shown.step.scene
        assert isinstance(scene, PageScene)
        return scene.page

    @property
    def behind(self) -> list[StepRecord]:
        """The steps that are behind it, in order."""
        return [record for records in self.records.values() for record in records]

    def answer(self, said: Said) -> StepRecord:
        """Score an action and go on."""
        if self.question is None:
            raise ValueError("nothing is asked about")
        asked = replace(self.question.record, prediction=said.prediction, settled=True, asked=True)
        record = self._rules.scored(asked)
        self._put_behind(record, ends=said.stops)
        self._advance()
        return record

    def succeeded(self) -> bool | None:
        """Whether all steps succeeded; None if none of them counts."""
        return self._rules.succeeded(self.behind)

    def turns(self) -> dict[str, bool | None]:
        """Whether each turn succeeded, False for those that were not reached any more."""
        found = {turn: self._rules.succeeded(of) for turn, of in self.records.items()}
        return found | dict.fromkeys(self._unreached - found.keys(), False)

    def _advance(self) -> None:
        """Show the next step that is asked about, and pass over those before it."""
        self.question = None
        while self._left:
            self.turn, self.row = self._left.popleft()
            self.shown = self._rules.prepare(self.row)
            record = self.shown.record
            self.said[self.turn] = record.goal
            if record.invalid is None and self.shown.outcome is None:
                self.question = self.shown
                return
            passed = replace(record, prediction=self.shown.outcome, settled=True)
            self._put_behind(self._rules.scored(passed))

    def _put_behind(self, record: StepRecord, *, ends: bool = False) -> None:
        self.records.setdefault(self.turn, []).append(record)
        if ends or (self._rules.strict and self._rules.failed(record)):
            self._unreached = {turn for turn, _ in self._left}
            self._left.clear()
