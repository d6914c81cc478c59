"""Answer blocks: keyed lines that belong together, or a JSON object with these keys."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from parsers.answer_lines import LETTERED, BlockForm, Key, KeyedLine, key_of, read_fields
from parsers.calls import ANY_CALL, Written, read_entries, written_calls
from parsers.dictionaries import FoundDictionary, flat, object_in
from parsers.lexicon import ANSWERING, CHOOSING, NAMING, NOT_ASSERTED
from parsers.option_text import is_letter
from parsers.reply_text import Source, source, tidy
from parsers.values import OperationReading, read_operation
from parsers.wording import name_parts

_TEMPLATE = re.compile(r"(?:uppercase|upper-case|capital) letter|letter of your choice", re.I)


_ALIASES: Mapping[str, Key] = {
    **dict.fromkeys(("operation", "type", "action_type", "name"), "ACTION"),
    **dict.fromkeys(("option", "choice", "letter", "selected_option", "element_id"), "ELEMENT"),
    **dict.fromkeys(("text", "input", "content"), "VALUE"),
}
"""Further names of keys in JSON."""
_ENDINGS = ("element", "option", "letter", "choice", "label", "target")
"""Ends of names that may be keys of the element, the last two only of a letter."""


@dataclass(frozen=True, slots=True)
class Block:
    """An answer or part of one.

    start, end: its span in the reply.
    finished: whether it has a value that cannot go on where the reply was cut off.
    call: whether it is a call of a function.
    """

    fields: Mapping[Key, KeyedLine]
    start: int
    end: int
    finished: bool = True
    call: bool = False

    def content(self, key: Key) -> Source | None:
        """Return the text after a key; None if the key is missing."""
        field = self.fields.get(key)
        return field.content if field else None

    @property
    def element(self) -> Source | None:
        return self.content("ELEMENT")

    @property
    def action(self) -> Source | None:
        return self.content("ACTION")

    @property
    def value(self) -> Source | None:
        return self.content("VALUE")

    @property
    def operation(self) -> OperationReading:
        """The reading of the ACTION line; unreadable without one."""
        return read_operation(self.action.shadow) if self.action else OperationReading()

    @property
    def template(self) -> bool:
        """Return True if this echoes the format description instead of answering."""
        if self.element and _TEMPLATE.search(self.element.shadow[:200]):
            return True
        return self.operation.several

    @property
    def complete(self) -> bool:
        """Return True if element and action are both present."""
        present = self.element and self.element.shadow.strip(" *_`\"'")
        return bool(present and self.action and self.action.shadow.strip(" *_`\"'"))

    @property
    def whole(self) -> bool:
        """Return True if nothing can be missing even if the reply was cut off."""
        takes_value = self.operation.operation in ("TYPE", "SELECT")
        return self.operation.readable and (self.finished or not takes_value)

    def corrected(self, later: Block) -> Block:
        """Return this answer with the parts of `later` replaced."""
        said = {key: field for key, field in later.fields.items() if field.content.shadow.strip()}
        return Block({**self.fields, **said}, self.start, later.end, later.finished)


def read_blocks(reply: Source, layout: BlockForm = LETTERED) -> list[Block]:
    """Return the answers of a reply and parts of answers, keyed lines and JSON, in order."""
    fields = read_fields(reply, layout)
    objects = _read_json(reply, fields, layout)
    if layout is LETTERED and not any(one.key == "ELEMENT" for one in fields) and not objects:
        objects = _read_calls(reply)
    is_line = outside([(block.start, block.end) for block in objects])
    lines = group([field for field in fields if is_line(field.start)])
    return sorted([*lines, *objects], key=lambda block: block.start)


def group(fields: Sequence[KeyedLine]) -> list[Block]:
    """Group fields into answer blocks, in order.

    A key that the block already has starts a new block, with one exception: an action or value
    before the element of an incomplete block was a remark, and a later one replaces it.
    """
    blocks: list[dict[Key, KeyedLine]] = []
    for index, field in enumerate(fields):
        block = blocks[-1] if blocks else None
        if block is None or (field.key in block and not _replaces(block, field, fields, index)):
            blocks.append({field.key: field})
        else:
            block[field.key] = field
    return [_block(block) for block in blocks]


def _replaces(
    block: Mapping[Key, KeyedLine], field: KeyedLine, fields: Sequence[KeyedLine], index: int
) -> bool:
    if field.key not in ("ACTION", "VALUE") or len(block) == 3:
        return False
    if index + 1 < len(fields) and fields[index + 1].key == "ELEMENT":
        return False
    elements = [other.start for key, other in block.items() if key.startswith("ELEMENT")]
    return not elements or block[field.key].start < min(elements)


def _block(fields: Mapping[Key, KeyedLine]) -> Block:
    return Block(
        fields,
        min(field.start for field in fields.values()),
        max(field.end for field in fields.values()),
        "VALUE" in fields and fields["VALUE"].finished,
    )


def _read_json(reply: Source, fields: Sequence[KeyedLine], layout: BlockForm) -> list[Block]:
    """JSON objects with an element or an action; braces in the content of free keys are content."""
    free = [field for field in fields if field.key in layout.free]
    starts = [field.start for field in free]

    def skip(position: int, covered: int) -> bool:
        place = bisect_right(starts, position) - 1
        # Lines inside an object that was read are part of it.
        return place >= 0 and starts[place] >= covered and position < free[place].end

    found = read_entries(reply, lambda content: _contents(content, layout), skip)
    blocks = [_of_contents(one.content, one.start, one.end) for one in found]
    single = [
        field for block in blocks if len(block.fields) == 1 for field in block.fields.values()
    ]
    if {"ELEMENT", "ACTION"} <= {field.key for field in single}:
        # A key per object, one after the other.
        return group(single)
    return [block for block in blocks if block.fields.keys() - {"VALUE"}]


def _of_contents(content: Mapping[Key, Source], start: int, end: int, call: bool = False) -> Block:
    fields = {key: KeyedLine(key, part, start, end, True) for key, part in content.items()}
    return Block(fields, start, end, call=call)


_VERBS = re.compile(
    r"(?<![\w.])(?:\w{1,12}\.)?((?:left_?)?click|tap|press|hover|type(?:_?text)?|fill|input|write|enter"
    r"|select(?:_?option)?|choose)\(",
    re.IGNORECASE,
)


def _read_calls(reply: Source) -> list[Block]:
    """Read calls of verbs with a letter and a value by position: `type('D', 'New York')`."""
    return [
        _of_contents(_said_by(call), call.start, call.end, call=True)
        for call in written_calls(reply, _VERBS)
        if is_letter(str(call.fields.get("0")))
    ]


def _said_by(call: Written) -> dict[Key, Source]:
    name = call.name.lower().replace("_", " ")
    operation = "SELECT" if name == "choose" else read_operation(name).operation or "TYPE"
    content: dict[Key, Source] = {
        "ELEMENT": source(str(call.fields["0"])),
        "ACTION": source(operation),
    }
    value = next((one for key, one in call.fields.items() if key != "0"), None)
    return {**content, "VALUE": source(value)} if isinstance(value, str) else content


def _contents(parts: Mapping[str, object], layout: BlockForm) -> dict[Key, Source] | None:
    """Return the contents of a JSON object's keys; None if it is not an answer.

    Of an object with such keys, those one level down count as well, where it lacks them.
    """
    parts = flat(parts)
    own = keyed(parts, layout)
    inner = [value for value in parts.values() if isinstance(value, dict)]
    packed = [object_in(value) for value in parts.values() if _is_packed(value)]
    several = len([key for key in map(key_of, parts) if key in layout.keys]) > 1
    for part in [*(inner if own or several else ()), *packed]:
        for key, content in keyed(part or {}, layout).items():
            own.setdefault(key, content)
    answer = own.pop("ANSWER", None)
    if answer is not None and "ACTION" in own:
        own.setdefault("ELEMENT", answer)
    if layout is LETTERED and "ELEMENT" not in own:
        for value in parts.values():
            lines = read_fields(source(tidy(value))) if isinstance(value, str) else []
            if len({line.key for line in lines} & {"ELEMENT", "ACTION"}) > 1:
                return {line.key: line.content for line in lines}
    return own or None


def _is_packed(value: object) -> TypeGuard[str]:
    """Return True if a value may be an object that was written as a string, as in tool calls."""
    return isinstance(value, str) and value.lstrip()[:1] == "{"


def keyed(parts: Mapping[str, object], layout: BlockForm) -> dict[Key, Source]:
    """Return the contents of the keys of an object itself, by their own names before others."""
    contents: dict[Key, Source] = {}
    for aliases in range(3):
        for name, value in parts.items():
            key = (key_of, _alias, _ending)[aliases](name)
            content = _plain(value)
            # Several texts are not a value.
            several = key == "VALUE" and isinstance(value, list) and len(value) > 1
            if key not in layout.keys or content is None or several:
                continue
            # "type" may be that of the element, or of the call.
            if aliases and key == "ACTION" and not read_operation(content).readable:
                continue
            if aliases == 2 and name.lower().endswith(_ENDINGS[-2:]) and not is_letter(content):
                continue
            contents.setdefault(key, source(content))
    return contents


def _alias(name: str) -> Key | None:
    return _ALIASES.get(name.strip().lower())


def _ending(name: str) -> Key | None:
    if not name_parts(name).isdisjoint(NOT_ASSERTED):
        return None
    name = name.strip().lower()
    return "ANSWER" if name.endswith("answer") else "ELEMENT" if name.endswith(_ENDINGS) else None


_GIVING = (
    ANSWERING | NAMING | CHOOSING | frozenset(("submit", "return", "print", "final", "finish"))
)


def answer_in(reply: Source, letters: Container[str]) -> Source | None:
    """Return what an object gives as the answer to a question, the last one; None without any.

    Without a known key the only value that is a letter counts. A text next to a letter follows it.
    """

    def read(content: dict[str, object]) -> Source | None:
        content = {
            name: one for name, one in content.items() if name_parts(name).isdisjoint(NOT_ASSERTED)
        }
        said = keyed(content, LETTERED)
        given = said.get("ANSWER") or said.get("ELEMENT")
        values = {name.lower(): one for name, one in content.items() if isinstance(one, str)}
        numbered = {one for name, one in values.items() if name.rstrip("_ 123") == "answer"}
        keys = [said[key].text for key in ("ANSWER", "ELEMENT") if key in said]
        numbered |= {one for one in keys if one in letters}
        if len(numbered) > 1:
            return source(" or ".join(sorted(numbered)))
        rated = [name for name in content if name in letters]
        if given is None and len(rated) > 1:
            right = [name for name in rated if content[name] is True]
            return source(" or ".join(right if len(right) == 1 else rated))
        if given is None:
            lone = {one.strip("() .*") for one in values.values()}
            lone = {one for one in lone if one in letters}
            given = source(lone.pop()) if len(lone) == 1 else None
        text = next((one for name, one in values.items() if name.endswith("text")), None)
        return (
            source(f"{given.text}. {text}") if given and text and given.text in letters else given
        )

    found = read_entries(reply, read)
    for call in written_calls(reply, ANY_CALL):
        said = str(call.fields.get("0")).strip("() .")
        parts = name_parts(call.name)
        if said in letters and parts & _GIVING and parts.isdisjoint(NOT_ASSERTED):
            found.append(FoundDictionary(source(said), call.start, call.end))
    found.sort(key=lambda one: one.start)
    if len({one.content.text for one in found[-2:]}) > 1:
        between = reply.text[found[-2].end : found[-1].start]
        if not any(char.isalpha() for char in between):
            return source(" or ".join(one.content.text for one in found[-2:]))
    return found[-1].content if found else None


def _plain(value: object) -> str | None:
    """Return a JSON value as text; None if objects are nested in it, which may be answers
    themselves."""
    if value is None:
        return "None"
    if isinstance(value, str):
        return " ".join(tidy(value).split())
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list) and not any(isinstance(item, dict | list) for item in value):
        return ", ".join(tidy(item) for item in value if isinstance(item, str))
    return None


def outside(spans: Sequence[tuple[int, int]]) -> Callable[[int], bool]:
    """Return a test of whether a position lies outside all spans, which are in order."""
    starts = [start for start, _ in spans]

    def is_outside(position: int) -> bool:
        place = bisect_right(starts, position) - 1
        return place < 0 or position >= spans[place][1]

    return is_outside
