"""How chosen candidates read in the list, and what there is to know about the list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from harness.candidates.selection import Chosen, reading
from harness.errors import DataError
from harness.page import Page, PageError
from harness.records import Choice
from parsers.letters import letter
from parsers.records import Description
from parsers.tokens import count_tokens

if TYPE_CHECKING:
    from harness.records import Row

Form = Literal["mindact", "bnid"]


@dataclass(frozen=True, slots=True)
class ChoiceFacts:
    """Of one list: how many negatives read exactly like the positive shown, how many lie around or
    inside it, whether there were too few, how many candidates the page does not have, and whether
    the positives are among those.
    """

    same_text: int = 0
    related: int = 0
    short: bool = False
    absent: int = 0
    lost: bool = False


def page_of(row: Row) -> Page:
    """The page of a row. Raises `DataError` when it cannot be parsed."""
    try:
        return Page.parse(row.html)
    except PageError as error:
        raise DataError(f"{row.source}: column 'cleaned_html': {error}") from error


def render(
    row: Row,
    page: Page,
    chosen: Chosen,
    *,
    form: Form = "mindact",
    words: int = 10,
    choice_tokens: int | None = 400,
    count: Callable[[str], int] = count_tokens,
    letters: Sequence[str] | None = None,
    texts: bool = True,
    descriptions: bool = False,
    ranked: bool = False,
) -> tuple[Choice, ...]:
    """The chosen candidates as choices, in the order chosen.

    Args:
        row: the step, for tags and boxes.
        page: the step's page.
        chosen: ids that are on the page.
        form: "mindact" for at most `words` words of the page pruned to the candidates, "bnid" for
            whole elements on one line, cut to `choice_tokens` (None: never cut).
        words: see `form`.
        choice_tokens: see `form`.
        count: the tokens of a text, cl100k_base unless given.
        letters: one per choice; A, B, ... unless given.
        texts: False leaves every text empty.
        descriptions: whether choices carry what the elements say of themselves.
        ranked: whether the order chosen is that of a ranker.
    """
    if not texts:
        read = dict.fromkeys(chosen.ids, "")
    elif form == "mindact":
        read = {choice.id: choice.text for choice in page.choices(chosen.ids, words=words)}
    else:
        read = {i: page.compact(i, max_tokens=choice_tokens, count=count) for i in chosen.ids}
    places = {node_id: place for place, node_id in enumerate(page.in_order(chosen.ids))}
    known = {c.id: c for c in (*row.negatives, *row.positives)}
    lettered = letters or [letter(number) for number in range(len(chosen.ids))]
    return tuple(
        Choice(
            lettered[number],
            i,
            known[i].tag,
            read[i],
            known[i].box,
            rank=number if ranked else None,
            description=_description(page, i) if descriptions else None,
            place=places[i],
        )
        for number, i in enumerate(chosen.ids)
    )


def choice_facts(page: Page | None, chosen: Chosen, choices: Sequence[Choice]) -> ChoiceFacts:
    """Count on the list as it is shown; a candidate's own number is not a difference in text.

    Without the page nothing is known about which elements lie in which. Choices without
    texts are not compared at all.
    """
    same = related = 0
    if chosen.shown is not None and any(choice.text for choice in choices):
        texts = {choice.id: reading(choice.text) for choice in choices}
        for node_id in chosen.ids:
            if node_id != chosen.shown:
                same += texts[node_id] == texts[chosen.shown]
                related += page is not None and page.related(node_id, chosen.shown)
    return ChoiceFacts(same, related, chosen.short, len(chosen.absent), chosen.lost)


def _description(page: Page, node_id: str) -> Description:
    facts = page.role_of(node_id)
    return Description(facts.role, facts.type, facts.labels, page.text_of(node_id))
