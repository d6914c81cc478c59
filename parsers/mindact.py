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
from typing import cast

from parsers.answers import read_named, spell_answer
from parsers.elements import ElementReading, says_none
from parsers.letters import letter
from parsers.records import Answer, Operation, Status
from parsers.reply_text import ENDED, Source, ends_in_thought
from parsers.values import clean_value

_ANSWER = re.compile(r"Answer: ([A-F])")
_ELEMENT = re.compile(r"\bELEMENT\b", re.IGNORECASE)
_ACTION = re.compile(r"Action: (CLICK|SELECT|TYPE)")
_VALUE = re.compile(r"Value: (.*)$", re.MULTILINE)


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
    match = _ANSWER.search(text)
    operation, value = _operation(text)
    if match is None:
        return Answer(Status.NONE, None, operation, value, ("no-letter",))
    return _lettered(match[1], count, operation, value)


def read_first_character(text: str, count: int, *, finish: str = "stop") -> Answer:
    """Parse a reply of a model fine-tuned for MindAct: its first character is the letter.

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
    reply = text.strip()
    if not reply:
        return Answer(Status.EMPTY)
    return _lettered(reply[0], count, *_operation(reply))


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


def spell(named: str | None, operation: Operation | None, value: str) -> str:
    """Write an answer that begins with `named`; it is "A." if that is None.

    The None option has no operation, and the value is written only if there is one. It is quoted if
    parsing would otherwise change it.

    >>> spell("C.", "SELECT", "Pickup")
    'C.\\nAction: SELECT\\nValue: Pickup'
    """
    if named is None:
        return "A."
    lines = [named, *([f"Action: {operation}"] if operation else [])]
    if operation in ("TYPE", "SELECT") and value:
        written = spell_answer(0, operation, value, letters="A", none_letter=None)
        lines.append("Value: " + written.rpartition("VALUE: ")[2])
    return "\n".join(lines)


def _lettered(character: str, count: int, operation: Operation | None, value: str) -> Answer:
    if character == "A":
        return Answer(Status.NONE, None, operation, value)
    letters: Sequence[str] = option_letters(count)
    if character not in letters:
        return Answer(Status.OUT_OF_RANGE, None, operation, value)
    return Answer(Status.ANSWERED, letters.index(character), operation, value)


def _operation(text: str) -> tuple[Operation | None, str]:
    action = _ACTION.search(text)
    if action is None:
        return None, ""
    operation = cast(Operation, action[1])
    value = _VALUE.search(text)
    return operation, clean_value(value[1]) if value and operation != "CLICK" else ""
