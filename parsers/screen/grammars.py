"""The grammars of families for actions: objects, calls, words and keys of lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from parsers.actions import Action
from parsers.calls import read_entries, written_calls
from parsers.dictionaries import flat
from parsers.reply_text import ReplyText
from parsers.screen.family import Family

Fields = Mapping[str, object]

# In small letters only with nothing but arguments behind, since prose may begin so.
_WORD = re.compile(r"[A-Z][A-Z_]{1,30}\b|[A-Za-z][A-Za-z_]{1,30}\b(?=\s*+(?:$|[\[<(]))")
# Text that may stand before an action on its line.
_LABEL = re.compile(
    r"[^\w\n]{0,8}(?:\d{1,2}[.)]\s|<\w{1,20}>|\[\w{1,20}\]"
    r"|(?:[\w,']{1,20}\s){0,6}(?:actions?|answer|output|this|aktion|\u52a8\u4f5c|\u64cd\u4f5c)"
    r"(?:\s\d{1,2})?[\s*_]{0,4}[:\uff1a][\s*_]{0,4})",
    re.IGNORECASE,
)
_TAG_END = re.compile(r"</\w{1,20}>\s*\Z")
_MARKS = " \t*`#>-"
_KEY = re.compile(r"(?:^|[\t\n])[^\w\n\t]{0,6}(\w{1,20}):|\b(action):")
_BESIDE = ("STATUS", "duration")
"""AgentCPM-GUI's fields that modify an action, and are one where they are alone."""


@dataclass(slots=True)
class FoundAction:
    """An action as a family writes it, with its span, and what it means once that is known.

    whole: whether nothing of it can be missing where the reply was cut off.
    """

    name: str
    fields: Fields
    start: int
    end: int
    whole: bool = True
    action: Action = field(default_factory=Action)
    call = True

    def corrected(self, later: FoundAction) -> FoundAction:
        return later


def _objects(reply: ReplyText, family: Family) -> Iterator[FoundAction]:
    # Of two fields of one action, AgentCPM-GUI's evaluator takes the text.
    natives = [said.native for said in sorted(family.actions, key=lambda said: not said.text)]

    def read(content: dict[str, object]) -> tuple[str, Fields] | None:
        fields = flat(content)
        name = content.get("name") if family.key == "name" else fields.get(family.key)
        if family.key and not isinstance(name, str) and content.get("name") in natives:
            name = content["name"]
        if not family.key:
            # A field that is a separate action only if it is the only one.
            listed = [one for one in natives if one not in _BESIDE]
            name = next((one for one in (*listed, *_BESIDE) if one in fields), None)
        return (name, fields) if isinstance(name, str) else None

    entries = [FoundAction(*one.content, one.start, one.end) for one in read_entries(reply, read)]
    by_position = (one for one in _calls(reply, family) if all(map(str.isdecimal, one.fields)))
    yield from sorted([*entries, *by_position], key=lambda one: one.start)


def _calls(reply: ReplyText, family: Family) -> Iterator[FoundAction]:
    names = "|".join(sorted({re.escape(one.native) for one in family.actions}, key=len)[::-1])
    # Words before a bracket are prose, unless an argument has a name: `click (point=...`.
    called = re.compile(rf"(?<![\w.])({names})(?: (?=\(\w{{1,20}}=))?\(")
    for call in written_calls(reply, called):
        yield FoundAction(call.name, call.fields, call.start, call.end)


def _words(reply: ReplyText, family: Family) -> Iterator[FoundAction]:
    """Actions begin lines; a text in brackets goes on in the next ones until they close."""
    natives = {said.native for said in family.actions}
    entries: list[tuple[str, list[str], int, int]] = []
    start, is_open = 0, False
    for line in reply.text.split("\n"):
        end = start + len(line)
        label = _LABEL.match(line)
        said_line = _TAG_END.sub("", line[label.end() :]) if label else line
        said_line = said_line.lstrip(_MARKS).rstrip(" \t*`\u3002")
        name = _WORD.match(said_line)
        if is_open and (name is None or name[0] not in natives):
            native, lines, begins, _ = entries[-1]
            entries[-1] = native, [*lines, line], begins, end
            is_open = "]" not in line
        elif name is not None:
            rest = said_line[name.end() :]
            entries.append((name[0], [rest], start, end))
            is_open = "[" in rest and "]" not in rest
        start = end + 1
    for native, lines, begins, end in entries:
        rest = "\n".join(lines)
        opening, closing = rest.find("["), rest.rfind("]")
        said = rest[opening + 1 : closing] if 0 <= opening < closing else None
        place = rest.partition("</point>")[0]
        fields = {"point": place, "text": said, "direction": (said or "").strip().lower()}
        yield FoundAction(native, fields, begins, end, end < len(reply.text))


def _tabs(reply: ReplyText, family: Family) -> Iterator[FoundAction]:
    keys = list(_KEY.finditer(reply.text))
    ends = [*(key.start() for key in keys[1:]), len(reply.text)]
    fields = {
        (key[1] or key[2]): reply.text[key.end() : end].strip("\n ")
        for key, end in zip(keys, ends, strict=False)
    }
    if keys:
        # Behind the last value, other lines and the mark that opened the line are not a part of it.
        last = keys[-1][1] or keys[-1][2]
        mark = keys[0][0].strip()[:1] if keys[0][0].strip()[:1] in ("*", "`") else ""
        fields[last] = fields[last].partition("\n")[0].rstrip(mark + " ")
    if "action" in fields:
        yield FoundAction(fields["action"].strip(), fields, 0, len(reply.text), whole=False)


GRAMMARS: Mapping[str, Callable[[ReplyText, Family], Iterator[FoundAction]]] = {
    "objects": _objects,
    "calls": _calls,
    "words": _words,
    "tabs": _tabs,
}
