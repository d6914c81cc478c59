"""Answers in the wire formats of the three providers, as their documentation shows them."""

from __future__ import annotations

import hashlib
from array import array
from base64 import b64encode
from typing import Any

from tests.servers import responses
from tests.servers.answers import Answer, Ask

Json = dict[str, Any]

ANTHROPIC_STOPS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "refusal": "refusal",
    "content_filter": "refusal",
    "too_long": "model_context_window_exceeded",
}
ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
GOOGLE_STATUS = {
    400: "INVALID_ARGUMENT",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
GOOGLE_STOPS = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "refusal": "SAFETY",
    "content_filter": "PROHIBITED_CONTENT",
}


def body_of(ask: Ask, answer: Answer) -> Json:
    """The JSON body of an answer to this request."""
    fail, say = _FORMS[ask.provider]
    if answer.status != 200:
        return fail(answer)
    return (_embeddings if ask.path.endswith("/embeddings") else say)(ask, answer)


def _openai(ask: Ask, answer: Answer) -> Json:
    refused = answer.finish == "refusal"
    message = {
        "role": "assistant",
        "content": None if refused else answer.text,
        "refusal": answer.text if refused else None,
    }
    if answer.thinking:
        message[answer.thinking_as] = answer.thinking
    finish = "stop" if refused else answer.finish
    body: Json = {
        "id": f"chatcmpl-{ask.number}",
        "object": "chat.completion",
        "created": 1,
        "model": answer.model or f"{ask.model}-2026-01-01",
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
    }
    if answer.tier:
        body["service_tier"] = answer.tier
    if answer.usage is not None:
        use = answer.usage
        body["usage"] = {
            "prompt_tokens": use.get("input", 0),
            "completion_tokens": use.get("output", 0),
            "total_tokens": use.get("input", 0) + use.get("output", 0),
        }
        if answer.details:
            body["usage"]["prompt_tokens_details"] = {
                "cached_tokens": use.get("cached", 0),
                **({"cache_write_tokens": use["cache_write"]} if "cache_write" in use else {}),
                **({"multimodal_tokens": {"image": use["pictures"]}} if "pictures" in use else {}),
            }
            body["usage"]["completion_tokens_details"] = {
                "reasoning_tokens": use.get("reasoning", 0)
            }
    return body


def vector_of(text: str) -> list[float]:
    """The vector that the server has for a text: four numbers that single precision holds."""
    return [byte / 256 - 0.5 for byte in hashlib.sha256(text.encode()).digest()[:4]]


def _embeddings(ask: Ask, answer: Answer) -> Json:
    texts = ask.body["input"]
    vectors: list[Any] = [vector_of(text)[: ask.body.get("dimensions")] for text in texts]
    if ask.body.get("encoding_format") == "base64":
        vectors = [b64encode(array("f", vector).tobytes()).decode() for vector in vectors]
    body: Json = {
        "object": "list",
        "model": answer.model or ask.model,
        "data": [
            {"object": "embedding", "index": index, "embedding": vector}
            for index, vector in enumerate(vectors)
        ],
    }
    if answer.usage is not None:
        tokens = sum(len(text.split()) for text in texts)
        body["usage"] = {"prompt_tokens": tokens, "total_tokens": tokens}
    return body


def _openai_error(answer: Answer) -> Json:
    return {
        "error": {
            "message": answer.message,
            "type": "invalid_request_error" if answer.status < 500 else "server_error",
            "param": answer.param or None,
            "code": answer.code or None,
        }
    }


def _anthropic(ask: Ask, answer: Answer) -> Json:
    content: list[Json] = [{"type": "text", "text": answer.text}] if answer.text else []
    if answer.thinking:
        content.insert(0, {"type": "thinking", "thinking": answer.thinking, "signature": "c2ln"})
    body: Json = {
        "id": f"msg_{ask.number}",
        "type": "message",
        "role": "assistant",
        "model": answer.model or f"{ask.model}-20260101",
        "content": content,
        "stop_reason": ANTHROPIC_STOPS[answer.finish],
        "stop_sequence": None,
    }
    use = answer.usage or {}
    read, written = use.get("cached", 0), use.get("cache_write", 0)
    body["usage"] = {
        "input_tokens": use.get("input", 0) - read - written,
        "output_tokens": use.get("output", 0),
    }
    if answer.details:
        body["usage"] |= {"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
        body["usage"]["output_tokens_details"] = {"thinking_tokens": use.get("reasoning", 0)}
    if answer.tier:
        body["usage"]["service_tier"] = answer.tier
    return body


def _anthropic_error(answer: Answer) -> Json:
    kind = ANTHROPIC_TYPES.get(answer.status, "api_error")
    error: Json = {"type": kind, "message": answer.message}
    if answer.code:
        error["details"] = {"error_code": answer.code}
    return {"type": "error", "error": error, "request_id": "req_1"}


def _google(ask: Ask, answer: Answer) -> Json:
    body: Json = {"modelVersion": answer.model or ask.model, "responseId": f"g{ask.number}"}
    if answer.blocked:
        body["promptFeedback"] = {"blockReason": "PROHIBITED_CONTENT"}
    else:
        parts: list[Json] = [{"text": answer.text, "thoughtSignature": "c2ln"}]
        if answer.thinking:
            parts.insert(0, {"text": answer.thinking, "thought": True})
        finish = GOOGLE_STOPS.get(answer.finish, "OTHER")
        candidate: Json = {"finishReason": finish, "index": 0}
        if answer.text:
            candidate["content"] = {"role": "model", "parts": parts}
        body["candidates"] = [candidate]
    if answer.usage is not None:
        use = answer.usage
        reasoning = use.get("reasoning", 0)
        body["usageMetadata"] = {
            "promptTokenCount": use.get("input", 0),
            "candidatesTokenCount": use.get("output", 0) - reasoning,
            "totalTokenCount": use.get("input", 0) + use.get("output", 0),
        }
        if answer.details:
            body["usageMetadata"] |= {
                "cachedContentTokenCount": use.get("cached", 0),
                "thoughtsTokenCount": reasoning,
            }
    return body


def _google_error(answer: Answer) -> Json:
    return {
        "error": {
            "code": answer.status,
            "message": answer.message,
            "status": answer.code or GOOGLE_STATUS.get(answer.status, "UNKNOWN"),
            "details": list(answer.error_details),
        }
    }


_FORMS = {
    "openai": (_openai_error, _openai),
    "responses": (_openai_error, responses.body_of),
    "anthropic": (_anthropic_error, _anthropic),
    "google": (_google_error, _google),
}
"""How each provider writes an error, and an answer."""
