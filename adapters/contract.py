"""The interface between the engine and a model.

An adapter turns a request into a reply or raises. It neither retries, nor waits for rate limits,
nor caches: the engine owns time. It raises `Fault` for an error that may pass, and `Fatal` for one
that will not. What the provider decided about the content (refusal, filter, output limit, prompt
too long) is not an exception but a reply with that finish reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from adapters.conversation import Conversation, Picture, Reply, Tier
from adapters.thinking import NEVER, Thinking

Coordinates = Literal["absolute", "unit", "per-mille", "per-999"]
"""How a model gives places in a picture: pixels of the picture sent, 0 to 1, 0 to 1000, or 0 to
999."""

FaultKind = Literal["rate_limit", "unavailable", "timeout", "connection", "server", "malformed"]
"""`unavailable`: the tier that the request asked for has no capacity at the moment."""


class Fault(Exception):
    """A call failed, and may succeed if it is tried again.

    `retry_after_s` is the wait in seconds that the server asked for, None if it asked for none, and
    `status` the HTTP status of its answer, if there was an answer with an error.
    """

    def __init__(
        self,
        kind: FaultKind,
        message: str,
        retry_after_s: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: FaultKind = kind
        self.retry_after_s = retry_after_s
        self.status = status

    def __reduce__(self) -> tuple[type[Fault], tuple[FaultKind, str, float | None, int | None]]:
        return Fault, (self.kind, str(self), self.retry_after_s, self.status)

    @property
    def in_short(self) -> str:
        """What went wrong, for a place with little room: `HTTP 500`, else the message."""
        return f"HTTP {self.status}" if self.status else str(self)


class Fatal(Exception):
    """A call failed and so would every other: wrong key, unknown model, unsupported input, no
    credit left.

    The message is one line for the user and never contains a key.
    """


@dataclass(frozen=True, slots=True)
class Generation:
    """Generation parameters as the user asked for them.

    A `temperature` of None means greedy decoding if the model supports it, and is not sent
    otherwise. Any other None is not sent, so that the model's default applies. `Reply.sent` says
    what was sent.
    """

    max_tokens: int = 1024
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    effort: str | None = None
    thinking_budget: int | None = None

    def plain(self) -> dict[str, object]:
        """The parameters that are set, as JSON."""
        pairs = ((name, getattr(self, name)) for name in self.__slots__)
        return {name: value for name, value in pairs if value is not None}


@dataclass(frozen=True, slots=True)
class Request:
    """One call to make."""

    conversation: Conversation
    generation: Generation
    unit_id: str
    """Groups calls that share a prefix; a provider's prompt cache is keyed by it."""
    place: str
    """Which call of its dialogue it is (`round-1`, `round-2`)."""
    continues: bool = False
    """Whether a later call will build on the reply, so that a prompt or key-value cache pays."""
    repeat: int = 0
    """Which repetition of the step it is, from 0, in a run that asks every step several times."""
    id: str = field(default="", compare=False)
    """What tells the call from all others of its run, equal ones included."""
    about: Any = field(default=None, compare=False, repr=False)
    """What baselines answer it by, where a unit is asked about step by step; not for models."""
    tier: Tier | Literal[""] = ""
    """The tier it is to be served on, one of `AdapterInfo.tiers`; "" leaves it to the provider. It
    changes no reply, and is in no key and not in `Reply.sent`."""


@dataclass(frozen=True, slots=True)
class EncodedPicture:
    """A prepared picture: JPEG or PNG bytes with their media type and size in pixels."""

    data: bytes
    media_type: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class PixelPicture:
    """A prepared picture before it is encoded: RGB bytes, row after row, and its size in pixels."""

    data: bytes
    width: int
    height: int


class PictureSource(Protocol):
    """Where an adapter gets the pictures of a conversation: as bytes to send, or as pixels."""

    async def encoded(self, picture: Picture) -> EncodedPicture:
        """The picture as bytes to send."""
        ...

    async def pixels(self, picture: Picture) -> PixelPicture:
        """The picture as pixels."""
        ...


@dataclass(frozen=True, slots=True)
class ImageRule:
    """How a model's pictures are resized, and what they cost."""

    fit: Callable[[int, int], tuple[int, int]]
    """The largest (width, height) with the same aspect ratio that the model sees without further
    shrinking, in pixels. For a model that answers in pixels, the very size that it sees: its
    numbers are read as pixels of the picture sent."""
    tokens: Callable[[int, int], int | None]
    """Tokens of a picture of this width and height, None if unknown."""
    max_side: int | None = None
    """Longest side in pixels."""
    max_bytes: int | None = None
    """Size limit of the encoded picture."""
    source: str = ""
    """Where the rule is published, with its date."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What everything that stands for a model declares about itself."""

    name: str
    """The name by which the user selected the model."""
    model: str
    """The model's name in requests."""
    provider: str
    """The provider, under which prices are listed; `local` for models on this machine."""
    revision: str | None = None
    """Of a local model: the hub's commit or a digest of the files."""
    endpoint: str | None = None
    """Base URL, if it is not the provider's own."""
    billed: bool = False
    """Whether calls cost money."""
    price_ref: str | None = None
    """The model's name in the price sheet; None if calls are free or their price is unknown."""
    concurrency: int = 8
    """The most single calls at a time."""
    context_tokens: int | None = None
    """Context length of the model, None if unknown."""
    text_tokens: Callable[[str], int] | None = None
    """Counts the tokens of a text; None: by tiktoken."""
    text_factor: float = 1.0
    """Factor on that count for estimates."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Everything else that changes replies, for the run's record and the cache key."""

    @property
    def runs_here(self) -> bool:
        """Whether the model runs on this machine, loaded by its adapter."""
        return self.provider == "local"


@dataclass(frozen=True, slots=True)
class AdapterInfo(ModelInfo):
    """What an adapter declares about itself."""

    batch_size: int | None = None
    """Requests per batch; None for adapters that take concurrent single calls."""
    batches_at_once: int = 1
    """The most batches submitted at a time, so that a busy GPU finds the next one waiting."""
    open_dialogues: int | None = None
    """The most dialogues whose state the adapter keeps between rounds; None: no limit."""
    thinking: Thinking = NEVER
    """When the model thinks before it replies; a run then has room for it in the token limit."""
    takes_pictures: bool = True
    image_rule: ImageRule | None = None
    coordinates: Coordinates | None = None
    cache_minimum: int | None = None
    """Tokens that a prefix must have for the provider's prompt cache to keep it, None if there is
    no such cache or nobody knows."""
    tiers: tuple[Tier, ...] = ()
    """The tiers that a request may ask for (`Request.tier`), and batch if the adapter is
    `Deferrable`; whether the provider sells them for this model is for its prices, or for itself,
    to say."""


@runtime_checkable
class Adapter(Protocol):
    """A model that is asked one conversation at a time."""

    @property
    def info(self) -> AdapterInfo:
        """What it declares about itself."""
        ...

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        """Ask once. Raises `Fault` or `Fatal`."""
        ...

    def notices(self) -> list[str]:
        """Notices for the user since the last call (a refused parameter, say)."""
        ...

    async def close(self) -> None:
        """Let go of connections, processes and memory."""
        ...


@dataclass(frozen=True, slots=True)
class Described:
    """A model that is described but not loaded yet."""

    info: AdapterInfo
    """What its adapter declares. A local model's batch size is known once it is loaded."""
    load: Callable[[], Adapter]
    """The adapter, ready to be asked. Raises `Fatal`; for a local model this takes minutes."""


@runtime_checkable
class BatchAdapter(Adapter, Protocol):
    """A model that is asked many conversations at a time (`info.batch_size`)."""

    async def ask_many(
        self, requests: Sequence[Request], pictures: PictureSource
    ) -> list[Reply | Fault]:
        """One result per request, in order. Raises `Fatal`."""
        ...

    async def prepare(self, request: Request, pictures: PictureSource) -> int:
        """Prepare a request on the CPU ahead of its batch. Returns the number of its tokens.

        Called as soon as the request is known; calling it again costs nothing. Raises `Fatal`.
        """
        ...

    async def release(self, unit_id: str) -> None:
        """The step is finished: drop what is kept for it."""
        ...


@runtime_checkable
class Measuring(Protocol):
    """A model that measures its sessions."""

    def measured(self) -> Mapping[str, object]:
        """Hardware, software and counts as JSON, for the record; no part of a run's identity."""
        ...
