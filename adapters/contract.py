"""The one contract between the engine and a model.

An adapter turns a request into a reply or raises. It neither retries, nor waits for rate limits,
nor caches: the engine owns time. It raises `Fault` for what may pass on another try and `Fatal` for
what will not; what the provider decided about the content (refusal, filter, output limit, prompt
too long) is no exception but a reply with that finish reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from adapters.conversation import Conversation, Picture, Reply

Coordinates = Literal["absolute", "unit", "per-mille"]
"""How a model gives places in a picture: pixels of the picture sent, 0 to 1, or 0 to 1000."""

FaultKind = Literal["rate_limit", "timeout", "connection", "server", "malformed"]


class Fault(Exception):
    """A call failed in a way that another try may mend.

    `retry_after_s` is what the server asked us to wait, in seconds; None when it said nothing.
    """

    def __init__(self, kind: FaultKind, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.kind: FaultKind = kind
        self.retry_after_s = retry_after_s

    def __reduce__(self) -> tuple[type[Fault], tuple[FaultKind, str, float | None]]:
        return Fault, (self.kind, str(self), self.retry_after_s)


class Fatal(Exception):
    """A call failed and so would every other: wrong key, unknown model, no such input, no money.

    The message is one line for the user and never contains a key.
    """


@dataclass(frozen=True, slots=True)
class Generation:
    """What the user asked for.

    A `temperature` of None means greedy where the model takes it and else nothing; any other None
    means that nothing is sent and the model's default holds. `Reply.sent` says what went out.
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
    """One call to make.

    `step_id` groups calls that share a prefix (a provider's prompt cache is keyed by it). `place`
    names the call within its dialogue (`round-1`, `round-2`). `continues` says that the reply will
    be built on, so that a prompt cache or key-value cache pays. `repeat` counts the times that a
    step is asked anew in one run.
    """

    conversation: Conversation
    generation: Generation
    step_id: str
    place: str
    continues: bool = False
    repeat: int = 0


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

    async def encoded(self, picture: Picture) -> EncodedPicture: ...

    async def pixels(self, picture: Picture) -> PixelPicture: ...


@dataclass(frozen=True, slots=True)
class ImageRule:
    """What a provider does to pictures.

    `fit(width, height)` gives the largest size with the same aspect that it takes and looks at
    without shrinking; `tokens(width, height)` what such a picture costs (None: not known).
    `source` says where the rule comes from and of which date.
    """

    fit: Callable[[int, int], tuple[int, int]]
    tokens: Callable[[int, int], int | None]
    max_side: int | None = None
    max_bytes: int | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class AdapterInfo:
    """What an adapter declares about itself.

    `name` is how the user selected it; `model` what is asked for; `provider` and `price_ref` find
    the price sheet entry (None: free or unknown, see `billed`). `batch_size` is None for adapters
    that like concurrent single calls (at most `concurrency`), else how many requests a batch
    holds; `batches_at_once` batches may be under way, so that the next one waits at the door of a
    busy GPU. `open_dialogues` bounds the dialogues whose state the adapter keeps between rounds.
    `context_tokens` is the model's context, None when unknown. `text_tokens` estimates the tokens
    of a text. `settings` is everything else that changes replies, for the run's record and the
    cache key.
    """

    name: str
    model: str
    provider: str
    revision: str | None = None
    endpoint: str | None = None
    billed: bool = False
    price_ref: str | None = None
    concurrency: int = 8
    batch_size: int | None = None
    batches_at_once: int = 1
    open_dialogues: int | None = None
    context_tokens: int | None = None
    takes_pictures: bool = True
    image_rule: ImageRule | None = None
    coordinates: Coordinates | None = None
    text_tokens: Callable[[str], int] | None = None
    text_factor: float = 1.0
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def runs_here(self) -> bool:
        """Whether the model runs on this machine, loaded by its adapter."""
        return self.provider == "local"


@runtime_checkable
class Adapter(Protocol):
    """A model that is asked one conversation at a time."""

    @property
    def info(self) -> AdapterInfo: ...

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        """Ask once. Raises `Fault` or `Fatal`."""
        ...

    def notices(self) -> list[str]:
        """What the user should be told once (a refused parameter, say), since the last call."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Described:
    """A model that is known and not loaded yet."""

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
        """Do the CPU's work of a request ahead of its batch, and say how many tokens it has.

        Called as soon as the request is known, and again at no cost. Raises `Fatal`.
        """
        ...

    async def release(self, step_id: str) -> None:
        """The step is done: whatever state was kept for it may go."""
        ...


@runtime_checkable
class Measuring(Protocol):
    """A model that knows what a session of it was like."""

    def measured(self) -> Mapping[str, object]:
        """What it ran on and how it went, as JSON, for the record: no part of a run's identity."""
        ...
