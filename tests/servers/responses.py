"""OpenAI's Responses wire: what a server refuses, and how it answers."""

from __future__ import annotations

import binascii
import json
from base64 import b64decode
from typing import Any

from tests.servers import strict
from tests.servers.answers import Answer, Ask

Json = dict[str, Any]
OF_OTHERS = {"seed", "repetition_penalty", "frequency_penalty", "skip_special_tokens"}
"""Parameters that vLLM takes beyond OpenAI's."""
INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
ENCRYPTED = "reasoning.encrypted_content"


def complaint_about(body: Json) -> str | None:
    """Return why a request is refused, None if it is not. Only OpenAI's own models refuse what
    vLLM takes; both refuse what the SDK's types do not have."""
    # Loads the SDK: only servers that are asked over this wire pay for it.
    from openai.types.responses import response_create_params as params

    official = str(body.get("model")).startswith(("gpt-", "o1", "o3", "o4"))
    known = {n: v for n, v in body.items() if official or n not in OF_OTHERS | {"stream"}}
    # With nothing stored, an id names nothing.
    stored = body.get("store", True)
    kind = params.ResponseCreateParamsNonStreaming
    wrong = strict.complaint(known, kind, "body", frozenset() if stored else {"id"})
    return wrong or _broken_rule(body, official, stored)


def _broken_rule(body: Json, official: bool, stored: bool) -> str | None:
    items = body["input"] if isinstance(body["input"], list) else []
    effort = (body.get("reasoning") or {}).get("effort", "none")
    if official and effort != "none" and {"temperature", "top_p"} & body.keys():
        return "Unsupported parameter: 'temperature' is not supported with this model."
    if ENCRYPTED in (body.get("include") or []) and str(body["model"]).startswith("gpt-4"):
        return "Encrypted content is not supported with this model."
    echoed = [item for item in items if item.get("type") in {"reasoning", "message"}]
    if body.get("previous_response_id") and echoed:
        return "previous_response_id and echoed items"
    for item, following in zip(items, [*items[1:], {}], strict=True):
        if "id" in item and not stored:
            return f"Item with id '{item['id']}' not found. Items are not persisted"
        if item.get("type") == "reasoning":
            if following.get("role") != "assistant" and following.get("type") != "reasoning":
                return "Item of type 'reasoning' was provided without its required following item."
            if official and not stored and not item.get("encrypted_content"):
                return "Item of type 'reasoning' not found: it is not encrypted"
        for part in item["content"] if isinstance(item.get("content"), list) else []:
            if part["type"] == "input_image" and not _is_picture(str(part.get("image_url"))):
                return "Invalid 'image_url': not a picture in base64"
    return None


def _is_picture(url: str) -> bool:
    head, _, data = url.partition(";base64,")
    try:
        return head.startswith("data:image/") and bool(b64decode(data, validate=True))
    except binascii.Error:
        return False


def body_of(ask: Ask, answer: Answer) -> Json:
    """The JSON body of an answer to this request."""
    said: Json = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
    if answer.finish == "refusal":
        said = {"type": "refusal", "refusal": answer.text}
    reason = INCOMPLETE.get(answer.finish)
    status = "incomplete" if reason else "completed"
    message = {
        "type": "message",
        "id": f"msg_{ask.number}",
        "status": status,
        "role": "assistant",
        "content": [said],
    }
    output: list[Json] = [message] if answer.text else []
    if answer.thinking:
        thought = {"type": "summary_text", "text": answer.thinking}
        hidden: Json = {"type": "reasoning", "id": f"rs_{ask.number}", "summary": [thought]}
        if ENCRYPTED in (ask.body.get("include") or []):
            hidden["encrypted_content"] = f"gAAAA{len(json.dumps(ask.body))}"
        output.insert(0, hidden)
    body: Json = {
        "id": f"resp_{ask.number}",
        "object": "response",
        "created_at": 1,
        "model": answer.model or f"{ask.model}-2026-01-01",
        "status": status,
        "output": output,
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
    }
    if answer.tier:
        body["service_tier"] = answer.tier
    if answer.usage is not None:
        use = answer.usage
        body["usage"] = {
            "input_tokens": use.get("input", 0),
            "output_tokens": use.get("output", 0),
            "total_tokens": use.get("input", 0) + use.get("output", 0),
        }
        if answer.details:
            body["usage"]["input_tokens_details"] = {
                "cached_tokens": use.get("cached", 0),
                **({"cache_write_tokens": use["cache_write"]} if "cache_write" in use else {}),
            }
            body["usage"]["output_tokens_details"] = {"reasoning_tokens": use.get("reasoning", 0)}
    return body
