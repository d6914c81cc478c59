"""Answers in tags and tables as keyed lines.

Tags and tables are first written as keyed lines, one pass for each form, in linear time:

    <element>C</element>            ELEMENT: C
    <parameter name="element">      with `</parameter>` behind the content: the same
    | ELEMENT | C |                 the same; a row per key, or a row of keys above one of contents
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from parsers.answer_blocks import keyed
from parsers.answer_lines import LETTERED, NAMES
from parsers.calls import CALLED
from parsers.operations import read_operation
from parsers.reply_text import ReplyText, rewritten
from parsers.values import undressed

_KEYS = "|".join(sorted(NAMES.values(), key=lambda names: "?" not in names))
_OPENING = re.compile(
    rf"(?:(?<=\n)|(?<=>)|\A)[ \t]{{0,20}}<(?:(?P<tag>{_KEYS})"
    rf"|(?P<named>param(?:eter)?|arg(?:ument)?|field|key|item)(?:\s?=\s?|\s{{1,3}}name\s?=\s?)[\"']?(?P<name>{_KEYS})[\"']?"
    rf"|(?:arg_key|dt|key)>\s{{0,3}}(?P<cell>{_KEYS}):?\s{{0,3}}</(?:arg_key|dt|key)>\s{{0,20}}"
    r"<(?P<beside>arg_value|dd|string))\s?>",
    re.IGNORECASE,
)
_ATTRIBUTED = re.compile(
    r"<([A-Za-z]\w{0,20})((?:\s{1,9}[\w-]{1,30}\s?=\s?(?:\"[^\"<>\n]{0,300}\"|'[^'<>\n]{0,300}')){1,6})\s{0,9}/?>"
)
_ATTRIBUTE = re.compile(r"([\w-]{1,30})\s?=\s?(?:\"([^\"]*)\"|'([^']*)')")
_BREAK = re.compile(rf"<br ?/?>(?=[^\w<]{{0,5}}(?:{_KEYS})\b)", re.IGNORECASE)
_LONGEST = 2_000
_MOST = 96
_CELL = re.compile(rf"[^\w<]*+(?:(?:the|selected|chosen|final)\s)?({_KEYS})[^\w<]*+", re.IGNORECASE)
_BEGUN = re.compile(r"[:=](\s+\W+)?\Z")
"""The end of a cell that has begun a value."""
_BAR = re.compile(r"(?<!\\)[|\t\u2502\u2503\uff5c]")
_ROW = re.compile(r"<tr\b[^<>]*>\s*<t[dh]\b[^<>]*>|</t[dh]>\s*</tr>", re.IGNORECASE)
_BETWEEN = re.compile(r"</t[dh]>\s*<t[dh]\b[^<>]*>", re.IGNORECASE)
_RULE = re.compile(r"[\s|:+=-]+")


def as_lines(reply: ReplyText) -> ReplyText:
    r"""Return the reply with what it says in tags and tables as keyed lines.

    >>> from parsers.reply_text import open_reply
    >>> as_lines(open_reply("| ACTION | TYPE |\n<value>Ohio</value>", "stop")).text.split("\n")
    ['ACTION: TYPE', '', 'VALUE: Ohio', '']
    """
    text = reply.text
    if "<" in text:
        text = _BETWEEN.sub(" | ", _ROW.sub("\n", _BREAK.sub("\n", text)))
        text = _without_tags(_without_attributes(CALLED.sub(_as_action, text)))
    if _BAR.search(text):
        text = _without_tables(text)
    return reply if text == reply.text else rewritten(reply, text)


def _as_action(called: re.Match[str]) -> str:
    """Write the function of a call in tags as the action, if its name says one."""
    name = (called["function"] or called["invoke"]).replace("_", " ")
    return f"\nACTION: {name}\n" if read_operation(name).operation else called[0]


def _without_attributes(text: str) -> str:
    """Write tags with the keys as attributes as lines: `<action element="D" type="CLICK"/>`."""

    def lines(tag: re.Match[str]) -> str:
        given = {name: undressed(one or other) for name, one, other in _ATTRIBUTE.findall(tag[2])}
        said = keyed({"name": tag[1], **given}, LETTERED)
        if not {"ELEMENT", "ACTION"} <= said.keys():
            return tag[0]
        return "".join(f"\n{key}: {content.text}" for key, content in said.items()) + "\n"

    return _ATTRIBUTED.sub(lines, text)


def _without_tags(text: str) -> str:
    openings = list(_OPENING.finditer(text))
    if len(openings) > _MOST:
        openings = openings[: _MOST // 2] + openings[-_MOST // 2 :]
    pieces, done = [], 0
    for opening in openings:
        if opening.start() < done:
            continue
        closing = f"</{opening['tag'] or opening['named'] or opening['beside']}>"
        window = text[opening.end() : opening.end() + _LONGEST]
        end = window.lower().find(closing.lower())
        content = " ".join(undressed(window[: max(end, 0)]).split())
        if end < 0 or content.startswith("{"):
            continue
        key = (opening["tag"] or opening["name"] or opening["cell"]).replace("_", " ")
        pieces += [text[done : opening.start()], f"\n{key.upper()}: {content}\n"]
        done = opening.end() + end + len(closing)
    return "".join([*pieces, text[done:]]) if pieces else text


def _without_tables(text: str) -> str:
    kept: list[str] = []
    keys: list[str | None] = []
    changed = False
    for line in text.split("\n"):
        cells = _cells(line) if _BAR.search(line) else []
        named = [_key(cell) for cell in cells]
        if sum(key is not None for key in named) > 1:
            keys, changed = named, True
        elif keys and len(cells) == len(keys):
            if not _RULE.fullmatch(line):
                pairs = zip(keys, cells, strict=True)
                kept += [f"{key}: {cell}" for key, cell in pairs if key is not None]
        elif len(cells) > 1 and named[0] is not None and _is_row(line, cells):
            kept.append(f"{named[0]}: {cells[1]}")
            keys, changed = [], True
        else:
            kept.append(line)
            keys = keys if not line.strip() else []
    return "\n".join(kept) if changed else text


def _is_row(line: str, cells: Sequence[str]) -> bool:
    """Return True for `| ELEMENT | C |` and `ELEMENT | C`, not for `VALUE: | C` or `VALUE: {|0`."""
    return line.lstrip()[:1] in ("|", "\u2502", "\u2503", "\uff5c") or (
        len(cells) == 2 and not _BEGUN.search(cells[0])
    )


def _cells(line: str) -> list[str]:
    cells = [cell.strip().replace("\\|", "|") for cell in _BAR.split(line)]
    first = 1 if not cells[0] else 0
    return cells[first : len(cells) - (len(cells) > 1 and not cells[-1])]


def _key(cell: str) -> str | None:
    match = _CELL.fullmatch(cell) if len(cell) < 40 else None
    return match[1].upper().replace("_", " ") if match else None
