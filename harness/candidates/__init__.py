"""Candidates: which ones are listed as choices, in what order, and with what text.

    page = page_of(row)
    chosen = choose(row, page, seed=42, distractors=20)
    chosen.shown                          # the positive among them, never sent to a model
    choices = render(row, page, chosen)   # letters, ids, texts and boxes, in the order shown

`choose` selects by seed, `first_of` takes the first of a ranker, `everything` takes all;
`choice_facts` counts what readers of the results should know about a list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from harness.candidates.selection import (
    CandidateOptions,
    Chosen,
    SeededOrder,
    accepted,
    check_distractors,
    choose,
    everything,
    first_of,
    reading,
)
from harness.errors import DataError
from harness.page import Page, PageError
from harness.records import Choice
from parsers.option_text import letter
from parsers.records import Description
from parsers.token_scores import count_tokens

if TYPE_CHECKING:
    from harness.records import Row

__all__ = [
    "CandidateOptions",
    "ChoiceFacts",
    "Chosen",
    "Form",
    "SeededOrder",
    "accepted",
    "check_distractors",
    "choice_facts",
    "choose",
    "everything",
    "first_of",
    "page_of",
    "render",
]

Form = Literal["mindact", "bnid"]


@dataclass(frozen=True, slots=True)
class ChoiceFacts:
    """Facts about one list of choices, for readers of the results."""

    same_text: int = 0
    """Negatives with exactly the text of the positive."""
    related: int = 0
    """Negatives around or inside the positive."""
    short: bool = False
    """True if there are fewer negatives than asked for."""


def page_of(row: Row) -> Page:
    """Parse the page of a row. Raises `DataError` if it cannot be parsed."""
    try:
        return Page.parse(row.detail.html)
    except PageError as error:
        raise DataError(f"{row.source}: column 'cleaned_html': {error}") from error


def render(
    row: Row,
    page: Page,
    chosen: Chosen,
    *,
    form: Form = "mindact",
    choice_tokens: int | None = 400,
    letters: Sequence[str] | None = None,
    texts: bool = True,
    descriptions: bool = False,
    ranked: bool = False,
) -> tuple[Choice, ...]:
    """Write the selected candidates as choices, in their order.

    Args:
        row: the step, for tags and boxes.
        page: the step's page.
        chosen: the selected candidates.
        form: "mindact" for the beginning of each candidate in the page pruned to all of them,
            "bnid" for whole elements on one line.
        choice_tokens: longest text of the form "bnid", in tokens; None: never cut.
        letters: one per choice; A, B, ... by default.
        texts: False leaves every text empty.
        descriptions: True if choices carry role, type, labels and text of their elements.
        ranked: True if the order is that of a ranker.
    """
    if not texts:
        text_of = dict.fromkeys(chosen.ids, "")
    elif form == "mindact":
        text_of = {choice.id: choice.text for choice in page.choices(chosen.ids)}
    else:
        text_of = {
            i: page.compact(i, max_tokens=choice_tokens, count=count_tokens) for i in chosen.ids
        }
    places = {node_id: place for place, node_id in enumerate(page.in_order(chosen.ids))}
    candidates = row.detail.candidates
    used_letters = letters or [letter(number) for number in range(len(chosen.ids))]
    return tuple(
        Choice(
            used_letters[number],
            i,
            candidates[i].tag,
            text_of[i],
            candidates[i].box,
            rank=number if ranked else None,
            description=_description(page, i) if descriptions else None,
            place=places[i],
        )
        for number, i in enumerate(chosen.ids)
    )


def choice_facts(page: Page | None, chosen: Chosen, choices: Sequence[Choice]) -> ChoiceFacts:
    """Count facts about a list of choices; an element's number does not make its text different.

    Without the page, `related` is 0. Choices without texts are not compared.
    """
    same = related = 0
    if chosen.shown is not None and any(choice.text for choice in choices):
        texts = {choice.id: reading(choice.text) for choice in choices}
        for node_id in chosen.ids:
            if node_id != chosen.shown:
                same += texts[node_id] == texts[chosen.shown]
                related += page is not None and page.related(node_id, chosen.shown)
    return ChoiceFacts(same, related, chosen.short)


def _description(page: Page, node_id: str) -> Description:
    facts = page.role_of(node_id)
    return Description(facts.role, facts.type, facts.labels, page.text_of(node_id))
