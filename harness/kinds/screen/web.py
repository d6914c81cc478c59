"""Protocols of the web on screens: `coordinates` as it is, and SeeAct's two rounds.

A screen has no elements to choose from. The second round of SeeAct therefore asks for the action
in the form of the model's family, as `screen-agent` does; the first is the protocol's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from adapters.contract import AdapterInfo
from adapters.conversation import Reply, user
from harness.dialogue import Dialogue
from harness.errors import WithoutEffect
from harness.kinds.screen.protocol import ScreenAgent
from harness.protocols import Around, AskingProtocol, Needs, open_protocol
from harness.protocols.coordinates import Coordinates
from harness.protocols.pointing import one_picture
from harness.protocols.seeact import FIRST, SECOND, TwoRounds, described_first
from harness.records import Earlier, Item, Step
from harness.settings import SETTINGS
from parsers.actions import Action, Value
from parsers.records import Operation, Prediction, Status, StepInfo
from parsers.screen import KIND, SCREEN, Past, Task, text_of
from parsers.screen.verdicts import shares

if TYPE_CHECKING:
    from harness.pictures import PicturePolicy

_NAMES: Mapping[str, str] = {
    "CLICK": "click",
    "TYPE": "type",
    "SELECT": "select",
    "HOVER": "hover",
    "ENTER": "enter",
}
_OPERATIONS: Mapping[str, Operation] = {
    "click": "CLICK",
    "long_press": "CLICK",
    "type": "TYPE",
    "select": "SELECT",
}
_USED = ("history", "max_tokens", "order", "prompts")
"""Options of the two rounds that have an effect where no elements are listed."""


@dataclass(frozen=True)
class OnScreens(Around):
    """A protocol for pages, asked about the picture of a screen.

    Raises `UserError` for options about listed elements.
    """

    agent: ScreenAgent

    kind = KIND
    actions = SCREEN

    def __post_init__(self) -> None:
        if not isinstance(self.inner, TwoRounds):
            return
        usual = TwoRounds()
        for one in fields(TwoRounds):
            if one.name not in _USED and getattr(self.inner, one.name) != getattr(usual, one.name):
                own = one.name in SETTINGS
                raise WithoutEffect(
                    one.name if own else "protocol_options",
                    f"--protocol-option {one.name} has no effect on screens, which list no "
                    "elements",
                    key="" if own else one.name,
                )

    @property
    def places(self) -> tuple[str, ...]:
        return self.inner.places

    @property
    def needs(self) -> Needs:
        """One whole picture, and the earlier steps if the protocol looks at them."""
        return replace(self.agent.needs, before=self.inner.needs.before)

    def check(self, pictures: PicturePolicy, model: AdapterInfo) -> None:
        """Raise `UserError` for coordinates that nobody has declared."""
        super().check(pictures, model)
        if isinstance(self.inner, TwoRounds):
            self.agent.check(pictures, model)

    def dialogue(self, item: Item[Task]) -> Dialogue:
        """Ask about a screen. Raises ValueError unless the item shows exactly one picture."""
        step = _step(item)
        picture = one_picture(item.pictures, f"step {item.unit_id}")
        if not isinstance(self.inner, TwoRounds):
            prediction = yield from self.inner.dialogue(step, ())
            return _canonical(prediction)

        def read(reply: Reply) -> Prediction:
            return self.agent.read(reply, item.content, picture)

        question = (user(self.agent.second(item.content, picture)),)
        places, limits = (FIRST, SECOND), self.inner.max_tokens
        start = self.inner.opening(step)
        return (yield from described_first(start, question, read, places=places, max_tokens=limits))

    def spell(self, item: Item[Task], prediction: Prediction) -> Mapping[str, str]:
        """Return the replies with an action; empty for one that the form cannot say."""
        if isinstance(self.inner, TwoRounds):
            (said,) = self.agent.spell(item, prediction).values()
            return {FIRST: str(prediction.action or "No action"), SECOND: said}
        spoken = _spoken(prediction, item.content.size)
        if spoken is None:
            return dict.fromkeys(self.places, "")
        return self.inner.spell(_step(item), (), spoken)


def on_screens(protocol: AskingProtocol, info: AdapterInfo | None) -> AskingProtocol:
    """Return a protocol of the web as it asks about screens; others as they are."""
    if not isinstance(protocol, Coordinates) and type(protocol) is not TwoRounds:
        return protocol
    agent = open_protocol(ScreenAgent.name, {}, {}, model=info)
    assert isinstance(agent, ScreenAgent)
    return OnScreens(protocol, agent)


def _step(item: Item[Task]) -> Step:
    """A screen as protocols of the web see it: a page without elements."""
    task = item.content
    known = {one.index: one for one in item.before}
    before = [
        _earlier(known.get(place, Earlier(index=place)), past, task.size)
        for place, past in enumerate(task.before)
    ]
    info = StepInfo(
        task_id=item.unit_id,
        action_uid=item.unit_id,
        index=len(before),
        total_steps=len(before) + 1,
        benchmark="",
        split="",
        website="",
        domain="",
        subdomain="",
        task=task.goal,
    )
    return Step(
        item.unit_id,
        info,
        history=tuple(one.words for one in before),
        pictures=item.pictures,
        before=tuple(before),
        page_size=task.size,
    )


def _earlier(known: Earlier, past: Past, size: tuple[int, int]) -> Earlier:
    action = past.action
    point = None if action.point is None else shares(action.point, size)
    return replace(
        known,
        operation=_OPERATIONS.get(action.name),
        value=text_of(action) or "",
        point=point,
        words=past.sentence or str(action),
        page_size=size,
    )


def _canonical(prediction: Prediction) -> Prediction:
    """An answer about a page as one about a screen."""
    if prediction.status is not Status.ANSWERED or prediction.action is None:
        return replace(prediction, action=None)
    name = _NAMES.get(prediction.operation or "CLICK", "click")
    text: dict[str, Value] = {"text": prediction.value} if name in ("type", "select") else {}
    point = None if name == "enter" else prediction.point
    action = Action(name, point=point, arguments=text)
    return Prediction(prediction.status, action, prediction.flags)


def _spoken(prediction: Prediction, size: tuple[int, int]) -> Prediction | None:
    """An answer about a screen as one about a page; None for an action that pages lack."""
    action = prediction.action
    operation = _OPERATIONS.get(action.name) if action else None
    if action is None or operation is None or action.name == "long_press":
        return None
    middle = size[0] / 2, size[1] / 2
    return Prediction.of(
        Status.ANSWERED,
        point=action.point or middle,
        operation=operation,
        value=text_of(action) or "",
    )
