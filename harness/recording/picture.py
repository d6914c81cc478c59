"""Take screenshots of pages, and list the lines of text and the controls in them.

A description of the DOM misses what is painted from elsewhere: `::before` and `::after`, closed
shadow roots, markers of lists. Chromium's `DOMSnapshot.captureSnapshot` lists the laid-out lines of
these, too. The text in a control (a field, a closed list) is not laid out as text there; a control
counts as one, with the texts that it may show.
"""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.recording.tab import Box, Painted, Place, mended

if TYPE_CHECKING:
    from harness.recording.tab import Tab

TALLEST = 16_000
"""Largest height of a screenshot, in pixels."""
_QUALITY = 85
MOST_NODES = 200_000
"""Pages of more nodes are not searched."""
_LONGEST = 10_000
_EDGE = 3
_TEXT = 3
_FIELDS = frozenset({"input", "textarea", "select"})
_CONTROLS = _FIELDS | {"option", "optgroup", "img", "image", "object", "embed", "video"}


class PageImage(NamedTuple):
    """A screenshot of a whole page as JPEG.

    drawn: lines and controls that were painted before it was taken.
    later: lines and controls that were painted after it was taken.
    cut: True if the page is higher than `TALLEST`.
    """

    data: bytes
    drawn: tuple[Painted, ...]
    later: tuple[Painted, ...]
    cut: bool


class TooManyNodes(ValueError):
    """A page has more nodes than `MOST_NODES`."""


async def take_picture(
    tab: Tab, frame: str, target: int, point: Sequence[float] | None
) -> PageImage:
    """Take a screenshot of the whole page, and list what is painted on it.

    Menus that are open under the pointer (`point` in a frame) stay open.

    Raises:
        TooManyNodes: the page is too large to be searched.
        playwright.async_api.Error: the page is gone.
    """
    main = next(iter(await tab.frames()))
    view = await tab.call(main, "view")
    size = (await tab.send("Page.getLayoutMetrics"))["cssContentSize"]
    height = max(min(size["height"], TALLEST), 1)
    clip = {"x": 0, "y": 0, "width": max(size["width"], 1), "height": height, "scale": 1}
    async with _hovered(tab, frame, target, point):
        before = await _drawn_on(tab)
        taken = await tab.send(
            "Page.captureScreenshot",
            format="jpeg",
            quality=_QUALITY,
            captureBeyondViewport=True,
            clip=clip,
        )
        after = await _drawn_on(tab)
        await tab.call(main, "restored", view)
    return PageImage(base64.b64decode(taken["data"]), before, after, size["height"] > TALLEST)


@asynccontextmanager
async def _hovered(
    tab: Tab, frame: str, target: int, point: Sequence[float] | None
) -> AsyncIterator[None]:
    """Keep what opens under the pointer open while the page is resized for its picture."""
    if point is None:
        yield
        return
    await tab.send("DOM.enable")
    await tab.send("CSS.enable")
    try:
        await tab.send("DOM.getDocument", depth=0)
        for one in await tab.elements(frame, "around", target):
            node = await tab.send("DOM.requestNode", objectId=one)
            await tab.send("CSS.forcePseudoState", **node, forcedPseudoClasses=["hover"])
        yield
        place = await tab.place_of(frame)
        await tab.mouse("mouseMoved", place.point(*point), 0, 0)
    finally:
        await tab.send("CSS.disable")
        await tab.send("DOM.disable")


async def _drawn_on(tab: Tab) -> tuple[Painted, ...]:
    """List what is painted on a page now, its frames included."""
    from playwright.async_api import Error

    places: dict[str, Place] = {}
    marked: set[int] = set()
    frames = await tab.frames()
    main = Place(*await tab.call(next(iter(frames)), "scrolled"))
    for frame, parent in frames.items():
        with suppress(Error):  # A frame may be gone by now.
            places[frame] = (await tab.place_of(frame)).within(main) if parent else main
            for one in await tab.elements(frame, "marked"):
                described = await tab.send("DOM.describeNode", objectId=one)
                marked.add(described["node"]["backendNodeId"])
    snapshot = await tab.send("DOMSnapshot.captureSnapshot", computedStyles=[])
    snapshot["strings"] = mended(snapshot["strings"])
    return tuple(drawn_in(snapshot, places, marked))


def drawn_in(
    snapshot: Mapping[str, Any], places: Mapping[str, Place], marked: Collection[int]
) -> list[Painted]:
    """List what is painted on a page.

    Args:
        snapshot: the answer to `DOMSnapshot.captureSnapshot`.
        places: of the viewports of frames, by their ids.
        marked: backend ids of elements whose content is hidden; password fields are hidden anyway.

    Raises:
        TooManyNodes: the page is too large.
    """
    if sum(len(one["nodes"]["parentIndex"]) for one in snapshot["documents"]) > MOST_NODES:
        raise TooManyNodes
    found: list[Painted] = []
    for document in snapshot["documents"]:
        place = places.get(snapshot["strings"][document["frameId"]])
        if place is None:
            continue
        scrolled = document.get("scrollOffsetX", 0), document.get("scrollOffsetY", 0)
        for one in _Document(document, snapshot["strings"], marked).drawn():
            x, y, *size = one.box
            box = place.box((x - scrolled[0], y - scrolled[1], *size))
            found.append(one._replace(box=box))
    return found


class _Document:
    def __init__(
        self, document: Mapping[str, Any], strings: Sequence[str], marked: Collection[int]
    ) -> None:
        self._strings = strings
        self._document = document
        nodes = document["nodes"]
        self._names = [strings[one].lower() for one in nodes["nodeName"]]
        self._attributes = [
            {
                strings[name].lower(): strings[value][:_LONGEST]
                for name, value in zip(flat[::2], flat[1::2], strict=True)
            }
            for flat in nodes["attributes"]
        ]
        self._values = {
            at: strings[value][:_LONGEST]
            for kind in ("inputValue", "textValue")
            for at, value in zip(nodes[kind]["index"], nodes[kind]["value"], strict=True)
        }
        self._hidden: set[int] = set()
        self._shown: dict[int, list[str]] = defaultdict(list)
        self._walk(nodes, marked)

    def drawn(self) -> Iterator[Painted]:
        """List the lines and controls of the document."""
        layout = self._document["layout"]
        lines = self._lines()
        for at, (node, box) in enumerate(zip(layout["nodeIndex"], layout["bounds"], strict=True)):
            hidden = node in self._hidden
            if layout["text"][at] >= 0:
                for text, where in lines.get(at, [(self._strings[layout["text"][at]], _box(box))]):
                    if text.strip() and min(where[2:]) > 0:
                        yield Painted(text, where, hidden=hidden)
            elif self._names[node] in _CONTROLS:
                if not (hidden and self._names[node] == "input" and not self._values.get(node)):
                    field = self._names[node] in _FIELDS
                    text = "\n".join(self._texts(node))
                    yield Painted(text, _inner(box) if field else _box(box), True, hidden)
            elif hidden:
                yield Painted("", _box(box), True, hidden)

    def _walk(self, nodes: Mapping[str, Any], marked: Collection[int]) -> None:
        """Find the nodes inside hidden elements, and the texts of the options that lists show."""
        selected = frozenset(nodes["optionSelected"]["index"])
        lists: dict[int, int] = {}
        options: dict[int, int] = {}
        for at, parent in enumerate(nodes["parentIndex"]):
            name = self._names[at]
            secret = name == "input" and self._attributes[at].get("type", "").lower() == "password"
            if secret or nodes["backendNodeId"][at] in marked or parent in self._hidden:
                self._hidden.add(at)
            if (within := at if name == "select" else lists.get(parent)) is not None:
                lists[at] = within
            if (option := at if name == "option" else options.get(parent)) is None:
                continue
            options[at] = option
            texts = [*self._attributes[at].values()] if name == "option" else []
            if nodes["nodeType"][at] == _TEXT:
                texts.append(self._strings[nodes["nodeValue"][at]])
            self._shown[option] += texts
            if option in selected and option in lists:
                self._shown[lists[option]] += texts

    def _texts(self, node: int) -> Iterator[str]:
        yield from self._attributes[node].values()
        yield self._values.get(node, "")
        yield "".join(self._shown.get(node, ()))

    def _lines(self) -> Mapping[int, list[tuple[str, Box]]]:
        """Cut the laid-out texts into lines; Chromium counts in units of UTF-16."""
        boxes, texts = self._document["textBoxes"], self._document["layout"]["text"]
        found: dict[int, list[tuple[str, Box]]] = {}
        units = b""
        for at, box, start, length in zip(
            boxes["layoutIndex"], boxes["bounds"], boxes["start"], boxes["length"], strict=True
        ):
            if at not in found:
                found[at] = []
                units = self._strings[texts[at]].encode("utf-16-le", "surrogatepass")
            line = units[2 * start : 2 * (start + length)].decode("utf-16-le", "replace")
            found[at].append((line, _box(box)))
        return found


def _box(numbers: Sequence[float]) -> Box:
    x, y, width, height = numbers
    return (x, y, width, height)


def _inner(box: Sequence[float]) -> Box:
    """Return the inside of a field: its edge stays visible."""
    x, y, width, height = box
    edge = min(_EDGE, width / 4, height / 4)
    return (x + edge, y + edge, width - 2 * edge, height - 2 * edge)
