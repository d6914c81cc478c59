"""Gemini's tools: what a server refuses."""

from __future__ import annotations

import re
from typing import Any

Json = dict[str, Any]
_MODELS = re.compile(
    r"gemini-(3\.[78]-flash(?!-lite)|3\.5-flash|2\.5-computer|3-flash-preview|3\.1-pro)"
)
_OLD = {
    *("open_web_browser", "click_at", "hover_at", "type_text_at", "scroll_document", "scroll_at"),
    *("wait_5_seconds", "search", "key_combination"),
}
_NEW = {
    *("click", "double_click", "triple_click", "middle_click", "right_click", "mouse_down"),
    *("mouse_up", "move", "type", "scroll", "wait", "press_key", "key_down", "key_up", "hotkey"),
    *("take_screenshot", "go_forward", "open_app", "list_apps", "long_press"),
}
"""Names that only earlier models use, and only later ones."""
_ENVIRONMENTS = {f"ENVIRONMENT_{name}" for name in ("BROWSER", "MOBILE", "DESKTOP")}


def complaint_about(path: str, body: Json) -> str | None:
    """Return why a request with tools is refused, None if it is not."""
    # Loads the SDK: only servers that are asked with tools pay for it.
    from google.genai import types
    from pydantic import ValidationError

    own = [tool["computerUse"] for tool in body["tools"] if "computerUse" in tool]
    # The SDK's types only warn of a wrong word.
    if any(one.get("environment") not in _ENVIRONMENTS for one in own):
        return "computer_use.environment is required"
    try:
        for turn in body["contents"]:
            types.Content.model_validate(turn)
        for tool in body["tools"]:
            types.Tool.model_validate(tool)
    except ValidationError as error:
        return str(error)
    if not path.startswith("/v1beta"):
        return "Unknown name: tools"
    if len([tool for tool in body["tools"] if "functionDeclarations" in tool]) > 1:
        return "Functions are declared in one list"
    model = path.rpartition("/")[2].partition(":")[0]
    if own and not _MODELS.match(model):
        return f"Computer Use is not enabled for models/{model}"
    parts = [part for turn in body["contents"] for part in turn.get("parts") or []]
    called = {part["functionCall"]["name"] for part in parts if "functionCall" in part}
    if own and called & _OLD and called & _NEW:
        return "No model calls functions under both their old and new names"
    return _broken_turn(body["contents"], is_signed=bool(own))


def _broken_turn(turns: list[Json], is_signed: bool) -> str | None:
    waiting: list[Json] = []
    for turn in turns:
        parts = turn.get("parts") or []
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        if turn["role"] == "model":
            first = next((part for part in parts if "functionCall" in part), None)
            if first and is_signed and "thoughtSignature" not in first:
                return "Function call is missing a thought_signature"
            waiting = calls
            continue
        if len(answers) != len(waiting):
            return "The number of function response parts is not that of function call parts"
        for call, answer in zip(waiting, answers, strict=True):
            if any(call.get(name) != answer.get(name) for name in ("id", "name")):
                return f"No function call has the name and id of {answer.get('name')}"
            said = answer["response"]
            checked = (call.get("args") or {}).get("safety_decision")
            if is_signed and "url" not in said:
                return "The response of a computer use function needs a url"
            if checked and str(said.get("safety_acknowledgement")).lower() != "true":
                return "A safety decision has to be acknowledged"
        waiting = []
    return "Function calls have no responses" if waiting else None
