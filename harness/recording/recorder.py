"""Turn a person's actions in a browser into steps of a trajectory.

`listen.js` holds back every press and key that could change a page. The recorder records the page,
writes the step, and then repeats the press or key for the page. Filling in a field is one step, for
any number of keys: it ends with an action elsewhere, whose step follows it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from harness.printing import printable
from harness.recording.columns import Draft, Op, Taken
from harness.recording.masking import MASK, Secrets
from harness.recording.picture import TALLEST, PageImage, TooManyNodes, take_picture
from harness.recording.tab import Message, Tab

SHORTEST_COOKIE = 16
"""Cookies with values of at least this length, in characters, are hidden in pages."""
_PICTURES = 3
RELEASE_S = 20.0
"""Time after which a pressed mouse button counts as released, in seconds."""
_DOUBLE_S = 0.5
_LONGEST = 120
_NO_PLACE = "the element shows a drawing or video; the place in it is not recorded"
_EDITING = frozenset({"Backspace", "Delete"})
_MOVING = frozenset({"ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"}) | frozenset(
    {"Home", "End", "PageUp", "PageDown"}
)
_DRAWN = ("canvas", "video", "object", "embed", "iframe", "frame", "map")


@dataclass(slots=True)
class Gesture:
    """A press, key or paste that waits until the page is recorded."""

    tab: Tab
    frame: str
    message: Message

    @property
    def number(self) -> int:
        return int(self.message["number"])

    @property
    def about(self) -> Message:
        found: Message = self.message["about"]
        return found

    @property
    def field(self) -> tuple[Tab, str, int] | None:
        """The field of the gesture: tab, frame and number."""
        number = self.about["field"]
        return (self.tab, self.frame, number) if number else None

    @property
    def key(self) -> tuple[Tab, str, int]:
        """What the page's messages about this gesture name: tab, frame and number."""
        return self.tab, self.frame, self.number

    async def call(self, name: str, *arguments: Any) -> Any:
        """Call a function of `listen.js` on the target. Raises `playwright.async_api.Error`."""
        return await self.tab.call(self.frame, name, self.number, *arguments)


@dataclass(slots=True)
class Filling:
    """The open step: a field that the person is filling in.

    before: the page before, with its picture.
    pressed: True if it began with a press of the mouse.
    value: the text entered so far; None if nothing.
    """

    gesture: Gesture
    before: Taken
    pressed: bool
    value: str | None = None


@dataclass(slots=True)
class Recorder:
    """Turns gestures into steps, one after the other.

    say: prints a line to the person.
    marking: True if the next press only marks what to hide.
    tabs: the watched tabs.
    """

    draft: Draft
    say: Callable[[str], None]
    secrets: Secrets = field(default_factory=Secrets)
    marking: bool = False
    tabs: list[Tab] = field(default_factory=list)
    _queue: asyncio.Queue[Gesture | Callable[[], Any]] = field(default_factory=asyncio.Queue)
    _filling: Filling | None = None
    _others: dict[str, int] = field(default_factory=dict)
    _releases: dict[tuple[Tab, str, int], asyncio.Future[Any]] = field(default_factory=dict)
    _moved: set[tuple[Tab, str, int]] = field(default_factory=set)
    _last: tuple[float, Any] = (0.0, None)

    def receive(self, tab: Tab, frame: str, message: Message) -> None:
        """Take a message from the script world of a page."""
        match message["what"]:
            case "release":
                self._release((tab, frame, message["number"])).set_result(message["path"])
            case "moved":
                self._moved.add((tab, frame, message["number"]))
            case "input":
                filling = self._filling
                place = (filling.gesture.tab, filling.gesture.frame) if filling else None
                if filling and place == (tab, frame) and message["own"]:
                    filling.value = message["value"]
            case "other":
                self.note(message["name"])
            case _:
                self._queue.put_nowait(Gesture(tab, frame, message))

    def note(self, name: str) -> None:
        """Note an event that is not a step, for the notes of the next step."""
        self._others[name] = self._others.get(name, 0) + 1

    async def work(self) -> None:
        """Record gestures until cancelled."""
        while True:
            gesture = await self._queue.get()
            try:
                if isinstance(gesture, Gesture):
                    await self._handle(gesture)
                else:
                    await gesture()
            finally:
                self._queue.task_done()

    async def do(self, command: Callable[[], Any]) -> None:
        """Carry out a person's command after the gestures before it."""
        self._queue.put_nowait(command)
        await self._queue.join()

    async def calm(self) -> None:
        """Wait until all gestures so far are recorded, and repeated on the page."""
        for _ in range(2):
            for tab in self.tabs:
                await tab.drained()
            await self._queue.join()

    async def settle(self) -> None:
        """Write the step of the open field."""
        if (filling := self._filling) is None:
            return
        gesture = filling.gesture
        # The last input may still be on its way.
        await gesture.tab.drained()
        await self._close()
        value, taken = filling.value, filling.before
        about, notes = gesture.about, list(taken.notes)
        if value is None:
            if filling.pressed and about["kind"] != "select":
                self._write(taken)
            elif filling.pressed:
                self.say("     (a list was opened without choosing: no step)")
            return
        op: Op = "SELECT" if about["kind"] == "select" else "TYPE"
        words = " ".join(value.split())
        if about["secret"] and words:
            self._hide(words)
            notes.append(f"the typed text is hidden, and recorded as {MASK}")
            words = MASK
        elif words != value.strip():
            notes.append("line breaks of the text become blanks")
        if about["several"]:
            notes.append("the list takes several options; only the first is recorded")
        if not words:
            op = "CLICK"
            notes.append("the field was emptied, which the format cannot express")
        self._write(replace(taken, op=op, value=words, notes=tuple(notes)))

    async def undo(self) -> None:
        """Remove the last step; the page stays unchanged."""
        if self._filling is not None:
            await self._close()
            self.say("     (the open step is dropped)")
        elif self.draft.steps:
            self.draft.steps.pop()
            self.say(f"     (step {len(self.draft.steps) + 1} is removed: go back on the page)")
        else:
            self.say("     (nothing to undo)")

    async def _close(self) -> None:
        filling, self._filling = self._filling, None
        if filling is not None:
            with suppress(_error()):
                await filling.gesture.tab.call(filling.gesture.frame, "close")

    def _release(self, key: tuple[Tab, str, int]) -> asyncio.Future[Any]:
        return self._releases.setdefault(key, asyncio.get_running_loop().create_future())

    async def _handle(self, gesture: Gesture) -> None:
        try:
            match gesture.message["what"]:
                case "press":
                    await self._press(gesture)
                case "key":
                    await self._key(gesture)
                case "paste":
                    await self._begin(gesture)
                case "composed":
                    await self._composed(gesture)
        except _error() as error:
            if not gesture.tab.page.is_closed():
                reason = printable(error.message.splitlines()[0])[:_LONGEST]
                self.say(f"     (neither recorded nor done: the page has gone; {reason})")
        except ValueError as error:
            reason = printable(str(error))[:_LONGEST]
            self.say(f"     (done, but not recorded: the page cannot be described; {reason})")
            self.note("an action on a page that cannot be described")
            with suppress(_error()):
                await self._again(gesture)
        finally:
            self._moved.clear()
            self._releases.pop(gesture.key, None)
            with suppress(_error()):
                await gesture.call("done")

    async def _before(self, gesture: Gesture, op: Op) -> Taken:
        """Record the current page. Returns a step on it without a value."""
        tab = gesture.tab
        for cookie in await tab.page.context.cookies():
            if len(cookie.get("value", "")) >= SHORTEST_COOKIE:
                self.secrets.add(cookie["value"], exact=True)
        page, notes = await tab.look(gesture.frame, gesture.number)
        for node in page.nodes:
            if node["id"] in page.hidden and node.get("live", {}).get("input_value"):
                self._hide(node["live"]["input_value"])
        picture = await self._picture(gesture, notes)
        if picture and picture.cut:
            notes.append(f"the page is longer than its picture, which ends at {TALLEST} pixels")
        if page.cut:
            notes.append("the page is too large: its end is missing")
        if gesture.about["file"]:
            notes.append("a file is chosen, which the format cannot express")
        if page.tag in _DRAWN:
            notes.append(_NO_PLACE)
        others, self._others = self._others, {}
        happened = [
            f"before it, not recorded: {name}{f' ({times} times)' if times > 1 else ''}"
            for name, times in others.items()
        ]
        if picture is not None:
            page = replace(page, drawn=picture.drawn)
        return Taken(op, "", page, picture.data if picture else None, (*happened, *notes))

    async def _picture(self, gesture: Gesture, notes: list[str]) -> PageImage | None:
        """Take a picture that showed secrets in the same places before and after.

        Returns None, and adds a note, if the page cannot be searched or keeps changing.
        """
        point = gesture.message.get("point")
        for _ in range(_PICTURES):
            try:
                picture = await take_picture(gesture.tab, gesture.frame, gesture.number, point)
            except TooManyNodes:
                notes.append("the page is too large to search it for secrets: it has no picture")
                return None
            before, after = (
                [drawn[at] for at in sorted(self.secrets.drawn_over(drawn))]
                for drawn in (picture.drawn, picture.later)
            )
            if before == after:
                return picture
        notes.append("the page kept changing where it shows secrets: it has no picture")
        return None

    async def _press(self, gesture: Gesture) -> None:
        if self.marking:
            await self._mark(gesture)
            return
        if not self._is_in_open(gesture):
            await self.settle()
            taken = await self._before(gesture, "CLICK")
            if gesture.about["kind"]:
                self._filling = Filling(gesture, taken, pressed=True)
                await gesture.call("open", False)
            elif await self._path(gesture):
                self.note("dragging with the mouse")
            else:
                self._write(taken)
                await self._press_again(gesture)
                await gesture.tab.drained()
                if gesture.key in self._moved:
                    self.draft.steps.pop()
                    self.say("     (dropped: the page put something else there; press again)")
                return
        await self._press_again(gesture)

    async def _press_again(self, gesture: Gesture) -> None:
        path = await self._path(gesture)
        point = gesture.message["point"]
        now, key = asyncio.get_running_loop().time(), (gesture.tab, gesture.frame, point)
        double = self._last[1] == key and now - self._last[0] < _DOUBLE_S
        self._last = (now, key)
        await gesture.tab.press(
            gesture.frame,
            gesture.number,
            path or [point],
            modifiers=gesture.message["modifiers"],
            count=2 if double else 1,
        )

    async def _path(self, gesture: Gesture) -> Sequence[Sequence[float]]:
        """Wait for the release, and return the path of a drag; empty for a click."""
        released = self._release(gesture.key)
        try:
            async with asyncio.timeout(RELEASE_S):
                path: Sequence[Sequence[float]] = await asyncio.shield(released)
                return path
        except TimeoutError:
            return []

    async def _key(self, gesture: Gesture) -> None:
        # Earlier gestures may have moved the focus.
        about = await gesture.call("again")
        gesture.message = {**gesture.message, "about": about}
        key, kind = gesture.message["key"], about["kind"]
        edits = len(key) == 1 or key in _EDITING or (kind != "text" and key in _MOVING)
        if key == "Enter" and kind != "select":
            await self._enter(gesture)
        elif kind and edits:
            await self._begin(gesture)
        elif key == " " and about["pressable"]:
            await self.settle()
            self._write(await self._before(gesture, "CLICK"))
            await gesture.tab.key(gesture.frame, gesture.message)
        else:
            await gesture.tab.key(gesture.frame, gesture.message)

    async def _enter(self, gesture: Gesture) -> None:
        lines = gesture.about["lines"]
        if not (lines and self._is_in_open(gesture)):
            await self.settle()
        taken = await self._before(gesture, "ENTER")
        if not lines:
            self._write(taken)
            await gesture.tab.key(gesture.frame, gesture.message)
            return
        # In a field of several lines, only the effect shows the meaning of Enter.
        before = await self._value(gesture)
        await gesture.tab.key(gesture.frame, gesture.message)
        after = await self._value(gesture)
        if before is None or after is None or len(after) <= len(before):
            await self.settle()
            self._write(taken)
        elif not self._is_in_open(gesture):
            self._filling = Filling(gesture, replace(taken, op="TYPE"), False, after)
            await gesture.call("open", True)

    async def _value(self, gesture: Gesture) -> str | None:
        with suppress(_error()):
            value: str | None = await gesture.call("value")
            return value
        return None

    async def _begin(self, gesture: Gesture) -> None:
        """Handle a key or paste in a field; the first one opens its step."""
        if not self._is_in_open(gesture):
            await self.settle()
            taken = await self._before(gesture, "TYPE")
            self._filling = Filling(gesture, taken, pressed=False)
            await gesture.call("open", True)
        await self._again(gesture)

    async def _again(self, gesture: Gesture) -> None:
        """Repeat a gesture for the page."""
        match gesture.message["what"]:
            case "press":
                await self._press_again(gesture)
            case "paste":
                await gesture.tab.send("Input.insertText", text=gesture.message["text"])
            case "key":
                await gesture.tab.key(gesture.frame, gesture.message)

    async def _composed(self, gesture: Gesture) -> None:
        await self.settle()
        taken = await self._before(gesture, "TYPE")
        note = "typed with an input method: the page may already show the first characters"
        taken = replace(taken, notes=(*taken.notes, note))
        self._filling = Filling(gesture, taken, pressed=False)

    async def _mark(self, gesture: Gesture) -> None:
        self.marking = False
        await self.settle()
        text = await gesture.call("mark")
        if len(text) > 200:
            self.say("     (hidden from now on; the text is too long to search for elsewhere)")
        elif self._hide(" ".join(text.split())):
            self.say("     (hidden, also in the steps so far)")
        else:
            self.say("     (hidden: the content of that element, and text typed there)")

    def _hide(self, text: str) -> bool:
        if not self.secrets.add(text):
            return False
        if self.draft.steps:
            self.draft.hide(self.secrets)
        return True

    def _is_in_open(self, gesture: Gesture) -> bool:
        return self._filling is not None and gesture.field == self._filling.gesture.field

    def _write(self, taken: Taken) -> None:
        self.draft.add(taken, self.secrets)
        for line in self.draft.lines(len(self.draft.steps) - 1):
            self.say(line)


def _error() -> Any:
    from playwright.async_api import Error

    return Error
