"""A recorded step as listed: its line with the choices, and the `Step` that a protocol sees."""

from __future__ import annotations

import hashlib
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from harness.benchmarks.step.scene import RecordedScene
from harness.candidates import (
    CandidateOptions,
    ChoiceFacts,
    Chosen,
    accepted,
    choice_facts,
    choose,
    everything,
    first_of,
    page_of,
    render,
)
from harness.errors import UserError
from harness.page import Box, Page, PageError
from harness.protocols import AskingProtocol
from harness.records import (
    NO_POSITIVE,
    NO_SCREENSHOT,
    Choice,
    Row,
    SeenAction,
    Step,
    StoredQuestion,
)
from harness.runs import StepDetail, StepUnit
from harness.runs.steps import info_of
from harness.settings import Settings
from parsers.records import Gold, PastAction, Turn

if TYPE_CHECKING:
    from harness.benchmarks.step.history import Offered
    from harness.rankers import Ranks


def unlisted(row: Row, gold: Gold | None = None) -> StepUnit:
    """Return a decoded step as a line has it, without choices, pictures and outcome."""
    detail = row.detail
    gold = gold or detail.gold
    return row.with_detail(
        StepDetail(
            action_uid=detail.action_uid,
            history=detail.history,
            page_size=None,
            positives=len(detail.positives),
            negatives=len(detail.negatives),
            gold=gold,
        ),
        labels={**row.labels, "operation": gold.operation},
        digests={"html": hashlib.sha256(detail.html.encode()).hexdigest()},
    )


def _plain(action: PastAction) -> dict[str, Any]:
    return {one.name: getattr(action, one.name) for one in fields(PastAction)}


def turn_record(turn: Turn[SeenAction]) -> Turn[PastAction]:
    """Return a finished turn as a step's line has it, without pages and candidates."""
    return Turn(turn.turn_id, turn.task, tuple(PastAction(**_plain(one)) for one in turn.actions))


def turn_of_record(turn: Turn[PastAction]) -> Turn[SeenAction]:
    """Return a recorded turn: its pages show nothing, and its candidates are unknown."""
    actions = (
        SeenAction(
            **_plain(one),
            candidates=(),
            elements=(),
            scene=RecordedScene([Choice("", node_id, "", "") for node_id in one.positives]),
        )
        for one in turn.actions
    )
    return Turn(turn.turn_id, turn.task, tuple(actions))


def step_of(record: StepUnit) -> Step:
    """Return what a protocol may know of a listed step, without its page."""
    detail = record.detail
    return Step(
        step_id=record.unit_id,
        info=info_of(record),
        history=detail.history,
        pictures=record.pictures,
        page_size=detail.page_size,
        turns=tuple(map(turn_of_record, detail.turns or ())),
    )


POSITIVE_NOT_ON_PAGE = "positive_not_on_page"


class Lister:
    """Lists the candidates of rows under the settings of a run.

    ranks: scores of candidates; needed where a ranker chooses them.
    texts: whether anybody reads the texts of choices.
    """

    def __init__(
        self, settings: Settings, protocol: AskingProtocol, ranks: Ranks | None, *, texts: bool
    ) -> None:
        self._settings = settings
        self._protocol = protocol
        self._ranks = ranks
        self._texts = texts
        self.options = CandidateOptions(
            positives=settings.positives,
            shown=settings.shown,
            exclude_related=settings.exclude_related,
            exclude_same_text=settings.exclude_same_text,
            order=settings.order,
        )

    def listed(self, row: Row, page: Page) -> StepUnit:
        """List the candidates of a row. Raises `UserError` if they are too many to be lettered."""
        settings, needs = self._settings, self._protocol.needs
        chosen = self._chosen(row, page)
        try:
            letters = self._protocol.letters(len(chosen.ids)).choices
        except ValueError as error:
            where = row.source or row.unit_id
            raise UserError(
                f"{where}: {len(chosen.ids)} candidates are too many: {error}"
            ) from error
        form, choice_tokens = self._protocol.choice_form
        choices = render(
            row,
            page,
            chosen,
            form=form,
            choice_tokens=choice_tokens,
            letters=letters,
            texts=self._texts,
            descriptions=needs.descriptions,
            ranked=settings.candidates == "ranker",
        )
        # Some candidate of a whole page always encloses the correct element: nothing to count.
        page_facts = settings.candidates != "all"
        facts = choice_facts(page, chosen, choices) if page_facts else ChoiceFacts()
        return self._unit(row, choices, chosen, facts)

    def as_stored(self, row: Row, stored: StoredQuestion) -> StepUnit:
        """List the choices of a stored question."""
        right = row.detail.gold.elements
        shown = next((choice.id for choice in stored.choices if choice.id in right), None)
        ids = tuple(choice.id for choice in stored.choices)
        chosen = Chosen(ids, shown, self._settings.distractors)
        facts = choice_facts(_page(row, chosen), chosen, stored.choices)
        return self._unit(row, stored.choices, chosen, facts)

    def _unit(
        self, row: Row, choices: tuple[Choice, ...], chosen: Chosen, facts: ChoiceFacts
    ) -> StepUnit:
        gold = replace(row.detail, positives=accepted(row, self.options)).gold
        unit = unlisted(row, replace(gold, shown=chosen.shown))
        detail = replace(
            unit.detail,
            choices=choices,
            none_letter=self._protocol.letters(len(choices)).none,
            same_text=facts.same_text,
            related=facts.related,
            short=facts.short,
        )
        return replace(unit, invalid=self._invalid(row, chosen), detail=detail)

    def _invalid(self, row: Row, chosen: Chosen) -> str | None:
        if row.detail.counts:
            return row.invalid
        if chosen.lost:
            return POSITIVE_NOT_ON_PAGE
        may_miss = self._settings.candidates == "ranker" and accepted(row, self.options)
        if chosen.shown is None and not may_miss:
            return NO_POSITIVE
        if row.invalid == NO_SCREENSHOT and self._settings.lost_rows:
            return None
        return row.invalid

    def _chosen(self, row: Row, page: Page) -> Chosen:
        settings = self._settings
        if settings.candidates == "all":
            return everything(row, page, self.options)
        if settings.candidates == "ranker":
            assert self._ranks is not None and settings.top_k is not None
            return first_of(row, page, self._ranks.of(row, page), settings.top_k, self.options)
        return choose(
            row,
            page,
            seed=settings.seed,
            distractors=settings.distractors,
            options=self.options,
        )

    def offered(self, row: Row) -> Offered:
        """What `SeenAction` has of a row's elements: those offered as candidates of this run, but
        drawn by no seed, as what was done before is known."""
        page = page_of(row)
        every = everything(row, page, self.options)
        ranked = self._settings.candidates == "ranker"
        ids = self._chosen(row, page).ids if ranked else every.ids
        right = {candidate.id for candidate in accepted(row, self.options)}
        positives = tuple(node_id for node_id in every.ids if node_id in right)
        candidates = tuple((one, place if ranked else None) for place, one in enumerate(ids))
        return positives, candidates, every.ids


def target_of(unit: StepUnit) -> Box | None:
    """Where the listed positive is on the page; None if that is unknown or none is listed."""
    detail = unit.detail
    return next((c.box for c in detail.choices if c.id == detail.gold.shown), None)


def _page(row: Row, chosen: Chosen) -> Page | None:
    """Return the page if it can be read and has all choices under their ids (rabbit's has not)."""
    try:
        page = Page.parse(row.detail.html)
    except PageError:
        return None
    return page if all(node in page for node in chosen.ids) else None
