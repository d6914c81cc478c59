"""A copy of a tokenizer with control tokens renamed to names that no text contains."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

MARK = "\ufdd0"
"""Begins and ends a name. Unicode keeps this code point and the 31 after it out of interchange."""
_BYTE = re.compile("<0x[0-9A-F]{2}>")
"""What SentencePiece writes characters with that it does not know: made by it, never by a text."""
_HTML = re.compile(
    "</?(?:a|b|blockquote|br|caption|code|div|em|h[1-6]|hr|i|li|ol|p|pre|s|span|strong|sub|sup|"
    "table|tbody|td|tfoot|th|thead|tr|u|ul)>"
)


def controls(token: Mapping[str, Any]) -> bool:
    """Return whether an added token is one that text must not become.

    White space and HTML tags that are not special are text in some vocabularies, and pages are full
    of them.
    """
    content = str(token["content"])
    if _BYTE.fullmatch(content):
        return False
    if token["special"]:
        return True
    return not content.isspace() and _HTML.fullmatch(content) is None


def name(number: int) -> str:
    """Return the name with this number.

    >>> ascii(name(1))
    "'\\\\ufdd0\\\\ufdd1\\\\ufdd1\\\\ufdd1\\\\ufdd2\\\\ufdd0'"
    """
    digits = (chr(0xFDD1 + int(digit, 16)) for digit in f"{number:04x}")
    return f"{MARK}{''.join(digits)}{MARK}"


def renamed(spec: Mapping[str, Any], names: Mapping[str, str], start: str) -> Any:
    """Build a tokenizer from a parsed specification (`Tokenizer.to_str`) with renamed tokens.

    Its vocabulary has the names, too: its rules cannot build such a token from letters.
    `start` is one more token, for the place before a string. Ids of added tokens change.
    """
    from tokenizers import Tokenizer

    model = dict(spec["model"])
    merges = model.get("merges", [])
    merged = {"".join(m) if isinstance(m, list) else m.replace(" ", "") for m in merges}
    # A token that is made by merging must keep its name there; `Guard` refuses such a vocabulary.
    within = {old: new for old, new in names.items() if old not in merged}
    if isinstance(model["vocab"], dict):
        model["vocab"] = {within.get(piece, piece): i for piece, i in model["vocab"].items()}
    else:
        model["vocab"] = [[within.get(piece, piece), score] for piece, score in model["vocab"]]
    if isinstance(model.get("unk_token"), str):
        model["unk_token"] = within.get(model["unk_token"], model["unk_token"])
    return Tokenizer.from_str(
        json.dumps(
            {
                **spec,
                "model": model,
                "added_tokens": _added(spec["added_tokens"], names, start, len(model["vocab"])),
                "post_processor": None,
                "truncation": None,
                "padding": None,
            }
        )
    )


def _added(
    tokens: Sequence[Mapping[str, Any]], names: Mapping[str, str], start: str, first: int
) -> list[dict[str, Any]]:
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    added = [
        {**token, "content": names[token["content"]], "normalized": False}
        if token["content"] in names
        else dict(token)
        for token in tokens
        if not _BYTE.fullmatch(token["content"])
    ]
    added.append({"content": start, "special": True, **plain})
    return [{**token, "id": number} for number, token in enumerate(added, start=first)]
