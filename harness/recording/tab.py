"""A page in Chromium that is watched: what is done on it, how it looks, and doing it again."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.live.snapshot import LIMITS, shielding
from harness.recording.pages import Described, Part, Place, joined, snapshot

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page

_WORLD = "vlm-eval-recorder"
_TELL = "vlmEvalTell"
_CALL = "function (name, ...given) { return vlmEval[name](...given); }"
_PRESSES = frozenset({"click", "mousedown", "pointerdown"})
_MOST_LISTENING = 1_000
_MOST_FRAMES = 30
_LONGEST_HTML = 20_000_000
TALLEST = 16_000
"""Pages are pictured down to here, in pixels."""
_QUALITY = 85
_MAC_COMMANDS = {"Backspace": "deleteBackward", "Delete": "deleteForward"}

Message = Mapping[str, Any]


class Picture(NamedTuple):
    """A screenshot of a whole page as JPEG, and the height of the page if it was cut there."""

    data: bytes
    cut_at: int | None = None


class Tab:
    """The recorder's side of a page. `heard` is called with a frame's id and what it tells."""

    def __init__(self, page: Page, heard: Callable[[Tab, str, Message], None]) -> None:
        self.page = page
        self._heard = heard
        self._session: CDPSession
        self._contexts: dict[int, str] = {}

    async def watch(self) -> None:
        """Begin to watch. Raises `playwright.async_api.Error` if the page is gone."""
        self._session = await self.page.context.new_cdp_session(self.page)
        self._session.on("Runtime.executionContextCreated", self._created)
        self._session.on("Runtime.executionContextDestroyed", self._destroyed)
        self._session.on("Runtime.executionContextsCleared", lambda _: self._contexts.clear())
        self._session.on("Runtime.bindingCalled", self._told)
        await self.send("Page.enable")
        await self.send("Runtime.enable")
        await self.send("Runtime.addBinding", name=_TELL, executionContextName=_WORLD)
        await self.send(
            "Page.addScriptToEvaluateOnNewDocument",
            source=_listening(),
            worldName=_WORLD,
            runImmediately=True,
        )

    async def send(self, method: str, **given: Any) -> Any:
        """Send a command of the DevTools protocol. Raises `playwright.async_api.Error`."""
        return await self._session.send(method, given)

    async def call(self, frame: str, name: str, *given: Any) -> Any:
        """Call a function of `listen.js` in a frame. Raises `playwright.async_api.Error`."""
        return await self._called(frame, [{"value": one} for one in (name, *given)])

    async def drained(self) -> None:
        """Wait until what has been told before is heard."""
        frames = list(dict.fromkeys(self._contexts.values()))
        await asyncio.gather(
            *(self.call(one, "scrolled") for one in frames), return_exceptions=True
        )

    async def look(self, frame: str, target: int) -> tuple[Described, list[str]]:
        """The page, with the gesture's target in a frame, and what could not be looked at."""
        from playwright.async_api import Error

        tree = (await self.send("Page.getFrameTree"))["frameTree"]
        parts: list[Part] = []
        places: dict[str, tuple[str, Place]] = {}
        missed = 0
        for one, parent in list(_frames(tree, None))[:_MOST_FRAMES]:
            try:
                host, place = "", Place()
                if parent is not None:
                    host, inner = await self._placed(one, parent)
                    place = inner.within(places[parent][1])
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
            parts.append(Part(seen, host, place))
        notes = [f"{missed} of the page's frames could not be read"] if missed else []
        return joined(parts), notes

    async def picture(self, frame: str, target: int, point: Sequence[float] | None) -> Picture:
        """The whole page. What it shows under the pointer (`point`, in a frame) stays shown."""
        main = (await self.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        view = await self.call(main, "view")
        size = (await self.send("Page.getLayoutMetrics"))["cssContentSize"]
        height = max(min(size["height"], TALLEST), 1)
        clip = {"x": 0, "y": 0, "width": max(size["width"], 1), "height": height, "scale": 1}
        async with self._hovered(frame, target, point):
            taken = await self.send(
                "Page.captureScreenshot",
                format="jpeg",
                quality=_QUALITY,
                captureBeyondViewport=True,
                clip=clip,
            )
            await self.call(main, "restored", view)
        cut_at = TALLEST if size["height"] > TALLEST else None
        return Picture(base64.b64decode(taken["data"]), cut_at)

    @asynccontextmanager
    async def _hovered(
        self, frame: str, target: int, point: Sequence[float] | None
    ) -> AsyncIterator[None]:
        """Keep what opens under the pointer open while the page is resized for its picture."""
        if point is None:
            yield
            return
        await self.send("DOM.enable")
        await self.send("CSS.enable")
        try:
            await self.send("DOM.getDocument", depth=0)
            given = [{"value": "around"}, {"value": target}]
            found = await self._called(frame, given, by_value=False)
            listed = await self.send(
                "Runtime.getProperties", objectId=found["objectId"], ownProperties=True
            )
            for one in listed["result"]:
                if one["name"].isdecimal():
                    node = await self.send("DOM.requestNode", objectId=one["value"]["objectId"])
                    await self.send("CSS.forcePseudoState", **node, forcedPseudoClasses=["hover"])
            yield
            place = await self._place_of(frame)
            await self._mouse("mouseMoved", place.point(*point), 0, 0)
        finally:
            await self.send("CSS.disable")
            await self.send("DOM.disable")

    async def press(
        self,
        frame: str,
        number: int,
        path: Sequence[Sequence[float]],
        *,
        modifiers: int = 0,
        count: int = 1,
    ) -> None:
        """Press the mouse button at the first point of a path, and let go at its last."""
        x, y = path[0]
        place = await self._place_of(frame)
        expected = {"what": "press", "number": number, "x": x, "y": y}
        await self.call(frame, "expect", expected)
        await self._mouse("mouseMoved", place.point(x, y), modifiers, 0)
        await self._mouse("mousePressed", place.point(x, y), modifiers, count)
        for x, y in path[1:]:
            await self._mouse("mouseMoved", place.point(x, y), modifiers, 0, buttons=1)
        await self._mouse("mouseReleased", place.point(x, y), modifiers, count)

    async def key(self, frame: str, message: Message) -> None:
        """Press a key as it was pressed."""
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

    async def insert(self, text: str) -> None:
        """Insert a text that was pasted."""
        await self.send("Input.insertText", text=text)

    async def is_closed(self, frame: str, target: int) -> bool:
        """Whether the element of a gesture keeps its inside from scripts."""
        given = [{"value": "element"}, {"value": target}]
        found = await self._called(frame, given, by_value=False)
        if "objectId" not in found:
            return False
        node = (await self.send("DOM.describeNode", objectId=found["objectId"]))["node"]
        return any(root.get("shadowRootType") == "closed" for root in node.get("shadowRoots", ()))

    async def _mouse(
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

    async def _place_of(self, frame: str) -> Place:
        """Where the viewport of a frame is, seen from that of the page."""
        tree = (await self.send("Page.getFrameTree"))["frameTree"]
        above = dict(_frames(tree, None))
        place = Place()
        while (parent := above.get(frame)) is not None:
            _, outer = await self._placed(frame, parent)
            place, frame = place.within(outer), parent
        return place

    async def _placed(self, frame: str, parent: str) -> tuple[str, Place]:
        owner = (await self.send("DOM.getFrameOwner", frameId=frame))["backendNodeId"]
        element = await self._resolved(owner, await self._context(parent))
        found = await self._called(parent, [{"value": "placed"}, {"objectId": element}])
        if not found["id"]:
            raise KeyError(frame)
        return found["id"], Place(*found["place"])

    async def _looked(self, frame: str, options: Mapping[str, Any], target: int) -> Any:
        context = await self._context(frame)
        roots = await self._called(frame, [{"value": "roots"}], by_value=False)
        listed = await self.send(
            "Runtime.getProperties", objectId=roots["objectId"], ownProperties=True
        )
        # Root by root: asked to pierce them, Chromium goes into frames, too, and may crash later.
        found = await asyncio.gather(
            *(
                self.send(
                    "DOMDebugger.getEventListeners", objectId=one["value"]["objectId"], depth=-1
                )
                for one in listed["result"]
                if one["name"].isdecimal()
            )
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
        # What is in other frames belongs to another document.
        given: list[Any] = [{"value": "look"}, {"value": options}, {"value": target}]
        given += [{"objectId": one} for one in elements if isinstance(one, str)]
        return await self._called(frame, given)

    async def _resolved(self, node: int, context: int) -> str:
        found = await self.send("DOM.resolveNode", backendNodeId=node, executionContextId=context)
        return str(found["object"]["objectId"])

    async def _called(self, frame: str, given: list[Any], *, by_value: bool = True) -> Any:
        answer = await self.send(
            "Runtime.callFunctionOn",
            functionDeclaration=_CALL,
            executionContextId=await self._context(frame),
            arguments=given,
            returnByValue=by_value,
            awaitPromise=True,
        )
        if "exceptionDetails" in answer:
            raise ValueError(f"{given[0]} failed: {answer['exceptionDetails']}")
        return answer["result"].get("value") if by_value else answer["result"]

    async def _context(self, frame: str) -> int:
        """The recorder's script world in a frame, made where the browser has made none."""
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

    def _told(self, event: Message) -> None:
        frame = self._contexts.get(event["executionContextId"])
        if frame is not None and event["name"] == _TELL:
            self._heard(self, frame, json.loads(event["payload"]))


def _frames(tree: Mapping[str, Any], parent: str | None) -> Iterator[tuple[str, str | None]]:
    frame = tree["frame"]["id"]
    yield frame, parent
    for child in tree.get("childFrames", ()):
        yield from _frames(child, frame)


@cache
def _listening() -> str:
    own = Path(__file__).with_name("listen.js").read_text(encoding="utf-8")
    return f"{{ {shielding()}const snapshot = {snapshot()};\n{own} }}"
