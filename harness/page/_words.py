"""The words shown for an element's attributes and for a text node.

MindAct shows attribute values without their names and shortens everything. Three quirks of its
string handling are reproduced for equal texts: a double quote in page text becomes a blank,
after the text is cut; `meta= ` is removed and `id= ` loses its blank even in the page's own text;
sequences such as `&lt;` that remain after parsing are decoded once more.
"""

from __future__ import annotations

import re

from harness.page._tree import Element

SHOWN_ATTRIBUTES = (
    "role",
    "aria_role",
    "type",
    "alt",
    "aria_description",
    "aria_label",
    "label",
    "title",
    "name",
    "text_value",
    "value",
    "placeholder",
    "input_checked",
    "input_value",
    "option_selected",
    "class",
)
"""Attributes whose values are shown, in this order."""

_RANK = {name: rank for rank, name in enumerate(SHOWN_ATTRIBUTES)}
_SILENT_VALUES = frozenset({"hidden", "none", "presentation", "null", "undefined"})
_WORD_LENGTH = 15
_WORDS_PER_VALUE = 5
_WORDS_PER_NODE = 20
_SEQUENCE = re.compile(r"&(lt|gt|amp|quot|apos|nbsp|#[0-9]{1,7});")
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'", "nbsp": "\xa0"}


def attribute_words(node: Element) -> str:
    """Join the shown attribute values of an element, with a trailing blank; "" if there are none.

    Example: `<input type="text" name="zip_code" value="10203"/>` gives `"text zip_code 10203 "`.
    """
    shown = [(_RANK[name], value) for name, value in node.items() if name in _RANK]
    if not shown:
        return ""
    shown.sort()
    phrases: dict[str, None] = {}
    for _, raw in shown:
        value = raw.lower()
        if value in _SILENT_VALUES or value.startswith("http"):
            continue
        words = [word for word in value.split() if len(word) < _WORD_LENGTH]
        if words:
            phrases[" ".join(words[:_WORDS_PER_VALUE])] = None
    if not phrases:
        return ""
    phrase = " ".join(phrases)
    if len(phrases) > _WORDS_PER_NODE // _WORDS_PER_VALUE:
        phrase = " ".join(phrase.split(" ")[:_WORDS_PER_NODE])
    return _as_serialised(phrase + " ")


def text_words(text: str | None) -> str:
    """Return the first 20 words of a text node, in their own case; "" for a node without text."""
    if text is None:
        return ""
    return loose_text(" ".join(text.split(None, _WORDS_PER_NODE)[:_WORDS_PER_NODE]))


def loose_text(text: str) -> str:
    """Replace double quotes by blanks and decode remaining sequences."""
    if '"' in text:
        text = text.replace('"', " ")
    return _as_serialised(text)


def _as_serialised(text: str) -> str:
    if "= " in text:
        text = text.replace("meta= ", "").replace("id= ", "id=")
    if "&" in text:
        text = _SEQUENCE.sub(_decoded, text)
    return text


def _decoded(match: re.Match[str]) -> str:
    name = match[1]
    if name[0] != "#":
        return _NAMED[name]
    code = int(name[1:])
    # Not a valid character: leave it as it is.
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else match[0]
