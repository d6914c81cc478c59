"""How chosen candidates read in the list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from harness.candidates.choose import Chosen
from harness.page import Page
from harness.records import Choice
from parsers.letters import letter
from parsers.tokens import count_tokens

if TYPE_CHECKING:
    from harness.records import Row

Form = Literal["mindact", "bnid"]


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
    """
    if form == "mindact":
        texts = {choice.id: choice.text for choice in page.choices(chosen.ids, words=words)}
    else:
        texts = {i: page.compact(i, max_tokens=choice_tokens, count=count) for i in chosen.ids}
    known = {c.id: c for c in (*row.negatives, *row.positives)}
    lettered = letters or [letter(number) for number in range(len(chosen.ids))]
    return tuple(
        Choice(name, i, known[i].tag, texts[i], known[i].box)
        for name, i in zip(lettered, chosen.ids, strict=True)
    )
