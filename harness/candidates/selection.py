"""The candidates shown with a step, and their order.

`choose` takes one positive and some negatives; `first_of` and `everything` choose without knowing
what is right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Literal

from harness.candidates.seeded_order import NEGATIVE, ORDER, POSITIVE, Ranking
from harness.errors import DataError
from harness.page import Candidate, Page
from harness.records import NO_POSITIVE

if TYPE_CHECKING:
    from harness.benchmarks import Dataset
    from harness.records import Row

_NUMBER = re.compile(r" id=\d+| bnid=[^ >]+")


@dataclass(frozen=True, slots=True)
class CandidateOptions:
    """How candidates are chosen.

    `positives`: which ones count as right, all that the row lists or only the element that was
    recorded. `shown`: which of them is shown, by rank or the one that was recorded (or the topmost
    of those that share its box), by rank again where no or several positives are that. The two
    filters keep negatives away that lie around or inside the positive shown, or that read like it.
    `order` numbers shuffles of the same candidates: 0 is the usual one.
    """

    positives: Literal["all", "original"] = "all"
    shown: Literal["seeded", "original", "top-level"] = "seeded"
    exclude_related: bool = False
    exclude_same_text: bool = False
    order: int = 0


USUAL = CandidateOptions()


@dataclass(frozen=True, slots=True)
class Chosen:
    """Node ids in the order shown, and what there was to choose from.

    `shown` is the positive among `ids`, None where the row has none that can be shown. `asked` is
    the number of negatives wanted. `absent` are candidates of the row, positive or negative, that
    the page does not have as elements; they are never chosen. `lost` says that the row has
    positives but that all of them are absent.
    """

    ids: tuple[str, ...]
    shown: str | None
    asked: int
    absent: tuple[str, ...] = ()
    lost: bool = False

    @property
    def negatives(self) -> int:
        return len(self.ids) - (self.shown is not None)

    @property
    def short(self) -> bool:
        """Whether there were fewer negatives than wanted."""
        return self.negatives < self.asked


def accepted(row: Row, options: CandidateOptions) -> tuple[Candidate, ...]:
    """The positives that count as right under the options."""
    if options.positives == "original":
        return tuple(c for c in row.positives if c.original_target)
    return row.positives


def restrict(row: Row, options: CandidateOptions) -> Row:
    """The row with only the positives that count, invalid if none is left."""
    right = accepted(row, options)
    if len(right) == len(row.positives):
        return row
    problems = row.problems if right else (NO_POSITIVE, *row.problems)
    invalid = row.invalid if right else NO_POSITIVE
    return replace(row, positives=right, problems=problems, invalid=invalid)


def choose(
    row: Row,
    page: Page | None = None,
    *,
    seed: int = 42,
    distractors: int = 20,
    options: CandidateOptions = USUAL,
) -> Chosen:
    """Choose one positive and up to `distractors` negatives, and put them in order.

    Rows without a positive get negatives only. No positive of the row is ever used as a negative,
    whether it counts as right or not.

    Args:
        row: the step.
        page: its page, to leave out candidates that are not on it. Without one every candidate is
            taken to be there.
        seed: decides the set and the order together with the step's ids.
        distractors: how many negatives are wanted.
        options: see `CandidateOptions`.

    Raises:
        ValueError: a filter that has to look at the page, and no page.
    """
    if page is None and (options.exclude_related or options.exclude_same_text):
        raise ValueError("leaving out related or same-text candidates takes the page")
    ranking = Ranking(seed, row.info.task_id, row.info.action_uid)
    right = accepted(row, options)
    never = {candidate.id for candidate in row.positives}
    negatives = [c.id for c in row.negatives if c.id not in never]
    absent = _absent(page, [*(c.id for c in right), *negatives])

    def there(node_id: str) -> bool:
        # A text node cannot be offered. Looked at only for those that would be shown: it is slow.
        if page is not None and node_id not in absent and page.role_of(node_id).tag == "text":
            absent[node_id] = None
        return node_id not in absent

    shown = _shown([c for c in right if there(c.id)], options, ranking)
    fits = _filter(page, shown, options)
    fit = (i for i in ranking.sorted(NEGATIVE, negatives) if there(i) and fits(i))
    ids = [*_maybe(shown), *islice(fit, max(0, distractors))]
    label = f"{ORDER}/{options.order}" if options.order else ORDER
    return Chosen(
        tuple(ranking.sorted(label, ids)),
        shown,
        distractors,
        tuple(absent),
        lost=bool(right) and shown is None,
    )


def first_of(
    row: Row, page: Page, ranks: Sequence[str], top_k: int, options: CandidateOptions = USUAL
) -> Chosen:
    """The first `top_k` of the ranked candidates that are elements of the page, in rank order.

    Whether an acceptable element is among them is not looked at (`shown` is then None). Ids that
    are no candidates of the row are passed over.
    """
    there, absent = _there(row, page)
    kept = dict.fromkeys(node_id for node_id in ranks if node_id in there)
    return _chosen(row, list(kept)[:top_k], there, absent, options)


def everything(row: Row, page: Page, options: CandidateOptions = USUAL) -> Chosen:
    """Every candidate that is an element of the page, in document order."""
    there, absent = _there(row, page)
    return _chosen(row, page.in_order(there), there, absent, options)


def check_distractors(dataset: Dataset, distractors: int) -> None:
    """Raise a `DataError` when no row of a data set has that many negatives.

    Stops at the first row that has, so it costs one row unless the number is far too large.
    """
    most = -1
    for count in dataset.negatives():
        if count >= distractors:
            return
        most = max(most, count)
    if most >= 0:
        raise DataError(
            f"no row has {distractors} negative candidates (the largest number is {most}); "
            "ask for fewer distractors"
        )


def reading(text: str) -> str:
    """A choice's text without the number that tells it from others that read the same."""
    return _NUMBER.sub("", text)


def _there(row: Row, page: Page) -> tuple[set[str], tuple[str, ...]]:
    ids = dict.fromkeys(c.id for c in (*row.positives, *row.negatives))
    # A text node cannot be offered.
    there = {i for i in ids if i in page and page.role_of(i).tag != "text"}
    return there, tuple(i for i in ids if i not in there)


def _chosen(
    row: Row,
    ids: Sequence[str],
    there: set[str],
    absent: tuple[str, ...],
    options: CandidateOptions,
) -> Chosen:
    right = {candidate.id for candidate in accepted(row, options)}
    return Chosen(
        tuple(ids),
        next((node_id for node_id in ids if node_id in right), None),
        asked=0,
        absent=absent,
        lost=bool(right) and not right & there,
    )


def _absent(page: Page | None, ids: list[str]) -> dict[str, None]:
    """The ids that the page does not have, as an ordered set."""
    return {} if page is None else {i: None for i in ids if i not in page}


def _shown(right: list[Candidate], options: CandidateOptions, ranking: Ranking) -> str | None:
    preferred = right
    if options.shown == "original":
        preferred = [c for c in right if c.original_target] or right
    elif options.shown == "top-level":
        preferred = [c for c in right if c.top_level_target] or right
    return next(iter(ranking.sorted(POSITIVE, (c.id for c in preferred))), None)


def _filter(
    page: Page | None, shown: str | None, options: CandidateOptions
) -> Callable[[str], bool]:
    """Whether a negative may stand beside the positive shown.

    Texts are compared as they read when a candidate stands alone: how it reads in a list depends on
    the others in the list, and then a larger list would not contain the smaller one.
    """
    if page is None or shown is None:
        return lambda _: True
    text = _alone(page, shown) if options.exclude_same_text else None

    def fits(node_id: str) -> bool:
        if options.exclude_related and page.related(node_id, shown):
            return False
        return text is None or _alone(page, node_id) != text

    return fits


def _alone(page: Page, node_id: str) -> str:
    return reading(page.choices([node_id])[0].text)


def _maybe(node_id: str | None) -> Iterator[str]:
    if node_id is not None:
        yield node_id
