"""From a row to its list of choices, in one call."""

from __future__ import annotations

from dataclasses import dataclass

from harness.candidates import (
    CandidateOptions,
    ChoiceFacts,
    Chosen,
    Form,
    choice_facts,
    choose,
    render,
)
from harness.page import Page
from harness.records import Choice, Row

USUAL = CandidateOptions()


@dataclass(frozen=True, slots=True)
class Prepared:
    """The choices as listed, how they were chosen, and what there is to know about them."""

    choices: tuple[Choice, ...]
    chosen: Chosen
    facts: ChoiceFacts


def prepare(
    row: Row,
    page: Page,
    *,
    distractors: int = 20,
    options: CandidateOptions = USUAL,
    form: Form = "mindact",
    choice_tokens: int | None = 400,
) -> Prepared:
    """Choose, render and count; see `choose`, `render` and `choice_facts` for the arguments."""
    chosen = choose(row, page, distractors=distractors, options=options)
    choices = render(row, page, chosen, form=form, choice_tokens=choice_tokens)
    return Prepared(choices, chosen, choice_facts(page, chosen, choices))
