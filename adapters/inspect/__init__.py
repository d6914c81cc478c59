"""Inspect AI: conversations and replies in its form, and a model that it asks.

    messages = chat_messages(conversation.messages, show)   # what inspect sends and logs
    output = model_output(reply)                            # a reply of ours
    reply = reply_of(output)                                # a reply of inspect's

A model is asked by one `generate()` per call, and described as our own adapter would. The
declaration of our adapter of the same model decides the pictures, their size and when the model
thinks. inspect's `openai/gpt-5.4` is our `openai:gpt-5.4`; models of other providers are taken as
models behind a server, known by name; an unknown model gets a plain description, unless the user
names the model it equals.

Importing this module imports inspect_ai. Written against inspect-ai 0.3.285, November 2026.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple, Protocol

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    Content,
    ContentImage,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelUsage,
    StopDetails,
    StopReason,
)

from adapters.catalog import describe
from adapters.contract import (
    AdapterInfo,
    EncodedPicture,
    Fault,
    Generation,
    PictureSource,
    Request,
)
from adapters.conversation import Conversation, Finish, Picture, Reply, Text, Usage, placeholder

_REFUSALS = {finish.value: finish for finish in (Finish.REFUSAL, Finish.PROVIDER_REFUSED)}
"""The types of `StopDetails` that tell a refusal from a provider's filter."""

STOP_REASONS: dict[Finish, StopReason] = {
    Finish.STOP: "stop",
    Finish.LENGTH: "max_tokens",
    Finish.REFUSAL: "content_filter",
    Finish.CONTENT_FILTER: "content_filter",
    Finish.TOO_LONG: "model_length",
    Finish.PROVIDER_REFUSED: "content_filter",
}
_FINISHES: dict[str, Finish] = {
    "max_tokens": Finish.LENGTH,
    "content_filter": Finish.CONTENT_FILTER,
    "model_length": Finish.TOO_LONG,
}


_REASONS = {
    **dict.fromkeys(
        ("parse_error", "no_element", "ambiguous", "out_of_range"), "invalid_response_format"
    ),
    "empty": "no_response",
}


class Turn(Protocol):
    """A message: of a conversation (`adapters.Message`), or on record in `calls.jsonl`."""

    @property
    def role(self) -> str: ...

    @property
    def parts(self) -> Sequence[Text | Picture | str]: ...


Show = Callable[[Picture], EncodedPicture | str]
"""The bytes of a picture, or a text in its place."""


def chat_messages(messages: Iterable[Turn], show: Show = placeholder) -> list[ChatMessage]:
    """Return the messages as inspect has them, in order; `show` is asked for every picture."""
    return [_chat_message(message, show) for message in messages]


def model_output(reply: Reply, model: str = "") -> ModelOutput:
    """Return a reply as inspect has it. `model` is who was asked, for replies that do not say."""
    refused = reply.finish.value in _REFUSALS
    choice = ChatCompletionChoice(
        message=assistant(reply, model),
        stop_reason=STOP_REASONS[reply.finish],
        stop_details=StopDetails(type=reply.finish.value) if refused else None,
    )
    return ModelOutput(
        model=reply.model or model,
        choices=[choice],
        usage=model_usage(reply.usage) if reply.usage else None,
        time=reply.latency_s,
        response_id=reply.request_id or None,
    )


def assistant(reply: Reply, model: str = "") -> ChatMessageAssistant:
    """Return the message of a reply, with what the model thought if that is on record."""
    content: str | list[Content] = reply.text
    if reply.reasoning:
        content = [ContentReasoning(reasoning=reply.reasoning), ContentText(text=reply.text)]
    return ChatMessageAssistant(
        content=content, source="generate", model=reply.model or model or None
    )


def reply_of(output: ModelOutput) -> Reply:
    """Return a reply of inspect's as a protocol reads it, without `native` and `sent`.

    A refusal or a filter in place of a reply is a finish reason here, too.
    Raises ValueError for an output without a choice.
    """
    if output.empty:
        raise ValueError(output.error or "a reply without a choice")
    (choice, *_) = output.choices
    content = choice.message.content_list
    thoughts = [part.reasoning for part in content if isinstance(part, ContentReasoning)]
    return Reply(
        choice.message.text,
        _finish(choice),
        usage_of(output.usage) if output.usage else None,
        output.model,
        output.time or 0.0,
        request_id=output.response_id or "",
        reasoning="\n\n".join(filter(None, thoughts)),
    )


def model_usage(usage: Usage) -> ModelUsage:
    """Count tokens as inspect does: those of the prompt cache are no `input_tokens`."""
    return ModelUsage(
        input_tokens=max(usage.input - usage.cached - usage.cache_write, 0),
        output_tokens=usage.output,
        total_tokens=usage.input + usage.output,
        input_tokens_cache_write=usage.cache_write or None,
        input_tokens_cache_read=usage.cached or None,
        reasoning_tokens=usage.reasoning or None,
    )


def score_reason(status: str) -> str | None:
    """Return inspect's word for how an abnormal answer ended (`parsers.records.Status`), else ours.

    >>> score_reason("answered"), score_reason("ambiguous"), score_reason("truncated")
    (None, 'invalid_response_format', 'truncated')
    """
    return None if status == "answered" else _REASONS.get(status, status)


def usage_of(usage: ModelUsage) -> Usage:
    """Count tokens as we do: `input` has all of the prompt."""
    cached, written = usage.input_tokens_cache_read or 0, usage.input_tokens_cache_write or 0
    return Usage(
        input=usage.input_tokens + cached + written,
        cached=cached,
        cache_write=written,
        output=usage.output_tokens,
        reasoning=usage.reasoning_tokens or 0,
    )


def _chat_message(message: Turn, show: Show) -> ChatMessage:
    parts: list[Content] = [_content(part, show) for part in message.parts]
    alone = parts[0] if len(parts) == 1 else None
    content = alone.text if isinstance(alone, ContentText) else parts
    if message.role == "system":
        return ChatMessageSystem(content=content)
    if message.role == "assistant":
        return ChatMessageAssistant(content=content)
    return ChatMessageUser(content=content)


def _content(part: Text | Picture | str, show: Show) -> ContentText | ContentImage:
    shown = show(part) if isinstance(part, Picture) else part
    if isinstance(shown, EncodedPicture):
        encoded = b64encode(shown.data).decode()
        return ContentImage(image=f"data:{shown.media_type};base64,{encoded}")
    return ContentText(text=shown.text if isinstance(shown, Text) else shown)


def _finish(choice: ChatCompletionChoice) -> Finish:
    said = any(
        isinstance(part, ContentText) and part.refusal for part in choice.message.content_list
    )
    if said:
        return Finish.REFUSAL
    if choice.stop_reason == "content_filter" and choice.stop_details is not None:
        return _REFUSALS.get(choice.stop_details.type or "", Finish.CONTENT_FILTER)
    return _FINISHES.get(choice.stop_reason, Finish.STOP)


SAME = frozenset({"openai", "anthropic", "google"})
"""The providers that both know by the same name."""
UNKNOWN = frozenset({"mockllm", "none"})
"""Models that are none."""
SAMPLING = frozenset({"hf"})
"""Providers that refuse temperature 0; `-M do_sample=false` makes them decode greedily."""
_SERVER = "http://localhost/v1"
"""Placeholder for the address of a server that only inspect knows."""


class Known:
    """Declaration and default parameters of our adapter of the same model.

    Args:
        name: inspect's name of the model.
        described_as: our name of the model that it equals.
        own_address: whether it is at another address than the provider's own.
        options: those of our adapter that say what the model takes (`max_pixels`).

    Raises `Fatal` for an option that the adapter does not take, `UnknownName` for `described_as`.
    """

    def __init__(
        self,
        name: str,
        *,
        described_as: str | None = None,
        own_address: bool = False,
        options: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        provider, _, model = name.partition("/")
        ours, ours_options = described_as, dict(options)
        self._samples = provider in SAMPLING
        if described_as is None and provider in UNKNOWN and not options:
            self.info = AdapterInfo(name=name, model=model, provider=provider)
            return
        if described_as is None and provider in SAME and not own_address:
            ours = f"{provider}:{model.rpartition('/')[2]}"
        elif described_as is None:
            ours = f"openai:{model}"
            ours_options["base_url"] = _SERVER
        info = describe(str(ours), loads=False, **ours_options).info
        self.info = replace(info, name=name, model=model, provider=provider)

    @property
    def greedy(self) -> bool:
        """True if our adapter asks for temperature 0 where the user asks for none."""
        return not self._samples and self.info.greedy(Generation())


class _Said(NamedTuple):
    """Messages sent and the answer; keeping the conversation keeps its `id()` from being reused."""

    conversation: Conversation
    messages: list[ChatMessage]
    answer: ChatMessageAssistant


class InspectModel:
    """Asks for one dialogue.

    A reply goes back as the very message that inspect gave, with whatever reasoning its provider
    wants to see again. Failures are inspect's own errors: it has tried again by then.

    said: what was asked last, and the reply, as inspect has them.
    """

    def __init__(self, model: Model, known: Known) -> None:
        self._model = model
        self._known = known
        self._said: dict[int, _Said] = {}
        self.said: tuple[list[ChatMessage], ModelOutput] | None = None

    @property
    def info(self) -> AdapterInfo:
        return self._known.info

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        """Ask once. Raises what inspect raises, and `Fault` for an output without a reply."""
        conversation = request.conversation
        messages = await self._messages(conversation, pictures)
        output = await self._model.generate(messages, config=self._config(request.generation))
        try:
            reply = reply_of(output)
        except ValueError as error:
            raise Fault("malformed", f"{self.info.name}: {error}") from error
        self._said[id(conversation)] = _Said(conversation, messages, output.message)
        self.said = messages, output
        return reply

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        return None

    async def _messages(
        self, conversation: Conversation, pictures: PictureSource
    ) -> list[ChatMessage]:
        """Return the conversation as inspect has it, built on what was sent of it before."""
        before: list[ChatMessage] = []
        added = conversation.messages
        said = self._said.get(id(conversation.earlier))
        if said is not None and conversation.added and conversation.added[0].role == "assistant":
            before, added = [*said.messages, said.answer], conversation.added[1:]
        shown: dict[Picture, EncodedPicture] = {}
        for message in added:
            for picture in message.pictures:
                if picture not in shown:
                    shown[picture] = await pictures.encoded(picture)
        return [*before, *chat_messages(added, shown.__getitem__)]

    def _config(self, generation: Generation) -> GenerateConfig:
        temperature = generation.temperature
        if temperature is None and self._known.greedy:
            temperature = 0.0
        return GenerateConfig(
            max_tokens=generation.max_tokens,
            temperature=temperature,
            top_p=generation.top_p,
            seed=generation.seed,
        )
