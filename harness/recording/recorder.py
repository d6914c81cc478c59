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
from harness.recording.columns import Op
from harness.recording.draft import Draft, Taken
from harness.recording.masking import MASK, Secrets
from harness.recording.tab import Message, Tab
from harness.recording.taking import Filling, Gesture, Taking

RELEASE_S = 20.0
"""Time after which a pressed mouse button counts as released, in seconds."""
_DOUBLE_S = 0.5
_LONGEST = 120
_EDITING = frozenset({"Backspace", "Delete"})
_MOVING = frozenset({"ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"}) | frozenset(
    {"Home", "End", "PageUp", "PageDown"}
)


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
    _taking: Taking = field(init=False)
    _filling: Filling | None = None
    _releases: dict[tuple[Tab, str, int], asyncio.Future[Any]] = field(default_factory=dict)
    _moved: set[tuple[Tab, str, int]] = field(default_factory=set)
    _last: tuple[float, Any] = (0.0, None)

    def __post_init__(self) -> None:
        self._taking = Taking(self.secrets, self._hide)

    def receive(self, tab: Tab, frame: str, message: Message) -> None:
        """Take a message from the script world of a page."""
        match message["what"]:
            case "release":
                self._release(tab, frame, message["number"]).set_result(message["path"])
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
        self._taking.note(name)

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
            self._taking.entry = None
            self.say(f"     (step {len(self.draft.steps) + 1} is removed: go back on the page)")
        else:
            self.say("     (nothing to undo)")

    async def _close(self) -> None:
        filling, self._filling = self._filling, None
        if filling is not None:
            with suppress(_error()):
                await filling.gesture.tab.call(filling.gesture.frame, "close")

    def _release(self, tab: Tab, frame: str, number: int) -> asyncio.Future[Any]:
        known = self._releases
        return known.setdefault((tab, frame, number), asyncio.get_running_loop().create_future())

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
            self._releases.pop((gesture.tab, gesture.frame, gesture.number), None)
            with suppress(_error()):
                await gesture.tab.call(gesture.frame, "done", gesture.number)

    async def _press(self, gesture: Gesture) -> None:
        if self.marking:
            await self._mark(gesture)
            return
        if not self._is_in_open(gesture):
            await self.settle()
            taken = await self._taking.before(gesture, "CLICK")
            if gesture.about["kind"]:
                self._filling = Filling(gesture, taken, pressed=True)
                await gesture.tab.call(gesture.frame, "open", gesture.number, False)
            elif await self._path(gesture):
                self.note("dragging with the mouse")
            else:
                self._write(taken)
                await self._press_again(gesture)
                await gesture.tab.drained()
                if (gesture.tab, gesture.frame, gesture.number) in self._moved:
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
        released = self._release(gesture.tab, gesture.frame, gesture.number)
        try:
            async with asyncio.timeout(RELEASE_S):
                path: Sequence[Sequence[float]] = await asyncio.shield(released)
                return path
        except TimeoutError:
            return []

    async def _key(self, gesture: Gesture) -> None:
        # Earlier gestures may have moved the focus.
        about = await gesture.tab.call(gesture.frame, "again", gesture.number)
        gesture.message = {**gesture.message, "about": about}
        key, kind = gesture.message["key"], about["kind"]
        edits = len(key) == 1 or key in _EDITING or (kind != "text" and key in _MOVING)
        if key == "Enter" and kind != "select":
            await self._enter(gesture)
        elif kind and edits:
            await self._begin(gesture)
        elif key == " " and about["pressable"]:
            await self.settle()
            self._write(await self._taking.before(gesture, "CLICK"))
            await gesture.tab.key(gesture.frame, gesture.message)
        else:
            await gesture.tab.key(gesture.frame, gesture.message)

    async def _enter(self, gesture: Gesture) -> None:
        lines = gesture.about["lines"]
        if not (lines and self._is_in_open(gesture)):
            await self.settle()
        taken = await self._taking.before(gesture, "ENTER")
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
            await gesture.tab.call(gesture.frame, "open", gesture.number, True)

    async def _value(self, gesture: Gesture) -> str | None:
        with suppress(_error()):
            value: str | None = await gesture.tab.call(gesture.frame, "value", gesture.number)
            return value
        return None

    async def _begin(self, gesture: Gesture) -> None:
        """Handle a key or paste in a field; the first one opens its step."""
        if not self._is_in_open(gesture):
            await self.settle()
            taken = await self._taking.before(gesture, "TYPE")
            self._filling = Filling(gesture, taken, pressed=False)
            await gesture.tab.call(gesture.frame, "open", gesture.number, True)
        await self._again(gesture)

    async def _again(self, gesture: Gesture) -> None:
        """Repeat a gesture for the page."""
        match gesture.message["what"]:
            case "press":
                await self._press_again(gesture)
            case "paste":
                await gesture.tab.insert(gesture.message["text"])
            case "key":
                await gesture.tab.key(gesture.frame, gesture.message)

    async def _composed(self, gesture: Gesture) -> None:
        await self.settle()
        taken = await self._taking.before(gesture, "TYPE")
        note = "typed with an input method: the page may already show the first characters"
        taken = replace(taken, notes=(*taken.notes, note))
        self._filling = Filling(gesture, taken, pressed=False)

    async def _mark(self, gesture: Gesture) -> None:
        self.marking = False
        await self.settle()
        text = await gesture.tab.call(gesture.frame, "mark", gesture.number)
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
