"""Action strings: one call of a function of BrowserGym (Le Sellier de Chezelles et al. 2025).

The page is shown as an accessibility tree or as shortened HTML with ids, as a picture, with or
without the ids on it, or both, as agents for BrowserGym do. Ids are those of the page
(`backend_node_id` of a recorded one, `bid` in BrowserGym). On a live page the model can also
scroll, press keys, go to addresses and to other tabs, and end the task with an answer.

A call is read as a text with literals (`parsers.browsergym`), and never evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from adapters.contract import AdapterInfo
from adapters.conversation import Conversation, Order, Picture, Reply, illustrated, system
from harness.dialogue import Ask, Dialogue
from harness.errors import UserError
from harness.pictures.recipe import Recipe
from harness.protocols.contract import Needs, limit_of
from harness.protocols.seeact_annotation import can_be_marked
from harness.protocols.texts import PromptedProtocol, Schema, history_lines
from harness.records import Choice, Step
from harness.views import StepView
from parsers import browsergym
from parsers.actions import Action, Counterpart, Counterparts
from parsers.browsergym import HIGH_LEVEL
from parsers.records import Prediction, Status

if TYPE_CHECKING:
    from harness.pictures import PicturePolicy

_FUNCTIONS = ("page_functions", "point_functions", "browser_functions", "tab_functions")
SCHEMA = Schema(
    "action_strings.toml",
    allowed={
        "system": frozenset(),
        "question": frozenset({"task", "window", "page", "history", "functions"}),
        "axtree": frozenset({"page"}),
        "html": frozenset({"page"}),
        "marks": frozenset(),
        "picture": frozenset(),
        "window": frozenset({"url", "tabs"}),
        "tab": frozenset({"number", "title", "url", "current"}),
        "current_tab": frozenset(),
        **dict.fromkeys(_FUNCTIONS, frozenset[str]()),
        "history_line": frozenset({"number", "action"}),
        "no_history": frozenset(),
    },
    needed={
        "question": frozenset({"task", "page", "functions"}),
        "axtree": frozenset({"page"}),
        "html": frozenset({"page"}),
        "history_line": frozenset({"action"}),
    },
)
PLACE = "act"
LONGEST_SHOWN = 300
"""Longest shown title or address, in characters."""

ON_RECORDED_PAGES: Counterparts = {
    "click": Counterpart("CLICK"),
    "fill": Counterpart("TYPE", {"value": "value"}),
    "select_option": Counterpart("SELECT", {"options": "value"}),
    "mouse_click": Counterpart("CLICK"),
    "hover": Counterpart("CLICK", mapped=True),
    "press": Counterpart("CLICK", mapped=True),
}
_LIVE: Counterparts = {
    **ON_RECORDED_PAGES,
    "hover": Counterpart("HOVER"),
    "press": Counterpart("PRESS", {"key_comb": "key"}),
    "mouse_move": Counterpart("HOVER"),
    "mouse_drag_and_drop": Counterpart("DRAG", {"to_x": "to_x", "to_y": "to_y"}),
    "keyboard_press": Counterpart("PRESS", {"key": "key"}),
    "keyboard_type": Counterpart("KEYS", {"text": "value"}),
    "scroll": Counterpart("SCROLL_BY", {"delta_x": "delta_x", "delta_y": "delta_y"}),
    "goto": Counterpart("GOTO", {"url": "url"}),
    "go_back": Counterpart("BACK"),
    "go_forward": Counterpart("FORWARD"),
    "noop": Counterpart("WAIT", {"wait_ms": "ms"}),
    "send_msg_to_user": Counterpart("MESSAGE", {"text": "text"}),
    "report_infeasible": Counterpart("INFEASIBLE", {"reason": "reason"}),
}
_BROWSER: Counterparts = {
    **_LIVE,
    "new_tab": Counterpart("NEW_TAB"),
    "tab_focus": Counterpart("FOCUS_TAB", {"index": "index"}),
    "tab_close": Counterpart("CLOSE_TAB"),
}
_NUMBERED = re.compile(r"[A-Za-z]{0,20}[0-9]{1,20}")
"""Ids that can be drawn on pictures."""
_ID = re.compile(r"[A-Za-z0-9]{1,40}")
_AT_POINTS = {"click": "mouse_click", "hover": "mouse_move"}


@dataclass(frozen=True)
class ActionStrings(PromptedProtocol):
    """One question about the page, answered by one call."""

    text: Literal["axtree", "html", "none"] = "axtree"
    """Form of the page: an accessibility tree, shortened HTML, or none."""
    marks: bool = False
    """True if the picture has a box around each element and its id on it."""
    points: bool = False
    """True if functions that take points of the picture are offered."""
    history: int | None = None
    """Number of previous actions shown; None shows all."""
    max_tokens: tuple[int, ...] = ()
    """Token limit of the reply."""
    order: Order = "picture-first"
    """Where the picture stands."""

    name = "action-strings"
    paper = "Le Sellier de Chezelles et al. 2025 (BrowserGym), high-level actions"
    way = "one action string"
    places = (PLACE,)
    actions = HIGH_LEVEL
    counterparts = {  # noqa: RUF012
        "mind2web": ON_RECORDED_PAGES,
        "live": _LIVE,
        "browser": _BROWSER,
    }
    schema = SCHEMA

    @property
    def needs(self) -> Needs:
        """The page, and the picture, with or without marks. A page without elements is allowed,
        since the model can leave it."""
        return Needs(
            sources=("all", "ranker", "snapshot"),
            pictures="crops" if self.marks else "page",
            texts=False,
            point=True,
        )

    def check(self, pictures: PicturePolicy, model: AdapterInfo) -> None:
        """Raise `UserError` if nothing is shown, or points would mean something else."""
        if pictures.name == "none":
            options = [name for name in ("marks", "points") if getattr(self, name)]
            if options or self.text == "none":
                option = f"{options[0]}=true" if options else "text=none"
                raise UserError(
                    f"--protocol-option {option}: --image-policy none shows no picture; "
                    "leave one of them out"
                )
        if not self.points:
            return
        if pictures.name == "tiles":
            raise UserError(
                "--image-policy tiles shows several pictures, and a point does not say on which "
                "of them it lies; leave out --protocol-option points=true"
            )
        if model.coordinates not in (None, "absolute"):
            raise UserError(
                f"the coordinates of {model.name} are no pixels, which points of action strings "
                "are; leave out --protocol-option points=true"
            )

    def dialogue(self, view: StepView) -> Dialogue:
        """Ask for an action. Raises ValueError for points without exactly one picture."""
        step, choices = view.step, view.choices
        pictures = self._pictures(step, choices)
        message = illustrated(pictures, self.question(step, choices), order=self.order)
        conversation = Conversation((system(self.texts["system"]), message))
        reply = yield Ask(conversation, PLACE, max_tokens=limit_of(self.max_tokens, 0))
        assert isinstance(reply, Reply)
        text = browsergym.answer_in(reply.text)
        found = browsergym.read(text, HIGH_LEVEL, reply.finish.value)
        return _on_page(found, choices, pictures)

    def write(self, view: StepView, said: Prediction) -> Mapping[str, str]:
        """Return the call of a prediction, or `noop()` if there is none."""
        step, choices = view.step, view.choices
        action = said.action
        known = _ids(choices)
        if (
            action is None
            or action.name not in HIGH_LEVEL
            or (action.element is not None and action.element not in known)
        ):
            action = Action("noop")
        elif action.name == "press" and action.element is None:
            arguments = {"key": action.arguments.get("key_comb", "")}
            action = Action("keyboard_press", arguments=arguments)
        elif action.element is None and action.name in _AT_POINTS:
            action = Action(_AT_POINTS[action.name], point=action.point)
        elif action.name == "fill":
            action = replace(action, arguments={"value": "", **action.arguments})
        elif action.name == "select_option":
            action = replace(action, arguments={"options": "", **action.arguments})
        elif action.name in ("send_msg_to_user", "report_infeasible"):
            text = next(iter(HIGH_LEVEL[action.name].values))
            action = replace(action, arguments={text: "", **action.arguments})
        if action.element is not None:
            action = replace(action, point=None)
        if action.point is not None:
            action = _moved(action, self._pictures(step, choices), to_page=False)
        return {PLACE: f"<action>\n{browsergym.spell(action, HIGH_LEVEL)}\n</action>"}

    def question(self, step: Step, choices: Sequence[Choice]) -> str:
        """Return the message without its pictures."""
        texts, ids = self.texts, _ids(choices)
        shown = []
        if self.text != "none":
            style: Literal["axtree", "xml"] = "axtree" if self.text == "axtree" else "xml"
            page = step.scene.refined(ids, style=style) if step.scene and ids else ""
            shown.append(texts.fill(self.text, page=page))
        if self.marks:
            shown.append(texts["marks"])
        elif step.pictures:
            shown.append(texts["picture"])
        return texts.fill(
            "question",
            task=step.info.task,
            window=self._window(step),
            page="\n\n".join(shown),
            history=history_lines(texts, step.history, self.history),
            functions="\n".join(self._functions(step)),
        )

    def _window(self, step: Step) -> str:
        """Describe a live page's browser, with a blank line at the end."""
        window = step.window
        if window is None:
            return ""
        tabs = (
            self.texts.fill(
                "tab",
                number=number,
                title=_short(title),
                url=_short(url),
                current=f" {self.texts['current_tab']}" if number == window.tab else "",
            )
            for number, (title, url) in enumerate(window.tabs)
        )
        text = self.texts.fill("window", url=_short(window.url), tabs="\n".join(tabs))
        return f"{text.rstrip()}\n\n"

    def _functions(self, step: Step) -> Iterator[str]:
        offered = (
            True,
            self.points,
            step.window is not None,
            bool(step.window and step.window.tabs),
        )
        for key, is_offered in zip(_FUNCTIONS, offered, strict=True):
            if is_offered:
                yield self.texts[key]

    def _pictures(self, step: Step, choices: Sequence[Choice]) -> tuple[Picture, ...]:
        if not self.marks or step.scene is None:
            return step.pictures
        visible = (one for one in choices if can_be_marked(one, step.page_size))
        marked = [choice.id for choice in visible if _NUMBERED.fullmatch(choice.id)]
        return step.scene.marked(marked, marked)


def _ids(choices: Sequence[Choice]) -> dict[str, str]:
    """Return the shown ids of elements; some ids of data cannot be shown."""
    return {choice.id: choice.id for choice in choices if _ID.fullmatch(choice.id)}


def _on_page(
    found: Prediction, choices: Sequence[Choice], pictures: Sequence[Picture]
) -> Prediction:
    """Convert the prediction's point to the page; an element not offered is out of range."""
    action = found.action
    if action is None:
        return found
    if action.point is not None:
        try:
            return replace(found, action=_moved(action, pictures, to_page=True))
        except ValueError:
            return replace(found, status=Status.OUT_OF_RANGE, action=replace(action, point=None))
    if action.element is None or action.element in _ids(choices):
        return found
    return replace(found, status=Status.OUT_OF_RANGE, action=replace(action, element=None))


def _moved(action: Action, pictures: Sequence[Picture], *, to_page: bool) -> Action:
    """Convert an action's points from the picture to the page, or from the page to the picture.

    Raises ValueError unless there is one picture, and the points lie on it.
    """
    if len(pictures) != 1 or action.point is None:
        raise ValueError("a point needs exactly one picture")
    picture = pictures[0]
    recipe = Recipe.parse(picture.recipe)

    def moved(x: float, y: float) -> tuple[float, float]:
        if not to_page:
            x, y = recipe.to_picture(x, y)
        elif not (0 <= x <= picture.width and 0 <= y <= picture.height):
            raise ValueError("the point is not on the picture")
        else:
            x, y = recipe.to_page(x, y)
        return round(x, 6), round(y, 6)

    arguments = dict(action.arguments)
    end = arguments.get("to_x"), arguments.get("to_y")
    if isinstance(end[0], int | float) and isinstance(end[1], int | float):
        arguments["to_x"], arguments["to_y"] = moved(end[0], end[1])
    return replace(action, point=moved(*action.point), arguments=arguments)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_SHOWN else f"{line[: LONGEST_SHOWN - 1]}…"
