"""What makes runs comparable: one table of what the names on record mean for that."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal, NamedTuple

from harness.settings import FIELDS, SETTINGS
from parsers.records import READING

POPULATION, CANDIDATES = "population", "candidates"
About = Literal["model", "data", "question", "scoring", "session"]
"""The subject of a difference."""
OF_ADAPTER = ("max_pixels", "revision", "dtype", "attn", "quantization", "trust_remote_code")
OF_PROTOCOL = ("none", "history", "first_of_many", "value_style", "prompts")
"""Options of adapters and of protocols that go by their own name; others are
`adapter_option.NAME` and `protocol_option.NAME`."""


class Row(NamedTuple):
    """What a setting, or another fact on record, means for a comparison of runs.

    ranked: runs that differ in it may be ranked.
    key: the key of published results that tells it; "" for a setting that is a key by its own name,
        if it forbids a ranking, and for facts that no result tells.
    heading: the heading of a table shows it `always`, if `unusual`, or `never`.
    follows: names that it changes with; its difference does not count next to theirs.
    usual: the value that a heading need not mention; None stands for a declared default.
    about: the subject of a difference; None: that of its declaration.
    """

    ranked: bool = False
    key: str = ""
    heading: Literal["always", "unusual", "never"] = "unusual"
    follows: tuple[str, ...] = ()
    usual: Any = None
    about: About | None = None


def _alike(names: str, row: Row) -> dict[str, Row]:
    return dict.fromkeys(names.split(), row)


TABLE: dict[str, Row] = {
    # Models: what a ranking is of.
    **_alike("model base_url adapter_option top_p model_seed", Row(ranked=True, heading="never")),
    **_alike("effort thinking_budget", Row(ranked=True, heading="never")),
    "temperature": Row(ranked=True),
    **_alike("revision dtype attn quantization trust_remote_code", Row(ranked=True, about="model")),
    "max_tokens": Row(ranked=True, heading="always"),
    "max_pixels": Row(about="model"),
    "role": Row(key=CANDIDATES),
    # Units.
    "benchmark": Row(key=POPULATION, heading="always"),
    **_alike("benchmark_option split only limit", Row(key=POPULATION)),
    "episodes": Row(key=POPULATION, about="data"),
    "shard": Row(ranked=True, key=POPULATION, heading="never"),
    "lost_rows": Row(usual=False, about="data"),
    # Questions.
    **_alike("protocol seed image_policy", Row(key=CANDIDATES, heading="always")),
    "protocol_option": Row(key=CANDIDATES),
    "candidates": Row(key=CANDIDATES, usual="snapshot"),
    "distractors": Row(key=CANDIDATES, heading="always", follows=("candidates",)),
    **_alike("ranker top_k", Row(key=CANDIDATES, follows=("candidates",))),
    "missed": Row(key=CANDIDATES, follows=("candidates",), usual="zero"),
    "positives": Row(usual="all"),
    "shown": Row(usual="seeded"),
    **_alike("exclude_related exclude_same_text", Row(usual=False)),
    "order": Row(usual=0),
    **_alike("history samples", Row(heading="always")),
    "repeats": Row(heading="always", about="model"),
    "shuffles": Row(about="model"),
    "none": Row(heading="always", follows=("protocol",)),
    "first_of_many": Row(usual=False),
    "value_style": Row(usual="plain"),
    "vote": Row(usual="majority"),
    "max_steps": Row(key="max_steps"),
    # Texts and earlier runs are told apart by their digests.
    "prompts": Row(ranked=True, heading="never"),
    "history_from": Row(ranked=True, heading="always"),
    # Asking batches at once gives the same answers.
    "protocol_option.eager": Row(ranked=True, heading="never"),
    # Scores.
    **_alike("f1 invalid", Row(heading="always")),
    "step_rule": Row(heading="always", usual="f1", about="scoring"),
    **_alike(
        "none_zeroes_operation no_element_zeroes_operation wrong_element_zeroes_operation bag",
        Row(usual=False, about="scoring"),
    ),
    "mapped_operations": Row(usual=True, about="scoring"),
    "point_rule": Row(usual="box", about="scoring"),
    **_alike("unattempted exclude_status", Row()),
    "rule": Row(key="rule"),
}
"""What is known of settings and options on record; `a.b` without a row has that of `a`."""

BY_OWN_NAME: dict[str, Collection[str]] = {
    "adapter_option": OF_ADAPTER,
    "protocol_option": OF_PROTOCOL,
    "benchmark_option": TABLE.keys() - FIELDS - {*OF_ADAPTER, *OF_PROTOCOL},
}
"""The options of each owner that have a row by their own name."""

FACTS: dict[str, Row] = {
    **_alike(
        "model.provider model.stand_in",
        Row(ranked=True, heading="never", follows=("model",), about="model"),
    ),
    "model.revision": Row(
        ranked=True, heading="never", follows=("model", "revision"), about="model"
    ),
    # The recipe follows from what the model's provider takes.
    "pictures": Row(ranked=True, heading="never", follows=("model", "image_policy"), about="model"),
    "prompts_sha256": Row(
        heading="never", follows=("protocol", "prompts", "history", "image_policy", "none")
    ),
    "ranker_sha256": Row(heading="never", follows=("candidates", "ranker")),
    "history_from_sha256": Row(heading="never", follows=("history_from",)),
    "reading": Row(usual=READING, about="scoring"),
    "benchmark_object": Row(heading="never", follows=("benchmark",), about="data"),
    "protocol_class": Row(heading="never", follows=("protocol",)),
    "role_models": Row(heading="never", follows=("role",), about="model"),
    "redone": Row(about="model"),
    "dataset.files": Row(follows=("benchmark", "split"), about="data"),
    **_alike("dataset dataset.revision", Row(ranked=True, follows=("benchmark",), about="data")),
}
"""What is known of what else is on record."""


def row_of(name: str) -> Row:
    """Return what a flat name on record means, with the usual value and subject of a setting.

    A setting or an option that no row tells of forbids a ranking, and so does a name that nobody
    knows.
    """
    known = name if name in TABLE or name in FACTS else name.partition(".")[0]
    row, setting = TABLE.get(known) or FACTS.get(known) or Row(), SETTINGS.get(known)
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
