"""Candidates: which ones are listed as choices, in what order, and with what text.

    page = page_of(row)
    chosen = choose(row, page, seed=42, distractors=20)
    chosen.shown                          # the positive among them, never sent to a model
    choices = render(row, page, chosen)   # letters, ids, texts and boxes, in the order shown

`choose` selects by seed, `first_of` takes the first of a ranker, `everything` takes all;
`choice_facts` counts what readers of the results should know about a list.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from harness.errors import DataError
from harness.page import Candidate, Page, PageError
from harness.records import Choice, Row
from parsers.option_text import letter
from parsers.records import Description
from parsers.token_scores import count_tokens

POSITIVE, NEGATIVE, ORDER = "positive", "negative", "order"


class SeededOrder:
    """Sorts node ids of one step by hash, without a random generator.

    The choices for 5 distractors are therefore among those for 20, and nothing depends on the rows
    before or on the order of the candidates in a row.

    The key of an id is the SHA-256 of seed, task, step, label and id, joined by newlines. The label
    names the use of the order: orders for different uses are independent.
    """

    __slots__ = ("_prefix",)

    def __init__(self, seed: int, task_id: str, action_uid: str) -> None:
        self._prefix = f"{seed}\n{task_id}\n{action_uid}\n"

    def sorted(self, label: str, ids: Iterable[str]) -> list[str]:
        """Return the distinct ids by ascending key."""
        start = hashlib.sha256(f"{self._prefix}{label}\n".encode())

        def key(node_id: str) -> bytes:
            hashed = start.copy()
            hashed.update(node_id.encode())
            return hashed.digest()

        return sorted(set(ids), key=key)


_NUMBER = re.compile(r" id=\d+| bnid=[^ >]+")


@dataclass(frozen=True, slots=True)
class CandidateOptions:
    """Options of the selection of candidates."""

    positives: Literal["all", "original"] = "all"
    """Acceptable elements: all that the row lists, or only the recorded one."""
    shown: Literal["seeded", "original", "top-level"] = "seeded"
    """Positive to show: by seed, the recorded one, or the topmost of those that share its box. The
    seed decides if none or several positives qualify."""
    exclude_related: bool = False
    """Exclude negatives around or inside the positive that is shown."""
    exclude_same_text: bool = False
    """Exclude negatives with the same text as the positive that is shown."""
    order: int = 0
    """Number of the shuffle of the same candidates; 0 is the usual order."""


USUAL = CandidateOptions()


@dataclass(frozen=True, slots=True)
class Chosen:
    """The selected candidates of a step."""

    ids: tuple[str, ...]
    """Node ids in the order shown."""
    shown: str | None
    """The positive among `ids`; None if the row has none that can be shown."""
    asked: int
    """Number of negatives asked for."""
    absent: tuple[str, ...] = ()
    """Candidates of the row that are not elements of the page; they are never selected."""
    lost: bool = False
    """True if the row has positives but all are absent."""

    @property
    def negatives(self) -> int:
        return len(self.ids) - (self.shown is not None)

    @property
    def short(self) -> bool:
        """True if there are fewer negatives than asked for."""
        return self.negatives < self.asked


def accepted(row: Row, options: CandidateOptions) -> tuple[Candidate, ...]:
    """Return the acceptable positives under the options."""
    if options.positives == "original":
        return tuple(c for c in row.detail.positives if c.original_target)
    return row.detail.positives


def choose(
    row: Row,
    page: Page | None = None,
    *,
    seed: int = 42,
    distractors: int = 20,
    options: CandidateOptions = USUAL,
) -> Chosen:
    """Select one positive and up to `distractors` negatives, in seeded order.

    Rows without a positive get negatives only. A positive of the row is never used as a negative,
    whether it is acceptable or not.

    Args:
        row: the step.
        page: its page, to leave out candidates that are not on it. Without a page every candidate
            is taken to be present.
        seed: decides the set and the order, together with the ids of the step.
        distractors: number of negatives.
        options: see `CandidateOptions`.

    Raises:
        ValueError: the options need the page and there is none.
    """
    if page is None and (options.exclude_related or options.exclude_same_text):
        raise ValueError("excluding related or same-text candidates needs the page")
    order = SeededOrder(seed, row.parents["task"], row.detail.action_uid)
    right = accepted(row, options)
    never = {candidate.id for candidate in row.detail.positives}
    negatives = [c.id for c in row.detail.negatives if c.id not in never]
    ids = [*(c.id for c in right), *negatives]
    absent = {} if page is None else {i: None for i in ids if i not in page}

    def is_present(node_id: str) -> bool:
        # Text nodes cannot be choices. The check is slow, so only likely choices are checked.
        if page is not None and node_id not in absent and page.tag_of(node_id) == "text":
            absent[node_id] = None
        return node_id not in absent

    shown = _shown([c for c in right if is_present(c.id)], options, order)
    is_allowed = _filter(page, shown, options)
    allowed = (
        node_id
        for node_id in order.sorted(NEGATIVE, negatives)
        if is_present(node_id) and is_allowed(node_id)
    )
    first = [] if shown is None else [shown]
    ids = [*first, *islice(allowed, max(0, distractors))]
    label = f"{ORDER}/{options.order}" if options.order else ORDER
    return Chosen(
        tuple(order.sorted(label, ids)),
        shown,
        distractors,
        tuple(absent),
        lost=bool(right) and shown is None,
    )


def first_of(
    row: Row, page: Page, ranks: Sequence[str], top_k: int, options: CandidateOptions = USUAL
) -> Chosen:
    """Select the first `top_k` ranked candidates that are elements of the page, in rank order.

    An acceptable element need not be among them (`shown` may be None). Ids that are not
    candidates of the row are skipped.
    """
    present, absent = _present(row, page)
    ids = dict.fromkeys(node_id for node_id in ranks if node_id in present)
    return _chosen(row, list(ids)[:top_k], present, absent, options)


def everything(row: Row, page: Page, options: CandidateOptions = USUAL) -> Chosen:
    """Select every candidate that is an element of the page, in document order."""
    present, absent = _present(row, page)
    return _chosen(row, page.in_order(present), present, absent, options)


def check_distractors(negatives: Iterable[int], distractors: int) -> None:
    """Raise `DataError` if no row has that many negatives.

    negatives: their number in each row. Stops at the first row that has enough, so usually a
    single row is read.
    """
    most = -1
    for count in negatives:
        if count >= distractors:
            return
        most = max(most, count)
    if most >= 0:
        raise DataError(
            f"no row has {distractors} negative candidates (the most is {most}); "
            "ask for fewer distractors"
        )


def reading(text: str) -> str:
    """Strip the element's number from a choice's text to compare texts."""
    return _NUMBER.sub("", text)


def _present(row: Row, page: Page) -> tuple[set[str], tuple[str, ...]]:
    ids = dict.fromkeys(c.id for c in (*row.detail.positives, *row.detail.negatives))
    # Text nodes cannot be choices.
    present = {i for i in ids if i in page and page.tag_of(i) != "text"}
    return present, tuple(i for i in ids if i not in present)


def _chosen(
    row: Row,
    ids: Sequence[str],
    present: set[str],
    absent: tuple[str, ...],
    options: CandidateOptions,
) -> Chosen:
    right = {candidate.id for candidate in accepted(row, options)}
    return Chosen(
        tuple(ids),
        next((node_id for node_id in ids if node_id in right), None),
        asked=0,
        absent=absent,
        lost=bool(right) and not right & present,
    )


def _shown(right: list[Candidate], options: CandidateOptions, order: SeededOrder) -> str | None:
    preferred = right
    if options.shown == "original":
        preferred = [c for c in right if c.original_target] or right
    elif options.shown == "top-level":
        preferred = [c for c in right if c.top_level_target] or right
    return next(iter(order.sorted(POSITIVE, (c.id for c in preferred))), None)


def _filter(
    page: Page | None, shown: str | None, options: CandidateOptions
) -> Callable[[str], bool]:
    """Return a predicate for negatives that may be listed next to the positive.

    The texts compared are those of a candidate alone: its text in a list depends on the other
    choices, and a larger list would then not contain the smaller one.
    """
    if page is None or shown is None:
        return lambda _: True
    text = _alone(page, shown) if options.exclude_same_text else None

    def is_allowed(node_id: str) -> bool:
        if options.exclude_related and page.related(node_id, shown):
            return False
        return text is None or _alone(page, node_id) != text

    return is_allowed


def _alone(page: Page, node_id: str) -> str:
    return reading(page.choices([node_id])[0].text)


Form = Literal["mindact", "bnid"]


@dataclass(frozen=True, slots=True)
class ChoiceFacts:
    """Facts about one list of choices, for readers of the results."""

    same_text: int = 0
    """Negatives with exactly the text of the positive."""
    related: int = 0
    """Negatives around or inside the positive."""
    short: bool = False
    """True if there are fewer negatives than asked for."""


def page_of(row: Row) -> Page:
    """Parse the page of a row. Raises `DataError` if it cannot be parsed."""
    try:
        return Page.parse(row.detail.html)
    except PageError as error:
        raise DataError(f"{row.source}: column 'cleaned_html': {error}") from error


def render(
    row: Row,
    page: Page,
    chosen: Chosen,
    *,
    form: Form = "mindact",
    choice_tokens: int | None = 400,
    letters: Sequence[str] | None = None,
    texts: bool = True,
    descriptions: bool = False,
    ranked: bool = False,
) -> tuple[Choice, ...]:
    """Write the selected candidates as choices, in their order.

    Args:
        row: the step, for tags and boxes.
        page: the step's page.
        chosen: the selected candidates.
        form: "mindact" for the beginning of each candidate in the page pruned to all of them,
            "bnid" for whole elements on one line.
        choice_tokens: longest text of the form "bnid", in tokens; None: never cut.
        letters: one per choice; A, B, ... by default.
        texts: False leaves every text empty.
        descriptions: True if choices carry role, type, labels and text of their elements.
        ranked: True if the order is that of a ranker.
    """
    if not texts:
        text_of = dict.fromkeys(chosen.ids, "")
    elif form == "mindact":
        text_of = {choice.id: choice.text for choice in page.choices(chosen.ids)}
    else:
        text_of = {
            i: page.compact(i, max_tokens=choice_tokens, count=count_tokens) for i in chosen.ids
        }
    places = {node_id: place for place, node_id in enumerate(page.in_order(chosen.ids))}
    candidates = row.detail.candidates
    used_letters = letters or [letter(number) for number in range(len(chosen.ids))]
    return tuple(
        Choice(
            used_letters[number],
            i,
            candidates[i].tag,
            text_of[i],
            candidates[i].box,
            rank=number if ranked else None,
            description=_description(page, i) if descriptions else None,
            place=places[i],
        )
        for number, i in enumerate(chosen.ids)
    )


def choice_facts(page: Page | None, chosen: Chosen, choices: Sequence[Choice]) -> ChoiceFacts:
    """Count facts about a list of choices; an element's number does not make its text different.

    Without the page, `related` is 0. Choices without texts are not compared.
    """
    same = related = 0
    if chosen.shown is not None and any(choice.text for choice in choices):
        texts = {choice.id: reading(choice.text) for choice in choices}
        for node_id in chosen.ids:
            if node_id != chosen.shown:
                same += texts[node_id] == texts[chosen.shown]
                related += page is not None and page.related(node_id, chosen.shown)
    return ChoiceFacts(same, related, chosen.short)


def _description(page: Page, node_id: str) -> Description:
    facts = page.role_of(node_id)
    return Description(facts.role, facts.type, facts.labels, page.text_of(node_id))
