"""The protocol `native` for each kind of unit: what is asked, and what an answer is read as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from adapters.conversation import Message, Picture, Reply
from harness.native.protocol import Native
from harness.protocols.pointing import numbers_of
from harness.views import PlaceView, ScreenView
from parsers.grounding import POINTING
from parsers.native.reading import Turn, as_place, as_screen_step, text_only
from parsers.records import Prediction
from parsers.screen import SCREEN, Point
from parsers.screen.spelling import neutral


@dataclass(frozen=True)
class NativePlace(Native):
    """Point at what an instruction means on a picture."""

    refusals: Literal["offered", "unoffered"] = "unoffered"
    """Whether the question says how to answer that nothing fits."""

    View = PlaceView
    actions = POINTING

    @property
    def looks(self) -> frozenset[str]:
        return frozenset({"scroll", "wait"})

    def opening(self, view: PlaceView, picture: Picture) -> tuple[Message, ...]:
        question = self.texts.fill("place", instruction=view.content)
        if self.refusals == "offered":
            question += "\n\n" + self.texts["declining"]
        return self._asked("pointing", "computer", question, picture)

    def read(self, turn: Turn, view: PlaceView) -> Prediction:
        return as_place(turn)

    def unread(self, reply: Reply, view: PlaceView) -> Prediction:
        return text_only(reply.text, reply.finish.value, declines=True)


@dataclass(frozen=True)
class NativeScreen(Native):
    """The next action on a screen."""

    level: Literal["high", "low"] = "high"
    """`high` asks with the task alone, `low` with the sentence about this step as well."""
    history: int | None = None
    """The earlier steps shown, as lines; None shows all."""

    View = ScreenView
    actions = SCREEN

    def opening(self, view: ScreenView, picture: Picture) -> tuple[Message, ...]:
        task, texts = view.content, self.texts
        shown, _ = self.history_shown.of(len(task.before))
        history = task.before[len(task.before) - shown :]
        convention = self.convention

        def numbers(point: Point) -> Point:
            return numbers_of(point, convention, picture)

        lines = [
            f"{place}. {neutral(past.action, numbers) if past.action.name else past.sentence}"
            for place, past in enumerate(history, 1)
        ]
        step = self.level == "low" and task.instruction
        question = texts.fill(
            "task",
            goal=task.goal,
            step=f"{texts.fill('step', instruction=task.instruction)}\n\n" if step else "",
            history=texts.fill("history", actions="\n".join(lines)) if lines else "",
        )
        return self._asked("script" if task.script else "system", task.device, question, picture)

    def read(self, turn: Turn, view: ScreenView) -> Prediction:
        task = view.content
        rule: Literal["first", "turn"] = "turn" if task.script else "first"
        return as_screen_step(turn, rule, phone=task.device == "phone", script=task.script)

    def unread(self, reply: Reply, view: ScreenView) -> Prediction:
        return text_only(reply.text, reply.finish.value, ends="complete" in view.content.has)
