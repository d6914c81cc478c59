"""One pass through a recorded task or conversation: the current step, and the scores so far."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from harness.benchmarks import step_benchmark
from harness.benchmarks.opening import check_asks
from harness.benchmarks.ready import Ready
from harness.benchmarks.step.scene import PageScene
from harness.errors import UserError, suggestion
from harness.gym.actions import ActionStrings, ParsedAction
from harness.page import Page
from harness.planning.resolve import refuse_without_effect
from harness.records import Row
from harness.runs import StepUnit
from harness.settings import SETTINGS, Settings, read_settings
from harness.views import StepView
from parsers.records import Scores

Transition = Literal["teacher", "strict"]
OnInvalid = Literal["skip", "score_zero"]

_ELSEWHERE = frozenset(
    {
        # The player decides on prompts and the number of calls.
        *("protocol", "protocol_options", "prompts", "none", "history", "image_policy", "pixels"),
        *("first_of_many", "value_style", "repeats", "samples", "vote", "shuffles"),
        # And on the averages, except for `on_invalid`.
        *("invalid", "unattempted", "exclude_statuses"),
    }
)
TAKEN = tuple(
    name
    for name, setting in SETTINGS.items()
    if setting.group in ("Data", "Question", "Scoring") and name not in _ELSEWHERE
)
"""The settings that an environment takes."""


def completed(chosen: Mapping[str, object], *, zero: bool) -> Settings:
    """Complete the settings of an environment by their defaults.

    A click on a point counts for the smallest candidate under it, unless `point_rule` is given.
    `zero`: count steps without a right answer as failed.

    Raises `UserError` for settings that an environment does not take, or that exclude each other.
    """
    protocol = ActionStrings()
    try:
        read = read_settings({"point_rule": "smallest", **chosen})
    except ValueError as error:
        raise UserError(str(error)) from error
    if others := read.given.difference(TAKEN):
        raise UserError(f"{sorted(others)[0]} has no effect on an environment; leave it out")
    source = step_benchmark(read.benchmark)
    settings = source.given(replace(read, invalid="fail" if zero else "exclude"))
    check_asks(source, protocol)
    lacks = source.lacks(settings, protocol, is_policy=True)
    refuse_without_effect(settings.given, lacks)
    return replace(settings, **source.completed(settings, protocol))


def check_one_of(name: str, value: object, known: Sequence[object]) -> None:
    """Raise `UserError` for an unknown value."""
    if value not in known:
        raise UserError(f"{name}={value!r}: {suggestion(str(value), map(str, known))}")


@dataclass(frozen=True)
class Rules:
    """Rules of all episodes of an environment.

    prepare: builds the question of a row.
    scored: adds the scores to a record.
    succeeds: returns True for the scores of a successful step.
    strict: True if the first wrong step ends an episode.
    zero: True if steps without a right answer count as failed.
    """

    prepare: Callable[[Row], Ready[StepView]]
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
        self.question: Ready[StepView] | None = None
        self.records: dict[str, list[StepUnit]] = {}
        self.instructions: dict[str, str] = {}
        self._advance()

    @property
    def page(self) -> Page:
        """The page of the shown step."""
        scene = self.shown.view.step.scene
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
        asked = replace(self.question.unit, prediction=action.prediction, settled=True, asked=True)
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
            record = self.shown.unit
            self.instructions[self.turn] = record.goal
            if record.invalid is None and self.shown.known is None:
                self.question = self.shown
                return
            passed = replace(record, prediction=self.shown.known, settled=True)
            self._put_behind(self._rules.scored(passed))

    def _put_behind(self, record: StepUnit, *, ends: bool = False) -> None:
        self.records.setdefault(self.turn, []).append(record)
        if ends or (self._rules.strict and self._rules.failed(record)):
            self._unreached = {turn for turn, _ in self._left}
            self._left.clear()
