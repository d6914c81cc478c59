"""Scripted solutions of tasks about colours and shapes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from harness.kinds.episode.miniwob.oracles.turn import Doing, Element, Script, Turn, click

_COLOURS: Mapping[str, tuple[int, int, int]] = {
    "red": (255, 0, 0),
    "blue": (0, 0, 255),
    "green": (0, 128, 0),
    "olive": (128, 128, 0),
    "lime": (0, 255, 0),
    "black": (0, 0, 0),
    "white": (255, 255, 255),
    "grey": (128, 128, 128),
    "purple": (128, 0, 128),
    "orange": (255, 165, 0),
    "yellow": (255, 255, 0),
    "cyan": (0, 255, 255),
    "aqua": (0, 255, 255),
    "pink": (255, 192, 203),
    "magenta": (255, 0, 255),
}
_CHANNELS = ("red", "green", "blue")
_FORMS = {"circle": "circle", "rect": "rectangle", "polygon": "triangle"}
_LARGE = 15
"""Height of large shapes, in pixels of the page: they have at least 20, small ones at most 11."""


def colour(turn: Turn) -> Doing | None:
    """`click-color`."""
    wanted = _COLOURS[turn.said(r"the (\w+) colored")]
    return click(next(one for one in turn.all("div") if one.colour == wanted))


def shades(turn: Turn) -> Doing | None:
    """`click-shades`: a shade of a colour has most of that one."""
    channel = _CHANNELS.index(turn.said(r"shades of (\w+)"))
    for one in turn.all("span"):
        if one.colour and one.colour[channel] == max(one.colour) and "selected" not in one.words:
            return click(one)
    return click(turn.named("Submit", "button"))


def shape(turn: Turn) -> Doing | None:
    """`click-shape`."""
    wanted = turn.said(r"Click on a (.*)")
    return click(next(one for one in _shapes(turn) if _is(one, wanted)))


def count(turn: Turn) -> Doing | None:
    """`count-shape`."""
    wanted = turn.said(r"How many (.*)s are there")
    number = sum(_is(one, wanted) for one in _shapes(turn))
    return click(turn.named(str(number), "button"))


def _shapes(turn: Turn) -> list[Element]:
    return turn.all("tspan", *_FORMS)


def _is(shape: Element, description: str) -> bool:
    """Return whether a shape fits a description, such as `small red letter` or `large 7`."""
    *facts, kind = description.split()
    size = re.search(r"(\d+)x(\d+)", " ".join(shape.words))
    is_large = size is not None and int(size[2]) > _LARGE
    fits = all(
        is_large == (fact == "large")
        if fact in ("large", "small")
        else shape.colour == _COLOURS[fact]
        for fact in facts
    )
    if shape.tag == "tspan":
        kinds = {shape.text, "digit" if shape.text.isdigit() else "letter"}
    else:
        kinds = {_FORMS[shape.tag], "shape"}
    return fits and kind in {"item", *kinds}


SCRIPTS: Mapping[str, Script] = {
    "click-color": colour,
    "click-shades": shades,
    "click-shape": shape,
    "count-shape": count,
}
