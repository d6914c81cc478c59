"""One pass through a recorded task or conversation: the current step, and the scores so far."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from harness.gym.actions import ParsedAction
from harness.kinds.step.questions import StepQuestion
from harness.kinds.step.scene import PageScene
from harness.page import Page
from harness.records import Row
from harness.runs import StepUnit
from parsers.records import Scores


@dataclass(frozen=True)
class Rules:
    """Rules of all episodes of an environment.

    prepare: builds the question of a row.
    scored: adds the scores to a record.
    succeeds: returns True for the scores of a successful step.
    strict: True if the first wrong step ends an episode.
    zero: True if steps without a right answer count as failed.
    """

    prepare: Callable[[Row], StepQuestion]
    scored: Callable[[StepUnit], StepUnit]
    succeeds: Callable[[Scores], bool]
    strict: bool
    zero: bool

    def counts(self, record: StepUnit) -> bool:
        """Return True if a step counts, answered or not."""
        return record.scores is not None or self.zero

    def failed(self, record: StepUnit) -> bool:
        """Return True if a step counts as failed."""
        return self.counts(record) and not (record.scores and self.succeeds(record.scores))

    def succeeded(self, records: Iterable[StepUnit]) -> bool | None:
        """Return True if all counting steps succeeded; None if none counts."""
        counted = [record for record in records if self.counts(record)]
        return not any(map(self.failed, counted)) if counted else None


class Episode:
    """An episode at its first step; `rows` are its steps in order, each with the id of its turn.

    A turn is one instruction of the user; a task of Mind2Web has one.

    Attributes:
        question: the current question; None after the last one.
        turn, row, shown: the shown step: that of the question, else the last one.
        records: the finished steps, by turn.
        instructions: the instructions so far by turn, the current one last.

    Raises `DataError` for a row that cannot be read, as `answer` does.
    """

    def __init__(self, rows: Iterable[tuple[str, Row]], rules: Rules) -> None:
        self._left = deque(rows)
        self._rules = rules
        self._unreached: set[str] = set()
        self.question: StepQuestion | None = None
        self.records: dict[str, list[StepUnit]] = {}
        self.instructions: dict[str, str] = {}
        self._advance()

    @property
    def page(self) -> Page:
        """The page of the shown step."""
        scene = self.shown.step.scene
        assert isinstance(scene, PageScene)
        return scene.page

    @property
    def behind(self) -> list[StepUnit]:
        """The finished steps, in order."""
        return [record for records in self.records.values() for record in records]

    def answer(self, action: ParsedAction) -> StepUnit:
        """Score an action and continue with the next question."""
        if self.question is None:
            raise ValueError("there is no question")
        asked = replace(
            self.question.record, prediction=action.prediction, settled=True, asked=True
        )
        record = self._rules.scored(asked)
        self._put_behind(record, ends=action.stops)
        self._advance()
        return record

    def succeeded(self) -> bool | None:
        """True if all steps succeeded; None if none of them counts."""
        return self._rules.succeeded(self.behind)

    def turns(self) -> dict[str, bool | None]:
        """True for each turn that succeeded, False for failed and unreached ones."""
        found = {turn: self._rules.succeeded(of) for turn, of in self.records.items()}
        return found | dict.fromkeys(self._unreached - found.keys(), False)

    def _advance(self) -> None:
        """Show the next step with a question, and finish the steps before it."""
        self.question = None
        while self._left:
            self.turn, self.row = self._left.popleft()
            self.shown = self._rules.prepare(self.row)
            record = self.shown.record
            self.instructions[self.turn] = record.goal
            if record.invalid is None and self.shown.outcome is None:
                self.question = self.shown
                return
            passed = replace(record, prediction=self.shown.outcome, settled=True)
            self._put_behind(self._rules.scored(passed))

    def _put_behind(self, record: StepUnit, *, ends: bool = False) -> None:
        self.records.setdefault(self.turn, []).append(record)
        if ends or (self._rules.strict and self._rules.failed(record)):
            self._unreached = {turn for turn, _ in self._left}
            self._left.clear()
