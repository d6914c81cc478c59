"""Where the calls of a reply point, for the page to draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast, get_args

from adapters.conversation import Picture, ToolCall
from parsers.native import ToolUse
from parsers.native.tools import acts_of
from parsers.native.vendors import any_tool
from parsers.points import Convention, to_pixels

MOST = 50


def convention_of(config: Mapping[str, Any]) -> Convention:
    """Return what the numbers of a run's model mean; pixels where nothing says so."""
    options = config.get("protocol_option")
    said = options.get("coordinates") if isinstance(options, Mapping) else None
    return cast(Convention, said) if said in get_args(Convention) else "absolute"


def marks_of(
    calls: Sequence[ToolCall], picture: Picture | None, convention: Convention
) -> list[list[Any]]:
    """Return a mark for each act with a place: its number and word, then the shares of the width
    and height of the picture where it is, and where it ends."""
    uses = [ToolUse(call.name, call.arguments) for call in calls]
    acts = acts_of(uses, any_tool, {call.name for call in calls})
    size = (picture.width, picture.height) if picture else (0, 0)
    marks = []
    for number, act in enumerate(acts[:MOST] if picture else (), 1):
        places = [to_pixels(one, convention, size) for one in (act.at, act.to) if one]
        inside = [(x / size[0], y / size[1]) for x, y in filter(None, places)]
        if inside and len(inside) == len(places):
            word = act.text if act.word == "look" else act.word
            marks.append([f"{number} {word}", *(share for place in inside for share in place)])
    return marks
