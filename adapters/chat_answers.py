"""Answers of OpenAI's protocols, in the forms that providers and servers give them.

Only the text, the reason for its end and the counts of tokens matter to a score: every other field
counts as missing where it is of another type than expected.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from adapters.checks import counted, usage_of
from adapters.conversation import Usage

_WORDS = ("text", "thinking", "reasoning", "content", "summary", "refusal")
"""Fields that hold the words of a part, the likeliest first."""
_DEPTH = 8
CHAT_COUNTS = "prompt", "completion"
"""Words of chat completions for the tokens of a call, in `usage`."""


class ChatMessage(msgspec.Struct):
    """A reply: a text, or a list of parts."""

    content: object = None
    refusal: object = None
    # By SGLang and earlier versions of vLLM, by vLLM, and by OpenRouter.
    reasoning_content: object = None
    reasoning: object = None
    reasoning_details: object = None


class _Choice(msgspec.Struct):
    """A reply with the reason for its end."""

    message: ChatMessage
    finish_reason: str | None = None
    error: object = None


class ChatCompletion(msgspec.Struct):
    """The fields of a chat completion that are read."""

    choices: list[_Choice]
    id: object = None
    model: object = None
    usage: object = None
    service_tier: object = None
    error: object = None


def said(message: ChatMessage) -> tuple[str, str, str]:
    """Return the text of a reply, the thoughts before it, and the refusal in its place.

    Raises ValueError for content that has no text.
    """
    texts: list[str] = []
    thoughts: list[str] = []
    refusals = [_words(message.refusal)]
    content = message.content
    parts = content if isinstance(content, list) else [] if content is None else [content]
    for part in parts:
        kind = str(part.get("type", "text")) if isinstance(part, dict) else "text"
        if "think" in kind or "reason" in kind:
            thoughts.append(_words(part))
        elif kind == "refusal":
            refusals.append(_words(part))
        elif kind in {"text", "output_text"}:
            texts.append(_text(part))
    told = (message.reasoning_content, message.reasoning, message.reasoning_details)
    thinking = "".join(thoughts) or next(filter(None, map(_words, told)), "")
    return "".join(texts), thinking, "".join(refusals)


def usage(told: object, counts: tuple[str, str] = CHAT_COUNTS) -> Usage | None:
    """Return the tokens of a call, None if the server counts none or impossible ones.

    counts: the wire's words for the tokens of the prompt and of the reply.
    """
    if not isinstance(told, dict):
        return None
    before, after = _details(told, counts[0]), _details(told, counts[1])
    return usage_of(
        input=told.get(f"{counts[0]}_tokens"),
        output=told.get(f"{counts[1]}_tokens"),
        total=told.get("total_tokens"),
        cached=before.get("cached_tokens"),
        cache_write=before.get("cache_write_tokens"),
        reasoning=after.get("reasoning_tokens"),
    )


def picture_tokens(told: object, counts: tuple[str, str] = CHAT_COUNTS) -> int | None:
    """Return the tokens of the prompt's pictures, None unless the server counts them apart."""
    if not isinstance(told, dict):
        return None
    # OpenAI's, and vLLM's by kind of input ({"image": 2691}).
    details, most = _details(told, counts[0]), counted(told.get(f"{counts[0]}_tokens")) or 0
    by_kind = details.get("multimodal_tokens")
    told_apart = details.get("image_tokens"), by_kind.get("image") if _is_object(by_kind) else None
    return next((n for n in map(counted, told_apart) if n is not None and 0 < n <= most), None)


def _details(told: Mapping[str, Any], what: str) -> Any:
    details = told.get(f"{what}_tokens_details")
    return details if _is_object(details) else {}


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _text(part: object) -> str:
    text = part.get("text") if isinstance(part, dict) else part
    if isinstance(text, dict):  # With its annotations.
        text = text.get("value")
    if not isinstance(text, str):
        raise ValueError(f"a {type(text).__name__} instead of a text in `content`")
    return text


def _words(value: object, depth: int = _DEPTH) -> str:
    """Return the words in thoughts, in whatever form they come."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and depth:
        return "".join(_words(one, depth - 1) for one in value)
    if isinstance(value, dict) and depth:
        found = (_words(value.get(name), depth - 1) for name in _WORDS)
        return next(filter(None, found), "")
    return ""
