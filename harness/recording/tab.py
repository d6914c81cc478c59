"""A watched page in Chromium: receive gestures, describe the page, repeat the gestures."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from adapters.checks import to_json
from adapters.decoding import decode_json
from harness.live.snapshot import LIMITS, describing, shielding

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page


Piece = Sequence[str]
"""A part of a page's HTML (`snapshot.js`): kind, text, and for an attribute its name."""

_AMPERSANDS = str.maketrans({"&": "&amp;", "\u00a0": "&nbsp;", "<": "&lt;", ">": "&gt;"})
_QUOTES = _AMPERSANDS | str.maketrans({'"': "&quot;"})


@cache
def snapshot() -> str:
    """Return the source of the function of `snapshot.js`, which takes one object."""
    own = Path(__file__).with_name("snapshot.js").read_text(encoding="utf-8")
    return f"(options) => {{ {describing()}return ({own})(options); }}"


def mended(plain: Any) -> Any:
    """Replace the halves of characters in plain values that a page gives: no file takes them."""
    return decode_json(to_json(plain))


def html_of(pieces: Iterable[Piece]) -> str:
    """Join the pieces of a page's HTML."""
    return "<!DOCTYPE html>\n" + "".join(_written(pieces))


def _written(pieces: Iterable[Piece]) -> Iterable[str]:
    for kind, text, *_ in pieces:
        match kind:
            case "text":
                yield text.translate(_AMPERSANDS)
            case "value":
                yield text.translate(_QUOTES)
            case "markup" | "verbatim":
                yield text


class Place(NamedTuple):
    """The corner and the scale with which the viewport of a frame is drawn on the page."""

    x: float = 0.0
    y: float = 0.0
    across: float = 1.0
    down: float = 1.0

    def within(self, outer: Place) -> Place:
        """Return the place on the page around the frame that `outer` places."""
        x, y = outer.point(self.x, self.y)
        return Place(x, y, self.across * outer.across, self.down * outer.down)

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Convert a point of the frame's viewport to one of the page."""
        return self.x + self.across * x, self.y + self.down * y

    def box(self, box: Sequence[float]) -> Box:
        """Convert a box in the frame's viewport to one of the page."""
        x, y, width, height = box
        return (*self.point(x, y), self.across * width, self.down * height)


Box = tuple[float, float, float, float]
"""Left, top, width, height."""


class Painted(NamedTuple):
    """A painted line of text, or a painted control.

    text: the text of the line; of a control, the texts that it may show.
    box: in pixels of the whole page.
    whole: True for a control; its text does not continue in that of its neighbours.
    hidden: True inside an element whose content is hidden.
    """

    text: str
    box: Box
    whole: bool = False
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class PageDescription:
    """A page before an action, its frames included.

    nodes: the input of `tree_of`, with boxes in pixels of the page.
    labelled: id of the element that was acted on, "" if it is not among the nodes.
    tag: the tag of this element.
    hidden: ids of elements whose content must be hidden.
    cut: True if the page was too large to be described completely.
    drawn: lines and controls in its picture, except those that have been painted over.
    """

    nodes: tuple[Mapping[str, Any], ...]
    pieces: tuple[Piece, ...]
    labelled: str = ""
    tag: str = ""
    hidden: frozenset[str] = field(default_factory=frozenset)
    cut: bool = False
    drawn: tuple[Painted, ...] = ()


@dataclass(frozen=True, slots=True)
class FramePage:
    """The page of one frame.

    look: the description by its document (`look` in `listen.js`).
    host: id of the frame's element in the document around it; "" for the whole page.
    place: its place on the page.
    """

    look: Mapping[str, Any]
    host: str = ""
    place: Place = field(default_factory=Place)


def joined(parts: Sequence[FramePage]) -> PageDescription:
    """Put the pages of frames under their elements.

    Ids must continue from one part to the next, and an outer part must precede its inner parts.
    """
    nodes: list[Mapping[str, Any]] = []
    inner: dict[str, list[Piece]] = {}
    for part in parts:
        start = len(nodes)
        host = int(part.host) - 1 if part.host else None
        unseen = host is not None and not nodes[host].get("visible", False)
        for node in part.look["nodes"]:
            parent = host if node["parent"] is None else node["parent"] + start
            seen = {**node, "parent": parent}
            if host is not None and "box" in node:
                seen["box"] = part.place.box(node["box"])
            if unseen and "visible" in node:
                seen["visible"] = False
            nodes.append(seen)
        inner[part.host] = part.look["pieces"]
    looks = [part.look for part in parts]
    return PageDescription(
        tuple(nodes),
        tuple(_with_frames(inner[""], inner)),
        labelled=next((look["labelled"] for look in looks if look["labelled"]), ""),
        tag=next((look["tag"] for look in looks if look["tag"]), ""),
        hidden=frozenset(one for look in looks for one in look["hidden"]),
        cut=any(look["cut"] for look in looks),
    )


def _with_frames(pieces: Iterable[Piece], inner: Mapping[str, list[Piece]]) -> Iterable[Piece]:
    for piece in pieces:
        if piece[0] == "frame":
            yield from _with_frames(inner.get(piece[1], ()), inner)
        else:
            yield piece


_WORLD = "vlm-eval-recorder"
_TELL = "vlmEvalTell"
_CALL = "function (name, ...values) { return vlmEval[name](...values); }"
_PRESSES = frozenset({"click", "mousedown", "pointerdown"})
_MOST_LISTENING = 1_000
_MOST_FRAMES = 30
_LONGEST_HTML = 20_000_000
_MAC_COMMANDS = {"Backspace": "deleteBackward", "Delete": "deleteForward"}

Message = Mapping[str, Any]


class Tab:
    """The recorder's side of a page; calls `receive` with a frame's id and its messages."""

    def __init__(self, page: Page, receive: Callable[[Tab, str, Message], None]) -> None:
        self.page = page
        self._receive = receive
        self._session: CDPSession
        self._contexts: dict[int, str] = {}

    async def watch(self) -> None:
        """Begin to watch. Raises `playwright.async_api.Error` if the page is gone."""
        self._session = await self.page.context.new_cdp_session(self.page)
        self._session.on("Runtime.executionContextCreated", self._created)
        self._session.on("Runtime.executionContextDestroyed", self._destroyed)
        self._session.on("Runtime.executionContextsCleared", lambda _: self._contexts.clear())
        self._session.on("Runtime.bindingCalled", self._on_message)
        await self.send("Page.enable")
        await self.send("Runtime.enable")
        await self.send("Runtime.addBinding", name=_TELL, executionContextName=_WORLD)
        await self.send(
            "Page.addScriptToEvaluateOnNewDocument",
            source=_listening(),
            worldName=_WORLD,
            runImmediately=True,
        )

    async def send(self, method: str, **parameters: Any) -> Any:
        """Send a command of the DevTools protocol. Raises `playwright.async_api.Error`."""
        return await self._session.send(method, parameters)

    async def call(self, frame: str, name: str, *arguments: Any) -> Any:
        """Call a function of `listen.js` in a frame. Raises `playwright.async_api.Error`."""
        return await self._called(frame, [{"value": one} for one in (name, *arguments)])

    async def frames(self) -> dict[str, str | None]:
        """Map the ids of the page's frames to those of their parents; parents come first."""
        return dict(_frames((await self.send("Page.getFrameTree"))["frameTree"], None))

    async def drained(self) -> None:
        """Wait until all earlier messages of the page have been received."""
        frames = list(dict.fromkeys(self._contexts.values()))
        await asyncio.gather(
            *(self.call(one, "scrolled") for one in frames), return_exceptions=True
        )

    async def look(self, frame: str, target: int) -> tuple[PageDescription, list[str]]:
        """Describe the page with the gesture's target in a frame.

        Returns:
            The description, and notes on its gaps.
        """
        from playwright.async_api import Error

        parts: list[FramePage] = []
        places: dict[str, tuple[str, Place]] = {}
        missed = 0
        for one, parent in list((await self.frames()).items())[:_MOST_FRAMES]:
            try:
                host, place = "", Place()
                if parent is not None:
                    host, inner = await self._placed(one, parent)
                    place = inner.within(places[parent][1])
                    if not host:
                        raise KeyError(one)
                options = {
                    **LIMITS,
                    "most": LIMITS["most"] - sum(len(part.look["nodes"]) for part in parts),
                    "before": sum(len(part.look["nodes"]) for part in parts),
                    "limit": _LONGEST_HTML,
                    "main": parent is None,
                }
                seen = await self._looked(one, options, target if one == frame else 0)
            except (Error, KeyError):
                if parent is None or one == frame:
                    raise
                missed += 1
                continue
            if parent is None:
                scrolled = await self.call(one, "scrolled")
                places[one] = "", Place(*scrolled)
            else:
                places[one] = host, place
            parts.append(FramePage(seen, host, place))
        notes = [f"{missed} of the page's frames could not be read"] if missed else []
        return joined(parts), notes

    async def press(
        self,
        frame: str,
        number: int,
        path: Sequence[Sequence[float]],
        *,
        modifiers: int = 0,
        count: int = 1,
    ) -> None:
        """Press the mouse button at the first point of a path, and release it at the last."""
        x, y = path[0]
        place = await self.place_of(frame)
        expected = {"what": "press", "number": number, "x": x, "y": y}
        await self.call(frame, "expect", expected)
        await self.mouse("mouseMoved", place.point(x, y), modifiers, 0)
        await self.mouse("mousePressed", place.point(x, y), modifiers, count)
        for x, y in path[1:]:
            await self.mouse("mouseMoved", place.point(x, y), modifiers, 0, buttons=1)
        await self.mouse("mouseReleased", place.point(x, y), modifiers, count)

    async def key(self, frame: str, message: Message) -> None:
        """Repeat the press of a key."""
        from playwright.async_api import Error

        key, code = message["key"], message["code"]
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        event = {
            "key": key,
            "code": code,
            "windowsVirtualKeyCode": message["keyCode"],
            "location": message["location"] if message["location"] != 3 else 0,
            "isKeypad": message["location"] == 3,
            "modifiers": message["modifiers"] & (15 if len(key) != 1 else 8),
        }
        if sys.platform == "darwin" and key in _MAC_COMMANDS:
            event["commands"] = [_MAC_COMMANDS[key]]
        await self.call(frame, "expect", {"what": "key", "key": key, "code": code})
        kind = "keyDown" if text else "rawKeyDown"
        await self.send(
            "Input.dispatchKeyEvent", type=kind, text=text, unmodifiedText=text, **event
        )
        with suppress(Error):  # The key may have led to another page.
            await self.call(frame, "expect", {"what": "keyup", "code": code})
        await self.send("Input.dispatchKeyEvent", type="keyUp", **event)

    async def mouse(
        self, kind: str, point: tuple[float, float], modifiers: int, count: int, buttons: int = 0
    ) -> None:
        x, y = point
        await self.send(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x,
            y=y,
            button="left" if count or buttons else "none",
            buttons=1 if kind == "mousePressed" else buttons,
            modifiers=modifiers,
            clickCount=count,
        )

    async def place_of(self, frame: str) -> Place:
        """Return the place of a frame's viewport in that of the page."""
        above = await self.frames()
        place = Place()
        while (parent := above.get(frame)) is not None:
            _, outer = await self._placed(frame, parent)
            place, frame = place.within(outer), parent
        return place

    async def _placed(self, frame: str, parent: str) -> tuple[str, Place]:
        owner = (await self.send("DOM.getFrameOwner", frameId=frame))["backendNodeId"]
        element = await self._resolved(owner, await self._context(parent))
        found = await self._called(parent, [{"value": "placed"}, {"objectId": element}])
        return found["id"], Place(*found["place"])

    async def _looked(self, frame: str, options: Mapping[str, Any], target: int) -> Any:
        context = await self._context(frame)
        roots = await self.elements(frame, "roots")
        # Root by root: with `pierce`, Chromium also enters frames, and may crash later.
        found = await asyncio.gather(
            *(self.send("DOMDebugger.getEventListeners", objectId=root, depth=-1) for root in roots)
        )
        nodes = dict.fromkeys(
            one["backendNodeId"]
            for root in found
            for one in root["listeners"]
            if one["type"] in _PRESSES and "backendNodeId" in one
        )
        heard = list(nodes)[:_MOST_LISTENING]
        elements = await asyncio.gather(
            *(self._resolved(one, context) for one in heard), return_exceptions=True
        )
        # Elements of other frames belong to other documents and fail to resolve.
        arguments: list[Any] = [{"value": "look"}, {"value": options}, {"value": target}]
        arguments += [{"objectId": one} for one in elements if isinstance(one, str)]
        return await self._called(frame, arguments)

    async def elements(self, frame: str, name: str, *arguments: Any) -> list[str]:
        """Call a function of `listen.js` that returns a list; return the ids of its objects."""
        values = [{"value": one} for one in (name, *arguments)]
        found = await self._called(frame, values, by_value=False)
        listed = await self.send(
            "Runtime.getProperties", objectId=found["objectId"], ownProperties=True
        )
        return [one["value"]["objectId"] for one in listed["result"] if one["name"].isdecimal()]

    async def _resolved(self, node: int, context: int) -> str:
        found = await self.send("DOM.resolveNode", backendNodeId=node, executionContextId=context)
        return str(found["object"]["objectId"])

    async def _called(self, frame: str, arguments: list[Any], *, by_value: bool = True) -> Any:
        answer = await self.send(
            "Runtime.callFunctionOn",
            functionDeclaration=_CALL,
            executionContextId=await self._context(frame),
            arguments=arguments,
            returnByValue=by_value,
            awaitPromise=True,
        )
        if "exceptionDetails" in answer:
            raise ValueError(f"{arguments[0]} failed: {answer['exceptionDetails']}")
        return mended(answer["result"].get("value")) if by_value else answer["result"]

    async def _context(self, frame: str) -> int:
        """Return the recorder's script world in a frame; create it if the browser has not."""
        for context, where in reversed(self._contexts.items()):
            if where == frame:
                return context
        made = await self.send("Page.createIsolatedWorld", frameId=frame, worldName=_WORLD)
        context = int(made["executionContextId"])
        await self.send("Runtime.evaluate", expression=_listening(), contextId=context)
        self._contexts[context] = frame
        return context

    def _created(self, event: Message) -> None:
        context = event["context"]
        if context["name"] == _WORLD:
            self._contexts[context["id"]] = context["auxData"]["frameId"]

    def _destroyed(self, event: Message) -> None:
        self._contexts.pop(event["executionContextId"], None)

    def _on_message(self, event: Message) -> None:
        frame = self._contexts.get(event["executionContextId"])
        if frame is not None and event["name"] == _TELL:
            self._receive(self, frame, mended(json.loads(event["payload"])))


def _frames(tree: Mapping[str, Any], parent: str | None) -> Iterator[tuple[str, str | None]]:
    frame = tree["frame"]["id"]
    yield frame, parent
    for child in tree.get("childFrames", ()):
        yield from _frames(child, frame)


@cache
def _listening() -> str:
    own = Path(__file__).with_name("listen.js").read_text(encoding="utf-8")
    return f"{{ {shielding()}const snapshot = {snapshot()};\n{own} }}"
