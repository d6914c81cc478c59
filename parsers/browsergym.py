"""The actions of agents for BrowserGym that recorded pages know, as strings: one function call.

Elements are named by their `bid`, points by pixels of the page. `choose` is ours: it names a listed
candidate by its letter. Nothing in an action is ever evaluated (`parsers.calls`).
"""

from __future__ import annotations

from dataclasses import replace

from parsers.actions import Action, ActionKind, ActionSpace, Argument
from parsers.calls import Call, read_calls
from parsers.functions import action_of, spelled_action
from parsers.records import Prediction, Status
from parsers.reply_text import Nothing, open_reply, refuses

_BID = Argument("bid", "element")
_BUTTON = Argument(
    "button", "choice", ("left", "middle", "right"), required=False, compared="ignored"
)
FUNCTIONS = ActionSpace(
    "browsergym",
    (
        ActionKind("click", (_BID, _BUTTON)),
        ActionKind("fill", (_BID, Argument("value", "text", compared="folded"))),
        ActionKind("select_option", (_BID, Argument("options", "text", compared="folded"))),
        ActionKind("hover", (_BID,)),
        ActionKind("press", (_BID, Argument("key_comb", "text"))),
        ActionKind("mouse_click", (Argument("point", "point"), _BUTTON)),
        ActionKind(
            "choose",
            (
                Argument("letter", "text"),
                Argument("operation", "text", required=False),
                Argument("value", "text", required=False, compared="folded"),
            ),
        ),
        ActionKind("noop", (Argument("wait_ms", "number", required=False, compared="ignored"),)),
        ActionKind("send_msg_to_user", (Argument("text", "text", compared="ignored"),)),
        ActionKind("report_infeasible", (Argument("reason", "text", compared="ignored"),)),
    ),
)
STOPS = frozenset({"send_msg_to_user", "report_infeasible"})
"""The actions that end an episode."""

_NAMES = frozenset(kind.name for kind in FUNCTIONS.actions)


def read(text: str) -> Prediction:
    """The action in a string, not yet held against any action space.

    There may be words and comments around the call. Calls that differ are `ambiguous`, a text
    without a call is a `parse_error`. No text raises an exception, and reading takes linear time.

    >>> read("click(12)  # the menu").action, read('mouse_click(3, 4.5)').action.point
    (Action(name='click', element='12', point=None, arguments={}), (3.0, 4.5))
    """
    reply = open_reply(text, "stop")
    if isinstance(reply, Nothing):
        return Prediction(reply.status, flags=reply.flags)
    calls = list(read_calls(reply, _NAMES))
    if not calls:
        return Prediction(Status.REFUSAL if refuses(reply.shadow) else Status.PARSE_ERROR)
    action = _action(calls[0])
    # By what they print, since True would be 1.
    if any(repr(_action(call)) != repr(action) for call in calls[1:]):
        return Prediction(Status.AMBIGUOUS, flags=("multiple",))
    return Prediction(Status.ANSWERED, action, ("repaired",) if calls[0].repaired else ())


def spell(action: Action) -> str:
    """Write the call that does an action, as `read` reads it back.

    >>> spell(Action("fill", "12", arguments={"value": "Ohio's"})), spell(Action("noop"))
    ("fill('12', 'Ohio\\\\'s')", 'noop()')
    """
    return spelled_action(action, FUNCTIONS)


def _action(call: Call) -> Action:
    action = action_of(call, FUNCTIONS)
    bid = action.arguments.get("bid")
    # Models write ids of digits without quotes.
    if action.name in _NAMES and isinstance(bid, int) and not isinstance(bid, bool):
        rest = {name: value for name, value in action.arguments.items() if name != "bid"}
        return replace(action, element=str(bid), arguments=rest)
    return action
