"""Answers in MindAct's form: a letter with a full stop, and lines for action and value.

    C.
    Action: SELECT
    Value: Pickup

`A.` alone means none of the candidates, which begin at `B.` (Deng et al. 2023). Prompted models
put `Answer: ` before the letter; `read_answer` reads that too. The readers here are those that
published figures were made with, and one for elements that a model writes out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import cast

from parsers.answers import read_answer, spell_answer
from parsers.letters import letter
from parsers.records import Answer, Operation, Status
from parsers.reply_text import ENDED, tidy, without_thinking
from parsers.values import clean_value

_ANSWER = re.compile(r"Answer: ([A-F])")
_ACTION = re.compile(r"Action: (CLICK|SELECT|TYPE)")
_VALUE = re.compile(r"Value: (.*)$", re.MULTILINE)
_ELEMENT_LINE = re.compile(
    r"^(?P<before>[\s>*_`#-]{0,8}element[*_`\"']{0,3}\s{0,3}[:\uff1a])(?P<said>[^\n]*)", re.I | re.M
)
_NOTHING = re.compile(r"[\s\"'*`_]*(?:none|null|n/?a|nothing)\b(?!-)", re.I)


def option_letters(count: int) -> tuple[str, ...]:
    """The letters of candidates behind the None option `A`.

    >>> option_letters(3)
    ('B', 'C', 'D')
    """
    return tuple(letter(number + 1) for number in range(count))


def read_reference(text: str, count: int, *, finish: str = "stop") -> Answer:
    """What MindAct's own reader for prompted models makes of a reply.

    The first `Answer: ` with a letter from A to F counts, anything else is A, the None option. The
    operation needs its key and capitals, the value is the rest of the first `Value: ` line. One
    thing differs: a letter beyond the `count` candidates is rejected, where the reference fails.
    Text that was withheld by the provider has its own status.

    >>> read_reference("Answer: C.\\nAction: TYPE\\nValue: Ohio", 5)
    Answer(status=<Status.ANSWERED: 'answered'>, option=1, operation='TYPE', value='Ohio', flags=())
    >>> read_reference("C.", 5).status
    <Status.NONE: 'none'>
    """
    if finish in ENDED:
        return Answer(ENDED[finish])
    found = _ANSWER.search(text)
    operation, value = _operation(text)
    if found is None:
        return Answer(Status.NONE, None, operation, value, ("no-letter",))
    return _lettered(found[1], count, operation, value)


def read_first_character(text: str, count: int, *, finish: str = "stop") -> Answer:
    """What a model fine-tuned by MindAct answers: its first character is the letter.

    The reference counts from `A` without looking at the range, so that `@` picks the last candidate
    and `?` the one before; here a character that no candidate has is `out_of_range`. Generation
    that ran into its limit is read all the same, as there.

    >>> read_first_character("B. Action: CLICK", 5).option, read_first_character("@", 5).status
    (0, <Status.OUT_OF_RANGE: 'out_of_range'>)
    """
    if finish in ENDED:
        return Answer(ENDED[finish])
    said = text.strip()
    if not said:
        return Answer(Status.EMPTY)
    return _lettered(said[0], count, *_operation(said))


def read_element(
    text: str,
    find: Callable[[str], tuple[int, tuple[str, ...]] | None],
    count: int,
    *,
    finish: str = "stop",
) -> Answer:
    """An answer whose `Element:` line holds the element itself instead of a letter.

    `find(content)` gives the option that the content of the last such line means, and flags, or
    None; the rest is read as `read_answer` reads it. Without an `Element:` line nothing is looked
    up, and the status is `parse_error` or `no_element`.
    """
    whole = without_thinking(tidy(text))
    lines = list(_ELEMENT_LINE.finditer(whole))
    if not lines:
        answer = read_answer(text, [""] * count, none_letter=None, finish=finish)
        if answer.status in (Status.ANSWERED, Status.AMBIGUOUS, Status.OUT_OF_RANGE):
            # A letter in prose means nothing here: no letters were offered.
            status = Status.NO_ELEMENT if answer.operation else Status.PARSE_ERROR
            return Answer(status, None, answer.operation, answer.value, answer.flags)
        return answer
    last = lines[-1]
    said, rest = last["said"], last.end()
    if not said.strip(" \t*_`\"'"):
        following = re.compile(r"\s*([^\n]*)").match(whole, last.end())
        if following and not re.match(r"[\s*_`]*(?:action|value)\b", following[1], re.I):
            said, rest = following[1], following.end()
    found = None if _NOTHING.match(said) else find(said)
    unknown = "None" if _NOTHING.match(said) else "(unknown)"
    named = letter(found[0]) if found else unknown
    written = f"ELEMENT: {named}" + whole[rest:]
    answer = read_answer(written, [""] * count, none_letter=None, finish=finish)
    flags = found[1] if found and answer.status is Status.ANSWERED else ()
    return Answer(
        answer.status,
        answer.option,
        answer.operation,
        answer.value,
        tuple(sorted({*answer.flags, *flags})),
    )


def spell(named: str | None, operation: Operation | None, value: str) -> str:
    """An answer that begins with `named`, and is "A." where that is None.

    None of the options carries no operation, and a value stands only where there is one. A value
    is quoted where reading would otherwise change it.

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


def _lettered(said: str, count: int, operation: Operation | None, value: str) -> Answer:
    if said == "A":
        return Answer(Status.NONE, None, operation, value)
    letters: Sequence[str] = option_letters(count)
    if said not in letters:
        return Answer(Status.OUT_OF_RANGE, None, operation, value)
    return Answer(Status.ANSWERED, letters.index(said), operation, value)


def _operation(text: str) -> tuple[Operation | None, str]:
    action = _ACTION.search(text)
    if action is None:
        return None, ""
    operation = cast(Operation, action[1])
    value = _VALUE.search(text)
    return operation, clean_value(value[1]) if value and operation != "CLICK" else ""
