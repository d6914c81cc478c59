"""Rankers: order the candidates of a page, the likeliest first.

    ranks = open_ranks("lexical")            # a registered ranker
    ranks = open_ranks("deberta.parquet")    # scores or ranks in a file
    ranks.of(row, page)[:50]

A ranker is registered by name in `RANKERS` (entry-point group `vlm_eval.rankers`): an instance of
`Ranks`, or a class or factory that is called with the text after the colon in `NAME:TEXT` ("" if
there is none) and returns one. `Ranks` gives an order; those that derive from `ByScore` give each
candidate a score.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from adapters.registry import Registry, UnknownName
from harness.errors import DataError, UserError
from harness.page import Page
from harness.records import Row

PUBLISHED = "mind2web"
"""Name of the DeBERTa ranking that Mind2Web's authors published."""


class Ranks(Protocol):
    """An order of the candidates of every step; the same step always gets the same order."""

    @property
    def name(self) -> str:
        """The ranker that made the order (`lexical`), also of stored ranks.

        Only runs whose ranker is called `PUBLISHED` are compared with published rows.
        """
        ...

    @property
    def digest(self) -> str:
        """SHA-256 (hexadecimal) of everything that determines the order: scores, weights, version.

        A run records name and digest and can be continued only with the same ranks.
        """
        ...

    def of(self, row: Row, page: Page) -> Sequence[str]:
        """Return ids of the row's candidates, positives and negatives together, best first.

        Must not depend on the row's answer. Raises `DataError` naming the step if a score file
        does not contain it.
        """
        ...

    def missing(self, step_ids: Iterable[str]) -> Sequence[str]:
        """Return the steps that a score file lacks, in the order of `step_ids`."""
        ...


class ByScore(ABC):
    """`Ranks` by scores: the higher, the likelier an element is to be acted on next."""

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    @abstractmethod
    def digest(self) -> str: ...

    @abstractmethod
    def scores(self, row: Row, page: Page, ids: Sequence[str]) -> Sequence[float]:
        """Return a score for each of some elements of the step's page, in the order of `ids`."""

    def of(self, row: Row, page: Page) -> Sequence[str]:
        return list(self.scored(row, page))

    def scored(self, row: Row, page: Page) -> dict[str, float]:
        """Return the score of each of the row's candidates, best first.

        Ties are broken by document order, so it does not matter whether a row lists a candidate as
        positive or negative. Candidates that the page does not have as elements come last, with
        -inf.
        """
        present, absent = candidates(row, page)
        scores = [float(score) for score in self.scores(row, page, present)]
        if len(scores) != len(present):
            raise ValueError(f"{self.name} gave {len(scores)} scores for {len(present)} elements")
        # The sort is stable; NaN of a broken model is sorted last.
        order = sorted(
            zip(present, scores, strict=True),
            key=lambda pair: math.inf if math.isnan(pair[1]) else -pair[1],
        )
        return {**dict(order), **dict.fromkeys(absent, -math.inf)}

    def missing(self, step_ids: Iterable[str]) -> Sequence[str]:
        """Always empty: any step can be scored."""
        return ()


def candidates(row: Row, page: Page) -> tuple[list[str], list[str]]:
    """Split a row's candidates: elements of the page in document order, and absent ones by id."""
    ids = set(row.detail.candidates)
    present = page.elements(ids)
    return present, sorted(ids.difference(present))


__all__ = ["PUBLISHED", "RANKERS", "Ranks", "check_covered", "open_ranks"]

RANKERS: Registry[Ranks] = Registry("ranker", "vlm_eval.rankers", has=("of",))
RANKERS.add(
    "lexical",
    "harness.ranker_models.lexical:LexicalRanks",
    "words of the task found in and around the candidate (BM25), no model",
)
RANKERS.add(
    "cross-encoder",
    "harness.ranker_models.cross_encoder:CrossEncoderRanks",
    "a sentence-transformers checkpoint: cross-encoder:PATH, a folder or hub name (extra rank)",
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
        f"{first}{more}; rank them with vlm-eval rankers rank, or select other steps"
    )
