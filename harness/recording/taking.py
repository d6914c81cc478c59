"""The page before an action: how it looks, what is on it, and how it was come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

from harness.recording.columns import Op
from harness.recording.draft import Taken
from harness.recording.masking import Secrets, masked_page
from harness.recording.pages import Described
from harness.recording.tab import TALLEST, Message, Picture, Tab

SHORTEST_COOKIE = 16
"""Values of cookies from this length on are hidden wherever pages repeat them, in characters."""
_PICTURES = 3
_UNHELD = "the element shows a picture that is drawn or played; the place in it is not recorded"
_DRAWN = ("canvas", "video", "object", "embed", "iframe", "frame", "map")


@dataclass(slots=True)
class Gesture:
    """A press, key or paste that is held back."""

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
        """The field that it is done in."""
        number = self.about["field"]
        return (self.tab, self.frame, number) if number else None


@dataclass(slots=True)
class Filling:
    """A field that is being filled in: the step that is open.

    before: the page before, with its picture.
    pressed: whether it began with a press of the mouse.
    value: what a person has entered so far; None if nothing.
    """

    gesture: Gesture
    before: Taken
    picture: bytes | None
    pressed: bool
    value: str | None = None


@dataclass(slots=True)
class Taking:
    """Takes pages, and remembers what happened between them that is no step.

    hide: called with texts that are secret from now on.
    entry: the tab and the number in its history of the page that was taken last.
    """

    secrets: Secrets
    hide: Callable[[str], object]
    entry: tuple[Tab, int] | None = None
    _others: dict[str, int] = field(default_factory=dict)

    def beside(self, name: str) -> None:
        """Note what happened and is no step; the next step says so."""
        self._others[name] = self._others.get(name, 0) + 1

    async def before(self, gesture: Gesture, op: Op) -> tuple[Taken, bytes | None]:
        """The page as it is, and a step on it without a value."""
        tab = gesture.tab
        for cookie in await tab.page.context.cookies():
            if len(cookie.get("value", "")) >= SHORTEST_COOKIE:
                self.secrets.add(cookie["value"], exact=True)
        page, notes = await tab.look(gesture.frame, gesture.number)
        for node in page.nodes:
            if node["id"] in page.hidden and node.get("live", {}).get("input_value"):
                self.hide(node["live"]["input_value"])
        picture = await self._picture(gesture)
        page, taken = await self._unmoved(gesture, page, picture)
        if taken is None:
            notes.append("the page kept changing where it shows secrets: it has no picture")
        elif picture.cut_at:
            notes.append(f"the page is longer than its picture, which ends at {TALLEST} pixels")
        if page.cut:
            notes.append("the page is too large: its end is missing")
        if gesture.about["file"]:
            notes.append("a file is chosen, which the format cannot hold")
        if page.tag in _DRAWN:
            notes.append(_UNHELD)
        if await tab.is_closed(gesture.frame, gesture.number):
            notes.append("the inside of the element is closed: all of it counts as one")
        notes = [*await self._arrived(tab), *self._notes_beside(), *notes]
        entry = self.entry[1] if self.entry else -1
        url = tab.page.url
        step = Taken(str(uuid4()), op, "", page, url, entry, tuple(notes))
        return step, taken

    async def _picture(self, gesture: Gesture) -> Picture:
        point = gesture.message.get("point")
        return await gesture.tab.picture(gesture.frame, gesture.number, point)

    async def _unmoved(
        self, gesture: Gesture, page: Described, picture: Picture
    ) -> tuple[Described, bytes | None]:
        """A page and a picture that show secrets in the same places."""
        if not self.secrets and not page.hidden:
            return page, picture.data
        tab = gesture.tab
        for _ in range(_PICTURES):
            again, _ = await tab.look(gesture.frame, gesture.number)
            boxes = masked_page(again, self.secrets).boxes
            if boxes == masked_page(page, self.secrets).boxes:
                return page, picture.data
            page, picture = again, await self._picture(gesture)
        return page, None

    async def _arrived(self, tab: Tab) -> list[str]:
        """How the page was come to, where no step says so."""
        before = self.entry
        history = await tab.send("Page.getNavigationHistory")
        at = history["currentIndex"]
        entry = history["entries"][at]
        self.entry = tab, entry["id"]
        if before is None:
            return []
        if before[0] is not tab:
            return ["in another tab than the step before"]
        known = [one["id"] for one in history["entries"]]
        if before[1] == entry["id"]:
            return []
        if before[1] in known and known.index(before[1]) > at:
            return ["the page was gone back to"]
        if entry.get("transitionType") in ("typed", "address_bar", "generated", "keyword"):
            return ["the page was gone to by its address"]
        return []

    async def place(self, tab: Tab) -> int:
        """The number of the page in the history of its tab."""
        history = await tab.send("Page.getNavigationHistory")
        return int(history["entries"][history["currentIndex"]]["id"])

    def _notes_beside(self) -> list[str]:
        others, self._others = self._others, {}
        return [
            f"before it, not recorded: {name}{f' ({times} times)' if times > 1 else ''}"
            for name, times in others.items()
        ]
