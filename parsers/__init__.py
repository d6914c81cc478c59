"""Parse replies into answers, score answers, and aggregate scores into metrics with intervals.

Pure functions over frozen records. This package imports nothing else from the project, and
importing it loads nothing: what it has is loaded when it is asked for.

Part of vlm-web-eval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parsers.answers import read_answer as read_answer
    from parsers.answers import write_answer as write_answer
    from parsers.averages import every_result as every_result
    from parsers.averages import results as results
    from parsers.counting import PARSE_FAILURES as PARSE_FAILURES
    from parsers.counting import AggregationRules as AggregationRules
    from parsers.counting import InvalidPolicy as InvalidPolicy
    from parsers.counting import Unattempted as Unattempted
    from parsers.declaration import Average as Average
    from parsers.declaration import Declaration as Declaration
    from parsers.declaration import Group as Group
    from parsers.declaration import Level as Level
    from parsers.declaration import Measure as Measure
    from parsers.estimates import Bounds as Bounds
    from parsers.estimates import Counts as Counts
    from parsers.estimates import Estimate as Estimate
    from parsers.estimates import Results as Results
    from parsers.mind2web import MIND2WEB as MIND2WEB
    from parsers.option_text import index_of as index_of
    from parsers.option_text import letter as letter
    from parsers.option_text import letters_for as letters_for
    from parsers.rates import FEW as FEW
    from parsers.rates import Interval as Interval
    from parsers.rates import clopper_pearson as clopper_pearson
    from parsers.rates import mean_interval as mean_interval
    from parsers.rates import t_interval as t_interval
    from parsers.records import ELEMENT_ONLY as ELEMENT_ONLY
    from parsers.records import F1_VARIANTS as F1_VARIANTS
    from parsers.records import OPERATIONS as OPERATIONS
    from parsers.records import READING as READING
    from parsers.records import Answer as Answer
    from parsers.records import F1Variant as F1Variant
    from parsers.records import Gold as Gold
    from parsers.records import Operation as Operation
    from parsers.records import Prediction as Prediction
    from parsers.records import ScoredUnit as ScoredUnit
    from parsers.records import Scores as Scores
    from parsers.records import Status as Status
    from parsers.scoring import PointRule as PointRule
    from parsers.scoring import ScoringRules as ScoringRules
    from parsers.scoring import in_box as in_box
    from parsers.scoring import score as score
    from parsers.token_scores import VocabularyError as VocabularyError
    from parsers.token_scores import count_tokens as count_tokens
    from parsers.token_scores import operation_exact as operation_exact
    from parsers.token_scores import operation_f1 as operation_f1
    from parsers.token_scores import operation_string as operation_string
    from parsers.token_scores import token_f1 as token_f1
    from parsers.values import ValueStyle as ValueStyle
    from parsers.values import clean_value as clean_value

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
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'parsers' has no attribute '{name}'")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
