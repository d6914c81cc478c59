"""Answers of the Gemini API.

Written against the API's reference, November 2026.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

import msgspec

from adapters.api import served_on
from adapters.api_client import Json
from adapters.checks import named, usage_of
from adapters.conversation import Finish, Reply, Tier, Usage
from adapters.decoding import convert_to


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

    Raises ValueError for an answer without a reply, and what `finish` raises.
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
    ended = finish(candidate.finish_reason, text, candidate.error or answer.error)
    signed = any(part.thought_signature for part in parts)
    native = content if signed else None
    return replace(base, text=text, finish=ended, native=native, reasoning=thoughts)


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
