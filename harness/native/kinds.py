"""The protocol `native` for each kind of unit: what is asked, and what an answer is read as."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from adapters.conversation import Message, Picture, Reply
from harness.errors import UserError
from harness.native.protocol import NEEDS, PAIR, Native, Recorded
from harness.options import Source
from harness.page import Page
from harness.protocols.coordinates import smallest_under
from harness.protocols.pointing import numbers_of
from harness.views import PlaceView, ScreenView, StepView
from parsers.grounding import POINTING
from parsers.native.page import LONGEST_NAME, Elements, PageElement, role_of
from parsers.native.reading import ReplyActs, Rule, as_place, as_screen_step, text_only
from parsers.native.web import as_step, is_half
from parsers.records import Description, Prediction
from parsers.screen import SCREEN, Device, Point, Task
from parsers.screen.spelling import neutral


@dataclass(frozen=True)
class NativePlace(Recorded):
    """Point at what an instruction means on a picture."""

    refusals: Literal["offered", "unoffered"] = "unoffered"
    """The question says how to answer that nothing fits, or does not."""

    View = PlaceView
    actions = POINTING

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.extras == "none":
            raise UserError("extras=none has no effect on grounding: leave it out")

    @property
    def looks(self) -> frozenset[str]:
        return frozenset({"scroll", "wait"})

    def opening(self, view: PlaceView, picture: Picture) -> tuple[Message, ...]:
        question = self.texts.fill("place", instruction=view.content)
        if self.refusals == "offered":
            question += "\n\n" + self.texts["declining"]
        return self._asked("pointing", "computer", question, picture)

    def read(
        self, turn: ReplyActs, view: PlaceView, page: Elements | None, rule: Rule
    ) -> Prediction:
        return as_place(turn)

    def unread(self, reply: Reply, view: PlaceView) -> Prediction:
        return text_only(reply.text, reply.finish.value, declines=True)


@dataclass(frozen=True)
class NativeScreen(Recorded):
    """The next action on a screen."""

    level: Literal["high", "low"] = "high"
    """`high` asks with the task alone, `low` with the sentence about this step as well."""
    history: int | None = None
    """The earlier steps shown, as lines; None shows all."""
    acts: Literal["first", "turn"] = "first"
    """Which act of a reply counts: the first, or the first after a press and the text typed there
    are joined. In sets of scripts all count, joined."""

    View = ScreenView
    actions = SCREEN

    def opening(self, view: ScreenView, picture: Picture) -> tuple[Message, ...]:
        task = view.content
        shown, _ = self.history_shown.of(len(task.before))
        history = task.before[len(task.before) - shown :]
        convention = self.convention

        def numbers(point: Point) -> Point:
            return numbers_of(point, convention, picture)

        lines = [
            neutral(past.action, numbers) if past.action.name else past.sentence for past in history
        ]
        step = task.instruction if self.level == "low" else ""
        question = self.task(task.goal, lines, step)
        return self._asked("script" if task.script else "system", task.device, question, picture)

    def offers(self, view: ScreenView) -> tuple[Device, tuple[str, ...]]:
        task: Task = view.content
        return task.device, task.has

    @property
    def rule(self) -> Rule:
        return self.acts

    @property
    def rules(self) -> tuple[Rule, ...]:
        return ("first",) if self.acts == "turn" else ("turn",)

    def read(
        self, turn: ReplyActs, view: ScreenView, page: Elements | None, rule: Rule
    ) -> Prediction:
        task = view.content
        rule = "turn" if task.script else rule
        return as_screen_step(turn, rule, phone=task.device == "phone", script=task.script)

    def unread(self, reply: Reply, view: ScreenView) -> Prediction:
        return text_only(reply.text, reply.finish.value, ends="complete" in view.content.has)


@dataclass(frozen=True)
class NativePage(Native):
    """A web page whose elements are known."""

    needs = replace(NEEDS, sources=("all",), descriptions=True, texts=False, scene=True)

    def candidate_description(self, source: Source, top_k: int | None) -> str:
        """No candidates are listed."""
        return "none: by the model's tool"

    def offers(self, view: StepView) -> tuple[Device, tuple[str, ...]]:
        return "browser", ("click", "choose")

    def page_of(self, view: StepView) -> Elements:
        return elements_of(view)

    def middle_of(self, element: str, view: StepView) -> Point | None:
        box = next((one.box for one in view.choices if one.id == element), None)
        if box is None or not box.is_visible:
            return None
        return box.x + box.width / 2, box.y + box.height / 2


@dataclass(frozen=True)
class NativeStep(Recorded, NativePage):
    """The next action on a recorded web page."""

    history: int | None = None
    """The earlier actions shown, as lines; None shows all."""
    pairs: Literal["next", "turn"] = "next"
    """Whether one more reply is read after a mere press on a field or a list: `next` reads it."""
    acts: Literal["auto", "first", "turn", "next"] = "auto"
    """Which act counts: the first; the first after a press and the text typed there are joined
    (`turn`); the same over the reply that `pairs=next` reads (`next`). `auto` is as `pairs`."""

    View = StepView

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.acts == "next" != self.pairs:
            raise UserError("acts=next has no effect with pairs=turn: leave it out")

    @property
    def looks(self) -> frozenset[str]:
        return frozenset({"scroll", "wait"})

    def calls(self, count: int) -> tuple[int, int]:
        """Make one call, another one after each look, and one for the text of a field."""
        return 1, len(self.places) + (self.pairs == "next")

    def opening(self, view: StepView, picture: Picture) -> tuple[Message, ...]:
        step = view.step
        shown, _ = self.history_shown.of(len(step.history))
        question = self.task(step.info.task, step.history[len(step.history) - shown :])
        return self._asked("system", "browser", question, picture, self.texts["fill"])

    def settings(self) -> dict[str, object]:
        """Return the fields with `auto` resolved."""
        return {**super().settings(), "acts": self.rule}

    def reads_on(self, turn: ReplyActs, page: Elements | None) -> bool:
        return self.pairs == "next" and page is not None and is_half(turn, page)

    @property
    def rule(self) -> Rule:
        return self.pairs if self.acts == "auto" else self.acts

    @property
    def rules(self) -> tuple[Rule, ...]:
        known: tuple[Rule, ...] = ("first", "turn", "next")
        read = known if self.pairs == "next" else known[:2]
        return tuple(rule for rule in read if rule != self.rule)

    def read(
        self, turn: ReplyActs, view: StepView, page: Elements | None, rule: Rule
    ) -> Prediction:
        assert page is not None
        said = as_step(turn, rule, page)
        under = smallest_under(said.point, view.choices) if said.point else None
        return replace(said, under=under)

    def unread(self, reply: Reply, view: StepView) -> Prediction:
        return text_only(reply.text, reply.finish.value)

    def write(self, view: StepView, said: Prediction) -> Mapping[str, str]:
        """Add nothing where one more reply is asked for."""
        return {**super().write(view, said), PAIR: ""}


def elements_of(view: StepView) -> Elements:
    """Return the elements of a page: the candidates, all of which are offered, with their names,
    and what each lies in, where the page is at hand."""
    step, choices = view.step, view.choices
    page: Page | None = getattr(step.scene, "page", None)
    nodes = page.nodes() if page is not None else []
    places = {node.id: place for place, node in enumerate(nodes)}
    known = {choice.id: place for place, choice in enumerate(choices)}

    def above(node_id: str) -> int:
        place = nodes[places[node_id]].parent if node_id in places else -1
        while place >= 0 and nodes[place].id not in known:
            place = nodes[place].parent
        return known[nodes[place].id] if place >= 0 else -1

    listed = []
    for choice in choices:
        told = choice.description or Description()
        name = next(iter(told.labels), "") or told.text
        role = told.role or role_of(choice.tag, told.type)
        name = " ".join(name.split())[:LONGEST_NAME]
        listed.append(
            PageElement(choice.id, choice.tag, told.type, role, name, choice.box, above(choice.id))
        )
    return Elements(listed, step.page_size or (0, 0))
