"""Shared code of hosted adapters: one call, its failure, and refused parameters.

A provider's adapter composes the content (`_compose`), chooses parameters (`_parameters`), sends
the body (`_send`), interprets errors (`_failure`) and reads an answer (`_read`) of the form
`answers`. The SDKs' own retries are off: the engine owns time. Embedders build on `ApiClient`.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from binascii import b2a_base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

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
from adapters.endpoints import Endpoint
from adapters.faults import Failure, cleaner, error_line, judge, refused
from adapters.secrets import secrets
from adapters.thinking import thinking_of

if TYPE_CHECKING:
    import httpx2

Json = dict[str, Any]
Info = TypeVar("Info", bound=ModelInfo)
T = TypeVar("T")
R = TypeVar("R")
Read = Callable[[Any, Mapping[str, str], Json, float], R]
"""Reads an answer, given its headers, the parameters sent and the seconds it took. Raises
ValueError if it lacks a result."""


class ApiClient(ABC, Generic[Info]):
    """A provider's API for one model.

    spellings: parameters that are left out once the model refuses them, with the provider's other
        names for each.
    answers: the fields of an answer that are read.
    tier_field: the field of the body that asks for a tier.
    """

    spellings: ClassVar[Mapping[str, Sequence[str]]] = {}
    answers: ClassVar[type]
    tier_field: ClassVar[str] = "service_tier"
    strict: ClassVar[bool] = False
    """True if the HTTP client raises for replies that the SDK should not read (`HostedClient`)."""

    def __init__(
        self,
        info: Info,
        endpoint: Endpoint,
        *,
        timeout_s: float,
        options: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        """options: user options that are sent and may contain secrets."""
        from adapters.transport import HostedClient

        self.http = HostedClient(timeout_s, strict=self.strict)
        self._info = info
        self._endpoint = endpoint
        self._timeout_s = timeout_s
        self.clean = cleaner(endpoint.key, *secrets(options))
        self._refused: set[str] = set()
        self._notified: set[str] = set()
        self._notices: list[str] = []

    @property
    def info(self) -> Info:
        return self._info

    def notices(self) -> list[str]:
        """Return notices for the user since the last call, each once."""
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
        read: the result in an answer.
        end: what it means that the model will not take the content; it is also given the failure
            and the parameters sent.

        Raises `Fault` and `Fatal`.
        """
        while True:
            body, sent = self._filled(*await compose())
            call = self._send(body)
            started = time.monotonic()
            response = await self.attempt(call, self._timeout_s)
            if not isinstance(response, Failure):
                return self._parsed(response, read, sent, time.monotonic() - started)
            verdict = self.verdict(response, sent)
            if isinstance(verdict, Finish):
                return end(verdict, response, sent)
            if verdict is not None:
                raise verdict

    async def attempt(self, call: Awaitable[T], limit_s: float | None = None) -> T | Failure:
        """Return the result of a call, or its failure: an exception would keep the SDK's request.

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
        """Judge a failed request; None: it refused a parameter, which is now left out."""
        spelled = chain.from_iterable(self.spellings.values())
        parameters = {*sent, *self.spellings, *spelled, self.tier_field}
        verdict = judge(failure, self.speaker, self.clean, parameters)
        if verdict in (Finish.TOO_LONG, Finish.CONTENT_FILTER):
            return verdict
        return None if self._learn(failure, sent) else verdict

    @property
    def speaker(self) -> str:
        """Who answers, for messages: the address if the user gave one, since it may be wrong."""
        return self._endpoint.address or self._info.provider

    async def close(self) -> None:
        await self.http.aclose()

    def _filled(self, content: Json, wanted: Json) -> tuple[Json, Json]:
        """Return the request's body and the parameters in it that were not refused."""
        sent = {name: value for name, value in wanted.items() if name not in self._refused}
        return self._body(content, sent), sent

    def _body(self, content: Json, parameters: Json) -> Json:
        """Return the request's body, of what `_compose` made and the parameters to send."""
        return content | parameters

    @abstractmethod
    def _send(self, body: Json) -> Awaitable[httpx2.Response]:
        """Return the call to await; the SDK loads before, outside of the call's time limit."""

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

    def _parsed(self, response: httpx2.Response, read: Read[R], sent: Json, latency_s: float) -> R:
        # A proxy's page with status 200, another server's idea of the format, or worse.
        try:
            answer: Any = read_json(response.content, self.answers)
            return read(answer, response.headers, sent, latency_s)
        except (ValueError, msgspec.ValidationError) as error:
            beginning = response.content[:4096].decode(errors="replace")
            reason = self.clean(f"{error}; it begins {beginning!r}")
        raise Fault("malformed", f"{self.speaker}: reply cannot be read ({reason})")


class ApiAdapter(ApiClient[AdapterInfo]):
    """A model behind a provider's API that continues conversations.

    `tier_words` are the provider's words for the tiers that a request may ask for.
    """

    tier_words: ClassVar[Mapping[Tier, str]] = {}

    def __init__(
        self,
        info: AdapterInfo,
        endpoint: Endpoint,
        *,
        timeout_s: float,
        options: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        info = replace(info, greedy=self._is_greedy)
        super().__init__(info, endpoint, timeout_s=timeout_s, options=options)

    def _is_greedy(self, generation: Generation) -> bool:
        """Return whether temperature 0 is sent, as far as the model has not refused it."""
        return self._temperature(generation) == 0 and "temperature" not in self._refused

    def _temperature(self, generation: Generation) -> object:
        """Return the temperature that is sent, None for the model's own."""
        return generation.temperature

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        """Ask once, and again only to leave out a parameter that the model refused.

        Raises `Fault` and `Fatal`.
        """

        async def compose() -> tuple[Json, Json]:
            return await self._wanted(request, pictures)

        def end(finish: Finish, failure: Failure, sent: Json) -> Reply:
            return self.ended(finish, failure, sent)

        try:
            return await self._exchange(compose, partial(self.read, request), end)
        except Fault as fault:
            if request.tier != "flex" or not _says_unavailable(fault):
                raise
            raise Fault("unavailable", str(fault), fault.retry_after_s, fault.status) from None

    async def body(self, request: Request, pictures: PictureSource) -> tuple[bytes, Json]:
        """Return the body that `ask` sends, in JSON, and the parameters in it. Raises `Fatal`."""
        body, sent = self._filled(*await self._wanted(request, pictures))
        return msgspec.json.encode(body), sent

    def read(
        self,
        request: Request,
        answer: Any,
        headers: Mapping[str, str],
        sent: Json,
        latency_s: float = 0.0,
    ) -> Reply:
        """Return the reply in an answer of the form `answers`. Raises ValueError where there is
        none."""
        reply = checked(replace(self._read(answer, headers), sent=sent, latency_s=latency_s))
        self._done(request, reply)
        return reply

    def ended(self, finish: Finish, failure: Failure, sent: Json) -> Reply:
        """Return the reply of a model that will not take the content."""
        refused = finish is Finish.PROVIDER_REFUSED
        refusal = error_line(failure, self.speaker, self.clean) if refused else ""
        return Reply("", finish, sent=sent, refusal=refusal)

    async def _wanted(self, request: Request, pictures: PictureSource) -> tuple[Json, Json]:
        content = await self._compose(request, pictures)
        if request.tier:
            content[self.tier_field] = self.tier_words[request.tier]
        return content, self._parameters(request.generation, request)

    @abstractmethod
    def failed(self, status: int, body: object) -> Failure:
        """Interpret an HTTP status and body that did not arrive by HTTP."""

    @abstractmethod
    async def _compose(self, request: Request, pictures: PictureSource) -> Json: ...

    @abstractmethod
    def _parameters(self, generation: Generation, request: Request) -> Json: ...

    @abstractmethod
    def _read(self, answer: Any, headers: Mapping[str, str]) -> Reply:
        """Return the reply in an answer of the form `answers`. Raises ValueError where there is
        none."""

    def _done(self, request: Request, reply: Reply) -> None:
        """Note a successful call."""
        return


def picture_text(picture: EncodedPicture, before: str = "") -> msgspec.Raw:
    """Return a picture's bytes in base64 as a JSON string, with `before` in front of them.

    A body takes it over unchanged: half a megabyte is not searched for quotes.
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
    """Return the tier that a provider names; "" for a word that is not the name of a `Tier`."""
    return _SERVED.get(word.lower(), "") if isinstance(word, str) else ""


def _says_unavailable(fault: Fault) -> bool:
    """Return whether a tier lacks capacity at the moment: OpenAI's 429 "Resource Unavailable" (or
    its code, `resource_unavailable`), Google's 503 UNAVAILABLE."""
    return fault.status in {429, 503} and "unavailable" in str(fault).lower()


def _given_up(error: BaseException | None) -> Failure | None:
    """Return why the HTTP client gave up a reply; an SDK may have wrapped its error."""
    from adapters.transport import Undelivered

    while error is not None and not isinstance(error, Undelivered):
        error = error.__cause__
    return None if error is None else error.failure


def hosted(
    endpoint: Endpoint, model: str, *, settings: Mapping[str, object], **more: Any
) -> AdapterInfo:
    """Return the declaration of a hosted model; `more` are further fields of `AdapterInfo`.

    The model's name says when it thinks, unless `more` does.
    """
    return AdapterInfo(
        **{"thinking": thinking_of(model), **endpoint.facts(model, settings), **more}
    )
