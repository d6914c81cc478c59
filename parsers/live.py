"""The action space of live pages: what an agent can do in a browser.

The names are those of Mind2Web's operations: agents that answer with these can act on a
live page, too.
"""

from __future__ import annotations

from dataclasses import replace

from parsers.actions import ActionKind, ActionSpace, Argument

DIRECTIONS = ("up", "down", "left", "right")
MESSAGE, STOP, INFEASIBLE = "MESSAGE", "STOP", "INFEASIBLE"
STOPS = frozenset({STOP, INFEASIBLE})
"""The actions that end an episode, whatever its environment does with them."""
LIMIT, STOPPED, IDLE, WITHHELD = "step limit", "stopped", "no action", "refused"
"""Ends of episodes that are not the page's own: no step was left, the model said that it is done,
replies named no action, and there was none."""

_WHERE = (Argument("element", "element"), Argument("point", "point"))
_PERHAPS = tuple(Argument(one.name, one.kind, required=False) for one in _WHERE)
_VALUE = Argument("value", "text", compared="folded")
LIVE_ACTIONS = ActionSpace(
    "live",
    (
        ActionKind("CLICK", _WHERE),
        ActionKind(
            "TYPE",
            (*_WHERE, _VALUE, Argument("press_enter", "flag", required=False, compared="ignored")),
        ),
        ActionKind("SELECT", (*_WHERE, _VALUE)),
        ActionKind("HOVER", _WHERE),
        ActionKind("ENTER", _PERHAPS),
        ActionKind("PRESS", (*_PERHAPS, Argument("key", "text"))),
        ActionKind("KEYS", (_VALUE,)),
        ActionKind("SCROLL", (*_PERHAPS, Argument("direction", "choice", DIRECTIONS))),
        ActionKind(
            "SCROLL_BY", (*_PERHAPS, Argument("delta_x", "number"), Argument("delta_y", "number"))
        ),
        ActionKind("DRAG", (*_WHERE, Argument("to_x", "number"), Argument("to_y", "number"))),
        ActionKind("GOTO", (Argument("url", "text"),)),
        ActionKind("BACK"),
        ActionKind("FORWARD"),
        ActionKind("WAIT", (Argument("ms", "number", required=False, compared="ignored"),)),
        ActionKind(MESSAGE, (Argument("text", "text", compared="ignored"),)),
        ActionKind(STOP, (Argument("answer", "text", required=False, compared="ignored"),)),
        ActionKind(INFEASIBLE, (Argument("reason", "text", required=False, compared="ignored"),)),
    ),
)
"""Points are in pixels of the screenshot. `TYPE` replaces the text of its field, and presses Enter
afterwards if it says so; `SELECT` takes an option by its label or value; `ENTER` presses Enter, in
the element if there is one; `PRESS` presses a key by its name (`Tab`, `ArrowDown`, `Control+a`),
`KEYS` types a text, both where the focus is; `SCROLL_BY` goes so many pixels to the right and down,
with the pointer at its place or in the middle; `DRAG` goes from its element or point to (to_x,
to_y). `MESSAGE` tells the user something, and the environment decides whether that ends the
episode; `STOP` says that the agent is done, `INFEASIBLE` that the task cannot be done."""

_NEW_TAB = Argument("new_tab", "flag", required=False, compared="ignored")
BROWSER_ACTIONS = ActionSpace(
    "browser",
    (
        *(
            replace(kind, arguments=(*kind.arguments, _NEW_TAB)) if kind.name == "GOTO" else kind
            for kind in LIVE_ACTIONS.actions
        ),
        ActionKind("GO", (Argument("direction", "choice", ("backward", "forward")),)),
        ActionKind("NEW_TAB"),
        ActionKind("FOCUS_TAB", (Argument("index", "number"),)),
        ActionKind("CLOSE_TAB"),
    ),
)
"""The same where an agent has a whole browser with tabs, which are counted from 0; `GO` is `BACK`
or `FORWARD`, for those who have one word for both."""
