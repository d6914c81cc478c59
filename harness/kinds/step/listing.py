"""The candidates that a step offers, as listed to the model."""

from __future__ import annotations

from dataclasses import dataclass

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
from harness.kinds.step.history import Offered
from harness.page import Box, Page, PageError
from harness.protocols import StepProtocol
from harness.rankers import Ranks
from harness.records import Choice, Row, StoredQuestion
from harness.settings import Settings


@dataclass(frozen=True, slots=True)
class Listed:
    """The choices in listed order, the id of the positive among them, and facts about them."""

    choices: tuple[Choice, ...]
    shown: str | None
    facts: ChoiceFacts


class Lister:
    """Lists the candidates of rows under the settings of a run.

    ranks: scores of candidates; needed where a ranker chooses them.
    texts: whether anybody reads the texts of choices.
    """

    def __init__(
        self, settings: Settings, protocol: StepProtocol, ranks: Ranks | None, *, texts: bool
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

    def listed(self, row: Row, page: Page) -> Listed:
        """The choices of a row. Raises `UserError` if they are more than the protocol can list."""
        settings, needs = self._settings, self._protocol.needs
        chosen = self._chosen(row, page)
        try:
            letters = self._protocol.letters(len(chosen.ids)).choices
        except ValueError as error:
            where = row.source or row.step_id
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
        if settings.candidates == "all":
            # Some candidate always encloses the correct element, so there is nothing to count.
            facts = ChoiceFacts(absent=len(chosen.absent), lost=chosen.lost)
        else:
            facts = choice_facts(page, chosen, choices)
        return Listed(choices, chosen.shown, facts)

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
        return positives, tuple((one, place if ranked else None) for place, one in enumerate(ids))

    def may_miss(self, row: Row) -> bool:
        """Return whether the ranker leaves out an acceptable element."""
        return self._settings.candidates == "ranker" and bool(accepted(row, self.options))


def target_of(listed: Listed) -> Box | None:
    """Where the listed positive is on the page; None if that is unknown or none is listed."""
    return next((c.box for c in listed.choices if c.id == listed.shown), None)


def as_listed(row: Row, stored: StoredQuestion, distractors: int) -> Listed:
    """Return the choices of a stored question; `distractors` of them should be negatives."""
    right = {candidate.id for candidate in row.positives}
    shown = next((choice.id for choice in stored.choices if choice.id in right), None)
    chosen = Chosen(tuple(choice.id for choice in stored.choices), shown, distractors)
    return Listed(stored.choices, shown, choice_facts(_page(row, chosen), chosen, stored.choices))


def _page(row: Row, chosen: Chosen) -> Page | None:
    """Return the page if it can be read and has all choices under their ids (rabbit's has not)."""
    try:
        page = Page.parse(row.html)
    except PageError:
        return None
    return page if all(node in page for node in chosen.ids) else None
