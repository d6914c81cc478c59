"""Protocols of the web on screens: `coordinates`, and SeeAct's two rounds.

A screen has no elements to choose from. The second round of SeeAct therefore asks for the action
in the form of the model's family, as `screen-agent` does; the first is the protocol's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from adapters.contract import AdapterInfo
from adapters.conversation import Order, Reply, user
from harness.benchmarks.screen.protocol import NEEDS, ScreenAgent
from harness.dialogue import Dialogue
from harness.protocols.contract import AskingProtocol, Needs
from harness.protocols.coordinates import Coordinates
from harness.protocols.pointing import one_picture
from harness.protocols.seeact import FIRST, SECOND, TwoRounds, described_first
from harness.records import Earlier, Step
from harness.views import ScreenView, StepView
from parsers.actions import Action, Value
from parsers.points import Convention
from parsers.records import Operation, Prediction, Status, StepInfo
from parsers.screen import SCREEN, Past, text_of
from parsers.screen.box_rules import shares

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


@dataclass(frozen=True)
class ScreenCoordinates(Coordinates):
    """`coordinates` about the picture of a screen."""

    View = ScreenView  # type: ignore[assignment]
    actions = SCREEN

    @property
    def needs(self) -> Needs:
        """One whole picture, and the earlier steps if the form looks at them."""
        return replace(NEEDS, before=super().needs.before)

    def dialogue(self, view: ScreenView) -> Dialogue:  # type: ignore[override]
        """Ask about a screen. Raises ValueError unless the view has exactly one picture."""
        prediction = yield from super().dialogue(StepView(_step(view), ()))
        return _canonical(prediction)

    def write(self, view: ScreenView, said: Prediction) -> Mapping[str, str]:  # type: ignore[override]
        """Return the reply with an action; empty for one that pages lack."""
        spoken = _spoken(said, view.content.size)
        if spoken is None:
            return dict.fromkeys(self.places, "")
        return super().write(StepView(_step(view), ()), spoken)


@dataclass(frozen=True)
class ScreenRounds(AskingProtocol):
    """Describe the next action, then write it in the form of the model's family."""

    family: str = "auto"
    """Form of the second reply; `auto` chooses by the model's name."""
    coordinates: Convention | None = None
    """Meaning of the model's numbers; None takes the adapter's declaration, else the family's."""
    scroll: Literal["content", "finger", "auto"] = "auto"
    """What the model's words for directions name; `auto` takes the family's."""
    history: int | str | None = None
    """What is shown of earlier steps (`History`); None: all actions."""
    max_tokens: tuple[int, ...] = ()
    """Token limits of the replies by round, the last one for all later rounds."""
    order: Order = "picture-first"
    """Where the picture stands."""
    prompts: Path | None = None
    """File with texts that replace those of the first round."""

    name = TwoRounds.name
    paper = TwoRounds.paper
    View = ScreenView
    actions = SCREEN
    places = (FIRST, SECOND)
    needs = NEEDS
    of_model = ScreenAgent.of_model

    def __post_init__(self) -> None:
        """Raise `UserError` for an unknown family, and for a wrong prompt file."""
        self.first, self.agent  # noqa: B018

    @cached_property
    def first(self) -> TwoRounds:
        """The protocol of pages, which asks in the first round."""
        return TwoRounds(
            prompts=self.prompts, history=self.history, max_tokens=self.max_tokens, order=self.order
        )

    @cached_property
    def agent(self) -> ScreenAgent:
        """The protocol of screens, which asks in the second round."""
        return ScreenAgent(family=self.family, coordinates=self.coordinates, scroll=self.scroll)

    @classmethod
    def for_model(cls, values: Mapping[str, object], model: AdapterInfo) -> Mapping[str, object]:
        """Add the family of the model's name, and what its numbers mean."""
        return ScreenAgent.for_model(values, model)

    def check(self, pictures: PicturePolicy, model: AdapterInfo) -> None:
        """Raise `UserError` for coordinates and words for directions that no one has declared."""
        self.agent.check(pictures, model)

    def settings(self) -> dict[str, object]:
        """Return the fields with `auto` resolved, the texts by name and digest."""
        settings, first, agent = super().settings(), self.first.settings(), self.agent.settings()
        del settings["prompts"]
        texts = {key: first[key] for key in ("prompts", "prompts_sha256")}
        resolved = {key: agent[key] for key in self.of_model}
        return {"protocol": settings.pop("protocol"), **texts, **settings, **resolved}

    def dialogue(self, view: ScreenView) -> Dialogue:
        """Ask about a screen. Raises ValueError unless the view has exactly one picture."""
        picture = one_picture(view.pictures, f"step {view.unit_id}")

        def read(reply: Reply) -> Prediction:
            return self.agent.read(reply, view.content, picture)

        rounds = described_first(
            self.first.opening(_step(view)),
            (user(self.agent.second(view.content, picture)),),
            read,
            places=(FIRST, SECOND),
            max_tokens=self.max_tokens,
        )
        return (yield from rounds)

    def write(self, view: ScreenView, said: Prediction) -> Mapping[str, str]:
        """Return both replies; the second is empty for an action that the form cannot say."""
        (second,) = self.agent.write(view, said).values()
        return {FIRST: str(said.action or "No action"), SECOND: second}


def _step(view: ScreenView) -> Step:
    """A screen as protocols of the web see it: a page without elements."""
    task = view.content
    known = {one.index: one for one in view.before}
    before = [
        _earlier(known.get(place, Earlier(index=place)), past, task.size)
        for place, past in enumerate(task.before)
    ]
    info = StepInfo(
        task_id=view.unit_id,
        action_uid=view.unit_id,
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
        view.unit_id,
        info,
        history=tuple(one.words for one in before),
        pictures=view.pictures,
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
