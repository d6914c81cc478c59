"""What MT-Mind2Web declares of its results (Deng et al. 2024, "On the Multi-turn Instruction
Following for Conversational Web Agents").

The paper averages "per task, then over tasks"; its code groups steps in two ways. Both stand here
for all four measures. In tables, element accuracy and operation F1 are averaged by turn (the mean
in a turn, then over turns), step and turn success by conversation, which is our reading of which
number is which column. The other grouping is named `..._by_conversation` or `..._by_turn`.
"""

from __future__ import annotations

from dataclasses import replace

from parsers.declaration import Group, Level, Measure
from parsers.records import ELEMENT_ONLY, F1_VARIANTS, SPLIT, F1Variant, Gold, Prediction, Scores
from parsers.scoring import DEFAULT_RULES, MIND2WEB, ScoringRules, operation_f1_variants, score

VARIANTS: tuple[F1Variant, ...] = (*F1_VARIANTS, "mind2web-np")
"""Those of Mind2Web, and its own one without punctuation marks."""

OTHER_GROUPINGS = {
    "element": "element_by_conversation",
    "operation_f1": "operation_f1_by_conversation",
    "success": "success_by_turn",
}
"""Scores, and the names under which the same number is averaged by the other grouping."""

MT_MIND2WEB = replace(
    MIND2WEB,
    measures=(
        Measure("element", "Ele. Acc", "element accuracy by turn"),
        Measure("operation_f1", "Op. F1", "operation F1 by turn", unmeasured=ELEMENT_ONLY),
        *operation_f1_variants(VARIANTS),
        MIND2WEB["operation_exact"],
        replace(
            MIND2WEB["success"],
            head="SSR",
            main=False,
            meaning="step success by conversation",
            over="conversation",
        ),
        MIND2WEB["element_in_box"],
        MIND2WEB["element_under"],
        Measure(
            "element_by_conversation",
            meaning="element accuracy by conversation",
            over="conversation",
            averages=("macro",),
        ),
        Measure(
            "operation_f1_by_conversation",
            meaning="operation F1 by conversation",
            unmeasured=ELEMENT_ONLY,
            over="conversation",
            averages=("macro",),
        ),
        Measure(
            "success_by_turn",
            meaning="step success by turn",
            unmeasured=ELEMENT_ONLY,
            averages=("macro",),
        ),
        Measure(
            "turn_success",
            "TSR",
            "turn success by conversation",
            main=True,
            all_of="success",
            cells=("conversation",),
            unmeasured=ELEMENT_ONLY,
        ),
        Measure(
            "turn_success_by_turn",
            "TSR by turn",
            "turn success by turn",
            all_of="success",
            unmeasured=ELEMENT_ONLY,
        ),
    ),
    levels=(
        Level("task", one="turn", many="turns"),
        Level("conversation", extent="conversations on these websites"),
        Level("website", shared=True),
    ),
    groups=(
        Group(SPLIT, "the split", whole="conversation"),
        Group("website", "the website", whole="website"),
        Group("domain", "its domain", whole="website"),
        Group("subdomain", "its subdomain", whole="website"),
        Group("turn", "the number of its turn in the conversation", whole="task"),
        Group("operation", "the recorded operation"),
    ),
    clusters=("conversation", "website"),
)


def mt_score(prediction: Prediction, gold: Gold, rules: ScoringRules = DEFAULT_RULES) -> Scores:
    """Return the scores of a step that `MT_MIND2WEB` declares.

    Element, operation F1 and success are Mind2Web's (`parsers.scoring.score`): the chosen node is
    any acceptable one; F1 of the sets of unchanged words; both right.
    """
    scores = score(prediction, gold, replace(rules, variants=VARIANTS))
    return {**scores, **{other: scores[name] for name, other in OTHER_GROUPINGS.items()}}
