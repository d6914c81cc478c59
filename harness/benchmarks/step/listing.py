"""Recorded steps as a model is asked about them: from a row to its line, view and pictures.

`list_step` does the page work of a step from top to bottom: it reads the page, chooses and renders
candidates and plans pictures. It decodes no picture and asks no model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from adapters.conversation import Picture
from harness.benchmarks.recorded import StepDataset, blank, unlisted, unreadable
from harness.benchmarks.shows import Ready, Shows
from harness.benchmarks.step.scene import PageScene, RecordedScene
from harness.candidates import (
    CandidateOptions,
    ChoiceFacts,
    Chosen,
    accepted,
    choice_facts,
    choose,
    everything,
    first_of,
    page_of,
    render,
)
from harness.errors import DataError, UserError
from harness.page import MIND2WEB_ATTRIBUTES, Attributes, Page, PageError
from harness.pictures import (
    PictureError,
    Screenshot,
    check_picture,
    plan,
    read_size,
    stored_picture,
)
from harness.policies import Secret
from harness.protocols.contract import lettering
from harness.records import (
    NO_POSITIVE,
    NO_SCREENSHOT,
    Choice,
    Earlier,
    Row,
    Scene,
    SeenAction,
    Step,
    StoredQuestion,
)
from harness.runs import StepUnit
from harness.runs.steps import info_of
from harness.views import StepView
from parsers.records import PastAction, Prediction, Status, Turn

if TYPE_CHECKING:
    from harness.benchmarks.step.history import EarlierSteps, FinishedTurns, Offered
    from harness.benchmarks.step.options import StepOptions

NOT_OFFERED = Prediction(Status.NOT_OFFERED)
"""The outcome of a step whose acceptable elements a ranker does not offer."""
POSITIVE_NOT_ON_PAGE = "positive_not_on_page"


def list_steps(
    steps: StepDataset, shows: Shows, earlier: EarlierSteps | None, turns: FinishedTurns | None
) -> Iterator[Ready[StepView]]:
    """List the rows of a data set, in file order, one at a time; see `list_step`.

    A row that cannot be read becomes an invalid unit where such rows are to be skipped.

    Raises:
        DataError: a file is damaged, or a row cannot be read.
    """
    skip = shows.settings.skip_bad_rows
    for entry, row in steps.decoded():
        try:
            if isinstance(row, DataError):
                raise row
            listed = list_step(row, shows, earlier=earlier, turns=turns)
            if skip:
                _check_pictures(row)
        except DataError as error:
            if not skip:
                hint = "--benchmark-option skip_bad_rows=yes counts such rows as invalid"
                raise DataError(f"{error}; {hint}") from error
            unit = unreadable(blank(entry) if isinstance(row, DataError) else row, str(error))
            listed = Ready(unit, StepView(step_of(unit), ()), Secret(unit.detail.gold))
        yield listed


def list_step(
    row: Row,
    shows: Shows,
    *,
    earlier: EarlierSteps | None = None,
    turns: FinishedTurns | None = None,
    attributes: Attributes = MIND2WEB_ATTRIBUTES,
) -> Ready[StepView]:
    """List the candidates of a row and make the view of it.

    Args:
        row: the row.
        shows: what is shown of it.
        earlier: the steps before it, for protocols that look at more than their actions.
        turns: the finished turns of conversations, for protocols that show them.
        attributes: what AutoWebGLM's form shows of elements.

    Raises:
        DataError: the page or a picture cannot be read; the message names the row.
        UserError: there are more candidates than letters.
    """
    options, protocol, needs = shows.options, shows.protocol, shows.protocol.needs
    stored, where = row.detail.stored, row.source or row.unit_id
    pictures: tuple[Picture, ...] = ()
    page: Page | None = None
    try:
        screenshot = read_size(row.detail.screenshot) if row.detail.screenshot else None
        if stored is not None:
            pictures = tuple(map(stored_picture, stored.pictures))
    except PictureError as error:
        raise DataError(f"{where}: {error}") from error

    # The listed candidates.
    if stored is not None:
        chosen, choices = _as_stored(row, stored, options), stored.choices
        facts = choice_facts(_page(row, chosen), chosen, choices)
    else:
        page = page_of(row)
        chosen = chosen_of(row, page, shows)
        try:
            letters = lettering(protocol, len(chosen.ids)).choices
        except ValueError as error:
            raise UserError(
                f"{where}: {len(chosen.ids)} candidates are too many: {error}"
            ) from error
        choices = render(
            row,
            page,
            chosen,
            form=needs.form,
            choice_tokens=needs.choice_tokens,
            letters=letters,
            # A policy without pictures reads texts even where models are not shown them.
            texts=needs.texts or shows.blind,
            descriptions=needs.descriptions,
            ranked=options.candidates == "ranker",
        )
        # Some candidate of a whole page always encloses the correct element: nothing to count.
        page_facts = options.candidates != "all"
        facts = choice_facts(page, chosen, choices) if page_facts else ChoiceFacts()

    # The known part of the line, before anything is asked.
    right = replace(row.detail, positives=accepted(row, selection(options))).gold
    unit = unlisted(row, replace(right, shown=chosen.shown))
    target = next((one.box for one in choices if one.id == chosen.shown), None)
    if page is not None and screenshot is not None and needs.pictures == "page":
        # Crops are planned later, when the protocol asks the scene for them.
        boxes = [choice.box for choice in choices]
        pictures = plan(shows.pictures, screenshot, boxes, shows.rule, target)
    detail = replace(
        unit.detail,
        choices=choices,
        none_letter=lettering(protocol, len(choices)).none,
        same_text=facts.same_text,
        related=facts.related,
        short=facts.short,
    )
    if screenshot is not None:
        unit = replace(unit, digests={**unit.digests, "screenshot": screenshot.digest})
        detail = replace(detail, page_size=(screenshot.width, screenshot.height))
    unit = replace(unit, invalid=_invalid(row, chosen, options), detail=detail, pictures=pictures)

    # The view: the step, with what is shown of the page and of what was before.
    scene: Scene | None = None
    if page is not None and needs.scene:
        # Only oracle policies may know where the correct element is.
        known = target if shows.pictures.oracle else None
        scene = PageScene(page, choices, shows.pictures, screenshot, shows.rule, known, attributes)
    tokens = shows.info.text_tokens if shows.info else None
    step = replace(step_of(unit), stored=stored, scene=scene, tokens=tokens)
    sources = _sources(row, pictures, screenshot)
    if earlier is not None:
        before = earlier.before(step.info)
        step = replace(step, before=before)
        if earlier.replies is not None:
            step = replace(step, history=told(step.history, before))
        sources |= earlier.sources(step.info)
        earlier.seen(row)
    if turns is not None and (finished := turns.before(step.info)):
        step = replace(step, turns=finished)
        detail = replace(unit.detail, turns=tuple(map(turn_record, finished)))
        unit = replace(unit, detail=detail)

    gold = unit.detail.gold
    missed = unit.invalid is None and gold.shown is None and options.missed != "ask"
    secret = Secret(replace(gold, shown=None), gold.shown)
    return Ready(unit, StepView(step, choices), secret, sources, NOT_OFFERED if missed else None)


def selection(options: StepOptions) -> CandidateOptions:
    """The options of the selection of candidates."""
    return CandidateOptions(
        positives=options.positives,
        shown=options.shown,
        exclude_related=options.exclude_related,
        exclude_same_text=options.exclude_same_text,
        order=options.order,
    )


def chosen_of(row: Row, page: Page, shows: Shows) -> Chosen:
    """The candidates of a row that are offered."""
    given, options = shows.options, selection(shows.options)
    if given.candidates == "all":
        return everything(row, page, options)
    if given.candidates == "ranker":
        if shows.ranks is None or given.top_k is None:
            raise ValueError("candidates of a ranker need its ranks")
        return first_of(row, page, shows.ranks.of(row, page), given.top_k, options)
    seed, distractors = shows.settings.seed, given.distractors
    return choose(row, page, seed=seed, distractors=distractors, options=options)


def offered(row: Row, shows: Shows) -> Offered:
    """What `SeenAction` has of a row's elements: those offered as candidates of this run, but
    drawn by no seed, as what was done before is known."""
    page, options = page_of(row), selection(shows.options)
    every = everything(row, page, options)
    ranked = shows.options.candidates == "ranker"
    ids = chosen_of(row, page, shows).ids if ranked else every.ids
    right = {candidate.id for candidate in accepted(row, options)}
    positives = tuple(node_id for node_id in every.ids if node_id in right)
    candidates = tuple((one, place if ranked else None) for place, one in enumerate(ids))
    return positives, candidates, every.ids


def _as_stored(row: Row, stored: StoredQuestion, options: StepOptions) -> Chosen:
    right = row.detail.gold.elements
    shown = next((choice.id for choice in stored.choices if choice.id in right), None)
    return Chosen(tuple(choice.id for choice in stored.choices), shown, options.distractors or 0)


def _invalid(row: Row, chosen: Chosen, options: StepOptions) -> str | None:
    if row.detail.counts:
        return row.invalid
    if chosen.lost:
        return POSITIVE_NOT_ON_PAGE
    may_miss = options.candidates == "ranker" and accepted(row, selection(options))
    if chosen.shown is None and not may_miss:
        return NO_POSITIVE
    if row.invalid == NO_SCREENSHOT and options.lost_rows:
        return None
    return row.invalid


def _page(row: Row, chosen: Chosen) -> Page | None:
    """Return the page if it can be read and has all choices under their ids (rabbit's has not)."""
    try:
        page = Page.parse(row.detail.html)
    except PageError:
        return None
    return page if all(node in page for node in chosen.ids) else None


def _check_pictures(row: Row) -> None:
    stored = row.detail.stored.pictures if row.detail.stored is not None else ()
    for data in stored or ((row.detail.screenshot,) if row.detail.screenshot else ()):
        try:
            check_picture(data)
        except PictureError as error:
            raise DataError(f"{row.source or row.unit_id}: {error}") from error


def _sources(
    row: Row, pictures: Sequence[Picture], screenshot: Screenshot | None
) -> dict[str, bytes]:
    if row.detail.stored is not None:
        return {
            p.digest: data for p, data in zip(pictures, row.detail.stored.pictures, strict=True)
        }
    return (
        {screenshot.digest: row.detail.screenshot} if screenshot and row.detail.screenshot else {}
    )


def told(history: tuple[str, ...], before: Sequence[Earlier]) -> tuple[str, ...]:
    """Return the actions in words, those of `before` where they are known."""
    words = {one.index: one.words for one in before if one.words}
    return tuple(words.get(number, line) for number, line in enumerate(history))


def recalled(record: StepUnit, *, scene: bool) -> Ready[StepView]:
    """A step on record as it was asked about; with a `scene`, that knows the recorded texts."""
    choices = record.detail.choices
    step = step_of(record)
    if scene:
        step = replace(step, scene=RecordedScene(choices))
    gold, said = record.detail.gold, record.prediction
    missed = said is not None and said.status is Status.NOT_OFFERED
    secret, known = Secret(gold, gold.shown), NOT_OFFERED if missed else None
    return Ready(record, StepView(step, choices), secret, known=known)


def _plain(action: PastAction) -> dict[str, Any]:
    return {one.name: getattr(action, one.name) for one in fields(PastAction)}


def turn_record(turn: Turn[SeenAction]) -> Turn[PastAction]:
    """Return a finished turn as a step's line has it, without pages and candidates."""
    return Turn(turn.turn_id, turn.task, tuple(PastAction(**_plain(one)) for one in turn.actions))


def turn_of_record(turn: Turn[PastAction]) -> Turn[SeenAction]:
    """Return a recorded turn: its pages show nothing, and its candidates are unknown."""
    actions = (
        SeenAction(
            **_plain(one),
            candidates=(),
            elements=(),
            scene=RecordedScene([Choice("", node_id, "", "") for node_id in one.positives]),
        )
        for one in turn.actions
    )
    return Turn(turn.turn_id, turn.task, tuple(actions))


def step_of(record: StepUnit) -> Step:
    """Return what a protocol may know of a listed step, without its page."""
    detail = record.detail
    return Step(
        step_id=record.unit_id,
        info=info_of(record),
        history=detail.history,
        pictures=record.pictures,
        page_size=detail.page_size,
        turns=tuple(map(turn_of_record, detail.turns or ())),
    )
