"""Record the page before an action: its screenshot, its elements, and notes on the way to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from uuid import uuid4

from harness.recording.columns import Op
from harness.recording.draft import Taken
from harness.recording.masking import Secrets
from harness.recording.picture import TALLEST, PageImage, TooManyNodes, take_picture
from harness.recording.tab import Message, Tab

SHORTEST_COOKIE = 16
"""Cookies with values of at least this length, in characters, are hidden in pages."""
_PICTURES = 3
_NO_PLACE = "the element shows a drawing or video; the place in it is not recorded"
_BY_ADDRESS = ("typed", "address_bar", "generated", "keyword")
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


@dataclass(slots=True)
class Filling:
    """The open step: a field that the person is filling in.

    before: the page before, with its picture.
    picture: the screenshot before.
    pressed: True if it began with a press of the mouse.
    value: the text entered so far; None if nothing.
    """

    gesture: Gesture
    before: Taken
    picture: bytes | None
    pressed: bool
    value: str | None = None


@dataclass(slots=True)
class Taking:
    """Records pages, and notes on events between them that are not steps.

    hide: called with texts that are secret from now on.
    entry: tab of the last recorded page, and its number in the history of the tab.
    """

    secrets: Secrets
    hide: Callable[[str], object]
    entry: tuple[Tab, int] | None = None
    _others: dict[str, int] = field(default_factory=dict)

    def note(self, name: str) -> None:
        """Note an event that is not a step, for the notes of the next step."""
        self._others[name] = self._others.get(name, 0) + 1

    async def before(self, gesture: Gesture, op: Op) -> tuple[Taken, bytes | None]:
        """Record the current page. Returns a step on it without a value, and the screenshot."""
        tab = gesture.tab
        for cookie in await tab.page.context.cookies():
            if len(cookie.get("value", "")) >= SHORTEST_COOKIE:
                self.secrets.add(cookie["value"], exact=True)
        page, notes = await tab.look(gesture.frame, gesture.number)
        for node in page.nodes:
            if node["id"] in page.hidden and node.get("live", {}).get("input_value"):
                self.hide(node["live"]["input_value"])
        picture = await self._picture(gesture, notes)
        if picture and picture.cut_at:
            notes.append(f"the page is longer than its picture, which ends at {TALLEST} pixels")
        if page.cut:
            notes.append("the page is too large: its end is missing")
        if gesture.about["file"]:
            notes.append("a file is chosen, which the format cannot express")
        if page.tag in _DRAWN:
            notes.append(_NO_PLACE)
        if await tab.is_closed(gesture.frame, gesture.number):
            notes.append("the element has a closed shadow root: all of it counts as one element")
        notes = [*await self._arrived(tab), *self._events(), *notes]
        entry = self.entry[1] if self.entry else -1
        url = tab.page.url
        if picture is not None:
            page = replace(page, drawn=picture.drawn)
        step = Taken(str(uuid4()), op, "", page, url, entry, tuple(notes))
        return step, picture.data if picture else None

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

    async def _arrived(self, tab: Tab) -> list[str]:
        """Note the way to the page if no step explains it."""
        history = await tab.send("Page.getNavigationHistory")
        at, known = history["currentIndex"], [one["id"] for one in history["entries"]]
        before, self.entry = self.entry, (tab, known[at])
        if before is None or before == self.entry:
            return []
        if before[0] is not tab:
            return ["in another tab than the step before"]
        if before[1] in known[at:]:
            return ["reached by going back"]
        if history["entries"][at].get("transitionType") in _BY_ADDRESS:
            return ["reached by its address"]
        return []

    async def place(self, tab: Tab) -> int:
        """Return the page's number in the history of its tab."""
        history = await tab.send("Page.getNavigationHistory")
        return int(history["entries"][history["currentIndex"]]["id"])

    def _events(self) -> list[str]:
        others, self._others = self._others, {}
        return [
            f"before it, not recorded: {name}{f' ({times} times)' if times > 1 else ''}"
            for name, times in others.items()
        ]
