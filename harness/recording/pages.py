"""Pages as `snapshot.js` describes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from harness.live.snapshot import describing

Piece = Sequence[str]
"""Kind and text of a part of a page's HTML."""

_AMPERSANDS = str.maketrans({"&": "&amp;", "\u00a0": "&nbsp;", "<": "&lt;", ">": "&gt;"})
_QUOTES = _AMPERSANDS | str.maketrans({'"': "&quot;"})


@cache
def snapshot() -> str:
    """The function of `snapshot.js` with what it needs, as source: it takes one object."""
    own = Path(__file__).with_name("snapshot.js").read_text(encoding="utf-8")
    return f"(options) => {{ const describe = {describing()};\nreturn ({own})(options); }}"


def html_of(pieces: Iterable[Piece], frames: Mapping[str, Iterable[Piece]] | None = None) -> str:
    """The HTML of a page from its pieces, with the pages of frames by the ids of their elements."""
    return "<!DOCTYPE html>\n" + "".join(_written(pieces, frames or {}))


def _written(pieces: Iterable[Piece], frames: Mapping[str, Iterable[Piece]]) -> Iterable[str]:
    for kind, text in pieces:
        match kind:
            case "text":
                yield text.translate(_AMPERSANDS)
            case "value":
                yield text.translate(_QUOTES)
            case "frame":
                yield from _written(frames.get(text, ()), frames)
            case _:
                yield text
