"""Which candidates of a page are worth a question: rankers and stored ranks.

    ranks = open_ranks("lexical")            # a registered ranker
    ranks = open_ranks("deberta.parquet")    # scores or ranks in a file
    ranks.of(row, page)[:50]

A ranker is a name in `RANKERS` (entry-point group `vlm_eval.rankers`) for an instance of
`Ranks`, or for a class or factory called with what follows the name and a colon ("" without one).
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
    "harness.rankers.lexical:lexical",
    "words of the task and of the candidate, no model",
)
RANKERS.add(
    "cross-encoder",
    "harness.rankers.cross_encoder:cross_encoder",
    "a cross-encoder of sentence-transformers: cross-encoder:PATH, a folder or of the hub",
)
RANKERS.add(
    "file",
    "harness.rankers.files:from_file",
    "stored scores or ranks (JSON or parquet); the path alone does",
)
SUFFIXES = (".json", ".jsonl", ".parquet", ".pkl", ".pickle")
_LISTED = 10


def open_ranks(text: str) -> Ranks:
    """The ranker of a name, or the ranks in a file. Raises `UserError` for neither."""
    path = Path(text)
    if path.suffix in SUFFIXES or path.is_file():
        return RANKERS.make("file", text)
    try:
        name, argument = RANKERS.split(text)
        return RANKERS.make(name, argument)
    except UnknownName as error:
        raise UserError(f"--ranker {text}: {error}, and there is no such file") from error


def check_covered(ranks: Ranks, step_ids: Sequence[str]) -> None:
    """Raise `DataError` with the steps that cannot be ranked, the first few and their number."""
    missing = ranks.missing(step_ids)
    if not missing:
        return
    some = ", ".join(missing[:_LISTED])
    more = f" and {len(missing) - _LISTED} more" if len(missing) > _LISTED else ""
    # A file of ranks goes by the name of who made them; here it matters which file it is.
    where = getattr(ranks, "path", ranks.name)
    raise DataError(
        f"{where} has no ranks for {len(missing)} of {len(step_ids)} selected steps: "
        f"{some}{more}; rank them (vlm-eval rank), or select other steps"
    )
