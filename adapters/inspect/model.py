"""A model that Inspect AI asks: one `generate()` per call, described as our own adapter would.

The declaration of our adapter of the same model decides the pictures, their size and when the model
thinks. inspect's `openai/gpt-5.4` is our `openai:gpt-5.4`; models of other providers are taken as
models behind a server, known by name; an unknown model gets a plain description, unless the user
names the model it equals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from inspect_ai.model import ChatMessage, ChatMessageAssistant, GenerateConfig, Model, ModelOutput

from adapters.catalog import describe
from adapters.contract import (
    AdapterInfo,
    EncodedPicture,
    Fault,
    Generation,
    PictureSource,
    Request,
)
from adapters.conversation import Conversation, Picture, Reply
from adapters.inspect.messages import chat_messages, reply_of

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
