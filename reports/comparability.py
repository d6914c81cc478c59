"""Comparability of runs: one table with the meaning of the names on record."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal, NamedTuple

from harness.settings import FIELDS, SETTINGS
from parsers.records import READING

POPULATION, CANDIDATES = "population", "candidates"
About = Literal["model", "data", "question", "scoring", "session"]
"""The subject of a difference."""
OF_ADAPTER = ("max_pixels", "revision", "dtype", "attn", "quantization")
OF_PROTOCOL = ("none", "history", "first_of_many", "value_style", "prompts")
"""Options of adapters and of protocols that go by their own name; others are
`adapter_option.NAME` and `protocol_option.NAME`."""


class _Row(NamedTuple):
    """The meaning of a setting, or of another fact on record, for a comparison of runs.

    ranked: runs that differ in it may be ranked.
    key: the key of published results that tells it; "" for a setting that is a key by its own name,
        if it forbids a ranking, and for facts that no result tells.
    heading: the heading of a table shows it `always`, if `unusual`, or `never`.
    follows: names that it changes with; its difference does not count next to theirs.
    usual: the value that a heading need not mention; None means the declared default.
    about: the subject of a difference; None: that of its declaration.
    """

    ranked: bool = False
    key: str = ""
    heading: Literal["always", "unusual", "never"] = "unusual"
    follows: tuple[str, ...] = ()
    usual: Any = None
    about: About | None = None


def _alike(names: str, row: _Row) -> dict[str, _Row]:
    return dict.fromkeys(names.split(), row)


TABLE: dict[str, _Row] = {
    # Models: what a ranking is of.
    **_alike("model base_url adapter_option top_p model_seed", _Row(ranked=True, heading="never")),
    **_alike("effort thinking_budget", _Row(ranked=True, heading="never")),
    "temperature": _Row(ranked=True),
    **_alike("revision dtype attn quantization", _Row(ranked=True, about="model")),
    "max_tokens": _Row(ranked=True, heading="always"),
    "max_pixels": _Row(about="model"),
    "role": _Row(key=CANDIDATES),
    # Units.
    "benchmark": _Row(key=POPULATION, heading="always"),
    **_alike("benchmark_option split only limit", _Row(key=POPULATION)),
    "episodes": _Row(key=POPULATION, about="data"),
    "shard": _Row(ranked=True, key=POPULATION, heading="never"),
    "lost_rows": _Row(usual=False, about="data"),
    # Questions.
    **_alike("protocol seed image_policy", _Row(key=CANDIDATES, heading="always")),
    "protocol_option": _Row(key=CANDIDATES),
    "candidates": _Row(key=CANDIDATES, usual="snapshot"),
    "distractors": _Row(key=CANDIDATES, heading="always", follows=("candidates",)),
    **_alike("ranker top_k", _Row(key=CANDIDATES, follows=("candidates",))),
    "missed": _Row(key=CANDIDATES, follows=("candidates",), usual="zero"),
    "positives": _Row(usual="all"),
    "shown": _Row(usual="seeded"),
    **_alike("exclude_related exclude_same_text", _Row(usual=False)),
    "order": _Row(usual=0),
    **_alike("history samples", _Row(heading="always")),
    "repeats": _Row(heading="always", about="model"),
    "shuffles": _Row(about="model"),
    "none": _Row(heading="always", follows=("protocol",)),
    "first_of_many": _Row(usual=False),
    "value_style": _Row(usual="plain"),
    "vote": _Row(usual="majority"),
    "max_steps": _Row(key="max_steps"),
    # Digests distinguish texts and earlier runs.
    "prompts": _Row(ranked=True, heading="never"),
    "history_from": _Row(ranked=True, heading="always"),
    # Asking batches at once gives the same answers.
    "protocol_option.eager": _Row(ranked=True, heading="never"),
    # Scores.
    **_alike("f1 invalid", _Row(heading="always")),
    "step_rule": _Row(heading="always", usual="f1", about="scoring"),
    **_alike(
        "none_zeroes_operation no_element_zeroes_operation wrong_element_zeroes_operation bag",
        _Row(usual=False, about="scoring"),
    ),
    "mapped_operations": _Row(usual=True, about="scoring"),
    "point_rule": _Row(usual="box", about="scoring"),
    **_alike("unattempted exclude_status", _Row()),
    "rule": _Row(key="rule"),
}
"""Settings and options on record; `a.b` without a row has that of `a`."""

BY_OWN_NAME: dict[str, Collection[str]] = {
    "adapter_option": OF_ADAPTER,
    "protocol_option": OF_PROTOCOL,
    "benchmark_option": TABLE.keys() - FIELDS - {*OF_ADAPTER, *OF_PROTOCOL},
}
"""The options of each owner that have a row by their own name."""

FACTS: dict[str, _Row] = {
    **_alike(
        "model.provider model.stand_in",
        _Row(ranked=True, heading="never", follows=("model",), about="model"),
    ),
    "model.revision": _Row(
        ranked=True, heading="never", follows=("model", "revision"), about="model"
    ),
    # The recipe follows from what the model's provider takes.
    "pictures": _Row(
        ranked=True, heading="never", follows=("model", "image_policy"), about="model"
    ),
    "prompts_sha256": _Row(
        heading="never", follows=("protocol", "prompts", "history", "image_policy", "none")
    ),
    "ranker_sha256": _Row(heading="never", follows=("candidates", "ranker")),
    "history_from_sha256": _Row(heading="never", follows=("history_from",)),
    "reading": _Row(usual=READING, about="scoring"),
    "benchmark_object": _Row(heading="never", follows=("benchmark",), about="data"),
    "protocol_class": _Row(heading="never", follows=("protocol",)),
    "role_models": _Row(heading="never", follows=("role",), about="model"),
    "redone": _Row(about="model"),
    "dataset.files": _Row(follows=("benchmark", "split"), about="data"),
    **_alike("dataset dataset.revision", _Row(ranked=True, follows=("benchmark",), about="data")),
}
"""Everything else on record."""


def row_of(name: str) -> _Row:
    """Return what a flat name on record means, with the usual value and subject of a setting.

    A setting or an option without a row forbids a ranking, and so does an unknown name.
    """
    known = name if name in TABLE or name in FACTS else name.partition(".")[0]
    row, setting = TABLE.get(known) or FACTS.get(known) or _Row(), SETTINGS.get(known)
    about = row.about or (_ABOUT[setting.group] if setting else "question")
    usual = setting.default if setting and row.usual is None else row.usual
    return row._replace(usual=usual, about=about)


_ABOUT: dict[str, About] = {
    "Model": "model",
    "Data": "data",
    "Question": "question",
    "Scoring": "scoring",
    "Running": "session",
}
