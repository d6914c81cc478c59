"""Reply text to answer and back: what a model said, in terms of the options it was offered.

The format is SeeAct's three lines ELEMENT, ACTION and VALUE. Models bend it in many ways, so the
reader looks for an answer block first (the last complete one counts), accepts the same keys as
JSON, and falls back to an isolated letter in prose. Text is only ever matched, never evaluated, and
the time is linear in its length.
"""

from __future__ import annotations

from collections.abc import Sequence

from parsers.answer_blocks import Block, group, read_fields, read_json
from parsers.elements import ElementReading, Labels, names_option, read_element, read_prose
from parsers.letters import is_letter, letters_for
from parsers.operations import OperationReading, operation_in_prose, read_operation
from parsers.records import Answer, Operation, Status
from parsers.reply_text import Nothing, Source, open_reply, refuses
from parsers.values import ValueStyle, clean_value, is_missing, written_value


def read_answer(
    text: str,
    options: Sequence[str],
    *,
    none_letter: str | None,
    letters: Sequence[str] | None = None,
    finish: str = "stop",
    first_of_many: bool = False,
    value_style: ValueStyle = "plain",
) -> Answer:
    """What `text` answers to a question with `options`.

    `options` are the choice texts in listed order. `letters` are their letters; left out, they are
    A, B, ... without the one in `none_letter`, which serves a None option in first place (MindAct)
    as well as in last (SeeAct). `none_letter` is None when there is no such option; the word "none"
    is understood all the same. `finish` is why the reply ended: `stop`, `length`, `refusal`,
    `content_filter` or `too_long`. `first_of_many` takes the first of several letters on the
    ELEMENT line instead of calling it ambiguous. `value_style` is described at `clean_value`.

    A reply that ended by `length` counts only through a complete block: element, readable action,
    and for TYPE and SELECT a VALUE line that was finished. Otherwise it is `truncated`, whatever
    else it says, because the rest might have changed it.

    The operation is kept when only the element is unreadable, and the other way round; when both
    are, the status is `parse_error` (or `refusal`, by wording). No text makes this raise.

    >>> read_answer("ELEMENT: H\\nACTION: TYPE\\nVALUE: Ohio", ["x"] * 9, none_letter="J")
    Answer(status=<Status.ANSWERED: 'answered'>, option=7, operation='TYPE', value='Ohio', flags=())

    Raises `ValueError` for letters that do not fit the options and for an unknown `finish`.
    """
    labels = _labels(options, letters, none_letter)
    reply = open_reply(text, finish)
    if isinstance(reply, Nothing):
        return Answer(reply.status, flags=reply.flags)
    blocks = _blocks(reply)
    complete = [block for block in blocks if block.complete and not block.template]
    if finish == "length":
        complete = [block for block in complete if _is_whole(block)]
        if not complete:
            return Answer(Status.TRUNCATED)
    flags = {"truncated"} if finish == "length" else set()
    if len(complete) > 1:
        flags.add("multiple")
    block = complete[-1] if complete else _best(blocks)
    if block is None or block.element is None:
        return _from_prose(reply, block, labels, flags, value_style)
    element = read_element(block.element, labels, first_of_many=first_of_many)
    operation = read_operation(block.action.shadow) if block.action else OperationReading()
    if element.status is Status.NO_ELEMENT and not operation.readable:
        element = ElementReading(_why_nothing(reply, block))
    return _answer(element, operation, block, flags, value_style)


def _why_nothing(reply: Source, block: Block) -> Status:
    """The status of an answer block in which neither element nor operation can be read.

    A lone line about the element that names no option is still an answer about the element. One
    without a word, an echoed template, and one beside an action that means nothing either are not.
    """
    if refuses(reply.shadow):
        return Status.REFUSAL
    said = block.element.shadow.strip() if block.element else ""
    alone = block.action is None and not block.template
    return Status.NO_ELEMENT if alone and said else Status.PARSE_ERROR


def _labels(options: Sequence[str], letters: Sequence[str] | None, none: str | None) -> Labels:
    if none is not None and not is_letter(none):
        raise ValueError(f"not an option letter for None: {none!r}")
    if letters is None:
        letters = letters_for(len(options), none)
    index = {letter: place for place, letter in enumerate(letters)}
    if len(letters) != len(options) or len(index) != len(letters) or none in index:
        raise ValueError("every option needs one letter of its own, different from None's")
    if not all(is_letter(letter) for letter in index):
        raise ValueError(f"option letters run from A to ZZ, got {list(letters)}")
    return Labels(index, none, options)


def _blocks(reply: Source) -> list[Block]:
    """Keyed and JSON answers in the order in which they stand."""
    fields = read_fields(reply)
    objects = read_json(reply, fields)
    if objects:
        spans = [(block.start, end) for block, end in objects]
        fields = [f for f in fields if not any(s <= f.start < e for s, e in spans)]
    blocks = [*group(fields), *(block for block, _ in objects)]
    return sorted(blocks, key=lambda block: block.start)


def _is_whole(block: Block) -> bool:
    """Whether nothing of a block can be missing although the reply was cut."""
    operation = read_operation(block.action.shadow) if block.action else OperationReading()
    if not operation.readable:
        return False
    return operation.operation in (None, "CLICK") or block.finished


def _best(blocks: Sequence[Block]) -> Block | None:
    """Where no block is complete: the last that names an element, else the last of all."""
    for block in reversed(blocks):
        if block.element is not None and block.element.shadow.strip() and not block.template:
            return block
    return blocks[-1] if blocks else None


def _from_prose(
    reply: Source, block: Block | None, labels: Labels, flags: set[str], style: ValueStyle
) -> Answer:
    """The answer of a reply without an ELEMENT line."""
    shadow = reply.shadow
    refused = refuses(shadow)
    if block is not None and block.action is not None:
        operation = read_operation(block.action.shadow)
        # What stands in the answer lines is not about the element.
        shadow = shadow[: block.start]
    else:
        operation = operation_in_prose(shadow)
    if refused and block is None and not names_option(shadow):
        return Answer(Status.REFUSAL)
    element = read_prose(shadow, labels)
    if element.status is Status.NO_ELEMENT and not operation.readable:
        return _answer(ElementReading(Status.PARSE_ERROR), operation, block, flags, style)
    return _answer(element, operation, block, flags | {"prose"}, style)


def _answer(
    element: ElementReading,
    operation: OperationReading,
    block: Block | None,
    flags: set[str],
    style: ValueStyle,
) -> Answer:
    flags = {*flags, *element.flags}
    flags |= operation.flags(named=block is not None and block.action is not None)
    value = ""
    if operation.operation in ("TYPE", "SELECT"):
        if block is not None and block.value is not None:
            value = clean_value(block.value.text, style)
        if is_missing(value):
            value = ""
            flags.add("missing_value")
    return Answer(element.status, element.option, operation.operation, value, tuple(sorted(flags)))


def spell_answer(
    option: int | None,
    operation: Operation | None,
    value: str,
    *,
    letters: Sequence[str],
    none_letter: str | None,
) -> str:
    """ELEMENT, ACTION and VALUE lines that `read_answer` reads back as the same answer.

    `option` is an index into `letters`; None spells the None option. A value that its own quotes or
    bold marks would change on reading is wrapped in a pair of quotes that it does not contain. What
    the format cannot carry is not given back: line breaks and runs of blanks become one blank, and
    a value that is itself a word for "no value" (None, N/A, null) is read as missing.

    >>> spell_answer(1, "TYPE", "Ohio", letters="ABC", none_letter="D")
    'ELEMENT: B\\n\\nACTION: TYPE\\n\\nVALUE: Ohio'

    Raises `IndexError` for an option beyond the letters.
    """
    if option is None:
        element = none_letter or "None"
    elif 0 <= option < len(letters):
        element = letters[option]
    else:
        raise IndexError(f"option {option} of {len(letters)}")
    written = "None" if operation not in ("TYPE", "SELECT") or not value else written_value(value)
    return f"ELEMENT: {element}\n\nACTION: {operation or 'NONE'}\n\nVALUE: {written}"
