"""What a ranker is: an order of a page's candidates, the likeliest for the next action first.

What has an order is `Ranks`; what gives scores is a `Scorer`, which `ByScore` puts in order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from harness.page import Page
from harness.records import Row

PUBLISHED = "mind2web"
"""What the DeBERTa scores of Mind2Web's authors are called."""


class Ranks(Protocol):
    """The candidates of any step in order. The same step has the same order every time.

    `name` says which ranker made the order and not where it lies: a file of ranks has on record
    who made it (`lexical`), and the scores that Mind2Web published go by `PUBLISHED`, which alone
    lets a run stand beside published rows. `digest` (SHA-256, hexadecimal) stands for everything
    that the order depends on (the scores of a file, the version of a rule); with the name, a run is
    bound to it.
    """

    @property
    def name(self) -> str: ...

    @property
    def digest(self) -> str: ...

    def of(self, row: Row, page: Page) -> Sequence[str]:
        """Ids of the row's candidates, best first, positives and negatives together.

        Nothing of the row's answer is looked at. Raises `DataError` naming the step where a score
        file has nothing on it.
        """
        ...

    def missing(self, step_ids: Iterable[str]) -> Sequence[str]:
        """Those of the steps that cannot be ranked, in the order given: none where ranks are worked
        out, the steps that a score file misses."""
        ...


class Scorer(Protocol):
    """Gives candidates scores, higher for those likelier to be acted on next.

    `parallel` says that steps may be scored in several processes, which a model that fills a
    device must not be.
    """

    @property
    def name(self) -> str: ...

    @property
    def digest(self) -> str: ...

    @property
    def parallel(self) -> bool: ...

    def scores(self, steps: Sequence[tuple[Row, Page, Sequence[str]]]) -> list[list[float]]:
        """Scores of the given elements of each step, in the order given."""
        ...


@dataclass(frozen=True, slots=True)
class Ranking:
    """The candidates of a step, best first, with their scores; -inf for one not on the page."""

    step_id: str
    ids: tuple[str, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ByScore:
    """`Ranks` by the scores of a scorer."""

    scorer: Scorer

    @property
    def name(self) -> str:
        return self.scorer.name

    @property
    def digest(self) -> str:
        return self.scorer.digest

    def of(self, row: Row, page: Page) -> Sequence[str]:
        """See `Ranks.of`."""
        return rank(self.scorer, [(row, page)])[0].ids

    def missing(self, step_ids: Iterable[str]) -> Sequence[str]:
        """None: ranks are worked out."""
        return ()


def rank(scorer: Scorer, steps: Sequence[tuple[Row, Page]]) -> list[Ranking]:
    """Rank the candidates of some steps.

    Equal scores go by document order, so nothing depends on whether a row lists a candidate as
    positive or negative. Candidates that the page does not have as elements come last.
    """
    known = [candidates(row, page) for row, page in steps]
    given = [(row, page, there) for (row, page), (there, _) in zip(steps, known, strict=True)]
    found = []
    for (row, _), (there, absent), scores in zip(steps, known, scorer.scores(given), strict=True):
        if len(scores) != len(there):
            raise ValueError(f"{scorer.name} gave {len(scores)} scores for {len(there)} elements")
        # The sort is stable; NaN, which a broken model gives, must not upset it.
        order = sorted(
            range(len(there)), key=lambda i: math.inf if math.isnan(scores[i]) else -scores[i]
        )
        found.append(
            Ranking(
                row.step_id,
                (*(there[i] for i in order), *absent),
                (*(float(scores[i]) for i in order), *(-math.inf for _ in absent)),
            )
        )
    return found


def candidates(row: Row, page: Page) -> tuple[list[str], list[str]]:
    """The candidates that the page has as elements, in document order, and the others by id."""
    wanted = {candidate.id for candidate in (*row.positives, *row.negatives)}
    there = page.elements(wanted)
    return there, sorted(wanted.difference(there))
