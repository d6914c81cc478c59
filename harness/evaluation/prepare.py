"""From a row to a question: choices, pictures, the protocol's view of the step, and the record.

`Preparer.prepare` does the page work of a step (parsing, choosing, rendering, planning pictures)
and nothing else: no picture is decoded and no model is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from adapters.contract import ImageRule
from adapters.conversation import Picture
from harness.candidates import (
    CandidateOptions,
    page_of,
    prepare,
    restrict,
)
from harness.errors import DataError
from harness.evaluation.config import Asking, Choosing
from harness.evaluation.lines import plain_box, unasked
from harness.evaluation.stored import Listed, as_listed, as_sent
from harness.pictures import PictureError, PicturePolicy, Screenshot, plan, read_size
from harness.policies.contract import Secret
from harness.protocols.contract import AskingProtocol
from harness.records import NO_POSITIVE, NO_SCREENSHOT, Choice, Row, Step
from harness.runs import ChoiceRecord, StepRecord, picture_record
from parsers.records import Gold

POSITIVE_NOT_ON_PAGE = "positive_not_on_page"


@dataclass(frozen=True, slots=True)
class Question:
    """Everything about one step before it is asked; the page itself has been let go.

    `record` is the step's line as long as nothing was asked; its `invalid` is the reason why no
    model is asked, None for a valid step. `data` is the encoded screenshot.
    """

    step: Step
    choices: tuple[Choice, ...]
    gold: Gold
    shown: str | None
    record: StepRecord
    data: bytes | None

    @property
    def secret(self) -> Secret:
        return Secret(self.gold, self.shown)


class Preparer:
    """Prepares the rows of a run under its settings."""

    def __init__(
        self,
        choosing: Choosing,
        asking: Asking,
        protocol: AskingProtocol,
        pictures: PicturePolicy,
        rule: ImageRule | None = None,
    ) -> None:
        self._choosing = choosing
        self._asking = asking
        self._protocol = protocol
        self._policy = pictures
        self._rule = rule
        self._options = CandidateOptions(
            positives=choosing.positives,
            shown=choosing.shown,
            exclude_related=choosing.exclude_related,
            exclude_same_text=choosing.exclude_same_text,
            order=choosing.order,
        )

    def prepare(self, row: Row) -> Question:
        """Prepare one row. Raises `DataError` naming the row when its page cannot be read."""
        try:
            screenshot = read_size(row.screenshot) if row.screenshot else None
            if row.stored is not None:
                listed = as_listed(row, row.stored, self._choosing.distractors)
                pictures = as_sent(row.stored)
            else:
                listed = self._choose(row)
                pictures = self._plan(screenshot, listed)
        except PictureError as error:
            raise DataError(f"{row.source or row.step_id}: {error}") from error
        gold = restrict(row, self._options).gold
        return Question(
            step=view(row, pictures),
            choices=listed.choices,
            gold=gold,
            shown=listed.shown,
            record=self._record(row, listed, gold, screenshot, pictures),
            data=row.screenshot,
        )

    def _record(
        self,
        row: Row,
        listed: Listed,
        gold: Gold,
        size: Screenshot | None,
        pictures: tuple[Picture, ...],
    ) -> StepRecord:
        right = set(gold.positives)
        line = unasked(row, gold)
        return replace(
            line,
            invalid=self._invalid(row, listed),
            screenshot_digest=size.digest if size else None,
            page_size=(size.width, size.height) if size else None,
            pictures=tuple(picture_record(picture) for picture in pictures),
            gold=replace(line.gold, shown=listed.shown),
            choices=tuple(
                ChoiceRecord(c.letter, c.id, c.tag, c.text, plain_box(c.box), c.id in right)
                for c in listed.choices
            ),
            none_letter=self._protocol.letters(len(listed.choices)).none,
            same_text=listed.facts.same_text,
            related=listed.facts.related,
            short=listed.facts.short,
        )

    def _plan(self, screenshot: Screenshot | None, listed: Listed) -> tuple[Picture, ...]:
        if screenshot is None:
            return ()
        target = next((c.box for c in listed.choices if c.id == listed.shown), None)
        boxes = [choice.box for choice in listed.choices]
        return plan(self._policy, screenshot, boxes, self._rule, target)

    def _choose(self, row: Row) -> Listed:
        choosing = self._choosing
        prepared = prepare(
            row,
            page_of(row),
            seed=choosing.seed,
            distractors=choosing.distractors,
            options=self._options,
            form=choosing.form,
            choice_tokens=choosing.choice_tokens,
            letters=lambda count: self._protocol.letters(count).choices,
        )
        return Listed(prepared.choices, prepared.chosen.shown, prepared.facts)

    def _invalid(self, row: Row, listed: Listed) -> str | None:
        if listed.shown is None:
            return POSITIVE_NOT_ON_PAGE if listed.facts.lost else NO_POSITIVE
        if row.invalid == NO_SCREENSHOT and self._asking.lost_rows:
            return None
        return row.invalid


def view(row: Row, pictures: tuple[Picture, ...]) -> Step:
    """What a protocol may know of a row."""
    return Step(
        step_id=row.step_id,
        task_id=row.task_id,
        index=row.index,
        split=row.split,
        website=row.website,
        domain=row.domain,
        subdomain=row.subdomain,
        task=row.task,
        history=row.history,
        pictures=pictures,
        stored=row.stored,
    )
