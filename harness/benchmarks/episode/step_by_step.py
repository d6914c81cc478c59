"""Episodes step by step: every observation becomes a step that a protocol can be asked about.

The protocols are those of recorded steps. A live page has no right answer: all of its elements that
are in view are offered, or the first of a ranker.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Self

from adapters.conversation import Picture
from harness.benchmarks.episode.task import EpisodeTask
from harness.benchmarks.shows import Ready, Shows
from harness.benchmarks.step.history import PastScene
from harness.benchmarks.step.listing import list_step
from harness.benchmarks.step.options import StepOptions
from harness.dialogue import (
    SCREENSHOT,
    Act,
    Ask,
    Asks,
    Call,
    Dialogue,
    Observation,
    Replies,
    changed,
)
from harness.live.contract import PAGE, LivePage, Seen, decode_page
from harness.page import MIND2WEB_ATTRIBUTES, Attributes, Page, PageError
from harness.records import SEGMENT_ID, BrowserState, Earlier, Row, RowDetail, Said
from harness.runs import Unit
from harness.runs.live_steps import behind
from harness.runs.steps import STEP
from harness.views import LiveView, StepView, View
from parsers.actions import Action
from parsers.live import IDLE, LIMIT, STOPPED, STOPS, WITHHELD
from parsers.records import OPERATIONS, Prediction, Status
from parsers.reply_text import ENDED

BEGIN = "begin"
"""Name of the call that begins an episode."""
IN_A_ROW = 3
"""Steps in a row without an action after which an episode is over."""
_NO_PAGE = LivePage("<html></html>")


@dataclass(frozen=True, slots=True)
class EpisodeView(View):
    """An episode as a dialogue sees it.

    past: pictures of an episode on record; None where its pictures are still to be planned.
    shown: the pictures that were shown so far.
    memory: what the protocol keeps from step to step.
    """

    unit_id: str
    benchmark: str
    split: str
    task: EpisodeTask
    parents: Mapping[str, str] = field(default_factory=dict)
    past: tuple[Picture, ...] | None = None
    shown: list[Picture] = field(default_factory=list, compare=False, repr=False)
    memory: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def looked_up(self) -> tuple[Picture, ...]:
        """The pictures that were shown, each once."""
        return tuple(dict.fromkeys(self.shown))

    def again(self) -> Self:
        """Return the same with its own pictures and memory."""
        return replace(self, shown=[], memory={})


@dataclass(frozen=True)
class StepByStep:
    """Questions of a run about each observation of an episode in turn.

    ask: asks about an observation as `shows` says; its prediction comes in the actions of the
        benchmark.
    attributes: what AutoWebGLM's form shows of elements.
    """

    shows: Shows
    ask: Callable[[StepView, Shows], Dialogue]
    attributes: Attributes = MIND2WEB_ATTRIBUTES

    def dialogue(self, episode: EpisodeView) -> Dialogue:
        """Act until the episode is over.

        Returns the last action. `Prediction.parsed` has the raw `reward`, the number of `steps` and
        why it came to its `end`; `votes` adds up those for and against the actions of all steps.
        """
        episode.shown.clear()
        episode.memory.clear()
        limit = self.shows.options.max_steps or episode.task.max_steps
        observation, seen = _seen((yield Act(None, BEGIN)))
        before: tuple[Earlier, ...] = ()
        idle, end = 0, ""
        last, flags = Prediction(Status.ANSWERED), set[str]()
        action: Action | None = None
        number = agreed = others = 0
        while not (end := end or seen.reason or ("ended" if seen.ended else "")):
            if number == limit:
                end = LIMIT
                break
            number += 1
            page, parsed = _page(observation)
            question = self._question(episode, number, seen, page, observation, before)
            said, now = list[_Asked](), Earlier()
            if question.view.choices or self.shows.protocol.needs.point:
                about = question.view.latest(self.shows.protocol.history_shown.actions)
                last = yield from _numbered(
                    number, self.ask(question.view, self.shows), about, said
                )
            else:
                last = Prediction(Status.NO_ELEMENT)
            episode.shown.extend(question.view.looked_up or question.view.step.pictures)
            flags.update(last.flags)
            agreed, others = agreed + sum(last.votes[:1]), others + sum(last.votes[1:])
            if last.status in ENDED.values():
                end = WITHHELD
            elif last.status is not Status.ANSWERED or last.action is None:
                idle += 1
                end = IDLE if idle == IN_A_ROW else ""
                now = Earlier(words=f"no action: {_why_none(last)}")
            else:
                idle, action = 0, last.action
                plain, now = self._done(action, page, parsed, seen)
                observation, seen = _seen((yield Act(plain, f"act-{number}")))
                if seen.error:
                    words = f"{now.words} (failed: {seen.error})"
                    # The element from its page would not say so.
                    now = replace(now, words=words, outcome=seen.error, segment="")
                if action.name in STOPS and not seen.ended:
                    end = STOPPED
            asked = question.view.step
            now = replace(
                now,
                index=number - 1,
                pictures=question.view.looked_up or asked.pictures,
                page_size=asked.page_size,
                said=tuple(one.said for one in behind(last, said)),
                scene=PastScene(partial(str, page.html)),
            )
            before = (*before, now)
        found = {"reward": seen.reward, "steps": number, "end": end}
        # Few steps can be over before three replies in a row named no action.
        without = action is None or end in (WITHHELD, IDLE)
        status = last.status if without else Status.ANSWERED
        votes = (agreed, others) if others else (agreed,) if agreed else ()
        return Prediction(status, action, tuple(sorted(flags)), parsed=found, votes=votes)

    def _question(
        self,
        episode: EpisodeView,
        number: int,
        seen: Seen,
        page: LivePage,
        observation: Observation,
        before: tuple[Earlier, ...],
    ) -> Ready[StepView]:
        """The question about an observation: a step without a right answer."""
        pictured = seen.screenshot and episode.past is None
        candidates = tuple(one for one in page.candidates if one.id in page.in_view)
        row: Row = Unit(
            kind=STEP,
            unit_id=f"{episode.unit_id}_step-{number}",
            benchmark=episode.benchmark,
            split=episode.split,
            parents={"task": episode.unit_id, "website": next(iter(episode.parents.values()), "")},
            labels={"domain": "", "subdomain": ""},
            position=number - 1,
            total=self.shows.options.max_steps or episode.task.max_steps,
            goal=seen.goal,
            source=f"{episode.unit_id}, step {number}",
            detail=RowDetail(
                f"step-{number}",
                history=tuple(one.words for one in before),
                html=page.html,
                screenshot=observation.blobs[SCREENSHOT] if pictured else None,
                negatives=candidates or page.candidates,
            ),
        )
        given = self.shows.options
        options = StepOptions(
            candidates=given.candidates, top_k=given.top_k, image_policy=given.image_policy
        )
        shows = replace(self.shows, options=options)
        question = list_step(row, shows, attributes=self.attributes)
        window = BrowserState(seen.url, seen.title, seen.tabs, seen.tab)
        step = replace(question.view.step, before=before, page_size=seen.viewport, window=window)
        if episode.past is not None and self.shows.protocol.needs.pictures == "page":
            again = tuple(one for one in episode.past if one.digest == seen.screenshot)
            step = replace(step, pictures=again)
        return replace(question, view=LiveView(step, question.view.choices, episode.memory))

    def _done(
        self, action: Action, page: LivePage, parsed: Page, seen: Seen
    ) -> tuple[dict[str, Any], Earlier]:
        """An action for the world, and as a step that is over."""
        box = next((c.box for c in page.candidates if c.id == action.element and c.box), None)
        point = action.point
        if point is None and box is not None:
            point = (box.x + box.width / 2, box.y + box.height / 2)
        words = action_words(action, parsed)
        plain = {
            "name": action.name,
            "element": action.element,
            "point": action.point,
            "arguments": dict(action.arguments),
            "told": words,
            "box": None if box is None else (box.x, box.y, box.width, box.height),
        }
        operation = next((one for one in OPERATIONS if one == action.name), None)
        width, height = seen.viewport
        share = None if point is None else (point[0] / max(1, width), point[1] / max(1, height))
        segment = ""
        if self.shows.protocol.needs.segments and action.element is not None:
            segment = _segment(parsed, action.element, self.attributes)
        value = str(action.arguments.get("value", ""))
        return plain, Earlier(operation, value, share, segment=segment, words=words)


def _seen(observation: object) -> tuple[Observation, Seen]:
    assert isinstance(observation, Observation)
    return observation, Seen.from_plain(observation.content)


def _page(observation: Observation) -> tuple[LivePage, Page]:
    """The page of an observation; an empty one where none can be read, as pages are hostile."""
    if PAGE in observation.blobs:
        with suppress(ValueError, PageError):
            page = decode_page(observation.blobs[PAGE])
            return page, Page.parse(page.html)
    return _NO_PAGE, Page.parse(_NO_PAGE.html)


def _why_none(said: Prediction) -> str:
    """Return the reason that nothing was done in a step, as the model sees it."""
    if "other_action" in said.flags:
        return "this cannot be done here"
    if said.status is Status.NONE:
        return "none of the elements"
    if said.status in (Status.NO_ELEMENT, Status.OUT_OF_RANGE):
        return "no element or point that is there was named"
    return "the reply could not be read"


def _numbered(
    number: int, dialogue: Dialogue, about: StepView, said: list[_Asked]
) -> Generator[Asks, Replies, Prediction]:
    """The dialogue about a step, whose calls have its number in their names; `said` grows by what
    is asked of the model under test, and by its replies."""

    def heard(call: Call, reply: Any) -> None:
        if isinstance(call, Ask) and not call.role:
            asked = "\n".join(message.text for message in call.conversation.added)
            exchange = Said(call.place, asked, reply.text, reply.reasoning)
            said.append(_Asked(call.place, call.sample, exchange))

    def named(call: Any) -> Any:
        more = {"about": about} if isinstance(call, Ask) else {}
        return replace(call, place=f"{number}/{call.place}", **more)

    return changed(dialogue, named, heard)


class _Asked(NamedTuple):
    """An ask of a step, with its reply."""

    place: str
    sample: int
    said: Said


WORDS = 10
"""Words of an element that the history of an episode shows."""


def action_words(action: Action, page: Page) -> str:
    """An action in the words of Mind2Web's representations."""
    given = [value for value in action.arguments.values() if not isinstance(value, bool)]
    value = action.arguments.get("value", ", ".join(map(str, given)))
    done = f"{action.name}: {value}" if value != "" else action.name
    if action.element is not None:
        facts, text = _described(page, action.element)
        return f"[{facts}]  {text} -> {done}"
    if action.point is not None:
        return f"({action.point[0]:.0f}, {action.point[1]:.0f}) -> {done}"
    return done


def _described(page: Page, node_id: str) -> tuple[str, str]:
    """Role or tag of an element, and its label or text."""
    try:
        facts = page.role_of(node_id)
        text = page.text_of(node_id, WORDS)
    except ValueError:
        return "element", ""
    return facts.role or facts.tag, " ".join((text or next(iter(facts.labels), "")).split())


def _segment(page: Page, node_id: str, attributes: Attributes) -> str:
    try:
        return page.segment(node_id, {node_id: SEGMENT_ID}, attributes=attributes)
    except ValueError:
        return ""
