"""The interface between the engine and a model.

An adapter turns a request into a reply or raises. It neither retries, nor waits for rate limits,
nor caches: the engine owns time. It raises `Fault` for an error that may pass, and `Fatal` for one
that will not. What the provider decided about the content (refusal, filter, output limit, prompt
too long) is not an exception but a reply with that finish reason.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from adapters.conversation import Conversation, Picture, Reply, Tier
from adapters.thinking import NEVER, Thinking

Coordinates = Literal["absolute", "unit", "per-mille", "per-999"]
"""Units of a model's coordinates: pixels of the picture sent, 0 to 1, 0 to 1000, or 0 to 999."""

StandIn = Literal["", "policy", "code"]

FaultKind = Literal["rate_limit", "unavailable", "timeout", "connection", "server", "malformed"]
"""`unavailable`: the tier that the request asked for has no capacity at the moment."""


class Fault(Exception):
    """A call failed, and may succeed if it is tried again.

    `retry_after_s` is the wait in seconds that the server asked for, None if it asked for none or
    for one that never ends, and `status` the HTTP status of its answer, if there was an answer:
    with 200, the model has run, and the call may have been billed.
    """

    def __init__(
        self,
        kind: FaultKind,
        message: str,
        retry_after_s: float | None = None,
        status: int | None = None,
    ) -> None:
        if kind not in get_args(FaultKind):
            raise ValueError(f"{kind!r} is not a fault; choose {', '.join(get_args(FaultKind))}")
        super().__init__(message)
        self.kind: FaultKind = kind
        is_wait = retry_after_s is not None and 0 <= retry_after_s < math.inf
        self.retry_after_s = retry_after_s if is_wait else None
        self.status = status

    def __reduce__(self) -> tuple[type[Fault], tuple[FaultKind, str, float | None, int | None]]:
        return Fault, (self.kind, str(self), self.retry_after_s, self.status)

    @property
    def in_short(self) -> str:
        """The error in few characters: `HTTP 500`, else the message."""
        return f"HTTP {self.status}" if (self.status or 0) >= 400 else str(self)


class Fatal(Exception):
    """A call failed and so would every other: wrong key, unknown model, unsupported input, no
    credit left.

    The message is one line for the user and never contains a key.
    """


class EchoRefused(Fatal):
    """A provider does not take back what the model said earlier: it was said to somebody else, or
    is no longer stored there."""


class UnknownOption(Fatal):
    """A model does not take an option. `option` is its name."""

    def __init__(self, option: str, message: str) -> None:
        self.option = option
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Generation:
    """Generation parameters as the user asked for them.

    A `temperature` of None means greedy decoding if the model supports it, and is not sent
    otherwise. Any other None is not sent: the model's default applies. `Reply.sent` has the
    parameters sent.
    """

    max_tokens: int = 1024
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    effort: str | None = None
    thinking_budget: int | None = None

    def plain(self) -> dict[str, object]:
        """Return the parameters that are set, as JSON."""
        pairs = ((name, getattr(self, name)) for name in self.__slots__)
        return {name: value for name, value in pairs if value is not None}


def unless_sampled(generation: Generation) -> bool:
    """Return True unless a temperature above 0 was asked for (`AdapterInfo.greedy`)."""
    return not generation.temperature


@dataclass(frozen=True, slots=True)
class Request:
    """One call to make."""

    conversation: Conversation
    generation: Generation
    unit_id: str
    """Groups calls that share a prefix; a provider's prompt cache is keyed by it."""
    place: str
    """Name of the call within its dialogue (`round-1`, `round-2`)."""
    continues: bool = False
    """True if a later call will continue the conversation: a prompt or key-value cache pays."""
    repeat: int = 0
    """Number of the repetition, from 0, in a run that asks every step several times."""
    sample: int = 0
    """Number of the reply, from 0, where a dialogue asks for several; each is drawn anew."""
    name: str = ""
    """Its name within its dialogue: the place, and what tells it from other calls there."""
    id: str = field(default="", compare=False)
    """Name of the call, unique in its run even among equal calls."""
    equal: str = field(default="", compare=False)
    """Hash of everything that the reply depends on: equal calls share it."""
    about: Any = field(default=None, compare=False, repr=False)
    """Input of a baseline; models never see it."""
    by_protocol: frozenset[str] = frozenset()
    """Parameters of `generation` that the protocol asks for, not the user; a model that refuses
    them is asked without."""
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
        """Return the picture as bytes to send."""
        ...

    async def pixels(self, picture: Picture) -> PixelPicture:
        """Return the picture as pixels."""
        ...


@dataclass(frozen=True, slots=True)
class ImageRule:
    """Resizing and cost of a model's pictures."""

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
    many: tuple[int, int] | None = None
    """With more pictures in a request than the first, no side may have more pixels than the
    second."""
    source: str = ""
    """Where the rule is published, with its date."""
    seen: Callable[[int, int], float] | None = None
    """Share of a picture of this width and height that the model sees: less than 1 if its
    processor cuts the rest off. None if unknown."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Declaration common to models and embedders."""

    name: str
    """The model as the user selected it."""
    model: str
    """The model's name in requests."""
    provider: str
    """The provider, under which prices are listed; `local` for models on this machine."""
    revision: str | None = None
    """Of a local model: the hub's commit or a digest of the files."""
    endpoint: str | None = None
    """Base URL, if it is not the provider's own."""
    weights_known: bool = False
    """True if these facts settle which weights answer: of a model on this machine, and at the
    provider's own address. Any other server may be started again with other weights."""
    billed: bool = False
    """True if calls cost money."""
    assumed_free: bool = False
    """True for a server at a private address: its calls are taken to be free unless the user names
    a price, but a cost limit needs one, as gateways that bill stand there, too."""
    stand_in: StandIn = ""
    """Kind of stand-in for a model: a policy, or code such as a script. No server can be wrong
    then, and a reply is made again sooner than it is looked up."""
    price_ref: str | None = None
    """The model's name in the price sheet; None if calls are free or their price is unknown."""
    cached_shares: Mapping[Tier, float] = field(default_factory=dict)
    """The price of cached tokens on a tier, as a share of their standard price, for models whose
    price the sheet does not list there; the standard price unless given."""
    concurrency: int = 8
    """The most calls at a time."""
    context_tokens: int | None = None
    """Context length of the model, None if unknown."""
    text_tokens: Callable[[str], int] | None = None
    """Counts the tokens of a text; None: by tiktoken."""
    text_factor: float = 1.0
    """Factor on that count for estimates."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Everything else that changes replies, for the run's record and the cache key."""
    wait_s: float = 0.0
    """Seconds that a call may wait in the adapter itself, for a server that starts again, say;
    infinity for no limit. The engine allows so much more for each attempt."""

    @property
    def runs_here(self) -> bool:
        """True if the adapter loads the model on this machine."""
        return self.provider == "local"


@dataclass(frozen=True, slots=True)
class AdapterInfo(ModelInfo):
    """Declaration of an adapter."""

    open_dialogues: int | None = None
    """The most dialogues whose state the adapter keeps between rounds; None: no limit."""
    thinking: Thinking = NEVER
    """When the model thinks before it replies; a run then has room for it in the token limit."""
    takes_pictures: bool = True
    takes_tools: bool = False
    """True if it sends `Conversation.tools` and results, and reads the calls of a reply."""
    image_rule: ImageRule | None = None
    coordinates: Coordinates | None = None
    cache_minimum: int | None = None
    """Tokens that a prefix must have for the provider's prompt cache to keep it; None without such
    a cache, or if unknown."""
    greedy: Callable[[Generation], bool] = lambda generation: generation.temperature == 0
    """True for parameters by which decoding is known to be greedy. Equal calls of a run then share
    a reply; otherwise each is made."""
    tiers: tuple[Tier, ...] = ()
    """The tiers that a request may ask for (`Request.tier`), and batch if the adapter is
    `Deferrable`; whether the provider sells them for this model is for its prices, or for itself,
    to say."""


@runtime_checkable
class Adapter(Protocol):
    """A model that is asked one conversation at a time."""

    @property
    def info(self) -> AdapterInfo:
        """The adapter's declaration."""
        ...

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        """Ask once. Raises `Fault` or `Fatal`."""
        ...

    def notices(self) -> list[str]:
        """Return notices for the user since the last call (a refused parameter, say)."""
        ...

    async def close(self) -> None:
        """Close connections, end processes, free memory."""
        ...


@dataclass(frozen=True, slots=True)
class AskingSession:
    """The session that asks a model. Its functions are called in the running event loop."""

    folder: Path
    """The folder of the run."""
    say: Callable[[str], None]
    """Prints a line for the user."""
    stop: Callable[[str], None]
    """Ends the session, for this reason, once calls in flight have ended."""


class Participant(ABC):
    """A model that takes part in the session that asks it."""

    @abstractmethod
    async def open(self, session: AskingSession) -> None:
        """Get ready for the first call, or return early after `interrupt`. Raises `Fatal`."""

    @abstractmethod
    def interrupt(self, reason: str) -> None:
        """Make calls that wait in the adapter raise `Fault`: nothing more is to be sent."""


@dataclass(frozen=True, slots=True)
class UnloadedModel:
    """A model that is described but not loaded yet."""

    info: AdapterInfo
    """Its adapter's declaration. A local model's batch size is known once it is loaded."""
    load: Callable[[], Adapter]
    """The adapter, ready to be asked. Raises `Fatal`; for a local model this takes minutes."""


@runtime_checkable
class ModelLister(Protocol):
    """A model behind a server that may say which one it serves."""

    async def listed(self) -> Mapping[str, str]:
        """Return what the server's list of models says of this one; {} if it says nothing."""
        ...


@runtime_checkable
class Measuring(Protocol):
    """A model that measures its sessions."""

    def measured(self) -> Mapping[str, object]:
        """Return hardware, software and counts as JSON, for the record; no part of a run's
        identity."""
        ...
