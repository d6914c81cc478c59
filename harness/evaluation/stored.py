"""Steps of a snapshot on disk: choices as listed there, pictures sent as they are."""

from __future__ import annotations

from dataclasses import dataclass

from adapters.conversation import Picture
from harness.candidates import ChoiceFacts, Chosen, choice_facts
from harness.page import Page, PageError
from harness.pictures import stored_picture
from harness.records import Choice, Row, StoredQuestion


@dataclass(frozen=True, slots=True)
class Listed:
    """Choices in listed order, the positive among them, and what there is to know about them."""

    choices: tuple[Choice, ...]
    shown: str | None
    facts: ChoiceFacts


def as_listed(row: Row, stored: StoredQuestion, distractors: int) -> Listed:
    """The choices that the stored question lists, of which `distractors` should be negatives."""
    right = {candidate.id for candidate in row.positives}
    shown = next((choice.id for choice in stored.choices if choice.id in right), None)
    chosen = Chosen(tuple(choice.id for choice in stored.choices), shown, distractors)
    return Listed(stored.choices, shown, choice_facts(_page(row, chosen), chosen, stored.choices))


def _page(row: Row, chosen: Chosen) -> Page | None:
    """The page, if it can be read and has the choices under their ids; rabbit's has not."""
    try:
        page = Page.parse(row.html)
    except PageError:
        return None
    return page if all(node in page for node in chosen.ids) else None


def as_sent(stored: StoredQuestion) -> tuple[Picture, ...]:
    """The pictures of the stored question. Raises `PictureError` for one that is none."""
    return tuple(stored_picture(data) for data in stored.pictures)
