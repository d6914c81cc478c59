"""Answers of the Gemini API, and the functions that they may call.

Written against the API's reference, November 2026.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

import msgspec

from adapters.api import served_on
from adapters.api_client import Json
from adapters.checks import held_or_none, named, usage_of
from adapters.contract import Fatal
from adapters.conversation import Finish, Reply, Result, Tier, Tool, ToolCall, Usage
from adapters.decoding import convert_to

_MALFORMED = {
    *("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"),
    *("MALFORMED_RESPONSE", "TOO_MANY_TOOL_CALLS"),
}
"""Ends of replies whose call Google itself could not read."""


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    thought: object = None
    thought_signature: object = None


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    finish_reason: str | None = None
    content: Json | None = None
    error: object = None


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None


class GenerateContentResponse(msgspec.Struct, rename="camel"):
    """The fields of generateContent's answer that are read."""

    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    usage_metadata: object = None
    model_version: object = None
    response_id: object = None
    error: object = None


def reply_of(
    answer: GenerateContentResponse,
    headers: Mapping[str, str],
    finish: Callable[[str | None, str, object], Finish],
) -> Reply:
    """Read a reply; `finish` returns why it ended, given the word for it, the text and any error.

    A call that Google could not read is one without a name and arguments.

    Raises ValueError for an answer without a reply, `Fatal` for one that says that a thought was
    not sent back, and what `finish` raises.
    """
    told = answer.usage_metadata if isinstance(answer.usage_metadata, dict) else {}
    base = Reply(
        text="",
        finish=Finish.CONTENT_FILTER,
        usage=_usage(told),
        model=named(answer.model_version),
        request_id=named(answer.response_id),
        tier=_tier(told, headers),
    )
    if not answer.candidates:
        if answer.prompt_feedback is None or answer.prompt_feedback.block_reason is None:
            raise ValueError("neither candidates nor a block reason")
        return base
    candidate = answer.candidates[0]
    content = candidate.content or {}
    parts = convert_to(content, _Content).parts or []
    text = "".join(part.text for part in parts if part.text and not part.thought)
    thoughts = "".join(part.text for part in parts if part.text and part.thought)
    calls = [_call(call) for call in calls_in(content)]
    word = candidate.finish_reason
    if word == "MISSING_THOUGHT_SIGNATURE":
        raise Fatal("Gemini: a thought of an earlier turn did not go back; please report this")
    signed = any(part.thought_signature for part in parts)
    native = content if signed or calls else None
    if word in _MALFORMED:
        # What came with it is no answer, but people may read it.
        calls, native = [ToolCall("", "", None)], None
        word, text, thoughts = "STOP", "", "\n\n".join(filter(None, (thoughts, text)))
    ended = finish(word, text or "call" * len(calls), candidate.error or answer.error)
    return replace(
        base,
        text=text,
        finish=ended,
        native=held_or_none(native) if calls else native,
        reasoning=thoughts,
        tool_calls=tuple(calls),
    )


def calls_in(native: object) -> list[Json]:
    """Return the calls of a turn as Google wrote them, in order."""
    parts = native.get("parts") if isinstance(native, dict) else None
    calls = (part.get("functionCall") for part in parts or () if isinstance(part, dict))
    return [call for call in calls if isinstance(call, dict)]


def _call(call: Json) -> ToolCall:
    # Left out where there are none.
    arguments = {} if call.get("args") is None else held_or_none(call["args"])
    return ToolCall(named(call.get("id")), named(call.get("name")), arguments)


def declaration(tool: Tool) -> Json:
    """Return a function as a request declares it."""
    return {
        "name": tool.name,
        "description": tool.description,
        "parametersJsonSchema": dict(tool.parameters),
    }


def response_to(call: Json, result: Result, shown: list[Json]) -> Json:
    """Return the answer to a call: under its name and id, with its pictures apart."""
    # The computer tool asks for the page's address. A recorded picture has none.
    response: Json = {"url": ""}
    if text := "".join(one.get("text", "") for one in shown):
        response["error" if result.is_error else "output"] = text
    arguments = call.get("args")
    if isinstance(arguments, dict) and arguments.get("safety_decision"):
        response["safety_acknowledgement"] = "true"
    named = {name: call[name] for name in ("id", "name") if name in call}
    pictures = [one for one in shown if "inlineData" in one]
    return {
        "functionResponse": {
            **named,
            "response": response,
            **({"parts": pictures} if pictures else {}),
        }
    }


def _tier(told: Json, headers: Mapping[str, str]) -> Tier | Literal[""]:
    """Return the tier that served: from a header, or from the usage in batches."""
    return served_on(headers.get("x-gemini-service-tier") or told.get("serviceTier"))


def _usage(told: Json) -> Usage | None:
    return usage_of(
        input=told.get("promptTokenCount"),
        # Left out where it is zero, as for a prompt that is blocked.
        output=told.get("candidatesTokenCount", 0),
        total=told.get("totalTokenCount"),
        cached=told.get("cachedContentTokenCount"),
        reasoning=told.get("thoughtsTokenCount"),
        thoughts_apart=True,
    )
