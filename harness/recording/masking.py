"""Hide secrets in recorded pages: passwords, and what a person has marked.

A secret is searched for in texts, also across elements, in attributes, addresses and scripts, and
in what the browser has laid out. Case, blanks, dashes, accents and invisible characters make no
difference. Each match becomes `MASK`; in screenshots its lines are painted over. Secrets are kept
in memory only.
"""

from __future__ import annotations

import base64
import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any
from urllib.parse import quote

from harness.recording.tab import Box, PageDescription, Painted, Piece

MASK = "SECRET"
"""Replacement of a secret: a word that the task's sentence and a model's answer can use."""
SHORTEST = 3
"""Shorter secrets, in characters, are hidden in their own field only."""
SAFE = frozenset(
    {"id", "class", "type", "name", "role", "style", "for", "input_checked", "option_selected"}
)
"""Attributes of hidden elements that do not reveal their content."""

_BETWEEN = (
    r"(?:[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff+-]|&(?:nbsp|shy|zwn?j|ZeroWidthSpace|NoBreak);"
    r"|&#(?:173|820[3-7]|8288|xad|x200[b-f]|x2060);|\\u(?:00a[0d]|200[b-f]|2060|feff)"
    r"|%20|%C2%A[0D]|%E2%80%8[B-F]|%E2%81%A0|%EF%BB%BF)*"
)
_BLANK = frozenset("+\u115f\u1160\u2800\u3164\uffa0")
_DROPPED = frozenset({"Mn", "Me", "Cf", "Cc", "Zs", "Zl", "Zp", "Pd"})
_ENTERING = frozenset({"input", "textarea", "select"})
_ENTERED = frozenset({"value", "input_value", "text_value"})

Span = tuple[int, int]
"""Start and end of a secret in a text."""


class _Folding(dict[int, str]):
    """Characters without case, accents and width; invisible ones become empty."""

    def __missing__(self, code: int) -> str:
        plain = unicodedata.normalize("NFKD", chr(code)).casefold()
        kept = (one for one in unicodedata.normalize("NFKD", plain) if one not in _BLANK)
        self[code] = "".join(one for one in kept if unicodedata.category(one) not in _DROPPED)
        return self[code]


_FOLDING = _Folding()


class Secrets:
    """Texts to hide, with a pattern for all their spellings."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._folded: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def add(self, secret: str, *, exact: bool = False) -> bool:
        """Hide a text from now on; return False if it is known, or too short to search for.

        `exact`: search for this spelling only, also URL-encoded.
        """
        folded = secret if exact else re.sub(r"[\s\u00a0-]", "", secret)
        if len(folded) < SHORTEST or folded in self._known:
            return False
        plain = f"{re.escape(folded)}|{re.escape(quote(folded, safe=''))}"
        self._known[folded] = plain if exact else _spelled(folded)
        if not exact and len(compared := folded.translate(_FOLDING)) >= SHORTEST:
            self._folded.add(compared)
        longest_first = sorted(self._known, key=len, reverse=True)
        spelled = "|".join(self._known[one] for one in longest_first)
        self._pattern = re.compile(spelled, re.IGNORECASE)
        return True

    def spans(self, text: str, *, painted: bool = False) -> list[Span]:
        """Find secrets in a text, in order and apart from each other.

        `painted`: also search backwards, since lines of mixed directions are painted reversed.
        """
        found = [match.span() for match in self._pattern.finditer(text)] if self._pattern else []
        compared = text.translate(_FOLDING) if self._folded else ""
        both = {one[::way] for one in self._folded for way in ((1, -1) if painted else (1,))}
        if wanted := [one for one in both if one in compared]:
            origins = [at for at, sign in enumerate(text) for _ in _FOLDING[ord(sign)]]
            for one in wanted:
                start = compared.find(one)
                while start >= 0:
                    found.append((origins[start], origins[start + len(one) - 1] + 1))
                    start = compared.find(one, start + len(one))
        return _apart(found)

    def masked(self, text: str) -> str:
        """Replace secrets in a text."""
        return self.masked_texts([text])[0]

    def masked_texts(self, texts: Sequence[str]) -> list[str]:
        """Replace secrets in texts that follow each other, also those that span several."""
        starts = [0, *accumulate(map(len, texts))]
        found = list(texts)
        for begin, end in reversed(self.spans("".join(texts))):
            one, last = (bisect_right(starts, at) - 1 for at in (begin, end - 1))
            for at in range(last, one - 1, -1):
                left, right = max(begin - starts[at], 0), min(end - starts[at], len(texts[at]))
                put = MASK if at == one else ""
                found[at] = found[at][:left] + put + found[at][right:]
        return found

    def drawn_over(self, drawn: Sequence[Painted]) -> set[int]:
        """Find the lines and controls that show secrets, by their positions.

        Lines are searched in the order of the document, and in that of their rows.
        """
        found = {
            at
            for at, one in enumerate(drawn)
            if one.hidden or (one.whole and self.spans(one.text, painted=True))
        }
        lines = [at for at, one in enumerate(drawn) if not one.whole]
        rows = [lines[at] for at in _by_rows([drawn[at] for at in lines])]
        for order in (lines, rows):
            ends = list(accumulate(len(drawn[at].text) for at in order))
            for begin, end in self.spans("".join(drawn[at].text for at in order), painted=True):
                found.update(order[bisect_right(ends, begin) : bisect_right(ends, end - 1) + 1])
        return found


def _by_rows(drawn: Sequence[Painted]) -> list[int]:
    """Order texts in the order of reading: by rows from the top, in each from the left.

    Returns:
        Their positions in `drawn`.
    """
    found: list[int] = []
    row: list[int] = []
    bottom = 0.0
    for at in sorted(range(len(drawn)), key=lambda at: _middle(drawn[at].box)):
        if row and _middle(drawn[at].box) >= bottom:
            found += sorted(row, key=lambda one: drawn[one].box[0])
            row = []
        if not row:
            bottom = drawn[at].box[1] + drawn[at].box[3]
        row.append(at)
    return found + sorted(row, key=lambda one: drawn[one].box[0])


def _middle(box: Box) -> float:
    return box[1] + box[3] / 2


def _apart(spans: Iterable[Span]) -> list[Span]:
    """Join spans that overlap."""
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and begin < found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((begin, end))
    return found


def masked_page(page: PageDescription, secrets: Secrets) -> tuple[PageDescription, tuple[Box, ...]]:
    """Hide secrets, and the content of hidden elements.

    Returns:
        The page, and the boxes of its picture that showed them.
    """
    inside = _inside(page.nodes, page.hidden)
    places = [at for at, node in enumerate(page.nodes) if "text" in node]
    texts = secrets.masked_texts([page.nodes[at]["text"] for at in places])
    changed: dict[int, Mapping[str, Any]] = {}
    for at, text in zip(places, texts, strict=True):
        text = MASK if at in inside and text.strip() else text
        if text != page.nodes[at]["text"]:
            changed[at] = {**page.nodes[at], "text": text}
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
    nodes = tuple(changed.get(at, node) for at, node in enumerate(page.nodes))
    over = secrets.drawn_over(page.drawn)
    boxes = tuple(dict.fromkeys(page.drawn[at].box for at in sorted(over)))
    drawn = tuple(one for at, one in enumerate(page.drawn) if at not in over)
    pieces = _masked_pieces(page.pieces, secrets)
    return replace(page, nodes=nodes, pieces=pieces, drawn=drawn), boxes


def _value(tag: str, name: str, value: str, secrets: Secrets, hidden: bool) -> str:
    # Only some attributes of a field hold its content; the others describe it.
    is_content = name in _ENTERED if tag in _ENTERING else name not in SAFE
    return MASK if hidden and value and is_content else secrets.masked(value)


def _inside(nodes: Sequence[Mapping[str, Any]], hidden: Collection[str]) -> set[int]:
    """Find the positions of hidden elements and of everything in them."""
    found: set[int] = set()
    for at, node in enumerate(nodes):
        if node["id"] in hidden or node["parent"] in found:
            found.add(at)
    return found


def _masked_pieces(pieces: Iterable[Piece], secrets: Secrets) -> tuple[Piece, ...]:
    found: list[Piece] = []
    depth = 0
    for kind, text, *more in pieces:
        depth += {"hide": 1, "show": -1}.get(kind, 0)
        is_content = kind == "value" and more[0] not in SAFE
        if depth and text.strip() and (is_content or kind in ("text", "verbatim")):
            text = MASK
        elif kind in ("value", "verbatim"):
            text = secrets.masked(text)
        found.append((kind, text, *more))
    places = [at for at, (kind, *_) in enumerate(found) if kind == "text"]
    for at, text in zip(places, secrets.masked_texts([found[at][1] for at in places]), strict=True):
        found[at] = ("text", text)
    return tuple(found)


def _spelled(secret: str) -> str:
    """Write a pattern for a text in any of the spellings that pages use."""
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
