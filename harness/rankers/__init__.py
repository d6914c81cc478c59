"""Rankers: order the candidates of a page, the likeliest first.

    ranks = open_ranks("lexical")            # a registered ranker
    ranks = open_ranks("deberta.parquet")    # scores or ranks in a file
    ranks.of(row, page)[:50]

A ranker is registered by name in `RANKERS` (entry-point group `vlm_eval.rankers`): an instance of
`Ranks`, or a class or factory that is called with the text after the colon in `NAME:TEXT` ("" if
there is none) and returns one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adapters.registry import Registry, UnknownName
from harness.errors import DataError, UserError
from harness.rankers.contract import PUBLISHED, Ranks

__all__ = ["PUBLISHED", "RANKERS", "Ranks", "check_covered", "open_ranks"]

RANKERS: Registry[Ranks] = Registry("ranker", "vlm_eval.rankers", has=("of",))
RANKERS.add(
    "lexical",
    "harness.ranker_models.lexical:lexical",
    "words of the task found in and around the candidate (BM25), no model",
)
RANKERS.add(
    "cross-encoder",
    "harness.ranker_models.cross_encoder:cross_encoder",
    "a sentence-transformers cross-encoder: cross-encoder:PATH, a folder or a hub name",
)
RANKERS.add(
    "file",
    "harness.rankers.files:from_file",
    "stored scores or ranks, JSON or parquet; the path alone is enough",
)
SUFFIXES = (".json", ".jsonl", ".parquet", ".pkl", ".pickle")
_MOST_LISTED = 10


def open_ranks(text: str) -> Ranks:
    """Open a ranker by name, or the ranks in a file.

    Raises:
        UserError: neither a ranker nor a file has this name.
        DataError: the file cannot be read as ranks.
    """
    path = Path(text)
    if path.suffix in SUFFIXES or path.is_file():
        return RANKERS.make("file", text)
    try:
        name, argument = RANKERS.split(text)
        return RANKERS.make(name, argument)
    except UnknownName as error:
        raise UserError(f"--ranker {text}: {error}, and there is no such file") from error


def check_covered(ranks: Ranks, step_ids: Sequence[str], which: str = "selected") -> None:
    """Raise `DataError` if `ranks` lacks any of the steps; it names the first of them."""
    missing = ranks.missing(step_ids)
    if not missing:
        return
    first = ", ".join(missing[:_MOST_LISTED])
    more = f" and {len(missing) - _MOST_LISTED} more" if len(missing) > _MOST_LISTED else ""
    # Stored ranks are named after the ranker that made them; here the user must know which file.
    where = getattr(ranks, "path", ranks.name)
    raise DataError(
        f"{where} has no ranks for {len(missing)} of {len(step_ids)} {which} steps: "
        f"{first}{more}; rank them with vlm-eval rank, or select other steps"
    )
