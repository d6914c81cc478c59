"""Pages as `snapshot.js` describes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from harness.live.snapshot import describing

Piece = Sequence[str]
"""Kind, text and perhaps a name of a part of a page's HTML (`snapshot.js`)."""

_AMPERSANDS = str.maketrans({"&": "&amp;", "\u00a0": "&nbsp;", "<": "&lt;", ">": "&gt;"})
_QUOTES = _AMPERSANDS | str.maketrans({'"': "&quot;"})


@cache
def snapshot() -> str:
    """The function of `snapshot.js` with what it needs, as source: it takes one object."""
    own = Path(__file__).with_name("snapshot.js").read_text(encoding="utf-8")
    return f"(options) => {{ {describing()}return ({own})(options); }}"


def html_of(pieces: Iterable[Piece]) -> str:
    """The HTML of a page from its pieces."""
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
    """Where the viewport of a frame is drawn on the page: its corner, and its scale."""

    x: float = 0.0
    y: float = 0.0
    across: float = 1.0
    down: float = 1.0

    def within(self, outer: Place) -> Place:
        """The same for what `outer` is the place of."""
        x, y = outer.point(self.x, self.y)
        return Place(x, y, self.across * outer.across, self.down * outer.down)

    def point(self, x: float, y: float) -> tuple[float, float]:
        """A point of the frame's viewport, on the page."""
        return self.x + self.across * x, self.y + self.down * y

    def box(self, box: Sequence[float]) -> list[float]:
        """A box in the frame's viewport, on the page."""
        x, y, width, height = box
        return [*self.point(x, y), self.across * width, self.down * height]


@dataclass(frozen=True, slots=True)
class Described:
    """A page before an action, its frames included.

    nodes: as `tree_of` takes them; texts with boxes, which are in pixels of the page.
    labelled: id of the element that was acted on, "" if it is not among the nodes.
    tag: that of this element.
    hidden: ids of elements whose content is to be hidden.
    cut: whether the page was too large to be described as a whole.
    """

    nodes: tuple[Mapping[str, Any], ...]
    pieces: tuple[Piece, ...]
    labelled: str = ""
    tag: str = ""
    hidden: frozenset[str] = field(default_factory=frozenset)
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """The page of one frame as its document describes it (`look` in `listen.js`).

    host: id of the frame's element in the document around it; "" for the whole page.
    place: where it is drawn on the page.
    """

    look: Mapping[str, Any]
    host: str = ""
    place: Place = field(default_factory=Place)


def joined(parts: Sequence[Part]) -> Described:
    """Put the pages of frames under their elements.

    Ids have to go on from one part to the next, and a part to come after the one that it is in.
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
    return Described(
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
