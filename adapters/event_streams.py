"""Replies that come as streams of events, put together into the answers that they replace.

Some servers only stream. The whole stream is read first (`adapters.transport` limits its size).
Google's streams are also written as one array of their events.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from adapters.checks import plain_json

Json = dict[str, Any]
_LINE = re.compile(rb"\r\n|\n|\r")
_DONE = b"[DONE]"


def events(content: bytes) -> Iterator[Json]:
    """Return the objects in a stream of events; an event `error` is one under `error`, and the
    mark at the end one under `done`.

    Raises ValueError for an event that is not a JSON object.
    """
    if content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"["):
        array = plain_json(content)
        if len(_objects(array)) < len(array):
            raise ValueError("an event is not a JSON object")
        yield from array
        return
    pieces: list[bytes] = []
    kind = b""
    for line in (*_LINE.split(content.removeprefix(b"\xef\xbb\xbf")), b""):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"event":
            kind = value.strip()
        elif name == b"data":
            pieces.append(value)
            # Servers forget the empty line between two events.
            whole = len(pieces) == 1 and (value == _DONE or value.endswith(b"}"))
            if whole and (plain := _event(value, kind)) is not None:
                yield plain
                pieces = []
        elif not line:
            if any(pieces):
                plain = _event(b"\n".join(pieces), kind)
                if plain is None:
                    raise ValueError("an event is not a JSON object")
                yield plain
            pieces, kind = [], b""


def _event(data: bytes, kind: bytes) -> Json | None:
    if data.strip() == _DONE:
        return {"done": True}
    try:
        plain = plain_json(data)
    except ValueError:
        return None
    if not isinstance(plain, dict):
        return None
    return {"error": plain} if kind == b"error" and "error" not in plain else plain


def chat_answer(stream: Iterable[Json]) -> Json:
    """Return the answer of the chat protocol that its chunks make up.

    Raises ValueError for a stream that breaks off.
    """
    answer: Json = {}
    pieces: dict[str, list[Any]] = {}
    choice: Json = {}
    is_over = False
    for event in stream:
        is_over = is_over or bool(event.get("done") or event.get("error"))
        for name in ("id", "model", "usage", "service_tier", "error"):
            if event.get(name) is not None:
                answer[name] = event[name]
        for part in _objects(event.get("choices")):
            index = part.get("index")
            if isinstance(index, int) and index > 0:
                continue
            choice |= {n: part[n] for n in ("finish_reason", "error") if part.get(n) is not None}
            said = part.get("delta") or part.get("message")
            for name, value in said.items() if isinstance(said, dict) else ():
                if value is not None and name != "role":
                    pieces.setdefault(name, []).extend(value if _is_list(value) else [value])
    if not is_over and "finish_reason" not in choice:
        raise ValueError("the stream breaks off")
    if choice or pieces:
        calls = _calls(pieces.pop("tool_calls", []))
        message = {name: _whole(values) for name, values in pieces.items()}
        if calls:
            message["tool_calls"] = calls
        answer["choices"] = [{**choice, "message": message}]
    return answer


def messages_answer(stream: Iterable[Json]) -> Json:
    """Return the answer of the Messages API that its events make up.

    Raises ValueError for a stream that breaks off, and for events of another form.
    """
    answer: Json = {}
    blocks: list[Json] = []
    pieces: list[dict[str, list[str]]] = []
    is_over = False
    for event in stream:
        kind, delta = event.get("type"), event.get("delta")
        is_over = is_over or kind == "message_stop" or bool(event.get("error"))
        if event.get("error"):
            answer["error"] = event["error"]
        if kind == "message_start" and isinstance(event.get("message"), dict):
            answer |= event["message"]
        elif kind == "content_block_start" and isinstance(event.get("content_block"), dict):
            blocks.append(event["content_block"])
            pieces.append({})
        elif kind == "content_block_delta" and isinstance(delta, dict):
            if not blocks:
                raise ValueError("a piece of no block")
            for name in ("text", "thinking", "signature"):
                if isinstance(delta.get(name), str):
                    pieces[-1].setdefault(name, []).append(delta[name])
        elif kind == "message_delta" and isinstance(delta, dict):
            answer |= {name: value for name, value in delta.items() if value is not None}
            usage = event.get("usage")
            if isinstance(usage, dict):
                known = answer.get("usage")
                answer["usage"] = {**(known if isinstance(known, dict) else {}), **usage}
    if not is_over:
        raise ValueError("the stream breaks off")
    if blocks:
        answer["content"] = [
            {**block, **{name: f"{block.get(name) or ''}{''.join(more)}" for name, more in grown}}
            for block, grown in zip(blocks, (piece.items() for piece in pieces), strict=True)
        ]
    return answer


def gemini_answer(stream: Iterable[Json]) -> Json:
    """Return the answer of generateContent that the chunks of streamGenerateContent make up.

    The pieces stay separate parts: a signed one must not be joined to others.

    Raises ValueError for a stream that breaks off, and for chunks of another form.
    """
    answer: Json = {}
    candidate: Json = {}
    parts: list[Any] = []
    is_over = False
    for event in stream:
        feedback = event.get("promptFeedback")
        is_blocked = isinstance(feedback, dict) and feedback.get("blockReason")
        is_over = is_over or bool(event.get("done") or event.get("error") or is_blocked)
        for name in ("responseId", "modelVersion", "promptFeedback", "error"):
            if event.get(name) is not None:
                answer[name] = event[name]
        usage = event.get("usageMetadata")
        if isinstance(usage, dict):
            answer["usageMetadata"] = answer.get("usageMetadata", {}) | usage
        for one in _objects(event.get("candidates")):
            index = one.get("index")
            if isinstance(index, int) and index > 0:
                continue
            candidate |= {n: one[n] for n in ("finishReason", "error") if one.get(n) is not None}
            content = one.get("content") or {}
            if not isinstance(content, dict):
                raise ValueError("the content of a chunk is not an object")
            if content.get("parts") is not None:
                more = content["parts"]
                parts.extend(more if _is_list(more) else [more])
    if not is_over and "finishReason" not in candidate:
        raise ValueError("the stream breaks off")
    if candidate or parts:
        candidate["content"] = {"role": "model", "parts": parts}
        answer["candidates"] = [candidate]
    return answer


def _calls(pieces: list[Any]) -> list[Json]:
    """Return the calls that pieces make up: those of one index are one call, in the order in
    which they begin. Pieces without an index are whole calls."""
    calls: dict[object, Json] = {}
    for number, piece in enumerate(_objects(pieces)):
        index = piece.get("index")
        key = index if isinstance(index, int) else f"piece {number}"
        call = calls.setdefault(key, {"function": {}})
        call |= {n: piece[n] for n in ("id", "type") if piece.get(n) is not None}
        function, grown = piece.get("function"), call["function"]
        for name, value in function.items() if isinstance(function, dict) else ():
            if isinstance(value, str) and isinstance(grown.get(name), str):
                value = grown[name] + value
            if value is not None:
                grown[name] = value
    return list(calls.values())


def _objects(value: object) -> list[Json]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _whole(values: list[Any]) -> Any:
    """Return a text of its pieces, or the list of parts that they make up."""
    return "".join(values) if all(isinstance(value, str) for value in values) else values
