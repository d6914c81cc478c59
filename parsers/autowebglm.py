"""The functions that AutoWebGLM's models call (Lai et al. 2024), and elements by ids of letters.

Models are asked for one call with positional arguments and a short comment behind it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from parsers.actions import Action, ActionKind, ActionSpace, Argument
from parsers.calls import Call, action_of, read_calls, spelled_action
from parsers.records import Prediction, Status
from parsers.reply_text import Nothing, open_reply, refuses

Order = Literal["position", "reference"]
"""The call that counts among several: the first, or the one whose function AutoWebGLM's runner
looks for first, wherever it stands."""

_ID = Argument("id", "element")
FUNCTIONS = ActionSpace(
    "autowebglm",
    (
        ActionKind("click", (_ID,)),
        ActionKind("hover", (_ID,)),
        ActionKind("select", (_ID, Argument("option", "text", compared="folded"))),
        ActionKind(
            "type_string",
            (
                _ID,
                Argument("content", "text", compared="folded"),
                Argument("press_enter", "flag", required=False, compared="ignored"),
            ),
        ),
        ActionKind("scroll_page", (Argument("direction", "choice", ("up", "down")),)),
        ActionKind("go", (Argument("direction", "choice", ("forward", "backward")),)),
        ActionKind(
            "jump_to",
            (
                Argument("url", "text", compared="folded"),
                Argument("new_tab", "flag", compared="ignored"),
            ),
        ),
        ActionKind("switch_tab", (Argument("index", "number"),)),
        ActionKind("user_input", (Argument("message", "text", compared="ignored"),)),
        ActionKind("finish", (Argument("answer", "text", required=False, compared="ignored"),)),
    ),
)
"""Two calls are the same with equal functions, ids and arguments, blanks folded. What is said to
the user, in `user_input` and `finish`, does not count, nor do flags."""

SEARCHED = (
    *("click", "type_string", "select", "scroll_page", "jump_to", "go", "hover", "finish"),
    *("switch_tab", "user_input"),
)
"""The functions in the order of the released runner for WebArena; it knows no
`user_input`."""

_NAMES = frozenset(SEARCHED)
_IN_PROMPTS = {"element_id": "id", "tab_index": "index"}
"""Arguments that have other names in the signatures that models are shown."""
_BRACKETED = re.compile(r"\[([A-Z]{1,4})\]")


def read(text: str, *, finish: str = "stop", order: Order = "position") -> Prediction:
    """Return the action that a reply calls for, not yet checked against any action space.

    Arguments may be given by name. Surplus ones are kept under names that no function has:
    `parsers.settling` flags them. Flags: `multiple` for a reply with different calls, `repaired`
    for a call that Python could not read, `truncated` for a complete call in a reply that was cut.

    No text raises an exception, and reading takes linear time.

    >>> read("A: type_string('AB', 'Ohio', True)  # the state").action
    Action(name='type_string', element='AB', point=None, \
arguments={'content': 'Ohio', 'press_enter': True})

    Raises `ValueError` for an unknown `finish`.
    """
    reply = open_reply(text, finish)
    if isinstance(reply, Nothing):
        return Prediction(reply.status, flags=reply.flags)
    calls = list(read_calls(reply, _NAMES))
    if not calls:
        if reply.cut:
            return Prediction(Status.TRUNCATED)
        refused = refuses(reply.shadow)
        return Prediction(Status.REFUSAL if refused else Status.PARSE_ERROR)
    if order == "reference" and calls[0].name in _NAMES:
        calls.sort(key=lambda call: SEARCHED.index(call.name))
    action, mended = _action(calls[0])
    # By what they print, since True would be 1.
    several = any(repr(_action(call)[0]) != repr(action) for call in calls[1:])
    flags = {"multiple"} if several else set()
    flags |= {"repaired"} if calls[0].repaired or mended else set()
    flags |= {"truncated"} if reply.cut else set()
    return Prediction(Status.ANSWERED, action, tuple(sorted(flags)))


def spell(action: Action) -> str:
    """Write the call that does an action, as `read` reads it back.

    Arguments are positional; those that are missing before others are None.

    >>> spell(Action("finish")), spell(Action("hover", "SD"))
    ('finish()', "hover('SD')")
    """
    return spelled_action(action, FUNCTIONS)


def _action(call: Call) -> tuple[Action, bool]:
    """Return the action, and whether its id had to be taken out of brackets, as pages show them."""
    action = action_of(call, FUNCTIONS, _IN_PROMPTS)
    bracketed = _BRACKETED.fullmatch(action.element or "")
    return (replace(action, element=bracketed[1]), True) if bracketed else (action, False)
