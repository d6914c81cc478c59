"""Calls in a text, as functions, objects or tags, and what they represent.

    click('SD')  # open the menu
    {"name": "click", "arguments": {"id": "SD"}}
    <function=click><parameter=id>SD</parameter></function>

Nothing is evaluated. The number of calls that are tried is limited, and each reads a bounded part
of the text, so reading takes linear time.

`written_calls` and `read_entries` keep arguments as they are written. `read_calls` reads literals:
a call that Python could not read is read with repairs (`parsers.literals`, and full-width
punctuation) and marked as repaired.

`action_of` makes a call an action of an action space: the function is the action, and its arguments
are in the order of the space. One that represents the element is the action's element; a point is
two arguments, `x` and `y`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from parsers.actions import Action, ActionKind, ActionSpace, Value
from parsers.dictionaries import FoundDictionary, read_objects
from parsers.literals import DEPTH, LENIENT, PYTHON, Literals, NotLiteral
from parsers.reply_text import Source
from parsers.settling import FAR
from parsers.values import undressed

T = TypeVar("T")

LONGEST = 20_000
"""Longest call that is read, in characters."""
ATTEMPTS = 48
"""Maximum number of unreadable calls to pass over at the beginning, and at the end."""

_CALL = re.compile(r"(?<![A-Za-z0-9_])(?P<name>[A-Za-z_][A-Za-z0-9_]*+)(?P<gap>[ \t]*+)\(")
_COMMENT = re.compile(r"[ \t]*+#[^\n]*+")
_NOT_SOURCE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Call:
    """A call in a text.

    keywords: arguments that were given by name.
    start, end: its span in the text, with a comment behind it.
    repaired: whether Python itself could not have read it.
    """

    name: str
    arguments: tuple[Value, ...] = ()
    keywords: Mapping[str, Value] = field(default_factory=dict)
    start: int = 0
    end: int = 0
    repaired: bool = False


def read_calls(reply: Source, names: Collection[str]) -> Iterator[Call]:
    """Yield the calls of functions with these names, in order; if there is none, of other
    functions.

    The comment after a call contains no further calls.

    >>> from parsers.reply_text import source
    >>> text = "A: I would click (the menu).\\n```\\nclick('SD')  # not click('A')\\n```\\ngo('up')"
    >>> [(call.name, call.arguments) for call in read_calls(source(text), ("click", "go"))]
    [('click', ('SD',)), ('go', ('up',))]
    """
    known = _calls(reply, lambda place: place["name"] in names)
    first = next(known, None)
    if first is not None:
        yield first
        yield from known
        return
    # A word before brackets is a call of another function only if nothing stands between. Those
    # inside of a call that cannot be read are not answers.
    tight = (place["name"] for place in _CALL.finditer(reply.shadow) if not place["gap"])
    if not any(name in names for name in tight):
        yield from _calls(reply, lambda place: not place["gap"])


def read_arguments(text: str) -> tuple[Value, ...] | None:
    """Return the positional arguments that Python reads from `f(text)`; None if they are not
    literals.

    A list, tuple, set or dictionary of literals is NaN: it equals nothing, and is not a text.
    A bracket inside may close the call if nothing but a comment follows.

    >>> read_arguments("'SD', -1  "), read_arguments("'SD') # (it"), read_arguments("id='SD'")
    (('SD', -1), ('SD',), None)
    >>> read_arguments("['SD', {1: 2}], ('A')")
    (nan, 'A')
    """
    if len(text) > LONGEST or _NOT_SOURCE.search(text):
        return None
    source = text.replace("\r\n", "\n").replace("\r", "\n") + ")"
    reader = _WithContainers(source, PYTHON, 0, len(source))
    try:
        arguments, keywords = _arguments(reader)
    except NotLiteral:
        return None
    return None if keywords or not reader.is_over() else arguments


def write_call(name: str, arguments: Sequence[Value]) -> str:
    """Write a call as `read_calls` reads it back, on one line.

    >>> print(write_call("type_string", ["A", "Ohio's\\n", False]))
    type_string('A', 'Ohio\\'s\\n', False)
    """
    return f"{name}({', '.join(map(_spelled, arguments))})"


def _spelled(value: Value) -> str:
    # The double quote in front makes Python choose single quotes.
    return "'" + repr('"' + value)[2:] if isinstance(value, str) else repr(value)


class _WithContainers(Literals):
    """Also reads containers, each as NaN; `NotLiteral` where Python itself raises."""

    _hashable = True
    """False if the last value cannot be in a set, or a key of a dictionary."""

    def value(self, depth: int = 1, *, signed: bool = False) -> Value:
        token = self._peek()
        mark = token["mark"] if token else None
        if mark not in ("(", "[", "{"):
            self._hashable = True
            return super().value(depth, signed=signed)
        if depth >= DEPTH:
            raise NotLiteral
        self.need(mark)
        hashable = mark == "("
        if mark == "[":
            self.items("]", lambda: self.value(depth + 1))
        elif mark == "{":
            if len(set(self.items("}", lambda: self._entry(depth + 1)))) > 1:
                raise NotLiteral  # Some entries have a colon, others have none.
        elif not self.skip(")"):
            value = self.value(depth + 1, signed=signed)
            if self.skip(")"):
                return value
            self.need(",")
            hashable = all([self._hashable, *self.items(")", lambda: self._member(depth + 1))])
        if signed:
            raise NotLiteral
        self._hashable = hashable
        return math.nan

    def _member(self, depth: int) -> bool:
        """Read a value; return True if it can be in a set."""
        self.value(depth)
        return self._hashable

    def _entry(self, depth: int) -> bool:
        """Read an entry of a set or a dictionary; return True if it has a key."""
        if not self._member(depth):
            raise NotLiteral
        if not self.skip(":"):
            return False
        self.value(depth)
        return True


def _calls(reply: Source, wanted: Callable[[re.Match[str]], bool]) -> Iterator[Call]:
    left = sum(1 for _ in filter(wanted, _CALL.finditer(reply.shadow)))
    end = failed = 0
    for place in filter(wanted, _CALL.finditer(reply.shadow)):
        left -= 1
        if place.start() < end or (failed >= ATTEMPTS and left >= ATTEMPTS):
            continue
        call = _attempt(reply, place)
        if call is None:
            failed += 1
        else:
            end = call.end
            yield call


def _attempt(reply: Source, place: re.Match[str]) -> Call | None:
    """Return the call whose name stands at a place, read as Python does or with repairs."""
    end = place.start() + LONGEST
    for text, pattern in ((reply.text, PYTHON), (reply.shadow, LENIENT)):
        reader = Literals(text, pattern, place.end(), end, written=reply.text)
        try:
            arguments, keywords = _arguments(reader)
        except NotLiteral:
            continue
        comment = _COMMENT.match(reply.text, reader.position)
        over = comment.end() if comment else reader.position
        repaired = pattern is LENIENT
        return Call(place["name"], arguments, keywords, place.start(), over, repaired)
    return None


def _arguments(reader: Literals) -> tuple[tuple[Value, ...], dict[str, Value]]:
    """Read positional and named arguments, from behind the opening bracket."""
    read = reader.items(")", lambda: (reader.keyword(), reader.value()))
    positional = [value for name, value in read if name is None]
    keywords = {name: value for name, value in read[len(positional) :] if name is not None}
    if len(positional) + len(keywords) < len(read):
        raise NotLiteral  # a name twice, or a positional argument behind a named one
    return tuple(positional), keywords


@dataclass(frozen=True, slots=True)
class Written:
    """A call with its arguments as written, by name, or by position from "0" on.

    fields: texts, lists of them, True, False or None.
    quoted: names of the arguments that are texts in quotes.
    """

    name: str
    fields: Mapping[str, object]
    quoted: frozenset[str]
    start: int
    end: int


ANY_CALL = re.compile(r"(?<![\w.])([A-Za-z_][\w.]{0,60})\(")
_LOOSE = re.compile(
    r"[ \t]*+(\w{1,40})[ \t]*+=[ \t]*+(['\"])(.*)\2[ \t]*+\)"
    r"(?:</\w{1,20}>|[ \t]*+#[^\n]*+|[ \t`*.;\u3002]*+)$",
    re.MULTILINE,
)
CALLED = re.compile(
    r"<function=[\"']?(?P<function>[\w.-]{1,60})[\"']?>"
    r"|<invoke name=[\"'](?P<invoke>[\w.-]{1,60})[\"']>"
)
_PARAMETER = re.compile(r"\s*+<parameter(?:=| name=)[\"']?([\w.-]{1,60})[\"']?>")
_PARAMETER_ENDS = "</parameter>"
_LONGEST_PARAMETER = 65_536


def written_calls(reply: Source, pattern: re.Pattern[str]) -> Iterator[Written]:
    """Yield the calls whose name and opening bracket `pattern` matches, the name as group 1.

    The closing bracket may be missing at the end of the text, unless the reply was cut off.
    """
    matches = list(pattern.finditer(reply.shadow))
    if len(matches) > 2 * ATTEMPTS:
        matches = matches[:ATTEMPTS] + matches[-ATTEMPTS:]
    end = 0
    for match in matches:
        # Text inside of a call that was read is an argument of it.
        if match.start() < end:
            continue
        for text, tokens in ((reply.text, PYTHON), (reply.shadow, LENIENT)):
            reader = Literals(text, tokens, match.end(), match.end() + LONGEST, written=reply.text)
            fields: dict[str, object] = {}
            quoted: set[str] = set()
            try:
                reader.items(")", lambda: _argument(reader, fields, quoted))  # noqa: B023
            except NotLiteral:
                if not fields or reply.cut or not reader.is_over():
                    continue
            end = reader.position
            yield Written(match[1], fields, frozenset(quoted), match.start(), end)
            break
        else:
            # Quotes inside of the only text, as UI-TARS' reader takes them.
            if loose := _LOOSE.match(reply.text, match.end(), match.end() + LONGEST):
                end = loose.end()
                key = loose[1].lower()
                yield Written(match[1], {key: loose[3]}, frozenset((key,)), match.start(), end)


def _argument(reader: Literals, fields: dict[str, object], quoted: set[str]) -> None:
    key = reader.keyword()
    name = key.lower() if key else str(len(fields))
    is_text = reader.is_text()
    value = _written(reader)
    if is_text:
        quoted.add(name)
    fields.setdefault(name, value)


def _written(reader: Literals, depth: int = 1) -> object:
    for opening, closing in ("[]", "()"):
        if depth < DEPTH and reader.skip(opening):
            return reader.items(closing, lambda: _written(reader, depth + 1))
    return reader.written()


def read_entries(
    reply: Source,
    read: Callable[[dict[str, object]], T | None],
    skip: Callable[[int, int], bool] = lambda position, covered: False,
) -> list[FoundDictionary[T]]:
    """Return the objects, calls in tags, and calls with named arguments that `read` understands, in
    order. A call is read as an object with its `name` and its arguments."""
    found = read_objects(reply.text, read, skip, cut=reply.cut)
    for content, start, end in (*_tagged_calls(reply), *_named_calls(reply)):
        inside = any(one.start < end and start < one.end for one in found)
        if not inside and not skip(start, 0) and (one := read(content)) is not None:
            found.append(FoundDictionary(one, start, end))
    return sorted(found, key=lambda one: one.start)


def _named_calls(reply: Source) -> Iterator[tuple[dict[str, object], int, int]]:
    for call in written_calls(reply, ANY_CALL):
        named = {key: value for key, value in call.fields.items() if not key.isdecimal()}
        if named:
            yield {"name": call.name, **named}, call.start, call.end


def _tagged_calls(reply: Source) -> Iterator[tuple[dict[str, object], int, int]]:
    starts = list(CALLED.finditer(reply.shadow))
    if len(starts) > 2 * ATTEMPTS:
        starts = starts[:ATTEMPTS] + starts[-ATTEMPTS:]
    for start in starts:
        content: dict[str, object] = {"name": start["function"] or start["invoke"]}
        position = start.end()
        while opening := _PARAMETER.match(reply.text, position):
            window = opening.end() + _LONGEST_PARAMETER
            end = reply.text.find(_PARAMETER_ENDS, opening.end(), window)
            if end < 0:
                break
            written = undressed(reply.text[opening.end() : end].strip())
            content[opening[1]] = None if written == "null" else written
            position = end + len(_PARAMETER_ENDS)
        if len(content) > 1 and not (opening and reply.cut):
            yield content, start.start(), position


_POINT = ("x", "y")
_AS_DECLARED: Mapping[str, str] = {}


def action_of(
    call: Call, space: ActionSpace, spellings: Mapping[str, str] = _AS_DECLARED
) -> Action:
    """Return the action of a call, not yet checked against the space.

    Arguments may be given by name, also by another one in `spellings`; a None counts as left
    out. Surplus ones are kept under names that no function has, so that `parsers.settling`
    flags them; so is an element or a point that is of another type than theirs.

    >>> from parsers.actions import Argument
    >>> space = ActionSpace("one", (ActionKind("go", (Argument("id", "element"),)),))
    >>> action_of(Call("go", ("A", 2)), space)
    Action(name='go', element='A', point=None, arguments={'more_1': 2})
    """
    kind = space[call.name] if call.name in space else ActionKind(call.name)
    names = _names(kind)
    given: dict[str, Value] = {}
    for number, value in enumerate(call.arguments):
        given[names[number] if number < len(names) else f"more_{number}"] = value
    for written, value in call.keywords.items():
        name = spellings.get(written, written)
        given[name if name not in given else f"more_{name}"] = value
    given = {name: value for name, value in given.items() if value is not None}
    element, point = None, None
    for place in kind.places:
        if place.kind == "element" and isinstance(given.get(place.name), str):
            element = str(given.pop(place.name))
        elif place.kind == "point" and all(_is_pixels(given.get(name)) for name in _POINT):
            x, y = (given.pop(name) for name in _POINT)
            point = float(x or 0), float(y or 0)
    return Action(call.name, element, point, given)


def spelled_action(action: Action, space: ActionSpace) -> str:
    """Write the call that does an action, as `action_of` reads it back.

    Arguments are positional; those that are missing before others are None.
    """
    kind = space[action.name] if action.name in space else ActionKind(action.name)
    element = next((one.name for one in kind.places if one.kind == "element"), "element")
    given: dict[str, Value] = {}
    if action.element is not None:
        given[element] = action.element
    if action.point is not None:
        given |= dict(zip(_POINT, action.point, strict=True))
    given |= action.arguments
    values = [given.pop(name, None) for name in _names(kind)]
    while values and values[-1] is None:
        values.pop()
    return write_call(action.name, [*values, *given.values()])


def _names(kind: ActionKind) -> list[str]:
    """Return the names of the function's arguments, in order."""
    return [
        name for one in kind.arguments for name in (_POINT if one.kind == "point" else (one.name,))
    ]


def _is_pixels(value: Value) -> bool:
    """Return True if a value is a number of pixels; larger ones might not even fit a float."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -FAR <= value <= FAR
