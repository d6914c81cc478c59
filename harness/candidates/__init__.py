"""Candidates: which ones are listed as choices, in what order, and with what text.

    page = page_of(row)
    chosen = choose(row, page, seed=42, distractors=20)
    chosen.shown                          # the positive among them, never sent to a model
    choices = render(row, page, chosen)   # letters, ids, texts and boxes, in the order shown

`choose` selects by seed, `first_of` takes the first of a ranker, `everything` takes all;
`choice_facts` counts what readers of the results should know about a list.
"""

from __future__ import annotations

from harness.candidates.listing import ChoiceFacts, Form, choice_facts, page_of, render
from harness.candidates.selection import (
    CandidateOptions,
    Chosen,
    SeededOrder,
    accepted,
    check_distractors,
    choose,
    everything,
    first_of,
)

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
