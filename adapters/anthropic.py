"""Anthropic's Claude models, through the Messages API.

Pictures are resized before they are sent and the API is asked to refuse larger ones, because by
default it shrinks them silently. Current models refuse sampling parameters, and the SDK has none:
what the user asks for is put into the body, and left out with a notice when refused. Written
against anthropic 2.11, November 2026.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from adapters import prices
from adapters.api import ApiAdapter, hosted, picture_text, said_before, served_on
from adapters.api_client import Json, SdkClient
from adapters.checks import counted, held_or_none, named, usage_of
from adapters.contract import (
    Adapter,
    AdapterInfo,
    Fatal,
    Generation,
    ImageRule,
    PictureSource,
    Request,
)
from adapters.conversation import (
    Conversation,
    Message,
    Prefixes,
    ProviderTool,
    Reply,
    Result,
    Shown,
    Text,
    Tier,
    Tool,
    ToolCall,
    Usage,
)
from adapters.endpoints import Endpoint, check_headers_in, find_endpoint, need_model, need_package
from adapters.event_streams import messages_answer
from adapters.registry import load
from adapters.thinking import Thinking, thinking_of

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

CACHE_LIFE_S = 5 * 60.0
_CACHED: Json = {"type": "ephemeral"}


def anthropic(
    model: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    timeout_s: float = 120.0,
    concurrency: int = 8,
    ends: tuple[str, ...] | None = None,
) -> Adapter:
    """Make an adapter for Claude.

    Args:
        ends: further words for the usual end of a reply (`stop_reason`).

    Raises `Fatal` for a missing key or a bad address.
    """
    need_package("anthropic", "anthropic")
    check_headers_in("ANTHROPIC_CUSTOM_HEADERS")
    endpoint = find_endpoint(
        "anthropic",
        base_url=base_url,
        api_key=api_key,
        default="https://api.anthropic.com",
        hosts=["anthropic.com"],
        url_variable="ANTHROPIC_BASE_URL",
        key_variables=["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
    )
    return AnthropicAdapter(
        need_model(model, "anthropic:claude-sonnet-5-5"),
        endpoint,
        timeout_s=timeout_s,
        concurrency=concurrency,
        ends=ends,
    )


class _Answer(msgspec.Struct):
    # Blocks; from some gateways a text.
    content: list[Json] | str
    stop_reason: str | None = None
    id: object = None
    model: object = None
    usage: object = None
    error: object = None


class AnthropicAdapter(SdkClient[AdapterInfo], ApiAdapter):
    """One Claude model.

    An effort of "none" switches thinking off; other efforts are sent unchanged, and switch it on
    for models that do not think by default.
    """

    spellings: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "temperature": (),
        "top_p": (),
        "thinking": ("budget_tokens",),
        "output_config": ("effort",),
        "transformations": (),
        "cache_control": (),
    }
    content_fields = frozenset(("transformations", "cache_control"))
    answers = _Answer
    streaming: ClassVar[Mapping[str, object]] = {"stream": True}
    sdk = "anthropic"
    path = "/v1/messages"
    models_path = "/v1/models"
    # "auto" uses priority capacity if the account has bought any.
    tier_words: ClassVar[Mapping[Tier, str]] = {"default": "standard_only", "priority": "auto"}

    def __init__(self, model: str, endpoint: Endpoint, *, concurrency: int, **more: Any) -> None:
        """`more` are the options of `ApiAdapter`."""
        self._facts = facts_of(model)
        self._prefixes = Prefixes(CACHE_LIFE_S)
        info = hosted(
            endpoint,
            model,
            settings={"api": "messages", "oversized_image": "error"},
            concurrency=concurrency,
            context_tokens=prices.context_tokens("anthropic", model),
            image_rule=self._facts.rule,
            coordinates="absolute",
            takes_tools=True,
            cache_minimum=self._facts.cache_minimum,
            tiers=(*self.tier_words, "batch"),
            text_factor=1.2,  # tiktoken counts 15 to 20 % too few for Claude
        )
        super().__init__(info, endpoint, **more)

    @cached_property
    def client(self) -> AsyncAnthropic:
        from anthropic import AsyncAnthropic

        key = self._endpoint.key or "none"
        return AsyncAnthropic(
            api_key=key,
            # The SDK adds /v1 by itself.
            base_url=self._endpoint.url.rstrip("/").removesuffix("/v1"),
            max_retries=0,
            http_client=self.http,
            # Gateways that know only the older header; the SDK sends the key as a bearer token.
            default_headers=None if self._endpoint.is_official else {"x-api-key": key},
            open_telemetry=False,
        )

    def deferring(self) -> Any:
        """Return the way to send requests in batches."""
        return load("adapters.batches.anthropic:AnthropicBatches")(self, self.client)

    async def _compose(self, request: Request, pictures: PictureSource) -> Json:
        conversation = request.conversation
        marks = (
            self._prefixes.marks(request.conversation, request.continues)
            if self._worth_caching(conversation)
            else set()
        )
        system = "\n\n".join(m.text for m in conversation.messages if m.role == "system")
        toolsets = {
            block["id"]: block["toolset_name"]
            for message in conversation.messages
            for block in (message.native if isinstance(message.native, list) else [])
            if block.get("type") == "tool_use" and "toolset_name" in block
        }
        body: Json = {
            "model": self._info.model,
            "messages": [
                await self._message(message, pictures, number in marks, toolsets)
                for number, message in enumerate(conversation.messages)
                if message.role != "system"
            ],
        }
        if system:
            body["system"] = [{"type": "text", "text": system}]
        if conversation.tools:
            body["tools"] = list(map(_tool, conversation.tools))
        return body

    async def _message(
        self, message: Message, pictures: PictureSource, marked: bool, toolsets: Mapping[str, str]
    ) -> Json:
        """Return a message. `toolsets`: those that earlier calls were of, by the id of the call."""
        if message.role == "assistant":
            return {"role": "assistant", "content": message.native or said_before(message)}
        content: list[Json] = []
        for part in message.parts:
            if not isinstance(part, Result):
                content.append(await self._shown(part, pictures))
                continue
            shown = [await self._shown(one, pictures) for one in part.parts]
            shown += [] if part.state is None else [dict(part.state)]
            result: Json = {"type": "tool_result", "tool_use_id": part.call_id, "content": shown}
            if part.call_id in toolsets:
                result["toolset_name"] = toolsets[part.call_id]
            if part.is_error:
                words = (one.text for one in part.parts if isinstance(one, Text))
                result |= {"content": "".join(words), "is_error": True}
            content.append(result)
        if marked and content and "cache_control" not in self._refused:
            content[-1]["cache_control"] = _CACHED
        return {"role": "user", "content": content}

    async def _shown(self, part: Shown, pictures: PictureSource) -> Json:
        if isinstance(part, Text):
            return {"type": "text", "text": part.text}
        picture = await pictures.encoded(part)
        source = {
            "type": "base64",
            "media_type": picture.media_type,
            "data": picture_text(picture),
        }
        image: Json = {"type": "image", "source": source}
        if "transformations" not in self._refused:
            image["transformations"] = {"oversized_image": "error"}
        return image

    def _worth_caching(self, conversation: Conversation) -> bool:
        """Return whether the first round's prefix is long enough to be cached."""
        tokens = sum(len(m.text) for m in conversation.messages) / 4 * self._info.text_factor
        count = self._facts.rule.tokens
        tokens += sum(count(p.width, p.height) or 0 for p in conversation.pictures)
        return tokens >= self._facts.cache_minimum

    def _parameters(self, generation: Generation, request: Request) -> Json:
        wanted: Json = {"max_tokens": generation.max_tokens}
        if generation.temperature is not None:
            wanted["temperature"] = generation.temperature
        if generation.top_p is not None:
            wanted["top_p"] = generation.top_p
        if generation.seed is not None:
            self._notify(f"{self._info.name}: Anthropic's API has no seed: not sent")
        budget = generation.thinking_budget
        if budget is not None and budget >= generation.max_tokens:
            raise Fatal("the thinking budget must be below --max-tokens, which counts it as well")
        if budget == 0 or generation.effort == "none":
            wanted["thinking"] = {"type": "disabled"}
        elif budget is not None:
            wanted["thinking"] = {"type": "enabled", "budget_tokens": budget}
        if generation.effort not in {None, "none"}:
            wanted["output_config"] = {"effort": generation.effort}
            thinking = self._facts.thinking
            if budget is None and "effort" in thinking.switches and not thinking.by_default:
                wanted["thinking"] = {"type": "adaptive"}
        return wanted

    def _done(self, request: Request, reply: Reply) -> None:
        if request.continues and self._worth_caching(request.conversation):
            self._prefixes.wrote(request.conversation)

    def _joined(self, stream: Iterable[Json]) -> Json:
        return messages_answer(stream)

    def _read(self, answer: _Answer, headers: Mapping[str, str]) -> Reply:
        whole = answer.content
        blocks = [{"type": "text", "text": whole}] if isinstance(whole, str) else whole
        texts: list[Any] = [block.get("text") for block in blocks if block.get("type") == "text"]
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("a block of text without a text")
        text = "".join(texts)
        # A call that was cut off is no call, but it says that the prompt was not too long.
        said = text or "".join(str(b.get("name")) for b in blocks if b.get("type") == "tool_use")
        blocks = _whole(blocks, answer.stop_reason)
        calls = _calls(blocks)
        thoughts = [block.get("thinking") for block in blocks if block.get("type") == "thinking"]
        told = answer.usage if isinstance(answer.usage, dict) else {}
        return Reply(
            text=text,
            finish=self._finish(answer.stop_reason, said, answer.error),
            usage=self._counted(answer.usage, usage(told), text),
            model=named(answer.model),
            native=held_or_none(_native(blocks)) if calls else _native(blocks),
            request_id=named(headers.get("request-id")) or named(answer.id),
            reasoning="\n\n".join(one for one in thoughts if one and isinstance(one, str)),
            tier=served_on(told.get("service_tier")),
            tool_calls=calls,
        )


def _tool(tool: Tool | ProviderTool) -> Json:
    """Return the entry of a tool. A provider's definition is long: it is read from the cache."""
    if isinstance(tool, ProviderTool):
        return {**tool.entry, "cache_control": _CACHED}
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": dict(tool.parameters),
        **({"strict": True} if tool.strict else {}),
    }


def _whole(blocks: list[Json], reason: str | None) -> list[Json]:
    """Return the blocks of a reply without its last call if that may be half of one."""
    is_cut = reason in ("max_tokens", "model_context_window_exceeded")
    half = is_cut and blocks and blocks[-1].get("type") == "tool_use"
    return blocks[:-1] if half else blocks


def _calls(blocks: list[Json]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(
            named(block.get("id")),
            ".".join(filter(None, map(named, (block.get("toolset_name"), block.get("name"))))),
            held_or_none(block.get("input")),
        )
        for block in blocks
        if block.get("type") == "tool_use"
    )


def _native(content: list[Json]) -> object:
    """Return the blocks as they came when there are others than text: thinking must go back
    unchanged."""
    if all(block.get("type") == "text" for block in content):
        return None
    return [b for b in content if b.get("type") != "text" or str(b.get("text", "")).strip()]


@dataclass(frozen=True, slots=True)
class ClaudeFacts:
    """`cache_minimum`: a shorter prefix is silently not cached."""

    rule: ImageRule
    cache_minimum: int
    thinking: Thinking


_CACHE_MINIMUM = {(3, 5): 2048, (4, 7): 2048, (4, 8): 1024, (5, 0): 512, (5, 1): 512, (5, 5): 512}


def facts_of(model: str) -> ClaudeFacts:
    """Return the facts of a Claude model by the version in its name (the newest without one)."""
    match = re.match(r"claude-(?:[a-z]+-)?(\d+)(?:-(\d{1,2}))?(?!\d)", model)
    version = (int(match[1]), int(match[2] or 0)) if match else (9, 0)
    minimum = _CACHE_MINIMUM.get(version, 1024 if version < (5, 0) else 512)
    if version in {(4, 5), (4, 6)} and "sonnet" not in model:
        minimum = 4096
    if model.startswith("claude-sonnet-5") and version == (5, 0):
        minimum = 1024
    rule = image_rule(2576, 4784) if version >= (4, 7) else image_rule(1568, 1568)
    return ClaudeFacts(rule, minimum, thinking_of(model))


def usage(told: dict[str, Any]) -> Usage | None:
    """Return the tokens of a call, as billed; None if they are not counted."""
    read = told.get("cache_read_input_tokens") or 0
    written = told.get("cache_creation_input_tokens") or 0
    plain, details = told.get("input_tokens"), told.get("output_tokens_details")
    parts = [counted(one) for one in (plain, read, written)]
    return usage_of(
        # The API counts tokens of the prompt cache apart.
        input=None if None in parts else sum(one or 0 for one in parts),
        output=told.get("output_tokens"),
        cached=read,
        cache_write=written,
        reasoning=details.get("thinking_tokens") if isinstance(details, dict) else None,
    )


def image_rule(edge: int, limit: int) -> ImageRule:
    """Claude: patches of 28 px; the largest size whose padded sides and patches are allowed."""

    def patches(width: int, height: int) -> int:
        return ceil(width / 28) * ceil(height / 28)

    def fit(width: int, height: int) -> tuple[int, int]:
        longest, shortest = max(width, height), min(width, height)

        def at(long: int) -> tuple[int, int]:
            return long, max(1, round(shortest * long / longest))

        def too_large(long: int) -> bool:
            return ceil(long / 28) * 28 > edge or patches(*at(long)) > limit

        size = at(1 + bisect_left(range(2, longest + 1), True, key=too_large))
        return size if width >= height else size[::-1]

    return ImageRule(
        fit,
        lambda w, h: patches(*fit(w, h)),
        max_side=edge,
        # The API takes 10 MB in base64; a quarter of that is the encoding.
        max_bytes=7_500_000,
        many=(20, 2000),
        source="Anthropic, vision guide, 2026-11",
    )
