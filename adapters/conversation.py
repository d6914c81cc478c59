"""Conversations and replies: the messages to a model and its answers.

A conversation is immutable and grows by appending: adapters can recognise the part that two
conversations share.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from time import monotonic
from typing import Any, Literal

Role = Literal["system", "user", "assistant"]
Order = Literal["picture-first", "text-first"]
"""Where the pictures of a message stand."""
Tier = Literal["default", "flex", "priority", "batch"]
"""Service levels of a provider, each with its price: as usual; when there is room; sooner; within a
day."""


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text in a message."""

    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture by reference: whose bytes (`digest`, SHA-256 of the source) and how prepared.

    `recipe` is a canonical text that names everything the prepared bytes depend on. `width` and
    `height` are the final size in pixels, known before anything is decoded.
    """

    digest: str
    recipe: str
    width: int
    height: int


Shown = Text | Picture
"""A part of a message that a person or a model looks at."""


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to a call that the model made, the `ToolCall` of this id.

    `is_error` says that it could not be carried out; the parts then say why. `state` is what the
    provider's own tool is told besides, in its words, and sent as it is.
    """

    call_id: str
    parts: tuple[Shown, ...]
    is_error: bool = False
    state: Mapping[str, Any] | None = None


Part = Shown | Result
END_TOKEN = "</s>"
"""At the end of a text: an end token follows. Only for models that declare it
(`AdapterInfo.settings`, `end_tokens`); all others are sent no such text."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. `native` is the provider's own form of a reply, sent back unchanged.

    `native` must be JSON: some models tie hidden reasoning blocks to the conversation.
    """

    role: Role
    parts: tuple[Part, ...]
    native: object = None

    @property
    def shown(self) -> tuple[Shown, ...]:
        """Its texts and pictures, in order, those of results in the place of their result."""
        return tuple(
            shown
            for part in self.parts
            for shown in (part.parts if isinstance(part, Result) else (part,))
        )

    @property
    def text(self) -> str:
        """Its texts, one after the other, without the pictures."""
        return "".join(part.text for part in self.shown if isinstance(part, Text))

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """Its pictures, in order."""
        return tuple(part for part in self.shown if isinstance(part, Picture))


def system(text: str) -> Message:
    """Return a system message."""
    return Message("system", (Text(text),))


def user(*parts: Part | str) -> Message:
    """Return a user message of texts and pictures, in the order given."""
    return Message("user", tuple(Text(p) if isinstance(p, str) else p for p in parts))


def illustrated(pictures: Iterable[Picture], *texts: str, order: Order) -> Message:
    """Return a user message of pictures and texts, in this order."""
    shown = tuple(pictures)
    return user(*shown, *texts) if order == "picture-first" else user(*texts, *shown)


def placeholder(picture: Picture) -> str:
    """Return a text in the place of a picture: its size, and the beginning of its digest."""
    return f"[picture, {picture.width} x {picture.height}, sha256 {picture.digest[:12]}]"


class Finish(StrEnum):
    """Why a reply ended."""

    STOP = "stop"
    LENGTH = "length"
    REFUSAL = "refusal"
    CONTENT_FILTER = "content_filter"
    TOO_LONG = "too_long"
    PROVIDER_REFUSED = "provider_refused"
    """The provider answered with an error about this prompt alone (an unreadable picture, say)."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, as billed.

    `input` counts every prompt token, those read from or written to a prompt cache included;
    `output` counts hidden reasoning as well.
    """

    input: int = 0
    cached: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.cached + other.cached,
            self.cache_write + other.cache_write,
            self.output + other.output,
            self.reasoning + other.reasoning,
        )


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call; `parameters` is a JSON schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]

    @property
    def strict(self) -> bool:
        """True if every argument is required and no other is allowed."""
        required, properties = (self.parameters.get(n, ()) for n in ("required", "properties"))
        return not self.parameters.get("additionalProperties", True) and set(required) == set(
            properties
        )


@dataclass(frozen=True, slots=True)
class ProviderTool:
    """A tool of the provider's own, asked for by an entry in its words, which is sent as it is.

    `tokens` are those of its definition, None if unknown: they count as input of every call.
    """

    entry: Mapping[str, Any]
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call in a reply. `arguments` are JSON as the model wrote them, of any type.

    Arguments that are not JSON stay a text: the reader decides what they are worth.
    """

    id: str
    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply. `model` is what the provider says it ran; `sent` the parameters that went out.

    `usage` is None when the server reported none. `latency_s` is the time of the successful attempt
    in seconds. `token_ids` are (prompt, reply) ids of local models. `reasoning` is what the model
    thought before it answered, where the provider hands it out apart from the text: for people to
    read, it is part of no later prompt, key or digest. `picture_tokens` are those of the prompt's
    pictures, None unless the server counts them apart. `tier` is the `Tier` that served the reply,
    "" if the provider does not say, or has another word for it. `refusal` is the provider's error
    where there is one instead of a reply. `tool_calls` are the calls that it makes, in its order.
    """

    text: str
    finish: Finish = Finish.STOP
    usage: Usage | None = None
    model: str = ""
    latency_s: float = 0.0
    native: object = None
    request_id: str = ""
    sent: Mapping[str, object] = field(default_factory=dict)
    token_ids: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    reasoning: str = ""
    picture_tokens: int | None = None
    tier: Tier | Literal[""] = ""
    refusal: str = ""
    tool_calls: tuple[ToolCall, ...] = ()

    def as_message(self) -> Message:
        """Return the reply as the assistant's turn of the conversation that goes on from it."""
        return Message("assistant", (Text(self.text),), self.native)


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages so far; `earlier` is the conversation this one was built on, by identity.

    `tools` are those that the model may call, the same in all that is built on a conversation.
    """

    messages: tuple[Message, ...]
    earlier: Conversation | None = field(default=None, compare=False, repr=False)
    tools: tuple[Tool | ProviderTool, ...] = ()

    def then(self, reply: Reply, *messages: Message) -> Conversation:
        """Append the model's reply and further messages."""
        return Conversation((*self.messages, reply.as_message(), *messages), self, self.tools)

    @property
    def added(self) -> tuple[Message, ...]:
        """The messages that `earlier` does not have."""
        return self.messages[len(self.earlier.messages) if self.earlier else 0 :]

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """The pictures of all messages, in order."""
        return tuple(p for message in self.messages for p in message.pictures)

    def digest(self) -> str:
        """Return the SHA-256 over roles, parts, native parts and tools.

        Parts are texts, pictures (digest and recipe) and results. A conversation without tools has
        the digest that it had before there were any.
        """
        plain: list[Any] = [
            [m.role, [_plain_part(p) for p in m.parts], m.native if m.role == "assistant" else None]
            for m in self.messages
        ]
        if self.tools:
            plain.append(["tools", [_plain_tool(tool) for tool in self.tools]])
        return hashlib.sha256(canonical_json(plain).encode()).hexdigest()


def _plain_tool(tool: Tool | ProviderTool) -> list[Any]:
    if isinstance(tool, ProviderTool):
        return ["provider", tool.entry]
    return [tool.name, tool.description, tool.parameters]


def _plain_part(part: Part) -> list[Any]:
    if isinstance(part, Text):
        return ["text", part.text]
    if isinstance(part, Result):
        state = [] if part.state is None else [part.state]
        return ["result", part.call_id, part.is_error, [*map(_plain_part, part.parts)], *state]
    return ["picture", part.digest, part.recipe]


def canonical_json(value: object) -> str:
    """Write a value in one spelling only: sorted keys, no blanks, text unescaped."""
    return json.dumps(
        value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
    )


class Prefixes:
    """Prefixes that this process wrote to a provider's prompt cache, kept there for `life_s`.

    If writing costs extra, a prefix is marked in the first round only if a second round will read
    it, and in the second only if this process wrote it and it has not expired: after a resumed
    first round the mark would pay for a write that is never read.
    """

    def __init__(self, life_s: float, most: int = 4096) -> None:
        self._life_s = life_s
        self._most = most
        self._written: OrderedDict[str, float] = OrderedDict()

    def marks(self, conversation: Conversation, continues: bool) -> set[int]:
        """Return the indexes of the messages whose end is to be marked.

        continues: another round is to read the conversation (`Request.continues`).
        """
        marks: set[int] = set()
        if conversation.earlier is not None and self._alive(conversation.earlier):
            marks.add(len(conversation.earlier.messages) - 1)
        if continues:
            marks.add(len(conversation.messages) - 1)
        return marks

    def wrote(self, conversation: Conversation) -> None:
        """Note that the conversation was sent with its end marked."""
        self._written[conversation.digest()] = monotonic()
        while len(self._written) > self._most:
            self._written.popitem(last=False)

    def _alive(self, conversation: Conversation) -> bool:
        written = self._written.get(conversation.digest())
        return written is not None and monotonic() - written < self._life_s
