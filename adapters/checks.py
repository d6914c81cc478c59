"""Checks of a reply before anything relies on it.

Servers and adapters of other packages are not trusted to keep to a format. This module, and no
other, refuses values that cannot be true or that a record would not return unchanged.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any, TypeVar

import msgspec

from adapters.conversation import Reply, Usage
from adapters.decoding import convert_to, decode_json, decoder_of
from adapters.embedding import MAX_DIMENSIONS, Embedded, single_precision
from adapters.secrets import masked

MAX_TOKENS = 100_000_000
"""More tokens than any call can have."""
MAX_NAME = 1_000
"""Characters of a model's name or of a request's id."""
MAX_DEPTH = 64
"""Levels of a native part; readers of a record must not run into their own limit."""

_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)
"""Texts, whose brackets do not count, and brackets."""

T = TypeVar("T")
_NAMES = ("model", "request_id")
_decode = decoder_of(Reply).decode
_FAILURES = (
    TypeError,
    ValueError,
    OverflowError,
    RecursionError,
    NotImplementedError,
    AttributeError,
    msgspec.MsgspecError,
)


def read_json(data: bytes, kind: type[T]) -> T:
    """Return a server's JSON as a record. Raises ValueError with a line that says what is wrong."""
    return convert_to(plain_json(data), kind)


def plain_json(data: bytes, errors: str = "strict") -> Any:
    """Return JSON in UTF-8 as plain values. Raises ValueError.

    One part that nobody can read spoils no reply that is paid for: what is nested too deeply stays
    deeper than `held` takes, and whole numbers without end are infinite.
    """
    try:
        text = data.decode("utf-8-sig", errors)
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: {error}") from None
    try:
        return _parsed(text)
    except RecursionError:
        return _parsed(_shallow(text))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        if "digits" in str(error):
            return json.loads(text, parse_int=float)
        raise ValueError(f"not JSON: {error}") from None


def _shallow(text: str) -> str:
    """Return JSON with null for what is nested deeper than parsers take."""
    pieces, kept, depth = list[str](), 0, 0
    for token in _BRACKETS.finditer(text):
        if token[0] in "[{":
            depth += 1
            if depth == 2 * MAX_DEPTH:
                pieces.append(text[kept : token.start()])
        elif token[0] in "]}":
            if depth == 2 * MAX_DEPTH:
                pieces.append("null")
                kept = token.end()
            depth -= 1
    return "".join([*pieces, text[kept:]]) if depth == 0 else ""


def held(value: object) -> object:
    """Return JSON values that a record holds unchanged.

    Raises ValueError for others: numbers that are not finite or too large, halves of characters,
    values that are nested too deeply.
    """
    if _depth(value) > MAX_DEPTH:
        raise ValueError("nested too deeply")
    try:
        same = decode_json(msgspec.json.encode(value))
    except _FAILURES as error:
        raise ValueError(str(error) or type(error).__name__) from None
    if same != value:
        raise ValueError("a number that is not finite or too large")
    return value


def held_or_none(value: object) -> object:
    """Return JSON values that a record holds; None for others."""
    try:
        return held(value)
    except ValueError:
        return None


def checked(reply: object) -> Reply:
    """Return the reply as it will be read from its record.

    Secrets among the parameters are masked, and half a surrogate pair, which no file can hold, is
    replaced. Raises ValueError for anything else that would be read back differently, and for
    values that no reply has.
    """
    if not isinstance(reply, Reply):
        raise ValueError(f"a {type(reply).__name__} instead of a reply")
    for name in ("text", "reasoning", *_NAMES):
        value = getattr(reply, name)
        if not isinstance(value, str):
            raise ValueError(f"`{name}` is a {type(value).__name__} instead of text")
        if name in _NAMES and len(value) > MAX_NAME:
            raise ValueError(f"`{name}` has more than {MAX_NAME:,} characters")
    if _depth([reply.native, reply.sent]) > MAX_DEPTH:
        raise ValueError("a native part that is nested too deeply")
    try:
        same = _decode(_encoded(replace(reply, sent=masked(reply.sent))))
    except _FAILURES as error:
        raise ValueError(str(error) or type(error).__name__) from None
    for call in same.tool_calls:
        if max(len(call.id), len(call.name)) > MAX_NAME:
            raise ValueError(f"a call whose id or name has more than {MAX_NAME:,} characters")
        if _depth(call.arguments) > MAX_DEPTH:
            raise ValueError("the arguments of a call are nested too deeply")
    _check_counts(same.usage)
    if not 0 <= (same.picture_tokens or 0) <= MAX_TOKENS:
        raise ValueError(f"`picture_tokens` counts {same.picture_tokens} tokens")
    return same


def checked_vectors(embedded: object, texts: int, dimensions: int | None = None) -> Embedded:
    """Return the answer to so many texts, its numbers rounded to single precision.

    Raises ValueError for another number of vectors, vectors of different lengths or of others than
    these `dimensions`, numbers that are not finite, and what could not be read from a record.
    """
    if not isinstance(embedded, Embedded):
        raise ValueError(f"a {type(embedded).__name__} instead of vectors")
    if len(embedded.vectors) != texts:
        raise ValueError(f"{len(embedded.vectors)} vectors for {texts} texts")
    vectors = tuple(single_precision(vector) for vector in embedded.vectors)
    lengths = sorted({len(vector) for vector in vectors})
    if len(lengths) != 1 or not 0 < lengths[0] <= MAX_DIMENSIONS:
        raise ValueError(f"vectors of {' and '.join(map(str, lengths[:3]))} numbers")
    if dimensions not in (None, lengths[0]):
        raise ValueError(f"vectors of {lengths[0]} numbers instead of {dimensions}")
    if not isinstance(embedded.model, str) or len(embedded.model) > MAX_NAME:
        raise ValueError("`model` is not a name")
    if not embedded.latency_s >= 0 or math.isinf(embedded.latency_s):
        raise ValueError("`latency_s` is not a time")
    _check_counts(embedded.usage)
    model = embedded.model.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return replace(embedded, vectors=vectors, model=model)


def counted(value: object) -> int | None:
    """Return a server's count of tokens, None for what is not one.

    >>> counted(10), counted(10.0), counted("10"), counted(-1), counted(True), counted(0.5)
    (10, 10, 10, None, None, None)
    """
    if isinstance(value, str) and re.fullmatch(r"\d{1,10}", value, re.ASCII):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    is_count = 0 <= value <= MAX_TOKENS and value == int(value)
    return int(value) if is_count else None


def usage_of(
    *,
    input: object,
    output: object,
    total: object = None,
    cached: object = None,
    cache_write: object = None,
    reasoning: object = None,
    thoughts_apart: bool = False,
) -> Usage | None:
    """Return a server's counts of tokens as they are billed, by what its total says of them.

    Counts outside of those that should contain them (thoughts outside of the output, cached tokens
    outside of the input) are added, unless the total rules that out. What the total has beyond its
    parts counts as output, the dearer kind.

    thoughts_apart: whether the output is without the thoughts if there is no total.

    Returns None where input or output are missing or impossible: a prompt has tokens.
    """
    prompt, reply, sum_of_all = counted(input), counted(output), counted(total)
    if reply is None and prompt is not None and sum_of_all is not None:
        reply = max(0, sum_of_all - prompt)
    if prompt is None or reply is None:
        return None
    read, written = counted(cached) or 0, counted(cache_write) or 0
    thoughts = counted(reasoning) or 0
    # A total below its parts says nothing of them.
    if sum_of_all is not None and sum_of_all < prompt + reply:
        sum_of_all = None
    rest = None if sum_of_all is None else sum_of_all - prompt - reply
    if thoughts and (thoughts_apart or thoughts > reply if rest is None else rest >= thoughts):
        reply += thoughts
        rest = None if rest is None else rest - thoughts
    if read + written > prompt and (rest is None or rest >= read + written):
        prompt += read + written
        rest = None if rest is None else rest - read - written
    reply += rest or 0
    if not 0 < prompt <= MAX_TOKENS or reply > MAX_TOKENS:
        return None
    read = min(read, prompt)
    return Usage(prompt, read, min(written, prompt - read), reply, min(thoughts, reply))


def named(value: object) -> str:
    """Return the text of a field that nothing depends on, "" for what cannot be a name."""
    return value if isinstance(value, str) and len(value) <= MAX_NAME else ""


def _check_counts(usage: Usage | None) -> None:
    if usage is None:
        return
    counts = usage.input, usage.cached, usage.cache_write, usage.output, usage.reasoning
    for count in counts:
        if not 0 <= count <= MAX_TOKENS:
            raise ValueError(f"`usage` counts {count} tokens")


def _encoded(reply: Reply) -> bytes:
    try:
        return msgspec.json.encode(reply)
    except UnicodeEncodeError:
        # A changed native part would no longer match its signature.
        return to_json(replace(reply, native=None))


def to_json(value: object) -> bytes:
    """Encode records or plain values as JSON; halves of characters are replaced.

    Pages and models write such halves, and no file takes them. Raises what `msgspec.json.encode`
    raises for anything else.
    """
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _depth(value: Any) -> int:
    """Count levels of lists and objects, no further than one past the limit."""
    level, depth = [value], 0
    while level and depth <= MAX_DEPTH:
        inner: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                inner += one.values()
            elif isinstance(one, (list, tuple)):
                inner += one
        level, depth = inner, depth + 1
    return depth
