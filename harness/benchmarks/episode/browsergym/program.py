"""The other side, `gym_worker`, under the Python that BrowserGym is installed in.

Actions of a live page in the words of BrowserGym: calls of its functions, with literals only.

No text of a model is passed on. Calls are composed from actions that were read,
and BrowserGym's own parser reads them again.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.processes import ChildEnded, Command, Pool
from harness.benchmarks.episode.browsergym import answers
from harness.benchmarks.episode.browsergym.suites import Suite
from harness.errors import UserError
from harness.live.acting import LONGEST_WAIT_MS, SCROLLED, USUAL_WAIT_MS, WAYS, NotDone, as_text
from harness.live.chromium import chromium, launching, scratch
from harness.live.snapshot import LIMITS, finding
from parsers.actions import Value
from parsers.calls import write_call
from parsers.settling import FAR

ID = re.compile(r"[A-Za-z0-9]{1,40}")
"""What BrowserGym numbers elements with: letters for their frames, and a number."""


def calls_of(action: Mapping[str, Any], size: tuple[int, int]) -> str:
    """The calls that do an action, a line each.

    Args:
        action: as plain values: `name`, `element`, `point`, `arguments`, and the `box` of its
            element.
        size: width and height of the screenshot.

    Raises `NotDone` for what cannot be done.

    >>> calls_of({"name": "TYPE", "element": "12", "arguments": {"value": "Ohio's"}}, (800, 600))
    "fill('12', 'Ohio\\\\'s')"
    """
    return "\n".join(write_call(name, values) for name, values in _calls(action, size))


def _calls(action: Mapping[str, Any], size: tuple[int, int]) -> Iterator[tuple[str, list[Value]]]:
    given: Mapping[str, Any] = action.get("arguments") or {}
    bid, place = _bid(action), action.get("point")
    value = as_text(given.get("value"))
    match action.get("name"):
        case "CLICK":
            yield ("click", [bid]) if bid else ("mouse_click", _point(place))
        case "HOVER":
            yield ("hover", [bid]) if bid else ("mouse_move", _point(place))
        case "TYPE":
            if bid:
                yield "fill", [bid, value]
            else:
                yield "mouse_click", _point(place)
                yield "keyboard_press", ["ControlOrMeta+a"]
                yield ("keyboard_type", [value]) if value else ("keyboard_press", ["Delete"])
            if given.get("press_enter") is True:
                yield ("press", [bid, "Enter"]) if bid else ("keyboard_press", ["Enter"])
        case "SELECT":
            if not bid:
                raise NotDone("an option is selected in an element, not at a point")
            yield "select_option", [bid, value]
        case "ENTER":
            yield from _press(bid, place, "Enter")
        case "PRESS":
            yield from _press(bid, place, as_text(given.get("key")))
        case "KEYS":
            yield "keyboard_type", [value]
        case "SCROLL":
            way = WAYS.get(as_text(given.get("direction")))
            if way is None:
                raise NotDone("the direction is up, down, left or right")
            if bid:
                yield "hover", [bid]
            elif place is not None:
                yield "mouse_move", _point(place)
            yield "scroll", [round(SCROLLED * size[0] * way[0]), round(SCROLLED * size[1] * way[1])]
        case "SCROLL_BY":
            yield "scroll", _numbers(given.get("delta_x"), given.get("delta_y"))
        case "DRAG":
            end = _numbers(given.get("to_x"), given.get("to_y"))
            yield "mouse_drag_and_drop", [*_point(place or _middle(action.get("box"))), *end]
        case "GOTO":
            address = as_text(given.get("url"))
            if not address.lower().startswith(("http://", "https://")):
                raise NotDone("an address begins with http:// or https://")
            if given.get("new_tab") is True:
                yield "new_tab", []
            yield "goto", [address]
        case "BACK":
            yield "go_back", []
        case "FORWARD":
            yield "go_forward", []
        case "GO":
            yield ("go_forward" if given.get("direction") == "forward" else "go_back"), []
        case "NEW_TAB":
            yield "new_tab", []
        case "CLOSE_TAB":
            yield "tab_close", []
        case "FOCUS_TAB":
            (index,) = _numbers(given.get("index"))
            yield "tab_focus", [int(index)]
        case "WAIT":
            (wait,) = _numbers(given.get("ms", USUAL_WAIT_MS))
            yield "noop", [min(max(0, wait), LONGEST_WAIT_MS)]
        case "MESSAGE":
            yield "send_msg_to_user", [as_text(given.get("text"))]
        case "STOP":
            yield "send_msg_to_user", [as_text(given.get("answer"))]
        case "INFEASIBLE":
            yield "report_infeasible", [as_text(given.get("reason"))]
        case _:
            raise NotDone("there is no such action")


def _press(bid: str | None, place: Any, key: str) -> Iterator[tuple[str, list[Value]]]:
    if not key:
        raise NotDone("that is no name of a key")
    if bid:
        yield "press", [bid, key]
        return
    if place is not None:
        yield "mouse_click", _point(place)
    yield "keyboard_press", [key]


def _bid(action: Mapping[str, Any]) -> str | None:
    bid = action.get("element")
    if bid is None:
        return None
    if not isinstance(bid, str) or not ID.fullmatch(bid):
        raise NotDone("there is no such element")
    return bid


def _middle(box: Any) -> tuple[float, float] | None:
    return (box[0] + box[2] / 2, box[1] + box[3] / 2) if box else None


def _point(point: Any) -> list[Value]:
    if point is None or len(point) != 2:
        raise NotDone("the action needs an element or a point")
    return _numbers(*point)


def _numbers(*given: Any) -> list[Any]:
    for one in given:
        if isinstance(one, bool) or not isinstance(one, int | float) or not -FAR <= one <= FAR:
            raise NotDone("the action lacks a number")
    return [round(one, 2) for one in given]


CORE = ("browsergym-core", "playwright")
# At the end of the path: nothing of BrowserGym's environment is to be replaced.
START = "import sys; sys.path.append(sys.argv[1]); from gym_worker.player import main; main()"
LIMIT_S = 300.0
"""Limit for a question outside of an episode, in seconds: some suites take long to import."""


@dataclass(frozen=True, slots=True)
class Gym:
    """BrowserGym as a world (`harness.live.pool.Foreign`).

    python: path of its Python.
    size: width and height of screenshots.
    """

    python: str
    size: tuple[int, int]

    @property
    def program(self) -> Command:
        # -I: neither our packages nor our variables for Python are meant for it.
        return Command((self.python, "-I", "-c", START, str(Path(__file__).parent)))

    def message(self, action: Mapping[str, Any]) -> tuple[str, Any]:
        try:
            calls = calls_of(action, self.size)
        except NotDone as reason:
            return "refuse", str(reason)
        if action.get("name") == "TYPE" and action.get("element") is None:
            return "type", (action["point"], calls)
        return "act", calls

    def read(self, line: bytes) -> tuple[str, Any]:
        return answers.read(line)


def python_at(path: str | None) -> str:
    """The Python of an environment, or of a folder that is one. Raises `UserError`."""
    if path is None:
        raise UserError(
            "BrowserGym has an environment of its own: name its Python with "
            "--benchmark-option env_python=PATH "
            "(vlm-eval environments check browsergym says how to make one)"
        )
    given = Path(path).expanduser()
    found = given / "bin" / "python" if given.is_dir() else given
    if not found.is_file():
        raise UserError(f"env_python={path}: there is no Python")
    # Not resolved: an environment is known by the link that lies in it.
    return str(found.absolute())


def stand_in() -> Path | None:
    """Return the system's Chromium where it can replace Playwright's own browsers."""
    return chromium() if sys.platform.startswith("linux") else None


def options_of(suite: Suite) -> dict[str, Any]:
    """Return the first message to the other side."""
    path = stand_in()
    return {
        "suite": suite.name,
        "module": suite.module,
        "packages": [*CORE, *suite.packages],
        "needed": [*suite.sites, *suite.needed],
        "limits": dict(LIMITS),
        "fields": finding(),
        "launcher": None if path is None else launching(path),
    }


def ask(
    python: str, suite: Suite, verb: str, given: object = None, *, limit_s: float = LIMIT_S
) -> bytes:
    """Ask something outside of an episode, and return the answer as JSON. Raises `UserError`."""
    with scratch() as folder:
        pool = Pool(
            Gym(python, (0, 0)).program,
            1,
            name="browsergym",
            first=options_of(suite),
            environment={"TMPDIR": str(folder)},
        )
        asked = pool.threads.submit(pool.ask, (verb, given))
        try:
            kind, told = answers.outcome(asked.result(limit_s))
        except TimeoutError:
            raise UserError(f"env_python={python}: nothing within {limit_s:g} s") from None
        except ChildEnded as error:
            raise UserError(f"env_python={python}: {error}") from None
        except OSError as error:
            raise UserError(f"env_python={python}: {error.strerror or error}") from None
        except ValueError as error:
            raise UserError(f"env_python={python}: what it answers is {error}") from None
        finally:
            pool.close()
    if kind != "done":
        raise UserError(str(told))
    answer: bytes = told
    return answer
