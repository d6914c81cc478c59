"""The protocol `native` on live pages: one conversation about an episode.

Of a reply all acts are carried out in order, each as a step of the episode, until one fails or the
page ends. Then all calls are answered at once, with the page as it is by then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from adapters.conversation import Conversation, Message, Picture, Reply, Shown, Text, user
from harness.dialogue import Ask, Dialogue
from harness.errors import UserError
from harness.native.kinds import NativePage
from harness.native.looks import Offer, answered, calls_of, looked
from harness.options import History
from harness.pictures import Recipe
from harness.protocols.contract import flagged, limit_of
from harness.protocols.pointing import on_page
from harness.views import LiveView
from parsers.actions import Action
from parsers.live import STOPS
from parsers.native import ToolAct
from parsers.native.live import actions_of, told
from parsers.native.page import Elements
from parsers.native.reading import ReplyActs, reply_acts
from parsers.points import from_pixels
from parsers.records import Prediction, Status
from parsers.reply_text import Nothing, open_reply
from parsers.screen import Point

_CLICK = Prediction(Status.ANSWERED, Action("CLICK", point=(1.0, 1.0)))
MOST_PICTURES = 1_000
"""Pictures of an episode: more than it has steps."""


@dataclass(slots=True)
class _Episode:
    """The state of a conversation.

    said: the acts of the last reply, in order.
    left: its actions that are not done yet, each with the place of its act.
    doing: the place of the act that is being carried out.
    failed: the place of the act that failed, and why.
    """

    conversation: Conversation | None = None
    reply: Reply | None = None
    said: list[ToolAct] = field(default_factory=list)
    left: deque[tuple[int, Action]] = field(default_factory=deque)
    doing: int = 0
    failed: tuple[int, str] | None = None
    pointer: Point | None = None

    def next(self) -> Prediction:
        """Return the next action that is left."""
        self.doing, action = self.left.popleft()
        return Prediction(Status.ANSWERED, action)


@dataclass(frozen=True)
class NativeLive(NativePage):
    """The next actions on a live page."""

    safety: Literal["acknowledge", "stop"] = "acknowledge"
    """Whether a call that the provider wants confirmed is done, or ends the episode."""

    View = LiveView

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.safety == "stop" and not (self.vendors and self.vendors.confirms):
            raise UserError(f"safety=stop has no effect with tool={self.tool}: leave it out")

    @property
    def history_shown(self) -> History:
        """All turns, with their pictures."""
        return History(turns=True, pictures=(MOST_PICTURES, MOST_PICTURES))

    def opening(self, view: LiveView, picture: Picture) -> tuple[Message, ...]:
        return self._asked("live", "browser", self.task(view.step.info.task, ()), picture)

    def dialogue(self, view: LiveView) -> Dialogue:
        """Return the next action: one that is left of the last reply, or the first of another."""
        picture, offer = self._offer(view)
        page, size = self.page_of(view), view.step.page_size or (picture.width, picture.height)
        now: _Episode = view.memory.setdefault(self.name, _Episode())
        failure = view.step.before[-1].outcome if view.step.before else ""
        if now.left or now.reply is not None:
            if failure:
                now.failed, now.left = (now.doing, failure), deque()
            if now.left:
                return now.next()
        # An estimate looks as often as it may, then clicks, up to the last step of the episode.
        click = Reply(self.write(view, _CLICK)[self.places[0]])
        for place in self.places:
            if now.conversation is None or now.reply is None:
                now.conversation = Conversation(self.opening(view, picture), tools=offer.tools)
            else:
                answers = _answers(now, now.reply, offer, picture, page)
                now.conversation = now.conversation.then(now.reply, answers)
            rehearsed = click if place == self.places[-1] else offer.rehearsed or click
            limit = limit_of(self.max_tokens, 0)
            reply = yield Ask(now.conversation, place, max_tokens=limit, rehearsed=rehearsed)
            assert isinstance(reply, Reply)
            named = any(call.name for call in calls_of(reply))
            if not named or reply.finish.value not in ("stop", "length"):
                now.conversation = now.reply = None
                return _ended(reply)
            now.reply, now.failed = reply, None
            now.said = offer.acts(reply)
            flags = {flag for act in now.said for flag in act.flags}
            if self.safety == "stop" and "safety_check" in flags:
                return Prediction(Status.REFUSAL, flags=("safety_check",))
            turn = reply_acts(
                now.said,
                frozenset(),
                lambda point: _anywhere(point, offer, picture),
                now.pointer,
                script=True,
                page=page,
            )
            now.pointer = turn.pointer
            _queue(now, turn, page, size)
            if now.left:
                return flagged(now.next(), flags)
        return Prediction(Status.NO_ELEMENT, flags=("looks_only",))

    def write(self, view: LiveView, said: Prediction) -> Mapping[str, str]:
        """Say in words that the episode is over."""
        if said.action is not None and said.action.name in STOPS:
            return {"act": str(said.action.arguments.get("answer") or "Done.")}
        return super().write(view, said)


def _queue(now: _Episode, turn: ReplyActs, page: Elements, size: tuple[int, int]) -> None:
    """Line up the actions of a reply, up to the first that no page can do."""
    for act in turn.acts:
        done = [] if act.outside or act.wrong else list(actions_of(act, page, size))
        if not done:
            why = "there is no such element" if act.outside else "this cannot be done here"
            now.failed = act.place, act.wrong or why
            return
        now.left += [(act.place, action) for action in done]


def _anywhere(point: Point, offer: Offer, picture: Picture) -> Point:
    """Convert a model's numbers to a point of the page, or outside of it: the page refuses that."""
    size = picture.width, picture.height
    ends = from_pixels(size, offer.convention, size)
    x, y = (n * side / end for n, side, end in zip(point, size, ends, strict=True))
    x, y = Recipe.parse(picture.recipe).to_page(x, y)
    return round(x, 6), round(y, 6)


def _ended(reply: Reply) -> Prediction:
    """Return what a reply without calls says: that the task is done. The provider may have found a
    call that it could not read."""
    if reply.tool_calls and reply.finish.value == "stop":
        return Prediction(Status.PARSE_ERROR, flags=("malformed_call",))
    opened = open_reply(reply.text, reply.finish.value)
    if isinstance(opened, Nothing):
        return Prediction(opened.status, flags=opened.flags)
    if reply.finish.value == "length":
        return Prediction(Status.TRUNCATED)
    return Prediction(Status.ANSWERED, Action("STOP", arguments={"answer": opened.text.strip()}))


def _answers(
    now: _Episode, reply: Reply, offer: Offer, picture: Picture, page: Elements
) -> Message:
    """Answer all calls of the last reply: what was done, what failed, and what is seen now."""
    calls, failed = calls_of(reply), now.failed

    def shows(act: ToolAct) -> list[Shown] | str:
        if failed is not None and act.place >= failed[0]:
            return f"Error: {failed[1]}" if act.place == failed[0] else offer.halted
        if act.word == "look":
            return looked(act, picture, lambda at: on_page(at, offer.convention, picture), page)
        return [Text(told(act))]

    results = answered(offer, calls, now.said, picture, shows, live=True)
    if failed is not None and any(call.name in offer.pictured for call in calls):
        # An answer with one picture has no room for an error.
        told_why = f"Action {failed[0] + 1} of {len(now.said)} failed: {failed[1]}."
        return user(*results, Text(f"{told_why} The actions after it were not done."))
    return user(*results, *(() if offer.shows else (picture,)))
