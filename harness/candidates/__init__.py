"""Which candidates of a row are shown, in which order, and how they read.

    page = page_of(row)
    chosen = choose(row, page, seed=42, distractors=20)
    chosen.shown                          # the positive among them, never for a model
    choices = render(row, page, chosen)   # letters, ids, texts and boxes, in the order shown

`choose` picks ids, and so do `first_of` (the first of a ranker) and `everything`; `choice_facts`
counts what a reader of the results should know about the lists.
"""

from __future__ import annotations

from harness.candidates.listing import ChoiceFacts, Form, choice_facts, page_of, render
from harness.candidates.seeded_order import Ranking
from harness.candidates.selection import (
    CandidateOptions,
    Chosen,
    accepted,
    check_distractors,
    choose,
    everything,
    first_of,
    restrict,
)

__all__ = [
    "CandidateOptions",
    "ChoiceFacts",
    "Chosen",
    "Form",
    "Ranking",
    "accepted",
    "check_distractors",
    "choice_facts",
    "choose",
    "everything",
    "first_of",
    "page_of",
    "render",
    "restrict",
]
