"""What a reader of the results should know about the lists of choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.candidates.choose import Chosen, reading
from harness.page import Page

if TYPE_CHECKING:
    from harness.records import Choice


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


def choice_facts(page: Page, chosen: Chosen, choices: Sequence[Choice]) -> ChoiceFacts:
    """Count on the list as it is shown; a candidate's own number is not a difference in text."""
    same = related = 0
    if chosen.shown is not None:
        texts = {choice.id: reading(choice.text) for choice in choices}
        for node_id in chosen.ids:
            if node_id != chosen.shown:
                same += texts[node_id] == texts[chosen.shown]
                related += page.related(node_id, chosen.shown)
    return ChoiceFacts(same, related, chosen.short, len(chosen.absent), chosen.lost)


@dataclass(frozen=True, slots=True)
class Tally:
    """The same over many rows: in how many each was the case."""

    rows: int = 0
    same_text: int = 0
    related: int = 0
    short: int = 0
    absent: int = 0
    lost: int = 0

    def plus(self, facts: ChoiceFacts) -> Tally:
        return Tally(
            self.rows + 1,
            self.same_text + bool(facts.same_text),
            self.related + bool(facts.related),
            self.short + facts.short,
            self.absent + bool(facts.absent),
            self.lost + facts.lost,
        )

    def lines(self, distractors: int) -> list[str]:
        """A sentence for each thing that was the case at all."""
        told = (
            (self.short, f"fewer than {distractors} negatives and show what there is"),
            (self.same_text, "a negative that reads exactly like the positive"),
            (self.related, "a negative around or inside the positive"),
            (self.absent, "candidates that are not on the page and were left out"),
            (self.lost, "positives of which none is on the page"),
        )
        return [f"{count} of {self.rows} rows have {what}" for count, what in told if count]
