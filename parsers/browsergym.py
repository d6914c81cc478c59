"""The actions of agents for BrowserGym as strings: one function call.

Elements are named by their `bid`, points by pixels of the page. Nothing in an action is ever
evaluated (`parsers.calls`).
"""

from __future__ import annotations

import re
from dataclasses import replace

from parsers.actions import Action, ActionKind, ActionSpace, Argument
from parsers.calls import Call, action_of, read_calls, spelled_action
from parsers.records import Prediction, Status
from parsers.reply_text import Nothing, open_reply, refuses, without_thinking

_BID = Argument("bid", "element")
_BUTTON = Argument(
    "button", "choice", ("left", "middle", "right"), required=False, compared="ignored"
)
_KEY, _URL = Argument("key", "text"), Argument("url", "text")
_DELTAS = Argument("delta_x", "number"), Argument("delta_y", "number")
_TO = Argument("to_x", "number"), Argument("to_y", "number")
HIGH_LEVEL = ActionSpace(
    "high-level",
    (
        ActionKind("click", (_BID, _BUTTON)),
        ActionKind("fill", (_BID, Argument("value", "text", compared="folded"))),
        ActionKind("select_option", (_BID, Argument("options", "text", compared="folded"))),
        ActionKind("hover", (_BID,)),
        ActionKind("press", (_BID, Argument("key_comb", "text"))),
        ActionKind("mouse_click", (Argument("point", "point"), _BUTTON)),
        ActionKind("noop", (Argument("wait_ms", "number", required=False, compared="ignored"),)),
        ActionKind("send_msg_to_user", (Argument("text", "text", compared="ignored"),)),
        ActionKind("report_infeasible", (Argument("reason", "text", compared="ignored"),)),
        ActionKind("scroll", _DELTAS),
        ActionKind("mouse_move", (Argument("point", "point"),)),
        ActionKind("mouse_drag_and_drop", (Argument("point", "point"), *_TO)),
        ActionKind("keyboard_press", (_KEY,)),
        ActionKind("keyboard_type", (Argument("text", "text"),)),
        ActionKind("goto", (_URL,)),
        ActionKind("go_back"),
        ActionKind("go_forward"),
        ActionKind("new_tab"),
        ActionKind("tab_focus", (Argument("index", "number"),)),
        ActionKind("tab_close"),
    ),
)
STOPS = frozenset({"send_msg_to_user", "report_infeasible"})
"""The actions that end an episode."""
_SPELLINGS = {"from_x": "x", "from_y": "y"}
_TAGGED = re.compile(r"<action>(.*?)(?:</action>|\Z)", re.DOTALL | re.IGNORECASE)


def answer_in(text: str) -> str:
    """Return the text in the last `<action>` of a reply, the whole reply without one.

    >>> answer_in("It is click('3').\\n<action>click('4')</action>"), answer_in("click('3')")
    ("click('4')", "click('3')")
    """
    found = _TAGGED.findall(without_thinking(text))
    return found[-1] if found else text


def read(text: str, space: ActionSpace = HIGH_LEVEL, finish: str = "stop") -> Prediction:
    """Return the action in a string, a call of a function of the space, not yet checked against it.

    There may be words and comments around the call. Calls that differ are `ambiguous`, a text
    without a call is a `parse_error`. No text raises an exception, and reading takes linear time.

    >>> read("click(12)  # the menu").action, read('mouse_click(3, 4.5)').action.point
    (Action(name='click', element='12', point=None, arguments={}), (3.0, 4.5))
    """
    reply = open_reply(text, finish)
    if isinstance(reply, Nothing):
        return Prediction(reply.status, flags=reply.flags)
    calls = list(read_calls(reply, frozenset(kind.name for kind in space.actions)))
    if not calls:
        return Prediction(Status.REFUSAL if refuses(reply.shadow) else Status.PARSE_ERROR)
    action = _action(calls[0], space)
    # By what they print, since True would be 1.
    if any(repr(_action(call, space)) != repr(action) for call in calls[1:]):
        return Prediction(Status.AMBIGUOUS, flags=("multiple",))
    return Prediction(Status.ANSWERED, action, ("repaired",) if calls[0].repaired else ())


def spell(action: Action, space: ActionSpace = HIGH_LEVEL) -> str:
    """Write the call that does an action, as `read` reads it back.

    >>> spell(Action("fill", "12", arguments={"value": "Ohio's"})), spell(Action("noop"))
    ("fill('12', 'Ohio\\\\'s')", 'noop()')
    """
    return spelled_action(action, space)


def _action(call: Call, space: ActionSpace) -> Action:
    action = action_of(call, space, _SPELLINGS if call.name == "mouse_drag_and_drop" else {})
    bid = action.arguments.get("bid")
    # Models write ids of digits without quotes.
    if action.name in space and isinstance(bid, int) and not isinstance(bid, bool):
        rest = {name: value for name, value in action.arguments.items() if name != "bid"}
        return replace(action, element=str(bid), arguments=rest)
    return action
