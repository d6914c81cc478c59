"""Options of recorded steps: candidates, pictures, earlier steps, and the rules of scoring."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from adapters.options import Count, PathText
from harness.benchmarks.options import Options
from harness.options import AtLeastZero, Source, setting, short_form
from parsers.records import F1Variant
from parsers.scoring import PointRule

_question = partial(setting, group="Question")
_scoring = partial(setting, group="Scoring")


@dataclass(frozen=True, kw_only=True)
class EarlierOptions(Options):
    """Options of steps with earlier ones."""

    history_from: PathText | None = _question(
        None,
        "Complete run whose replies stand for the recorded actions of earlier steps.",
        metavar="RUN",
    )


@dataclass(frozen=True, kw_only=True)
class ElementOptions(Options):
    """Options of pages whose elements are offered."""

    candidates: Source | None = _question(
        None,
        "Candidates to choose from: the positive among seeded negatives (snapshot), the top of a "
        "ranking (ranker), or every element (all). Default: the protocol's.",
    )
    ranker: PathText | None = short_form("ranker")
    top_k: Count | None = _question(
        None,
        "Number of top-ranked candidates to choose from. Default: the protocol's.",
        metavar="K",
    )


@dataclass(frozen=True, kw_only=True)
class StepOptions(ElementOptions, EarlierOptions):
    """Options of recorded steps."""

    distractors: AtLeastZero | None = short_form("distractors")
    missed: Literal["zero", "ask"] | None = _question(
        None,
        "Steps without a positive among the top candidates: score them as zero (default), or ask "
        "anyway.",
    )
    positives: Literal["all", "original"] = _question(
        "all",
        "Elements that count as correct: all acceptable ones, or only the labelled one.",
    )
    shown: Literal["seeded", "original", "top-level"] = _question(
        "seeded", "Choice among several positives."
    )
    exclude_related: bool = _question(False, "Leave out ancestors and descendants of the positive.")
    exclude_same_text: bool = _question(
        False, "Leave out negatives whose text equals the positive's."
    )
    order: AtLeastZero = _question(
        0, "Number of the shuffle that orders the listed choices.", metavar="N"
    )
    lost_rows: bool = setting(
        False,
        "Ask about steps whose screenshot is missing, too (text-only runs).",
        group="Data",
    )
    f1: F1Variant | None = short_form("f1")
    step_rule: Literal["f1", "exact"] = _scoring(
        "f1",
        "A step succeeds with the right element and F1 = 1 (f1), or with operation and value "
        "exactly as recorded (exact).",
    )
    none_zeroes_operation: bool = _scoring(
        False, "Operation F1 is 0 where the model answers 'none of these'."
    )
    no_element_zeroes_operation: bool = _scoring(
        False,
        "Operation F1 is 0 where the reply names no element: none of these, unreadable, ambiguous, "
        "or beyond the list (as in the code of Mind2Web and SeeAct).",
    )
    wrong_element_zeroes_operation: bool = _scoring(
        False, "Operation F1 is 0 where the element is wrong."
    )
    mapped_operations: bool = _scoring(
        True, "Read HOVER and ENTER as CLICK, as Mind2Web's annotation does."
    )
    bag: bool = _scoring(False, "Count repeated tokens in the cl100k-lc variant of F1.")
    point_rule: PointRule = _scoring(
        "box",
        "A point is correct inside the box of an acceptable element (box), where the smallest "
        "candidate under it is one (smallest), or inside the labelled element's box (original).",
    )
