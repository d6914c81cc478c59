"""Hiding what nobody else may read: passwords, and what a person has marked.

A secret is looked for wherever a page may repeat it: in texts, also over several elements or
written with blanks or dashes between its characters, in attributes, addresses and scripts, in small
and capital letters. What is found becomes `MASK`. Secrets are kept in memory only.
"""

from __future__ import annotations

import base64
import html
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any
from urllib.parse import quote

from harness.recording.pages import Described, Piece

MASK = "SECRET"
"""What stands for a secret: a word, so that the task's sentence and a model's answer can use it."""
SHORTEST = 3
"""Secrets of fewer characters are hidden in their own field and nowhere else."""
SAFE = frozenset(
    {"id", "class", "type", "name", "role", "style", "for", "input_checked", "option_selected"}
)
"""Attributes of hidden elements that say nothing of their content."""

_BETWEEN = r"(?:[\s\u00a0\u200b+-]|%20|&nbsp;)*"
_EDGE = 3
_ENTERING = frozenset({"input", "textarea", "select"})
_ENTERED = frozenset({"value", "input_value", "text_value"})
_FIELDS = frozenset({"input", "textarea", "select", "option", "button", "img"})


class Secrets:
    """What is to be hidden, in every spelling in which it is looked for."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        self._told = False

    def __bool__(self) -> bool:
        """Whether a person has any: those that are looked for as they are do not count."""
        return self._told

    def add(self, secret: str, *, exact: bool = False) -> bool:
        """Hide a text from now on; False if it is known, or too short to be looked for.

        `exact`: it is looked for as it is, or URL-encoded, and in no other spelling.
        """
        folded = secret if exact else re.sub(r"[\s\u00a0-]", "", secret)
        if len(folded) < SHORTEST or folded in self._known:
            return False
        plain = f"{re.escape(folded)}|{re.escape(quote(folded, safe=''))}"
        self._known[folded] = plain if exact else _spelled(folded)
        self._told |= not exact
        longest_first = sorted(self._known, key=len, reverse=True)
        spelled = "|".join(self._known[one] for one in longest_first)
        self._pattern = re.compile(spelled, re.IGNORECASE)
        return True

    def masked(self, text: str) -> str:
        """The text without secrets."""
        return self._pattern.sub(MASK, text) if self._pattern else text

    def masked_texts(self, texts: Sequence[str]) -> list[str]:
        """Texts that follow each other, without secrets, be they spread over several of them."""
        if not self._pattern:
            return list(texts)
        starts = [0, *accumulate(map(len, texts))]
        found = list(texts)
        for match in reversed(list(self._pattern.finditer("".join(texts)))):
            one, last = (bisect_right(starts, at) - 1 for at in (match.start(), match.end() - 1))
            for at in range(last, one - 1, -1):
                begin = max(match.start() - starts[at], 0)
                end = min(match.end() - starts[at], len(texts[at]))
                put = MASK if at == one else ""
                found[at] = found[at][:begin] + put + found[at][end:]
        return found


@dataclass(frozen=True, slots=True)
class Masked:
    """A page without secrets, and the boxes of its picture in which they stand."""

    page: Described
    boxes: tuple[tuple[float, ...], ...]


def masked_page(page: Described, secrets: Secrets) -> Masked:
    """Hide secrets, and all that is in hidden elements."""
    inside = _inside(page.nodes, page.hidden)
    places = [at for at, node in enumerate(page.nodes) if "text" in node]
    texts = secrets.masked_texts([page.nodes[at]["text"] for at in places])
    changed: dict[int, Mapping[str, Any]] = {}
    for at, text in zip(places, texts, strict=True):
        text = MASK if at in inside and text.strip() else text
        if text != page.nodes[at]["text"]:
            changed[at] = {**page.nodes[at], "text": text}
    boxes = [tuple(page.nodes[at].get("box", ())) for at in changed]
    for at, node in enumerate(page.nodes):
        if "text" in node:
            continue
        fields = {
            part: {
                name: _value(node["tag"], name, value, secrets, at in inside)
                for name, value in node[part].items()
            }
            for part in ("attributes", "live")
        }
        if any(fields[part] != node[part] for part in fields):
            changed[at] = {**node, **fields}
            if node["tag"] in _FIELDS:
                boxes.append(_inner(_drawn(page.nodes, at)["box"]))
        # The edge of a field stays, and all of one in which there is nothing.
        if node["id"] in page.hidden and (node["tag"] != "input" or node["live"]):
            boxes.append(_inner(node["box"]) if node["tag"] in _FIELDS else tuple(node["box"]))
    nodes = tuple(changed.get(at, node) for at, node in enumerate(page.nodes))
    pieces = _masked_pieces(page.pieces, secrets)
    found = tuple(box for box in dict.fromkeys(boxes) if len(box) == 4 and min(box[2:]) > 0)
    return Masked(replace(page, nodes=nodes, pieces=pieces), found)


def _value(tag: str, name: str, value: str, secrets: Secrets, hidden: bool) -> str:
    # What a page says of a field is not what is in it.
    told = name in _ENTERED if tag in _ENTERING else name not in SAFE
    return MASK if hidden and value and told else secrets.masked(value)


def _inside(nodes: Sequence[Mapping[str, Any]], hidden: Collection[str]) -> set[int]:
    """The places of hidden elements and of all that is in them."""
    found: set[int] = set()
    for at, node in enumerate(nodes):
        if node["id"] in hidden or node["parent"] in found:
            found.add(at)
    return found


def _inner(box: Sequence[float]) -> tuple[float, ...]:
    x, y, width, height = box
    return (x + _EDGE, y + _EDGE, width - 2 * _EDGE, height - 2 * _EDGE)


def _drawn(nodes: Sequence[Mapping[str, Any]], at: int) -> Mapping[str, Any]:
    """The element in whose box an element is drawn: for an option, its list."""
    while nodes[at]["tag"] in ("option", "optgroup") and nodes[at]["parent"] is not None:
        at = nodes[at]["parent"]
    return nodes[at]


def _masked_pieces(pieces: Iterable[Piece], secrets: Secrets) -> tuple[Piece, ...]:
    found: list[Piece] = []
    depth = 0
    for kind, text, *more in pieces:
        depth += {"hide": 1, "show": -1}.get(kind, 0)
        told = kind == "value" and more[0] not in SAFE
        if depth and text.strip() and (told or kind in ("text", "verbatim")):
            text = MASK
        elif kind in ("value", "verbatim"):
            text = secrets.masked(text)
        found.append((kind, text, *more))
    places = [at for at, (kind, *_) in enumerate(found) if kind == "text"]
    for at, text in zip(places, secrets.masked_texts([found[at][1] for at in places]), strict=True):
        found[at] = ("text", text)
    return tuple(found)


def _spelled(secret: str) -> str:
    """A pattern for a text in any of the spellings that pages use."""
    encoded = base64.b64encode(secret.encode()).decode().rstrip("=")
    return f"{_BETWEEN.join(map(_character, secret))}|{re.escape(encoded)}"


def _character(sign: str) -> str:
    code = ord(sign)
    spellings = dict.fromkeys(
        [
            sign,
            html.escape(sign),
            quote(sign, safe=""),
            f"\\u{code:04x}",
            f"\\x{code:02x}",
            f"\\{sign}",
            f"&#{code};",
            f"&#x{code:x};",
            f"%{code:02x}",
        ]
    )
    return f"(?:{'|'.join(map(re.escape, spellings))})"
