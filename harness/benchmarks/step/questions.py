"""From rows to questions: choices, pictures, the step that a protocol sees, and the record.

`Preparer.prepare` does the page work of a step: parsing, choosing and rendering candidates,
planning pictures. It decodes no picture and asks no model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from adapters.contract import ImageRule
from adapters.conversation import Picture
from harness.benchmarks import StepDataset, StoredStep
from harness.benchmarks.ready import Ready
from harness.benchmarks.step.listing import Lister, step_of, target_of, turn_record, unlisted
from harness.benchmarks.step.scene import PageScene, RecordedScene
from harness.candidates import page_of
from harness.errors import DataError
from harness.page import MIND2WEB_ATTRIBUTES, Attributes, Page
from harness.pictures import (
    PictureError,
    PicturePolicy,
    Screenshot,
    check_picture,
    plan,
    read_size,
    stored_picture,
)
from harness.policies import Secret
from harness.protocols import AskingProtocol
from harness.records import UNREADABLE, Earlier, Row, RowDetail, Scene
from harness.runs import StepUnit
from harness.settings import Settings
from harness.views import StepView
from parsers.records import Prediction, Status

if TYPE_CHECKING:
    from harness.benchmarks.step.history import EarlierSteps
    from harness.rankers import Ranks

NOT_OFFERED = Prediction(Status.NOT_OFFERED)
"""The outcome of a step whose acceptable elements a ranker does not offer."""


class Preparer:
    """Prepares the rows of a run under its settings.

    rule: what the model's provider does to pictures; None if unknown.
    ranks: scores of candidates; needed where a ranker chooses them.
    texts: whether anybody reads the texts of choices.
    earlier: the steps before each, for protocols that look at more than their actions.
    tokens: counts the tokens of a text as the model does; None: by cl100k.
    conversations: all rows of the conversations, for protocols that show finished turns.
    attributes: what AutoWebGLM's form shows of elements.
    """

    def __init__(
        self,
        settings: Settings,
        protocol: AskingProtocol,
        pictures: PicturePolicy,
        rule: ImageRule | None = None,
        *,
        ranks: Ranks | None = None,
        texts: bool = True,
        earlier: EarlierSteps | None = None,
        tokens: Callable[[str], int] | None = None,
        conversations: StepDataset | None = None,
        attributes: Attributes = MIND2WEB_ATTRIBUTES,
    ) -> None:
        if settings.candidates == "ranker" and ranks is None:
            raise ValueError("candidates of a ranker need its ranks")
        self._settings = settings
        self._protocol = protocol
        self._policy = pictures
        self._rule = rule
        self._ranks = ranks
        self._earlier = earlier
        self._tokens = tokens
        self._attributes = attributes
        self._lister = Lister(settings, protocol, ranks, texts=texts)
        self._turns = None
        if conversations is not None:
            from harness.benchmarks.step.history import FinishedTurns

            self._turns = FinishedTurns(conversations, self._lister.offered)

    def questions(self, dataset: StepDataset) -> Iterator[Ready[StepView]]:
        """Prepare the rows of a data set, in file order, one at a time.

        A row that cannot be read becomes an invalid question where such rows are to be skipped.

        Raises:
            DataError: a file is damaged, or a row cannot be read.
        """
        for entry, row in dataset.decoded():
            yield self._question(entry, row)

    def _question(self, entry: StoredStep, row: Row | DataError) -> Ready[StepView]:
        skip = self._settings.skip_bad_rows
        try:
            if isinstance(row, DataError):
                raise row
            question = self.prepare(row)
            if skip:
                _check_pictures(row)
        except DataError as error:
            if not skip:
                hint = "--skip-bad-rows counts such rows as invalid"
                raise DataError(f"{error}; {hint}") from error
            known = blank(entry) if isinstance(row, DataError) else row
            unit = unreadable(known, str(error))
            return Ready(unit, StepView(step_of(unit), ()), Secret(unit.detail.gold))
        return question

    def prepare(self, row: Row) -> Ready[StepView]:
        """Prepare one row. Raises `DataError` naming the row when its page cannot be read."""
        page: Page | None = None
        data, stored = row.detail.screenshot, row.detail.stored
        try:
            screenshot = read_size(data) if data else None
            if stored is not None:
                unit = self._lister.as_stored(row, stored)
                pictures = tuple(map(stored_picture, stored.pictures))
            else:
                page = page_of(row)
                unit = self._lister.listed(row, page)
                pictures = self._plan(screenshot, unit)
        except PictureError as error:
            raise DataError(f"{row.source or row.unit_id}: {error}") from error
        if screenshot is not None:
            unit = replace(
                unit,
                digests={**unit.digests, "screenshot": screenshot.digest},
                detail=replace(unit.detail, page_size=(screenshot.width, screenshot.height)),
            )
        unit = replace(unit, pictures=pictures)
        scene: Scene | None = None
        if page is not None and self._protocol.needs.scene:
            scene = self._scene(page, unit, screenshot)
        step = replace(step_of(unit), stored=stored, scene=scene, tokens=self._tokens)
        sources = _sources(row, pictures, screenshot)
        if self._earlier is not None:
            before = self._earlier.before(step.info)
            step = replace(step, before=before)
            if self._earlier.replies is not None:
                step = replace(step, history=told(step.history, before))
            sources |= self._earlier.sources(step.info)
            self._earlier.seen(row)
        if self._turns is not None and (turns := self._turns.before(step.info)):
            step = replace(step, turns=turns)
            unit = replace(unit, detail=replace(unit.detail, turns=tuple(map(turn_record, turns))))
        gold = unit.detail.gold
        missed = unit.invalid is None and gold.shown is None and self._settings.missed != "ask"
        return Ready(
            unit,
            StepView(step, unit.detail.choices),
            Secret(replace(gold, shown=None), gold.shown),
            sources,
            NOT_OFFERED if missed else None,
        )

    def _plan(self, screenshot: Screenshot | None, unit: StepUnit) -> tuple[Picture, ...]:
        # Crops are planned later, when the protocol asks the scene for them.
        if screenshot is None or self._protocol.needs.pictures != "page":
            return ()
        boxes = [choice.box for choice in unit.detail.choices]
        return plan(self._policy, screenshot, boxes, self._rule, target_of(unit))

    def _scene(self, page: Page, unit: StepUnit, screenshot: Screenshot | None) -> PageScene:
        # Only oracle policies may know where the correct element is.
        target = target_of(unit) if self._policy.oracle else None
        return PageScene(
            page,
            unit.detail.choices,
            self._policy,
            screenshot,
            self._rule,
            target,
            self._attributes,
        )


def _check_pictures(row: Row) -> None:
    stored = row.detail.stored.pictures if row.detail.stored is not None else ()
    for data in stored or ((row.detail.screenshot,) if row.detail.screenshot else ()):
        try:
            check_picture(data)
        except PictureError as error:
            raise DataError(f"{row.source or row.unit_id}: {error}") from error


def blank(entry: StoredStep) -> Row:
    """Return a row with its narrow columns only; its operation is a placeholder."""
    return entry.with_detail(RowDetail(entry.detail.action_uid), source=str(entry.detail))


def unreadable(row: Row, reason: str) -> StepUnit:
    """Return the unit of a row that cannot be read."""
    return replace(unlisted(row), invalid=UNREADABLE, error=reason)


def recorded_question(record: StepUnit, *, scene: bool) -> Ready[StepView]:
    """The question of a step on record; with a `scene`, that knows the recorded texts."""
    choices = record.detail.choices
    step = step_of(record)
    if scene:
        step = replace(step, scene=RecordedScene(choices))
    gold, said = record.detail.gold, record.prediction
    missed = said is not None and said.status is Status.NOT_OFFERED
    secret, known = Secret(gold, gold.shown), NOT_OFFERED if missed else None
    return Ready(record, StepView(step, choices), secret, known=known)


def _sources(
    row: Row, pictures: Sequence[Picture], screenshot: Screenshot | None
) -> dict[str, bytes]:
    if row.detail.stored is not None:
        return {
            p.digest: data for p, data in zip(pictures, row.detail.stored.pictures, strict=True)
        }
    return (
        {screenshot.digest: row.detail.screenshot} if screenshot and row.detail.screenshot else {}
    )


def told(history: tuple[str, ...], before: Sequence[Earlier]) -> tuple[str, ...]:
    """Return the actions in words, those of `before` where they are known."""
    words = {one.index: one.words for one in before if one.words}
    return tuple(words.get(number, line) for number, line in enumerate(history))
