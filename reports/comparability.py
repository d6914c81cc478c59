"""What makes runs comparable: one table of what the names on record mean for that."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from harness.settings import SETTINGS, About
from parsers.records import READING

POPULATION, CANDIDATES = "population", "candidates"


class Row(NamedTuple):
    """What a setting, or another fact on record, means for a comparison of runs.

    ranked: runs that differ in it may be ranked.
    key: the key of published results that tells it; "" for a setting that is a key by its own name,
        if it forbids a ranking, and for facts that no result tells.
    heading: the heading of a table shows it `always`, if `unusual`, or `never`.
    follows: names that it changes with; its difference does not count next to theirs.
    usual: the value that a heading need not mention; of a setting, None stands for its default.
    about: the subject of a difference; of a setting, as it is declared.
    """

    ranked: bool = False
    key: str = ""
    heading: Literal["always", "unusual", "never"] = "unusual"
    follows: tuple[str, ...] = ()
    usual: Any = None
    about: About = "question"


def _alike(names: str, row: Row) -> dict[str, Row]:
    return dict.fromkeys(names.split(), row)


TABLE: dict[str, Row] = {
    # Models: what a ranking is of.
    **_alike("model base_url adapter_options top_p model_seed", Row(ranked=True, heading="never")),
    **_alike("effort thinking_budget", Row(ranked=True, heading="never")),
    **_alike("temperature revision dtype attn quantization trust_remote_code", Row(ranked=True)),
    "max_tokens": Row(ranked=True, heading="always"),
    "max_pixels": Row(),
    "roles": Row(key=CANDIDATES),
    # Units.
    "benchmark": Row(key=POPULATION, heading="always"),
    **_alike("benchmark_options splits websites domains task_ids step_ids", Row(key=POPULATION)),
    **_alike("only limit episodes", Row(key=POPULATION)),
    "shard": Row(ranked=True, key=POPULATION, heading="never"),
    "lost_rows": Row(),
    # Questions.
    **_alike("protocol seed image_policy", Row(key=CANDIDATES, heading="always")),
    **_alike("protocol_options pixels", Row(key=CANDIDATES)),
    "candidates": Row(key=CANDIDATES, usual="snapshot"),
    "distractors": Row(key=CANDIDATES, heading="always", follows=("candidates",)),
    **_alike("ranker top_k", Row(key=CANDIDATES, follows=("candidates",))),
    "missed": Row(key=CANDIDATES, follows=("candidates",), usual="zero"),
    **_alike("positives shown exclude_related exclude_same_text order shuffles", Row()),
    **_alike("history repeats samples", Row(heading="always")),
    "none": Row(heading="always", follows=("protocol",)),
    "first_of_many": Row(usual=False),
    "value_style": Row(usual="plain"),
    "vote": Row(usual="majority"),
    "max_steps": Row(key="max_steps"),
    # Texts and earlier runs are told apart by their digests.
    "prompts": Row(ranked=True, heading="never"),
    "history_from": Row(ranked=True, heading="always"),
    # Asking batches at once gives the same answers.
    "protocol_options.eager": Row(ranked=True, heading="never"),
    # Scores.
    **_alike("f1 step_rule invalid", Row(heading="always")),
    **_alike("none_zeroes_operation no_element_zeroes_operation mapped_operations", Row()),
    **_alike("wrong_element_zeroes_operation bag point_rule", Row()),
    **_alike("unattempted exclude_statuses", Row()),
    "rule": Row(key="rule"),
    # Facts that are no settings.
    **_alike(
        "model.provider model.stand_in",
        Row(ranked=True, heading="never", follows=("model",), about="model"),
    ),
    "model.revision": Row(
        ranked=True, heading="never", follows=("model", "revision"), about="model"
    ),
    # The recipe follows from what the model's provider takes.
    "pictures": Row(
        ranked=True, heading="never", follows=("model", "image_policy", "pixels"), about="model"
    ),
    "prompts_sha256": Row(
        heading="never", follows=("protocol", "prompts", "history", "image_policy", "none")
    ),
    "ranker_sha256": Row(heading="never", follows=("candidates", "ranker")),
    "history_from_sha256": Row(heading="never", follows=("history_from",)),
    "reading": Row(usual=READING, about="scoring"),
    "benchmark_object": Row(heading="never", follows=("benchmark",), about="data"),
    "protocol_class": Row(heading="never", follows=("protocol",)),
    "role_models": Row(heading="never", follows=("roles",), about="model"),
    "redone": Row(about="model"),
    "dataset.files": Row(follows=("benchmark", "splits"), about="data"),
    **_alike("dataset dataset.revision", Row(ranked=True, follows=("benchmark",), about="data")),
}
"""What is known of names on record; `a.b` without a row has that of `a`."""


def row_of(name: str) -> Row:
    """Return what a flat name on record means, with the usual value and subject of a setting.

    A setting of another package forbids a ranking unless it is about the model, and so does a name
    that nobody knows.
    """
    known = name if name in TABLE or name in SETTINGS else name.partition(".")[0]
    row, setting = TABLE.get(known), SETTINGS.get(known)
    if setting is None:
        return row or Row()
    about = setting.about
    row = row or Row(ranked=about == "model", key=POPULATION if about == "data" else "")
    return row._replace(usual=setting.default if row.usual is None else row.usual, about=about)
