"""The protocol `native`: a model is asked through tools, and its first act is the prediction.

A reply that only looks (a wait, a scroll that shows nothing new) is answered from the recorded
picture, at most `turns` times. Each kind of unit has a protocol of its own over one reader.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from adapters.contract import AdapterInfo
from adapters.conversation import (
    Conversation,
    Message,
    Order,
    Picture,
    Reply,
    Shown,
    Tool,
    canonical_json,
    illustrated,
    system,
    user,
)
from harness.dialogue import Ask, Dialogue
from harness.errors import UserError
from harness.native.functions import ALONE, QWEN, offered
from harness.native.looks import Offer, answered, calls_of, looked
from harness.native.offers import VENDORS, VendorTool, tool_of
from harness.protocols.contract import AskingProtocol, Needs, flagged, limit_of
from harness.protocols.pointing import check_pointing, numbers_of, on_page, one_picture
from harness.protocols.texts import Schema, Texts, open_texts
from harness.views import LiveView, ScreenView
from parsers.native import ToolAct
from parsers.native.page import Elements
from parsers.native.reading import ReplyActs, Rule, reply_acts
from parsers.native.spelling import spelled
from parsers.points import Convention
from parsers.records import Prediction, Status
from parsers.screen import Device, Point

if TYPE_CHECKING:
    from harness.pictures import PicturePolicy

MOST_TURNS = 50
NEEDS = Needs(picture_policy="full:pixels=33177600", scene=False, sees=True, point=True)
PAIR = "pair"
"""Name of the call whose reply may have the text of a field that was pressed."""
DEVICES: Mapping[Device, str] = {
    "phone": "a phone",
    "computer": "a computer",
    "browser": "a web browser",
}
_SYSTEM = frozenset({"device", "looks", "fill"})
_NEEDED = {
    "place": frozenset({"instruction"}),
    "step": frozenset({"instruction"}),
    "history": frozenset({"actions"}),
}
_SCHEMA = Schema(
    "native.toml",
    {
        **dict.fromkeys(("name", "at_once", "fill", "declining"), frozenset[str]()),
        **dict.fromkeys(("system", "script", "pointing", "live"), _SYSTEM),
        "looks": frozenset({"turns"}),
        "task": frozenset({"goal", "step", "history"}),
        **_NEEDED,
    },
    {**_NEEDED, "task": frozenset({"goal"})},
)


@dataclass(frozen=True)
class Native(AskingProtocol):
    """The part that all kinds of units share."""

    tool: Literal[
        "auto",
        "functions",
        "computer",
        "computer-toolset",
        "browser-toolset",
        "gemini-browser",
        "gemini-mobile",
    ] = "auto"
    """What the model acts with: the newest computer tool of its vendor, or `functions` for any
    server with a tool parser."""
    family: Literal["auto", "qwen", "own"] = "auto"
    """Functions that a family was trained on, or our own; `auto` chooses by the model's name."""
    coordinates: Convention | None = None
    """Meaning of the model's numbers; None takes the declaration of its adapter."""
    turns: int = 3
    """Replies that only look and are answered; 0 asks the model to act at once."""
    zoom: Literal["on", "off"] = "on"
    """Whether a tool that can zoom may."""
    extras: Literal["offered", "none"] = "offered"
    """Whether functions stand beside a vendor's tool, for actions of the set that it lacks."""
    order: Order = "text-first"
    """Where the picture stands."""
    prompts: Path | None = None
    """File with texts that replace the shipped ones."""
    max_tokens: tuple[int, ...] = ()
    """Token limit of each reply."""

    name = "native"
    needs = NEEDS
    of_model = ("tool", "family", "coordinates")
    paper = "the tools of the models' vendors (docs/native-tools.md)"

    def __post_init__(self) -> None:
        """Raise `UserError` for a number of turns that makes no sense, or a wrong prompt file."""
        if not 0 <= self.turns <= MOST_TURNS:
            raise UserError(f"turns={self.turns}: give 0 to {MOST_TURNS}")
        if self.zoom == "off" and not (self.vendors and self.vendors.zooms):
            raise UserError(f"zoom=off has no effect with tool={self.tool}: leave it out")
        if self.extras == "none" and self.vendors is None:
            raise UserError(f"extras=none has no effect with tool={self.tool}: leave it out")
        if self.vendors is not None and self.family != "auto":
            raise UserError(f"family has no effect with tool={self.tool}: leave it out")
        if self.vendors is not None and self.coordinates not in (None, self.vendors.convention):
            raise UserError(f"tool={self.tool} says what its numbers mean: leave out coordinates")
        self.texts  # noqa: B018

    @cached_property
    def texts(self) -> Texts:
        """Texts of the question, with placeholders."""
        return open_texts(_SCHEMA, self.prompts)

    @property
    def vendors(self) -> VendorTool | None:
        """The vendor's tool; None for functions."""
        return VENDORS.get(self.tool)

    @property
    def convention(self) -> Convention:
        """Meaning of the numbers; policies answer functions in thousandths."""
        if self.vendors is not None:
            return self.vendors.convention
        return self.coordinates or "per-mille"

    @property
    def places(self) -> tuple[str, ...]:
        """The first reply, and those after each look."""
        return ("act", *(f"look-{number}" for number in range(1, self.turns + 1)))

    def calls(self, count: int) -> tuple[int, int]:
        """Make one call, and another one after each look."""
        return 1, len(self.places)

    @classmethod
    def for_model(cls, values: Mapping[str, object], model: AdapterInfo) -> Mapping[str, object]:
        """Add the tool, the functions of the model's family, and what its numbers mean."""
        filled = dict(values)
        if filled.get("tool", "auto") == "auto":
            filled["tool"] = tool_of(model.model) or "auto"
        if filled["tool"] in VENDORS:
            return filled
        if filled.get("family", "auto") == "auto":
            filled["family"] = QWEN if "qwen" in model.model.lower() else "own"
        if filled.get("coordinates") is None:
            filled["coordinates"] = model.coordinates
        return filled

    def check(self, pictures: PicturePolicy, model: AdapterInfo) -> None:
        """Raise `UserError` for a model that has no tool of its own, and for undeclared
        coordinates."""
        if self.tool == "auto" and model.stand_in != "policy":
            raise UserError(
                f"no tool of its own is known for {model.name}: ask it through functions with "
                "--protocol-option tool=functions"
            )
        known = self.convention if self.vendors else self.coordinates
        check_pointing(self.name, known, pictures, model)
        if self.vendors is not None and model.stand_in != "policy":
            self.vendors.check(self.tool, model)

    def settings(self) -> dict[str, object]:
        """Return the fields with `auto` resolved, the texts by name and digest."""
        settings = super().settings()
        del settings["prompts"]
        resolved = {
            "tool": "functions" if self.tool == "auto" else self.tool,
            # A vendor's tool has none.
            "family": "auto" if self.vendors else QWEN if self.family == QWEN else "own",
            "coordinates": self.convention,
        }
        if self.vendors is not None:
            settings["tools"] = canonical_json(self.vendors.entry)
        named = {"prompts": self.texts.name, "prompts_sha256": self.texts.digest()}
        return {"protocol": settings.pop("protocol"), **named, **settings, **resolved}

    def notes(self, flags: Mapping[str, int]) -> list[str]:
        """Say when a model answers in words: its server may have no tool parser."""
        silent = flags.get("text_only", 0)
        if not silent:
            return []
        return [
            f"{silent} replies without a call: if a server leaves calls in the text, it needs a "
            "tool parser (vLLM: --enable-auto-tool-choice --tool-call-parser NAME)"
        ]

    def write(self, view: Any, said: Prediction) -> Mapping[str, str]:
        """Return the calls of a prediction as JSON; empty for what the tool cannot say."""
        picture, offer = self._offer(view)
        page, action = self.page_of(view), said.action
        if action is None:
            return {self.places[0]: "NONE" if said.status is Status.NONE else ""}

        def numbers(point: Point) -> Point:
            x, y = numbers_of(point, offer.convention, picture)
            return x, y

        beside = [tool.name for tool in offer.tools if isinstance(tool, Tool)]
        ref = page.ref_of(action.element) if page and offer.refs else ""
        if action.element is not None and not ref:
            action = replace(action, element=None, point=self.middle_of(action.element, view))
        size = (
            view.content.size if isinstance(view, ScreenView) else (picture.width, picture.height)
        )
        calls = spelled(action, offer.write, numbers, size, beside, ref)
        if calls is None:
            return {self.places[0]: ""}
        listed = [{"name": call.name, "arguments": call.arguments} for call in calls]
        return {self.places[0]: canonical_json(listed)}

    @abstractmethod
    def opening(self, view: Any, picture: Picture) -> tuple[Message, ...]:
        """Return the messages about a unit."""

    def page_of(self, view: Any) -> Elements | None:
        """Return the elements of the page that is shown, None where none are known."""
        return None

    def middle_of(self, element: str, view: Any) -> Point | None:
        """Return the middle of an element, None for one that cannot be seen."""
        return None

    def offers(self, view: Any) -> tuple[Device, tuple[str, ...]]:
        """Return the device that is shown, and the actions beyond clicks that are answers."""
        return "computer", ALONE

    def _offer(self, view: Any) -> tuple[Picture, Offer]:
        picture = one_picture(view.pictures, "the unit")
        size = picture.width, picture.height
        device, has = self.offers(view)
        if self.vendors is not None:
            extras = self.extras == "offered"
            live, zoom = isinstance(view, LiveView), self.zoom == "on"
            offer = self.vendors.offer(device, has, zoom=zoom, extras=extras, live=live)
            return picture, offer
        return picture, offered(self.family, device, has, self.convention, size)

    def task(self, goal: str, before: Sequence[str], step: str = "") -> str:
        """Return the question about a task: the goal, a sentence about this step, lines of what was
        done before."""
        texts = self.texts
        lines = [f"{number}. {line}" for number, line in enumerate(before, 1)]
        return texts.fill(
            "task",
            goal=goal,
            step=f"{texts.fill('step', instruction=step)}\n\n" if step else "",
            history=texts.fill("history", actions="\n".join(lines)) if lines else "",
        )

    def _asked(
        self, key: str, device: Device, question: str, picture: Picture, fill: str = ""
    ) -> tuple[Message, ...]:
        texts = self.texts
        can_look = self.turns and self.vendors is not None
        looks = texts.fill("looks", turns=self.turns) if can_look else texts["at_once"]
        opening = texts.fill(key, device=DEVICES[device], looks=looks, fill=fill).strip()
        return system(opening), illustrated((picture,), question.strip(), order=self.order)


class Recorded(Native):
    """The part that kinds of recorded units share: looks are answered from the record, and the
    first act ends the dialogue."""

    def check(self, pictures: PicturePolicy, model: AdapterInfo) -> None:
        """Raise `UserError`, also for more pictures in a request than the model takes."""
        super().check(pictures, model)
        rule, shown = model.image_rule, self.calls(0)[1]
        if rule is None or rule.many is None or shown <= rule.many[0]:
            return
        most, side = rule.many
        if min(pictures.max_side, rule.max_side or pictures.max_side) > side:
            raise UserError(
                f"turns={self.turns}: {shown} pictures in a request, and {model.name} takes more "
                f"than {most} only if no side is over {side} px: give at most "
                f"{self.turns - shown + most} turns, or --image-policy full:max_side={side}"
            )

    def dialogue(self, view: Any) -> Dialogue:
        """Ask until the model acts. Raises ValueError unless exactly one picture is shown."""
        picture, offer = self._offer(view)
        page = self.page_of(view)
        script = isinstance(view, ScreenView) and view.content.script
        conversation = Conversation(self.opening(view, picture), tools=offer.tools)

        def to_page(point: Point) -> Point | None:
            return on_page(point, offer.convention, picture)

        def shows(act: ToolAct) -> list[Shown] | str:
            return looked(act, picture, to_page, page)

        def heard(reply: Reply, pointer: Point | None) -> tuple[list[ToolAct], ReplyActs]:
            said = offer.acts(reply)
            return said, reply_acts(said, self.looks, to_page, pointer, script=script, page=page)

        flags: set[str] = set()
        pointer: Point | None = None
        for number, place in enumerate(self.places):
            limit = limit_of(self.max_tokens, number)
            reply = yield Ask(conversation, place, max_tokens=limit, rehearsed=offer.rehearsed)
            assert isinstance(reply, Reply)
            calls = calls_of(reply)
            said, turn = heard(reply, pointer)
            pointer = turn.pointer
            finish = reply.finish.value
            if not calls or finish not in ("stop", "length" if turn.acts else "stop"):
                return flagged(self.unread(reply, view), flags)
            if turn.acts:
                if finish == "length":
                    flags.add("cut")
                elif self.reads_on(turn, page):
                    results = answered(offer, calls, said, picture, shows)
                    flags |= {"answered_error" for one in results if one.is_error}
                    asked = conversation.then(reply, user(*results))
                    reply = yield Ask(asked, PAIR, max_tokens=limit)
                    assert isinstance(reply, Reply)
                    turn.then = heard(reply, pointer)[1].acts
                by_rule: dict[str, Prediction] = {
                    rule: flagged(self.read(turn, view, page, rule), flags)
                    for rule in (self.rule, *self.rules)
                }
                read = by_rule.pop(self.rule)
                others = {rule: one for rule, one in by_rule.items() if one != read}
                function = calls[turn.acts[0].call].name
                extra = {"extra": function} if function in offer.extras else {}
                return replace(read, parsed={**read.parsed, **extra}, by_rule=others)
            flags |= {"safety_check"} & {flag for act in said for flag in act.flags}
            if number < self.turns:
                results = answered(offer, calls, said, picture, shows)
                flags |= {"answered_error" for one in results if one.is_error}
                conversation = conversation.then(reply, user(*results))
        return flagged(Prediction(Status.OUT_OF_TURNS), flags)

    @property
    def looks(self) -> frozenset[str]:
        """The words that only look at a unit of this kind."""
        return frozenset()

    def reads_on(self, turn: ReplyActs, page: Elements | None) -> bool:
        """Return whether the reply behind this one belongs to it."""
        return False

    @property
    def rule(self) -> Rule:
        """The rule that says which act of a reply counts."""
        return "first"

    @property
    def rules(self) -> tuple[Rule, ...]:
        return ()

    @abstractmethod
    def read(self, turn: ReplyActs, view: Any, page: Elements | None, rule: Rule) -> Prediction:
        """Return the prediction of a reply that acts."""

    @abstractmethod
    def unread(self, reply: Reply, view: Any) -> Prediction:
        """Return the prediction of a reply without calls."""
