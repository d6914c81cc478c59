"""Parse replies into answers, score answers, and aggregate scores into metrics with intervals.

Pure functions over frozen records. This package imports nothing else from the project, and
importing it loads nothing: what it has is loaded when it is asked for.

Part of vlm-web-eval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parsers.answers import read_answer, write_answer
    from parsers.averages import every_result, results
    from parsers.counting import PARSE_FAILURES, AggregationRules, InvalidPolicy, Unattempted
    from parsers.declaration import Average, Declaration, Group, Level, Measure
    from parsers.estimates import Bounds, Counts, Estimate, Results
    from parsers.mind2web import MIND2WEB
    from parsers.option_text import index_of, letter, letters_for
    from parsers.rates import FEW, Interval, clopper_pearson, mean_interval, t_interval
    from parsers.records import (
        ELEMENT_ONLY,
        F1_VARIANTS,
        OPERATIONS,
        READING,
        Answer,
        F1Variant,
        Gold,
        Operation,
        Prediction,
        ScoredUnit,
        Scores,
        Status,
    )
    from parsers.scoring import PointRule, ScoringRules, in_box, score
    from parsers.token_scores import (
        VocabularyError,
        count_tokens,
        operation_exact,
        operation_f1,
        operation_string,
        token_f1,
    )
    from parsers.values import ValueStyle, clean_value

__all__ = [
    "ELEMENT_ONLY",
    "F1_VARIANTS",
    "FEW",
    "MIND2WEB",
    "OPERATIONS",
    "PARSE_FAILURES",
    "READING",
    "AggregationRules",
    "Answer",
    "Average",
    "Bounds",
    "Counts",
    "Declaration",
    "Estimate",
    "F1Variant",
    "Gold",
    "Group",
    "Interval",
    "InvalidPolicy",
    "Level",
    "Measure",
    "Operation",
    "PointRule",
    "Prediction",
    "Results",
    "ScoredUnit",
    "Scores",
    "ScoringRules",
    "Status",
    "Unattempted",
    "ValueStyle",
    "VocabularyError",
    "clean_value",
    "clopper_pearson",
    "count_tokens",
    "every_result",
    "in_box",
    "index_of",
    "letter",
    "letters_for",
    "mean_interval",
    "operation_exact",
    "operation_f1",
    "operation_string",
    "read_answer",
    "results",
    "score",
    "t_interval",
    "token_f1",
    "write_answer",
]

_NAMES = {
    "parsers.averages": "every_result results",
    "parsers.counting": "PARSE_FAILURES AggregationRules InvalidPolicy Unattempted",
    "parsers.estimates": "Bounds Counts Estimate Results",
    "parsers.answers": "read_answer write_answer",
    "parsers.declaration": "Average Declaration Group Level Measure",
    "parsers.mind2web": "MIND2WEB",
    "parsers.option_text": "index_of letter letters_for",
    "parsers.token_scores": "VocabularyError count_tokens operation_exact "
    "operation_f1 operation_string token_f1",
    "parsers.rates": "FEW Interval clopper_pearson mean_interval t_interval",
    "parsers.records": "Answer ELEMENT_ONLY F1Variant F1_VARIANTS Gold OPERATIONS Operation "
    "Prediction READING ScoredUnit Scores Status",
    "parsers.scoring": "PointRule ScoringRules in_box score",
    "parsers.values": "ValueStyle clean_value",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'parsers' has no attribute '{name}'")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
