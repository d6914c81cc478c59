"""Parse replies into answers, score answers, and aggregate scores into metrics with intervals.

Pure functions over frozen records. This package imports nothing else from the project, and
importing it loads neither the tokenizer nor numpy and scipy.

Part of vlm-web-eval.
"""

from __future__ import annotations

from parsers.aggregate import (
    GROUP_KEYS,
    PARSE_FAILURES,
    GroupKey,
    aggregate,
    by,
    mean_of_groups,
)
from parsers.answers import read_answer, spell_answer
from parsers.declaration import Declaration, Group, Level, Measure
from parsers.intervals import (
    FEW,
    Average,
    Interval,
    clopper_pearson,
    cluster_t,
    t_interval,
)
from parsers.letters import index_of, letter, letters_for
from parsers.metrics import (
    AggregationRules,
    Counts,
    Estimate,
    InvalidPolicy,
    Metrics,
    Rate,
    StepMetrics,
    TaskMetrics,
    TaskSuccess,
    Unattempted,
)
from parsers.mind2web import ELEMENT_ONLY, MIND2WEB, declaration_of
from parsers.operation_f1 import operation_exact, operation_f1, operation_string, token_f1
from parsers.rates import mean_interval
from parsers.records import (
    F1_VARIANTS,
    OPERATIONS,
    READING,
    Answer,
    F1Variant,
    Gold,
    Operation,
    Prediction,
    ScoredStep,
    Scores,
    Status,
)
from parsers.scoring import PointRule, ScoringRules, in_box, score
from parsers.tokens import VocabularyError, count_tokens
from parsers.values import ValueStyle, clean_value

__all__ = [
    "ELEMENT_ONLY",
    "F1_VARIANTS",
    "FEW",
    "GROUP_KEYS",
    "MIND2WEB",
    "OPERATIONS",
    "PARSE_FAILURES",
    "READING",
    "AggregationRules",
    "Answer",
    "Average",
    "Counts",
    "Declaration",
    "Estimate",
    "F1Variant",
    "Gold",
    "Group",
    "GroupKey",
    "Interval",
    "InvalidPolicy",
    "Level",
    "Measure",
    "Metrics",
    "Operation",
    "PointRule",
    "Prediction",
    "Rate",
    "ScoredStep",
    "Scores",
    "ScoringRules",
    "Status",
    "StepMetrics",
    "TaskMetrics",
    "TaskSuccess",
    "Unattempted",
    "ValueStyle",
    "VocabularyError",
    "aggregate",
    "by",
    "clean_value",
    "clopper_pearson",
    "cluster_t",
    "count_tokens",
    "declaration_of",
    "in_box",
    "index_of",
    "letter",
    "letters_for",
    "mean_interval",
    "mean_of_groups",
    "operation_exact",
    "operation_f1",
    "operation_string",
    "read_answer",
    "score",
    "spell_answer",
    "t_interval",
    "token_f1",
]
