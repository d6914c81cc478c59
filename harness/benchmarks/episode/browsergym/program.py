"""The other side, `gym_worker`, under the Python that BrowserGym is installed in.

Actions go there as calls of BrowserGym's functions, with literals only. No text of a model is
passed on: calls are composed from actions that were read, and BrowserGym's own parser reads them
again. The form of answers is checked before they are used: a page decides about most of what they
say, in a process that runs other people's code.
"""

from __future__ import annotations

import base64
import binascii
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
from msgspec import Meta

from adapters.decoding import decoder_of
from adapters.processes import ChildEnded, Entry, Pool
from harness.benchmarks.episode.browsergym.suites import SUITES, Suite
from harness.errors import UserError
from harness.live.acting import LONGEST_WAIT_MS, SCROLLED, USUAL_WAIT_MS, WAYS, NotDone, as_text
from harness.live.chromium import chromium, launching, scratch
from harness.live.clean import KeptParts, clean_line
from harness.live.contract import Seen
from harness.live.snapshot import LIMITS, finding, live_page
from harness.printing import printable
from parsers.actions import Value
from parsers.calls import write_call
from parsers.settling import FAR

KEPT = KeptParts(attributes=frozenset({"id", "class", "ax_role", "ax_name", "ax_state"}))
"""Attributes that pages of BrowserGym add to Mind2Web's: the accessibility tree."""
LONGEST = 2_000
"""Longest error that is printed, in characters."""
ENDED = "the task ended it"
_SIGNATURE = b"\x89PNG\r\n\x1a\n"

_Id = Annotated[str, Meta(pattern=r"^-?[A-Za-z0-9]{1,40}$")]
_Tag = Annotated[str, Meta(max_length=100)]
_Place = Annotated[int, Meta(ge=0)]
_Length = Annotated[float, Meta(ge=-1e7, le=1e7)]
_Live = Literal["input_value", "text_value", "input_checked", "option_selected"]


class _Node(TypedDict):
    id: _Id
    parent: _Place | None
    text: NotRequired[str]
    tag: NotRequired[_Tag]
    attributes: NotRequired[dict[str, str]]
    live: NotRequired[dict[_Live, str]]
    box: NotRequired[tuple[_Length, _Length, _Length, _Length]]
    visible: NotRequired[bool]
    in_view: NotRequired[bool]
    clickable: NotRequired[bool]


class _Observed(msgspec.Struct):
    goal: str
    url: str
    tabs: list[tuple[str, str]]
    tab: int
    reward: Annotated[float, Meta(ge=-1e6, le=1e6)]
    ended: bool
    reason: str
    error: str
    size: tuple[int, int]
    screenshot: str
    nodes: Annotated[list[_Node], Meta(max_length=LIMITS["most"])]
    cut: bool


class _Listed(msgspec.Struct):
    tasks: list[Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,200}$")]]
    versions: dict[str, str]


_ANSWER = decoder_of(tuple[str, msgspec.Raw])


def outcome(line: bytes) -> tuple[str, Any]:
    """The kind of an answer with what it says: a text, or the bytes of JSON. Raises ValueError."""
    kind, rest = _decoded(_ANSWER.decode, line)
    if kind == "done":
        return kind, bytes(rest)
    if kind not in ("failed", "fatal"):
        raise ValueError("this is no kind of answer")
    return kind, clean_line(_decoded(decoder_of(str).decode, rest), LONGEST)


def listed(told: bytes) -> tuple[tuple[str, ...], dict[str, str]]:
    """The names of tasks, and versions of packages. Raises ValueError."""
    found = _decoded(decoder_of(_Listed).decode, told)
    shown = {printable(name)[:100]: printable(one)[:100] for name, one in found.versions.items()}
    return tuple(found.tasks), shown


def observed(told: bytes) -> Any:
    """The observation in an answer. Raises ValueError."""
    found = _decoded(decoder_of(_Observed).decode, told)
    try:
        picture = base64.b64decode(found.screenshot, validate=True)
    except binascii.Error as error:
        raise ValueError(f"the screenshot is not in base64: {error}") from None
    size = found.size
    header = b"".join(length.to_bytes(4) for length in size if 0 < length < 1 << 16)
    if picture[:8] != _SIGNATURE or picture[16:24] != header:
        raise ValueError("the screenshot is no picture of the size that it is said to have")
    _check_depth(found.nodes)
    tabs = tuple(found.tabs)
    ended = found.ended
    seen = Seen(
        goal=found.goal,
        url=found.url,
        title=tabs[found.tab][0] if 0 <= found.tab < len(tabs) else "",
        ended=ended,
        reward=found.reward,
        reason=(found.reason.strip() or ENDED) if ended else "",
        error=found.error,
        viewport=size,
        tabs=tabs,
        tab=found.tab,
    )
    if ended:
        return seen.observation()
    return seen.observation(picture, live_page(found.nodes, 1.0, cut=found.cut, kept=KEPT))


def _check_depth(nodes: list[_Node]) -> None:
    levels: list[int] = []
    for node in nodes:
        above = -1 if node["parent"] is None else node["parent"]
        if above >= len(levels):
            raise ValueError("a node comes before the one that it is in")
        levels.append(0 if above < 0 else levels[above] + 1)
    if max(levels, default=0) > LIMITS["deepest"]:
        raise ValueError("the page is too deep")


def _decoded(decode: Any, data: Any) -> Any:
    try:
        return decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not as agreed: {error}") from None


ID = re.compile(r"[A-Za-z0-9]{1,40}")
"""What BrowserGym numbers elements with: letters for their frames, and a number."""
_POINTING = {"CLICK": ("click", "mouse_click"), "HOVER": ("hover", "mouse_move")}
_PLAIN = {
    "BACK": "go_back",
    "FORWARD": "go_forward",
    "NEW_TAB": "new_tab",
    "CLOSE_TAB": "tab_close",
}
_SAYING = {
    "MESSAGE": ("send_msg_to_user", "text"),
    "STOP": ("send_msg_to_user", "answer"),
    "INFEASIBLE": ("report_infeasible", "reason"),
}
"""Functions on an element and at a point, those without arguments, and those that say a text."""


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
        case "CLICK" | "HOVER" as name:
            on_element, at_point = _POINTING[name]
            yield (on_element, [bid]) if bid else (at_point, _point(place))
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
        case "ENTER" | "PRESS" as name:
            key = "Enter" if name == "ENTER" else as_text(given.get("key"))
            if not key:
                raise NotDone("that is no name of a key")
            if bid:
                yield "press", [bid, key]
            else:
                if place is not None:
                    yield "mouse_click", _point(place)
                yield "keyboard_press", [key]
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
            if place is not None:
                yield "mouse_move", _point(place)
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
        case "GO":
            yield ("go_forward" if given.get("direction") == "forward" else "go_back"), []
        case name if name in _PLAIN:
            yield _PLAIN[name], []
        case name if name in _SAYING:
            function, what = _SAYING[name]
            yield function, [as_text(given.get(what))]
        case "FOCUS_TAB":
            (index,) = _numbers(given.get("index"))
            yield "tab_focus", [int(index)]
        case "WAIT":
            (wait,) = _numbers(given.get("ms", USUAL_WAIT_MS))
            yield "noop", [min(max(0, wait), LONGEST_WAIT_MS)]
        case _:
            raise NotDone("there is no such action")


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
START = "import sys; sys.path.append(sys.argv[1]); from gym_worker import main; main()"
LIMIT_S = 300.0
"""Limit for listing tasks, in seconds: some suites take long to import."""


@dataclass(frozen=True, slots=True)
class Gym:
    """BrowserGym as a world (`harness.live.pool.Foreign`).

    python: path of its Python.
    size: width and height of screenshots.
    """

    python: str
    size: tuple[int, int]

    @property
    def program(self) -> Entry:
        # -I: neither our packages nor our variables for Python are meant for it.
        return (self.python, "-I", "-c", START, str(Path(__file__).parent))

    def message(self, action: Mapping[str, Any]) -> tuple[str, Any]:
        try:
            calls = calls_of(action, self.size)
        except NotDone as reason:
            return "refuse", str(reason)
        if action.get("name") == "TYPE" and action.get("element") is None:
            return "type", (action["point"], calls)
        return "act", calls

    def read(self, line: bytes) -> tuple[str, Any]:
        kind, told = outcome(line)
        if kind != "done":
            return kind, told
        if told == b"null":
            return kind, None
        seen = observed(told)
        return kind, (seen.content, seen.blobs)


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


def options_of(suite: Suite) -> dict[str, Any]:
    """Return the first message to the other side."""
    # Only on Linux is it known where Playwright looks for its own browsers.
    path = chromium() if sys.platform.startswith("linux") else None
    return {
        "suite": suite.name,
        "module": suite.module,
        "packages": [*CORE, *suite.packages],
        "needed": [*suite.sites, *suite.needed],
        "limits": dict(LIMITS),
        "fields": finding(),
        "launcher": None if path is None else launching(path),
    }


@lru_cache(maxsize=8)
def installed(python: str, suite: str) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """The tasks of a suite in an environment, and versions of packages. Raises `UserError`."""
    with scratch() as folder:
        pool = Pool(
            Gym(python, (0, 0)).program,
            1,
            name="browsergym",
            first=options_of(SUITES[suite]),
            environment={"TMPDIR": str(folder)},
        )
        asked = pool.threads.submit(pool.ask, ("tasks", None))
        try:
            kind, told = outcome(asked.result(LIMIT_S))
            found = listed(told) if kind == "done" else None
        except TimeoutError:
            raise UserError(f"env_python={python}: nothing within {LIMIT_S:g} s") from None
        except ChildEnded as error:
            raise UserError(f"env_python={python}: {error}") from None
        except OSError as error:
            raise UserError(f"env_python={python}: {error.strerror or error}") from None
        except ValueError as error:
            raise UserError(f"env_python={python}: what it answers is {error}") from None
        finally:
            pool.close()
    if found is None:
        raise UserError(str(told))
    return found
