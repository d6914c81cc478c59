"""Descriptions of pages, from the answers of `snapshot.js`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from adapters.checks import to_json
from adapters.decoding import decode_json
from harness.live.snapshot import describing

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
    """Corner and scale of a frame's viewport as drawn on the page."""

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
