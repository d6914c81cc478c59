"""Answers and errors of the Gemini API.

Written against the API's reference, November 2026.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import msgspec

from adapters.api import Json, served_on
from adapters.conversation import Finish, Reply, Tier, Usage
from adapters.decoding import convert_to
from adapters.faults import Failure, retry_after

if TYPE_CHECKING:
    import httpx2

FILTERED = {
    *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "ESCALATION", "MODEL_ARMOR"),
}
CUT = {"MAX_TOKENS", "CONTINUATION"}


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    finish_reason: str | None = None
    content: Json | None = None


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None


class _Usage(msgspec.Struct, rename="camel"):
    prompt_token_count: int | None = None
    cached_content_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    # Not worth a malformed reply.
    service_tier: object = None


class Answer(msgspec.Struct, rename="camel"):
    """The fields of generateContent's answer that are read."""

    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    usage_metadata: _Usage | None = None
    model_version: str | None = None
    response_id: str | None = None


def reply_of(answer: Answer, headers: Mapping[str, str]) -> Reply:
    """Read a reply. Raises ValueError for an answer without one."""
    base = Reply(
        text="",
        finish=Finish.CONTENT_FILTER,
        usage=_usage(answer.usage_metadata),
        model=answer.model_version or "",
        request_id=answer.response_id or "",
        tier=_tier(answer.usage_metadata, headers),
    )
    if not answer.candidates:
        if answer.prompt_feedback is None or answer.prompt_feedback.block_reason is None:
            raise ValueError("neither candidates nor a block reason")
        return base
    content = answer.candidates[0].content or {}
    parts = convert_to(content, _Content).parts or []
    text = "".join(part.text for part in parts if part.text and not part.thought)
    thoughts = "".join(part.text for part in parts if part.text and part.thought)
    reason = answer.candidates[0].finish_reason or "none"
    finish = Finish.CONTENT_FILTER if reason in FILTERED else Finish.STOP
    finish = Finish.LENGTH if reason in CUT else finish
    if finish is Finish.STOP and reason != "STOP" and not text:
        raise ValueError(f"no text, finish reason {reason}")
    signed = any(part.thought_signature for part in parts)
    native = content if signed else None
    return replace(base, text=text, finish=finish, native=native, reasoning=thoughts)


def failure_of(response: httpx2.Response) -> Failure:
    """Read the failure in a reply with an error status."""
    try:
        body = json.loads(response.content)
    except (ValueError, RecursionError):
        body = None
    plain = body.get("error", body) if isinstance(body, dict) else None
    error: Json = plain if isinstance(plain, dict) else {}
    listed = json.dumps(error.get("details") or [])
    delay = re.search(r'"retryDelay": "(\d+(?:\.\d+)?)s"', listed)
    reason = re.search(r'"reason": "(\w+)"', listed)
    return Failure(
        str(error.get("message") or response.text or response.reason_phrase),
        status=response.status_code,
        code=reason[1] if reason else str(error.get("status") or ""),
        retry_after_s=float(delay[1]) if delay else retry_after(response.headers),
        # A day's quota, or none at all, comes back with no waiting of a reasonable length.
        final=bool(re.search(r'"quotaId": "\w*PerDay|"quotaValue": "0"', listed)),
    )


def _tier(usage: _Usage | None, headers: Mapping[str, str]) -> Tier | Literal[""]:
    """Return the tier that served: from a header, or from the usage in batches."""
    header = headers.get("x-gemini-service-tier")
    return served_on(header or (usage.service_tier if usage else None))


def _usage(usage: _Usage | None) -> Usage | None:
    if usage is None:
        return None
    thoughts = usage.thoughts_token_count or 0
    return Usage(
        input=usage.prompt_token_count or 0,
        cached=usage.cached_content_token_count or 0,
        output=(usage.candidates_token_count or 0) + thoughts,
        reasoning=thoughts,
    )
