"""The action space of live pages: what an agent can do in a browser.

The names are those of Mind2Web's operations, so that whoever answers with one of these can act on a
live page, too.
"""

from __future__ import annotations

from parsers.actions import ActionKind, ActionSpace, Argument

DIRECTIONS = ("up", "down", "left", "right")
STOP = "STOP"
LIMIT, STOPPED, IDLE, WITHHELD = "step limit", "stopped", "no action", "withheld"
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
            (
                *_WHERE,
                _VALUE,
                Argument("press_enter", "flag", required=False, compared="ignored"),
            ),
        ),
        ActionKind("SELECT", (*_WHERE, _VALUE)),
        ActionKind("HOVER", _WHERE),
        ActionKind("ENTER", _PERHAPS),
        ActionKind("PRESS", (Argument("key", "text"),)),
        ActionKind("SCROLL", (*_PERHAPS, Argument("direction", "choice", DIRECTIONS))),
        ActionKind("DRAG", (*_WHERE, Argument("to_x", "number"), Argument("to_y", "number"))),
        ActionKind("GOTO", (Argument("url", "text"),)),
        ActionKind("BACK"),
        ActionKind("FORWARD"),
        ActionKind(STOP, (Argument("answer", "text", required=False, compared="ignored"),)),
    ),
)
"""Points are in pixels of the screenshot. `TYPE` replaces the text of its field, and presses Enter
afterwards if it says so; `SELECT` takes an option by its label or value; `ENTER` presses Enter, in
the element if there is one; `PRESS` presses a key by its name (`Tab`, `ArrowDown`, `Control+a`);
`DRAG` goes from its element or point to (to_x, to_y). `STOP` says that the agent is done."""
