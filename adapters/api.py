"""What the adapters of hosted models share: one call, its failure, what it refused.

A provider's adapter says how a request is put (`_compose`), which parameters go with it
(`_parameters`), how it is sent (`_send`), what an error means (`_failure`), of which form an answer
is (`answers`) and how it is read (`_read`). The SDKs' own retries are off: the engine owns time.
`ApiClient` is as much of it as embedders need, too.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from binascii import b2a_base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeVar

import msgspec

from adapters.checks import checked, read_json
from adapters.contract import (
    AdapterInfo,
    EncodedPicture,
    Fatal,
    Fault,
    Generation,
    ModelInfo,
    PictureSource,
    Request,
)
from adapters.conversation import Finish, Reply, Tier
from adapters.endpoints import Endpoint, is_private
from adapters.faults import Failure, cleaner, judge, refused
from adapters.secrets import masked, secrets
from adapters.thinking import thinking_of

if TYPE_CHECKING:
    import httpx2

Json = dict[str, Any]
Info = TypeVar("Info", bound=ModelInfo)
T = TypeVar("T")
R = TypeVar("R", covariant=True)


class Read(Protocol[R]):
    """What an answer says. Raises ValueError where it says nothing that was asked for."""

    def __call__(
        self, answer: Any, headers: Mapping[str, str], *, sent: Json, latency_s: float
    ) -> R: ...


class ApiClient(ABC, Generic[Info]):
    """A provider's API for one model. Parameters in `spellings` may be refused, and are then left
    out.

    The values of `spellings` are other words by which the provider calls the parameter. `answers`
    is what an answer holds, as far as it is read.
    """

    spellings: ClassVar[Mapping[str, Sequence[str]]] = {}
    answers: ClassVar[type]

    def __init__(
        self,
        info: Info,
        endpoint: Endpoint,
        *,
        timeout_s: float,
        options: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        """`options` are those of the user that go out, which may hold secrets."""
        from adapters.transport import HostedClient

        self.http = HostedClient(timeout_s)
        self._info = info
        self._address = endpoint.address
        self._timeout_s = timeout_s
        self.clean = cleaner(endpoint.key, *secrets(options))
        self._refused: set[str] = set()
        self._notified: set[str] = set()
        self._notices: list[str] = []

    @property
    def info(self) -> Info:
        return self._info

    def notices(self) -> list[str]:
        """Notices for the user since the last call; each is given once."""
        notices, self._notices = self._notices, []
        return notices

    async def _exchange(
        self,
        compose: Callable[[], Awaitable[tuple[Json, Json]]],
        read: Read[R],
        end: Callable[[Finish, Failure, Json], R],
    ) -> R:
        """Ask once, and again only to leave out a parameter that the model refused.

        compose: the content of the body, and the parameters that are wanted in it.
        read: the result, of an answer, its headers, the parameters sent and the seconds it took.
        end: what it means that the model will not take the content; it is also given the failure
            and the parameters sent.

        Raises `Fault` and `Fatal`.
        """
        while True:
            body, sent = self._encoded(*await compose())
            started = time.monotonic()
            response = await self.attempt(self._send(body), self._timeout_s)
            if not isinstance(response, Failure):
                seconds = time.monotonic() - started
                return self._parsed(response, partial(read, sent=sent, latency_s=seconds))
            verdict = self.verdict(response, sent)
            if isinstance(verdict, Finish):
                return end(verdict, response, sent)
            if verdict is not None:
                raise verdict

    async def attempt(self, call: Awaitable[T], limit_s: float | None = None) -> T | Failure:
        """What a call gives, or how it failed. It is returned, so that no exception chain holds the
        SDK's request.

        limit_s: seconds for the whole call; the client's own limits hold in any case.
        """
        try:
            async with asyncio.timeout(limit_s):
                return await call
        except TimeoutError:
            return Failure(f"no whole reply in {limit_s:g} s", kind="timeout")
        except Exception as error:
            known = _given_up(error) or self._failure(error)
            if known is None:
                raise
            return known

    def verdict(self, failure: Failure, sent: Json) -> Finish | Fault | Fatal | None:
        """What a failed request comes to; None: a parameter was refused, and is left out now."""
        verdict = judge(failure, self.speaker, self.clean)
        if not isinstance(verdict, Finish) and self._learn(failure, sent):
            return None
        return verdict

    @property
    def speaker(self) -> str:
        """Who answers, for messages: the address if the user gave one, since it may be wrong."""
        return self._address or self._info.provider

    async def close(self) -> None:
        await self.http.aclose()

    def _encoded(self, content: Json, wanted: Json) -> tuple[bytes, Json]:
        """The request's body, and the parameters in it that were not refused."""
        sent = {name: value for name, value in wanted.items() if name not in self._refused}
        return msgspec.json.encode(self._body(content, sent)), sent

    def _body(self, content: Json, parameters: Json) -> Json:
        """The request's body, of what `_compose` made and the parameters to send."""
        return content | parameters

    @abstractmethod
    async def _send(self, body: bytes) -> httpx2.Response: ...

    @abstractmethod
    def _failure(self, error: Exception) -> Failure | None: ...

    def _learn(self, failure: Failure, sent: Json) -> bool:
        """Note the parameters that a failure refuses. Returns whether there are any."""
        candidates = {name: words for name, words in self.spellings.items() if name in sent}
        new = refused(failure, candidates)
        for name in new:
            self._refused.add(name)
            self._notify(f"{self._info.name} refused {name}={sent[name]!r}: no longer sent")
        return bool(new)

    def _notify(self, notice: str) -> None:
        notice = self.clean(notice)
        if notice not in self._notified:
            self._notified.add(notice)
            self._notices.append(notice)

    def _parsed(self, response: httpx2.Response, read: Callable[[Any, Mapping[str, str]], R]) -> R:
        # A proxy's page with status 200, another server's idea of the format, or worse.
        try:
            answer: Any = read_json(response.content, self.answers)
            return read(answer, response.headers)
        except (ValueError, msgspec.ValidationError) as error:
            beginning = response.content[:4096].decode(errors="replace")
            reason = self.clean(f"{error}; it begins {beginning!r}")
        raise Fault("malformed", f"{self.speaker}: reply cannot be read ({reason})")


class ApiAdapter(ApiClient[AdapterInfo]):
    """A model behind a provider's API that continues conversations.

    `tier_field` is where the body says on which tier a request is to be served, and `tier_words`
    are the provider's words for the tiers that a request may ask for.
    """

    tier_field: ClassVar[str] = "service_tier"
    tier_words: ClassVar[Mapping[Tier, str]] = {}

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        """Ask once, and again only to leave out a parameter that the model refused.

        Raises `Fault` and `Fatal`.
        """

        async def compose() -> tuple[Json, Json]:
            return await self._wanted(request, pictures)

        def end(finish: Finish, failure: Failure, sent: Json) -> Reply:
            return self.ended(finish, sent)

        try:
            return await self._exchange(compose, partial(self.read, request), end)
        except Fault as fault:
            if request.tier != "flex" or not _says_unavailable(fault):
                raise
            raise Fault("unavailable", str(fault), fault.retry_after_s, fault.status) from None

    async def body(self, request: Request, pictures: PictureSource) -> tuple[bytes, Json]:
        """The body that `ask` sends, in JSON, and the parameters in it. Raises `Fatal`."""
        return self._encoded(*await self._wanted(request, pictures))

    def read(
        self,
        request: Request,
        answer: Any,
        headers: Mapping[str, str],
        *,
        sent: Json,
        latency_s: float = 0.0,
    ) -> Reply:
        """The reply in an answer of the form `answers`. Raises ValueError where there is none."""
        reply = checked(replace(self._read(answer, headers), sent=sent, latency_s=latency_s))
        self._done(request, reply)
        return reply

    def ended(self, finish: Finish, sent: Json) -> Reply:
        """The reply of a model that will not take the content."""
        return Reply("", finish, model=self._info.model, sent=sent)

    async def _wanted(self, request: Request, pictures: PictureSource) -> tuple[Json, Json]:
        content = await self._compose(request, pictures)
        if request.tier:
            content[self.tier_field] = self.tier_words[request.tier]
        return content, self._parameters(request.generation, request)

    @abstractmethod
    def failed(self, status: int, body: object) -> Failure:
        """What a failure means that came with this HTTP status and body, other than by HTTP."""

    @abstractmethod
    async def _compose(self, request: Request, pictures: PictureSource) -> Json: ...

    @abstractmethod
    def _parameters(self, generation: Generation, request: Request) -> Json: ...

    @abstractmethod
    def _read(self, answer: Any, headers: Mapping[str, str]) -> Reply:
        """The reply in an answer of the form `answers`. Raises ValueError where there is none."""

    def _done(self, request: Request, reply: Reply) -> None:
        """Called after every successful call."""
        return


def picture_text(picture: EncodedPicture, before: str = "") -> msgspec.Raw:
    """A picture's bytes in base64 as a JSON string, with `before` in front of them.

    A body takes it over as it is, so that half a megabyte is not looked through for quotes.
    """
    return msgspec.Raw(b'"%b%b"' % (before.encode(), b2a_base64(picture.data, newline=False)))


_SERVED: Mapping[str, Tier] = {
    "default": "default",
    "standard": "default",
    "flex": "flex",
    "priority": "priority",
    "fast": "priority",
    "batch": "batch",
}


def served_on(word: object) -> Tier | Literal[""]:
    """The tier that a provider says served a reply; "" for a word that stands for none of ours."""
    return _SERVED.get(word.lower(), "") if isinstance(word, str) else ""


def _says_unavailable(fault: Fault) -> bool:
    """Whether a tier has no capacity at the moment: OpenAI's 429 "Resource Unavailable" (or its
    code, `resource_unavailable`), Google's 503 UNAVAILABLE."""
    return fault.status in {429, 503} and "unavailable" in str(fault).lower()


def _given_up(error: BaseException | None) -> Failure | None:
    """Why the HTTP client gave up a reply, which an SDK may have wrapped in an error of its own."""
    from adapters.transport import Undelivered

    while error is not None and not isinstance(error, Undelivered):
        error = error.__cause__
    return None if error is None else error.failure


def hosted(
    endpoint: Endpoint, model: str, *, settings: Mapping[str, object], **more: Any
) -> AdapterInfo:
    """What adapters of hosted models declare alike; `more` are further fields of `AdapterInfo`.

    When a model thinks is known by its name, unless `more` says it.
    """
    return AdapterInfo(
        **{"thinking": thinking_of(model), **facts_of_endpoint(endpoint, model, settings), **more}
    )


def facts_of_endpoint(endpoint: Endpoint, model: str, settings: Mapping[str, object]) -> Json:
    """The fields of `ModelInfo` that follow from where a model is hosted.

    At another address than the provider's own the price is unknown, unless that is on the user's
    own machine or network.
    """
    shown = endpoint.recorded_as or endpoint.address
    return {
        "name": f"{endpoint.provider}:{model}",
        "model": model,
        "provider": endpoint.provider,
        "endpoint": shown,
        "billed": endpoint.is_official or not is_private(endpoint.url),
        "price_ref": model if endpoint.is_official else None,
        "settings": {**masked(settings), "endpoint": shown},
    }
