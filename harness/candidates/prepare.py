"""From a row to its list of choices, in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.candidates.choose import USUAL, CandidateOptions, Chosen, choose
from harness.candidates.facts import ChoiceFacts, choice_facts
from harness.candidates.render import Form, render
from harness.errors import DataError
from harness.page import Page, PageError

if TYPE_CHECKING:
    from harness.records import Choice, Row


@dataclass(frozen=True, slots=True)
class Prepared:
    """The choices as listed, how they were chosen, and what there is to know about them."""

    choices: tuple[Choice, ...]
    chosen: Chosen
    facts: ChoiceFacts


def page_of(row: Row) -> Page:
    """The page of a row. Raises `DataError` when it cannot be parsed."""
    try:
        return Page.parse(row.html)
    except PageError as error:
        raise DataError(f"{row.source}: column 'cleaned_html': {error}") from error


def prepare(
    row: Row,
    page: Page,
    *,
    seed: int = 42,
    distractors: int = 20,
    options: CandidateOptions = USUAL,
    form: Form = "mindact",
    words: int = 10,
    choice_tokens: int | None = 400,
    letters: Callable[[int], Sequence[str]] | None = None,
) -> Prepared:
    """Choose, render and count; see `choose`, `render` and `choice_facts` for the arguments.

    `letters` gives the letters of so many choices; A, B, ... without it.
    """
    chosen = choose(row, page, seed=seed, distractors=distractors, options=options)
    choices = render(
        row,
        page,
        chosen,
        form=form,
        words=words,
        choice_tokens=choice_tokens,
        letters=letters(len(chosen.ids)) if letters else None,
    )
    return Prepared(choices, chosen, choice_facts(page, chosen, choices))
