"""Anthropic's tools: what a server refuses."""

from __future__ import annotations

import io
import re
from base64 import b64decode
from math import ceil
from typing import Any

from tests.servers import strict

Json = dict[str, Any]
_MODELS = re.compile(r"claude-(opus-(4-8|5)|sonnet-5|haiku-5-5|(fable|mythos)-5)")
_TABS = {"list_tabs", "new_tab", "switch_tab", "close_tab"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_OFF = {"file_upload", "read_console", "read_network", "javascript_exec"}
"""Members that are off unless they are enabled."""
MOST_PX, MOST_PATCHES, MANY, MOST_OF_MANY_PX, LONGEST = 2576, 4784, 20, 2000, 4096
MOST_MARKS = 4


def complaint_about(body: Json) -> str | None:
    """Return why a request with tools is refused, None if it is not."""
    # Loads the SDK: only servers that are asked with tools pay for it.
    from anthropic.types import message_create_params as params

    known = {name: value for name, value in body.items() if name != "stream"}
    wrong = strict.complaint(known, params.MessageCreateParamsNonStreaming, "body")
    return wrong or _broken_entry(body) or _broken_turn(body["messages"]) or _too_large(body)


def _members(name: str) -> set[str]:
    from anthropic import types

    return set(strict.hints_of(getattr(types, f"{name.capitalize()}ToolsetConfigsParam")))


def _broken_entry(body: Json) -> str | None:
    model, choice = body["model"], body.get("tool_choice") or {}
    own = [tool for tool in body["tools"] if "_toolset_" in str(tool.get("type"))]
    names = [tool["type"].partition("_")[0] for tool in own]
    if own and not _MODELS.match(model):
        return f"{own[0]['type']} is not supported by {model}"
    if len(set(names)) < len(names):
        return "A toolset is given twice"
    if any(tool.get("name") in names for tool in body["tools"]):
        return "A tool has the name of a toolset"
    known = set(names).union(*map(_members, names))
    if choice.get("type") == "tool" and choice.get("name") in known:
        return "tool_choice cannot name a toolset or a member"
    if str(body).count("'cache_control': {") > MOST_MARKS:
        return f"A maximum of {MOST_MARKS} blocks with cache_control may be provided"
    for name, tool in zip(names, own, strict=True):
        configs = tool.get("configs", {})
        members = _members(name) - (_OFF - configs.keys())
        if not any(configs.get(member, {}).get("enabled", True) for member in members):
            return "All members of a toolset are off"
        deferred = any(config.get("defer_loading") for config in configs.values())
        if deferred and tool.get("cache_control"):
            return "cache_control cannot be set on a deferred toolset"
    if re.search(r"-5-5\b", model):
        if choice.get("type") in ("any", "tool"):
            return "tool_choice cannot force a call of this model"
        if (body.get("thinking") or {}).get("type") == "disabled":
            return "thinking cannot be disabled for this model"
    return None


def _blocks(message: Json, kind: str) -> list[Json]:
    content = message["content"]
    listed = content if isinstance(content, list) else []
    return [block for block in listed if block.get("type") == kind]


def _broken_turn(messages: list[Json]) -> str | None:
    waiting: dict[str, Json] = {}
    for message in messages:
        results = {block["tool_use_id"]: block for block in _blocks(message, "tool_result")}
        if results.keys() != waiting.keys():
            return "Each `tool_use` needs a `tool_result` in the next message, and no other has one"
        for id, call in waiting.items():
            if call.get("toolset_name") != results[id].get("toolset_name"):
                return "toolset_name of a result has to be that of its call"
            content = results[id].get("content") or []
            broken = _broken_error if results[id].get("is_error") else _broken_result
            if wrong := broken(call, content):
                return wrong
        calls = _blocks(message, "tool_use") if message["role"] == "assistant" else []
        waiting = {block["id"]: block for block in calls}
    return "The last message has calls without results" if waiting else None


def _broken_error(call: Json, content: str | list[Json]) -> str | None:
    if not content:
        return "An error needs a text"
    if isinstance(content, list) and any(block["type"] != "text" for block in content):
        return "An error holds text only"
    return None


def _broken_result(call: Json, content: str | list[Json]) -> str | None:
    blocks = content if isinstance(content, list) else []
    states = [block for block in blocks if block["type"] == "browser_state"]
    if states and call.get("toolset_name") != "browser":
        return "Only results of the browser toolset have a browser_state"
    is_tab = call.get("toolset_name") == "browser" and call["name"] in _TABS
    if len(states) > 1 or (is_tab and (len(states), len(blocks)) != (1, 1)):
        return "A tab member is answered by one browser_state and nothing else"
    for state in states:
        if [tab.get("active") for tab in state["tabs"]].count(True) != 1:
            return "Exactly one tab is active"
        if state.get("state_changes") == []:
            return "state_changes is left out where nothing changed"
        words = [tab[name] for tab in state["tabs"] for name in ("tab_id", "title", "url")]
        if any(_CONTROL.search(word) or len(word) > LONGEST for word in words):
            return "A title or address is too long, or has control characters"
    return None


def _too_large(body: Json) -> str | None:
    shown = [
        block
        for message in body["messages"]
        for part in (message["content"] if isinstance(message["content"], list) else [])
        for block in (part["content"] if isinstance(part.get("content"), list) else [part])
        if block.get("type") == "image"
    ]
    for block in shown:
        width, height = _size(block["source"]["data"])
        if len(shown) > MANY and max(width, height) > MOST_OF_MANY_PX:
            return f"With more than {MANY} pictures no side may be over {MOST_OF_MANY_PX} px"
        patches = ceil(width / 28) * ceil(height / 28)
        if max(width, height) > MOST_PX or patches > MOST_PATCHES:
            return f"A picture of {width} x {height} is too large"
    return None


def _size(data: str) -> tuple[int, int]:
    """The size of a picture; (0, 0) for what tests send in its place."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(b64decode(data))) as picture:
            return picture.size
    except UnidentifiedImageError:
        return 0, 0
