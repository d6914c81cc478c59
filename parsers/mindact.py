"""Answers in MindAct's format: a letter with a full stop, and lines for action and value.

    C.
    Action: SELECT
    Value: Pickup

`A.` alone means none of the candidates, whose letters start at `B.` (Deng et al. 2023). Prompted
models put `Answer: ` before the letter, which `read_answer` parses too. Here are the parsers behind
published numbers, and one for models that write out the element.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import cast

from parsers.answers import read_named, write_answer
from parsers.elements import ElementReading, says_none
from parsers.option_text import letter
from parsers.records import Answer, Operation, Status
from parsers.reply_text import ENDED, Source, ends_in_thought, without_tokens
from parsers.values import clean_value

_ANSWER = re.compile(r"Answer: ([A-F])")
_ELEMENT = re.compile(r"\bELEMENT\b", re.IGNORECASE)
_ACTION = re.compile(r"Action: (CLICK|SELECT|TYPE)")
_WRITTEN = re.compile(r"Element: (.*)$", re.MULTILINE)
_NUMBER = re.compile(r"id=(\d+)")
_VALUE = re.compile(r"Value: (.*)$", re.MULTILINE)
_LONGEST_NUMBER = 10


def option_letters(count: int) -> tuple[str, ...]:
    """Return the letters of `count` candidates after the None option `A`.

    >>> option_letters(3)
    ('B', 'C', 'D')
    """
    return tuple(letter(number + 1) for number in range(count))


def read_reference(text: str, count: int, *, finish: str = "stop") -> Answer:
    """Parse a reply like MindAct's own code for prompted models.

    The first `Answer: ` with a letter from A to F counts; anything else is A, the None option. The
    operation needs its key and capitals; the value is the rest of the first `Value: ` line. One
    thing differs: a letter beyond the `count` candidates is rejected, where the reference fails. A
    reply withheld by the provider has its own status, and one that ends inside a thought is
    `truncated`.

    >>> read_reference("Answer: C.\\nAction: TYPE\\nValue: Ohio", 5)
    Answer(status=<Status.ANSWERED: 'answered'>, option=1, operation='TYPE', value='Ohio', flags=())
    >>> read_reference("C.", 5).status
    <Status.NONE: 'none'>
    """
    if finish in ENDED:
        return Answer(ENDED[finish])
    if ends_in_thought(text):
        return Answer(Status.TRUNCATED)
    text = without_tokens(text)
    match = _ANSWER.search(text)
    operation, value = _operation(text, as_written=True)
    if match is None:
        return Answer(Status.NONE, None, operation, value, ("no-letter",))
    return _lettered(match[1], count, operation, value)


def read_first_character(
    text: str, count: int, *, finish: str = "stop", as_written: bool = False
) -> Answer:
    """Parse a reply of a model fine-tuned for MindAct: its first character is the letter.

    The value is cleaned (`clean_value`), or `as_written` like the reference's.

    The reference counts from `A` without a range check: `@` picks the last candidate and
    `?` the one before; here a character that names no candidate is `out_of_range`. As in the
    reference, a reply that ran into the output limit is parsed too.

    >>> read_first_character("B. Action: CLICK", 5).option, read_first_character("@", 5).status
    (0, <Status.OUT_OF_RANGE: 'out_of_range'>)
    """
    if finish in ENDED:
        return Answer(ENDED[finish])
    if ends_in_thought(text):
        return Answer(Status.TRUNCATED)
    reply = without_tokens(text).strip()
    if not reply:
        return Answer(Status.EMPTY)
    return _lettered(reply[0], count, *_operation(reply, as_written=as_written))


def read_element(
    text: str,
    find: Callable[[str], tuple[int, tuple[str, ...]] | None],
    count: int,
    *,
    finish: str = "stop",
) -> Answer:
    """Parse an answer whose `Element:` line holds the element itself instead of a letter.

    `find(content)` returns the option that the content of such a line means, and flags, or None.
    The rest is read as in `read_answer`. Without an `Element:` line `find` is not called, and the
    status is `parse_error` or `no_element`, since letters mean nothing where none were offered.
    """

    written_out = _ELEMENT.search(text) is not None

    def named(content: Source) -> ElementReading:
        if says_none(content.shadow):
            return ElementReading(Status.NONE)
        match = find(content.text.strip()) if written_out else None
        if match is None or match[0] >= count:
            return ElementReading(Status.NO_ELEMENT)
        return ElementReading(Status.ANSWERED, *match)

    return read_named(text, named, lambda _: ElementReading(Status.NO_ELEMENT), finish=finish)


def read_element_reference(
    text: str, options: Sequence[tuple[str, str]], *, finish: str = "stop"
) -> Answer:
    """Parse a written element like MindAct's own code; `options` are (node id, text).

    A reply that begins with `None` is none. The number behind `id=` in the `Element:` line is the
    option's. Without one that is in the group, the code compares the line with pairs of id and
    text instead of texts, which are nearly never alike, so the first option counts.

    >>> links = [("n1", "(a id=0 Home )"), ("n2", "(a id=1 Go )")]
    >>> [read_element_reference(f"Element: {text}", links).option for text in ("id=1", "Go")]
    [1, 0]
    """
    if finish in ENDED:
        return Answer(ENDED[finish])
    if ends_in_thought(text):
        return Answer(Status.TRUNCATED)
    reply = text.strip()
    operation, value = _operation(reply, as_written=True)
    if reply.startswith("None"):
        return Answer(Status.NONE, None, operation, value)
    line = _WRITTEN.search(reply)
    written = line[1] if line else ""
    number = _NUMBER.search(written)
    option = len(options)
    if number and len(number[1]) < _LONGEST_NUMBER:
        option = int(number[1])
    if option >= len(options):
        alike = [SequenceMatcher(None, written, one).ratio() for one in options]
        option = alike.index(max(alike))
    return Answer(Status.ANSWERED, option, operation, value)


def operation_as_written(text: str) -> str:
    """Return the action and the value that MindAct's code compares, with a blank between.

    Each may be missing: a value counts without an action, and with a CLICK, too.

    >>> operation_as_written("C. Action: CLICK Value: Ohio"), operation_as_written("Value: 'a  b'")
    ('CLICK Ohio', "'a  b'")
    """
    action, value = _ACTION.search(text.strip()), _VALUE.search(text.strip())
    parts = (action[1] if action else "", value[1].strip() if value else "")
    return " ".join(part for part in parts if part)


def spell(
    named: str | None, operation: Operation | None, value: str, *, as_written: bool = False
) -> str:
    """Write an answer that begins with `named`; it is "A." if that is None.

    The None option has no operation, and the value is written only if there is one. It is quoted if
    parsing would otherwise change it, but not for readers that take values `as_written`.

    >>> spell("C.", "SELECT", "Pickup")
    'C.\\nAction: SELECT\\nValue: Pickup'
    """
    if named is None:
        return "A."
    lines = [named, *([f"Action: {operation}"] if operation else [])]
    if operation in ("TYPE", "SELECT") and value:
        written = write_answer(0, operation, value, letters="A", none_letter=None)
        quoted = written.rpartition("VALUE: ")[2]
        lines.append(f"Value: {' '.join(value.split()) if as_written else quoted}")
    return "\n".join(lines)


def _lettered(character: str, count: int, operation: Operation | None, value: str) -> Answer:
    if character == "A":
        return Answer(Status.NONE, None, operation, value)
    letters: Sequence[str] = option_letters(count)
    if character not in letters:
        return Answer(Status.OUT_OF_RANGE, None, operation, value)
    return Answer(Status.ANSWERED, letters.index(character), operation, value)


def _operation(text: str, *, as_written: bool = False) -> tuple[Operation | None, str]:
    action = _ACTION.search(text)
    if action is None:
        return None, ""
    operation = cast(Operation, action[1])
    value = _VALUE.search(text)
    if value is None or operation == "CLICK":
        return operation, ""
    return operation, value[1].strip() if as_written else clean_value(value[1])
