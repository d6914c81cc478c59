"""OpenAI's Responses wire: what a server refuses, and how it answers."""

from __future__ import annotations

import binascii
import json
import re
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
    # Documented, and missing in the type.
    items = known["input"] if isinstance(known.get("input"), list) else []
    known["input"] = list(map(_without_detail, items)) if items else known.get("input")
    lenient = {"pending_safety_checks"} | (set() if stored else {"id"})
    wrong = strict.complaint(known, kind, "body", lenient)
    return wrong or _broken_rule(body, official, stored) or _broken_tool(body, stored)


def _without_detail(item: Json) -> Json:
    output = item.get("output") if isinstance(item, dict) else None
    if not isinstance(output, dict) or output.get("type") != "computer_screenshot":
        return item
    return {**item, "output": {name: output[name] for name in output if name != "detail"}}


def _broken_tool(body: Json, stored: bool) -> str | None:
    """What is wrong with tools, their calls and the answers to these."""
    items = body["input"] if isinstance(body["input"], list) else []
    kinds = {
        item["call_id"]: item["type"] for item in items if str(item.get("type"))[-5:] == "_call"
    }
    outputs = {
        item["call_id"]: item for item in items if str(item.get("type")).endswith("_call_output")
    }
    for call_id, kind in kinds.items():
        if outputs.get(call_id, {}).get("type") != f"{kind}_output":
            return f"No tool output found for {kind.replace('_', ' ')} {call_id}."
    for call_id, item in outputs.items():
        if call_id not in kinds:
            return (
                f"No tool call found for {item['type'].replace('_', ' ')} with call_id {call_id}."
            )
    for item in items:
        checks = {one["id"] for one in item.get("pending_safety_checks") or []}
        answer = outputs.get(item.get("call_id"), {})
        acknowledged = answer.get("acknowledged_safety_checks") or []
        if not checks <= {one["id"] for one in acknowledged}:
            return "Safety checks of a computer call have to be acknowledged"
    if all(tool["type"] != "computer" for tool in body.get("tools", [])):
        return None
    if not stored:
        return "The computer tool needs store"
    if not re.match(r"gpt-(5\.[4-9]|[6-9])", str(body["model"])):
        return f"The model {body['model']} does not support the computer tool"
    parts = [part for item in items for part in item.get("content") or [] if "role" in item]
    shown = [one["output"] for one in outputs.values() if isinstance(one["output"], dict)]
    pictures = [part for part in [*parts, *shown] if "image_url" in part]
    if any(picture.get("detail") != "original" for picture in pictures):
        return "The computer tool needs pictures of detail original"
    return None


def _broken_rule(body: Json, official: bool, stored: bool) -> str | None:
    items = body["input"] if isinstance(body["input"], list) else []
    effort = (body.get("reasoning") or {}).get("effort", "none")
    if official and effort != "none" and {"temperature", "top_p"} & body.keys():
        return "Unsupported parameter: 'temperature' is not supported with this model."
    if ENCRYPTED in (body.get("include") or []) and str(body["model"]).startswith("gpt-4"):
        return "Encrypted content is not supported with this model."
    echoed = [
        item
        for item in items
        if item.get("type") in {"reasoning", "message"} or str(item.get("type")).endswith("_call")
    ]
    if body.get("previous_response_id") and echoed:
        return "previous_response_id and echoed items"
    for item, following in zip(items, [*items[1:], {}], strict=True):
        if "id" in item and not stored:
            return f"Item with id '{item['id']}' not found. Items are not persisted"
        if item.get("type") == "reasoning":
            kind = str(following.get("type"))
            if following.get("role") != "assistant" and not kind.endswith(("reasoning", "_call")):
                return "Item of type 'reasoning' was provided without its required following item."
            if official and not stored and not item.get("encrypted_content"):
                return "Item of type 'reasoning' not found: it is not encrypted"
        shown = item.get("output")
        if isinstance(shown, dict) and not _is_picture(str(shown.get("image_url"))):
            return "Invalid 'image_url': not a picture in base64"
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
