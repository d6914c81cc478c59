"""AutoWebGLM's way to act (Lai et al. 2024), on recorded steps: one call, answered by a function.

Text only. The page is pruned to a ranker's candidates and written in AutoWebGLM's form, with the
ids A, B, ... in document order. The model calls one of ten functions; `click`, `hover`, `select`
and `type_string` have counterparts among Mind2Web's actions.

Previous actions are shown as commands, each with its element from the page of its step. Their ids
are drawn by hash for every action, and differ from those of the current page: a command does not
reveal the right id. Without the page of a step, Mind2Web's representation replaces the command.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from adapters.conversation import Conversation, Reply, user
from harness.dialogue import Ask, Dialogue
from harness.protocols.contract import Needs, limit_of, offered
from harness.protocols.texts import PromptedProtocol, Schema
from harness.records import SEGMENT_ID, Choice, Earlier, Step
from harness.views import StepView
from parsers import autowebglm
from parsers.actions import Action, Counterpart, Counterparts
from parsers.autowebglm import FUNCTIONS, Order
from parsers.records import Prediction, Status
from parsers.settling import spoken_as

SCHEMA = Schema(
    "autowebglm.toml",
    allowed={
        "question": frozenset({"page", "history", "viewport", "task"}),
        "command": frozenset({"command", "segment"}),
        "history_line": frozenset({"number", "action"}),
        "no_history": frozenset(),
    },
    needed={
        "question": frozenset({"page", "task"}),
        "command": frozenset({"command"}),
        "history_line": frozenset({"action"}),
    },
)
PLACE = "act"
WINDOW = 720
"""Height of the windows of Mind2Web's recordings, in pixels."""

_LIVE: Counterparts = {
    "click": Counterpart("CLICK"),
    "hover": Counterpart("HOVER"),
    "select": Counterpart("SELECT", {"option": "value"}),
    "type_string": Counterpart("TYPE", {"content": "value", "press_enter": "press_enter"}),
    "scroll_page": Counterpart("SCROLL", {"direction": "direction"}),
    "jump_to": Counterpart("GOTO", {"url": "url"}),
    "finish": Counterpart("STOP", {"answer": "answer"}),
}


@dataclass(frozen=True)
class AutoWebGLM(PromptedProtocol):
    """One call per step, answered by a call of a function."""

    history: int | None = None
    """Number of previous actions shown; None shows all."""
    max_tokens: tuple[int, ...] = ()
    """Token limit of the reply."""
    order: Order = "position"
    """The call that counts: the first, or the one that AutoWebGLM's runner looks for first."""

    name = "autowebglm"
    paper = "Lai et al. 2024 (AutoWebGLM)"
    way = "one function call"
    places = (PLACE,)
    needs = Needs(
        sources=("ranker", "snapshot", "all"),
        pictures="none",
        picture_policy="none",
        segments=True,
    )
    actions = FUNCTIONS
    counterparts = {  # noqa: RUF012
        "mind2web": {
            "click": Counterpart("CLICK"),
            "hover": Counterpart("CLICK", mapped=True),
            "select": Counterpart("SELECT", {"option": "value"}),
            "type_string": Counterpart("TYPE", {"content": "value"}),
        },
        "live": _LIVE,
        "browser": {
            **_LIVE,
            "jump_to": Counterpart("GOTO", {"url": "url", "new_tab": "new_tab"}),
            "go": Counterpart("GO", {"direction": "direction"}),
            "switch_tab": Counterpart("FOCUS_TAB", {"index": "index"}),
        },
    }
    schema = SCHEMA

    def dialogue(self, view: StepView) -> Dialogue:
        """Ask for a command. Raises ValueError without choices."""
        step, choices = offered(view)
        ids = element_ids(choices)
        conversation = Conversation((user(self.question(step, ids)),))
        reply = yield Ask(conversation, PLACE, max_tokens=limit_of(self.max_tokens, 0))
        assert isinstance(reply, Reply)
        found = autowebglm.read(reply.text, finish=reply.finish.value, order=self.order)
        return _on_page(found, {shown: node_id for node_id, shown in ids.items()})

    def write(self, view: StepView, said: Prediction) -> Mapping[str, str]:
        """Return the call that does what was predicted; `finish()` where no call can say it."""
        choices = view.choices
        action = said.action
        if action is not None and action.name in FUNCTIONS:
            shown = element_ids(choices).get(action.element or "")
            if shown is not None or not FUNCTIONS[action.name].places:
                return {PLACE: _spelled(replace(action, element=shown))}
        return {PLACE: autowebglm.spell(Action("finish"))}

    def question(self, step: Step, ids: Mapping[str, str]) -> str:
        """Return the message, with the ids that elements are shown with by node id."""
        height = step.page_size[1] / WINDOW if step.page_size else None
        return self.texts.fill(
            "question",
            page=step.scene.refined(ids) if step.scene else "",
            history=self._previous(step, ids),
            viewport="0 / unknown" if height is None else f"0 / {max(1.0, height):.1f}",
            task=" ".join(step.info.task.split()),
        )

    def _previous(self, step: Step, ids: Mapping[str, str]) -> str:
        """Return the previous actions, a line each."""
        known = {action.index: action for action in step.before if action.segment}
        used, lines = set(ids.values()), []
        first = 0 if self.history is None else max(0, len(step.history) - self.history)
        for number, line in list(enumerate(step.history))[first:]:
            action = known.get(number)
            if action is None:
                shown = " ".join(line.split())
                lines.append(self.texts.fill("history_line", number=number + 1, action=shown))
            else:
                shown = next(random_ids(f"{step.info.task_id}/{number}", used))
                used.add(shown)
                segment = action.segment.replace(f"[{SEGMENT_ID}]|", f"[{shown}]|")
                command = self._command(action, shown)
                lines.append(self.texts.fill("command", command=command, segment=segment))
        return "\n".join(lines) or self.texts["no_history"]

    def _command(self, action: Earlier, shown: str) -> str:
        done = Prediction.of(
            Status.ANSWERED, element=shown, operation=action.operation, value=action.value
        )
        counterpart = spoken_as(done, self.counterparts["mind2web"]).action
        return _spelled(counterpart) if counterpart else ""


def element_ids(choices: Sequence[Choice]) -> dict[str, str]:
    """Return the ids of candidates in document order, as far as that is known, by node id."""
    last = len(choices)
    listed = sorted(choices, key=lambda choice: last if choice.place is None else choice.place)
    return {choice.id: ordered_id(number) for number, choice in enumerate(listed)}


def _on_page(found: Prediction, nodes: Mapping[str, str]) -> Prediction:
    """Replace the id in a prediction by its element; an unknown id is out of range."""
    action = found.action
    if action is None or action.element is None:
        return found
    node_id = nodes.get(action.element)
    status = found.status if node_id is not None else Status.OUT_OF_RANGE
    return replace(found, status=status, action=replace(action, element=node_id))


def _spelled(action: Action) -> str:
    """Write the call of an action; typing includes the argument `press_enter`."""
    if action.name == "type_string":
        action = replace(action, arguments={"press_enter": False, **action.arguments})
    return autowebglm.spell(action)


_LETTERS = 26
_MOST_OF_TWO = 280


def ordered_id(index: int) -> str:
    """Return the id of the element at `index`, counted from zero.

    >>> [ordered_id(index) for index in (0, 25, 26, 701, 702, 18277, 18278)]
    ['A', 'Z', 'AA', 'ZZ', 'AAA', 'ZZZ', 'AAAA']
    """
    letters, number = "", index + 1
    while number > 0:
        number, place = divmod(number - 1, _LETTERS)
        letters = chr(ord("A") + place) + letters
    return letters


def random_ids(seed: int | str, taken: Collection[str] = ()) -> Iterator[str]:
    """Yield ids by hash of `seed`, without end and without repetition; none of them is `taken`.

    They have two letters, and three as soon as more than 280 are in use. More letters follow before
    half of all ids of a length are used up, which keeps the search for the next one short.
    """
    used = set(taken)
    for number in count():
        length = 2 if len(used) <= _MOST_OF_TWO else 3
        while 2 * len(used) > _LETTERS**length:
            length += 1
        digest = hashlib.sha256(f"{seed}/{number}".encode("utf-8", "surrogatepass")).digest()
        drawn, letters = int.from_bytes(digest, "big"), ""
        for _ in range(length):
            drawn, place = divmod(drawn, _LETTERS)
            letters += chr(ord("A") + place)
        if letters not in used:
            used.add(letters)
            yield letters
