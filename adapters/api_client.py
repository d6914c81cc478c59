"""One call to a hosted model: sent, its failure judged, and sent again without what was refused.

A parameter that the model refuses is left out, or sent by its other name, and the user is informed
once. The SDKs' own retries are off: the engine owns time.
"""

from __future__ import annotations

import asyncio
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from email.utils import parsedate_to_datetime
from functools import cached_property
from importlib import import_module
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar
from urllib.parse import urljoin, urlsplit

import msgspec

from adapters.checks import plain_json
from adapters.contract import Fatal, Fault, ModelInfo
from adapters.conversation import Finish
from adapters.decoding import convert_to
from adapters.endpoints import Endpoint
from adapters.error_bodies import failure_inside, failure_of, status_of
from adapters.faults import Failure, cleaner, demands_stream, judge, refused
from adapters.secrets import secrets

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

Json = dict[str, Any]
Info = TypeVar("Info", bound=ModelInfo)
T = TypeVar("T")
R = TypeVar("R")
_BEGINS = (b"data:", b"event:", b"id:", b":", b"[")
"""Beginnings of lines in a stream of events."""
Read = Callable[[Any, Mapping[str, str], Json, float], R]
"""Reads an answer, given its headers, the parameters sent and the seconds it took. Raises
ValueError if it lacks a result."""


class ApiClient(ABC, Generic[Info]):
    """A provider's API for one model.

    spellings: parameters that are left out once the model refuses them, with the provider's other
        names for each.
    content_fields: those of them that are fields of the content.
    instead: parameters that are sent by another name once the model refuses them.
    answers: the fields of an answer that are read.
    streaming: the parameters that ask for a stream of events, `stream` among them; empty for an API
        without.
    tier_field: the field of the body that asks for a tier.
    """

    spellings: ClassVar[Mapping[str, Sequence[str]]] = {}
    content_fields: ClassVar[frozenset[str]] = frozenset()
    instead: ClassVar[Mapping[str, str]] = {}
    answers: ClassVar[type]
    streaming: ClassVar[Mapping[str, object]] = {}
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
        # The user's: parameters in the body are asked for as much as those with an option.
        self._asked_for: set[str] = set(options)
        self._refused: set[str] = set()
        self._streams = False
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
        """Ask once, and again only to leave out or rename a parameter that the model refused.

        compose: the content of the body, and the parameters that are wanted in it.
        read: the result in an answer.
        end: what it means that the model will not take the content; it is also given the failure
            and the parameters sent.

        Raises `Fault` and `Fatal`.
        """
        while True:
            left_out = frozenset(self._refused)
            content, wanted = await compose()
            if self._streams:
                wanted = {**wanted, **self.streaming}
            body, sent = self._filled(content, wanted)
            call = self._send(body)
            started = time.monotonic()
            response = await self.attempt(call, self._timeout_s)
            latency_s = time.monotonic() - started
            answer = response if isinstance(response, Failure) else self._answer(response)
            if not isinstance(answer, Failure):
                assert not isinstance(response, Failure)
                return self._parsed(response, answer, read, sent, latency_s)
            verdict = self.verdict(answer, sent, left_out)
            if isinstance(verdict, Finish):
                return end(verdict, answer, sent)
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

    def verdict(
        self, failure: Failure, sent: Json, left_out: frozenset[str] = frozenset()
    ) -> Finish | Fault | Fatal | None:
        """Judge a failed request; None: it refused a parameter, which is now left out or renamed.

        left_out: the fields of the content that were not sent.
        """
        spelled = chain.from_iterable(self.spellings.values())
        parameters = {*sent, *self.spellings, *spelled, self.tier_field}
        verdict = judge(failure, self.speaker, self.clean, parameters)
        if verdict in (Finish.TOO_LONG, Finish.CONTENT_FILTER):
            return verdict
        if not failure.final and self._learn(failure, sent, left_out):
            return None
        given = {name: self.spellings.get(name, ()) for name in sent if name in self._asked_for}
        if isinstance(verdict, Fatal) and (names := refused(failure, given, defaults=given)):
            # A run without it would not be the one that was asked for.
            asked = ", ".join(names)
            return Fatal(
                f"{str(verdict).rstrip('.')}; change or leave out what you asked for: {asked}"
            )
        return verdict

    def failed(
        self, status: int, body: object, headers: Mapping[str, str] = MappingProxyType({})
    ) -> Failure:
        """Interpret an error status with its body: JSON values, or the text or bytes that came."""
        return failure_of(status, body, headers)

    @property
    def speaker(self) -> str:
        """Who answers, for messages: the address if the user gave one, since it may be wrong."""
        return self._endpoint.address or self._info.provider

    async def close(self) -> None:
        await self.http.aclose()

    def _filled(self, content: Json, wanted: Json) -> tuple[Json, Json]:
        """Return the request's body and the parameters in it that were not refused."""
        names = {name: self._name(name) for name in wanted}
        sent = {names[n]: value for n, value in wanted.items() if names[n] not in self._refused}
        return self._body(content, sent), sent

    def _name(self, parameter: str) -> str:
        """Return the sent name of a parameter."""
        return self.instead.get(parameter, parameter) if parameter in self._refused else parameter

    def _body(self, content: Json, parameters: Json) -> Json:
        """Return the request's body, of what `_compose` made and the parameters to send."""
        return content | parameters

    @abstractmethod
    def _send(self, body: Json) -> Awaitable[httpx2.Response]:
        """Return the call to await; the SDK loads before, outside of the call's time limit."""

    @abstractmethod
    def _failure(self, error: Exception) -> Failure | None: ...

    def _joined(self, stream: Iterable[Json]) -> Json:
        """Return the answer that a stream of events makes up. Raises ValueError."""
        raise ValueError("a stream of events instead of an answer")

    def _demands_stream(self, failure: Failure) -> bool:
        return demands_stream(failure)

    def _learn(self, failure: Failure, sent: Json, left_out: frozenset[str]) -> bool:
        """Note what a failure refuses. Returns whether the call is to be made again."""
        if self.streaming and "stream" not in sent and self._demands_stream(failure):
            self._streams = True
            self._notify(f"{self._info.name} does not answer without a stream: it is asked for one")
            return True
        there = {*sent, *(self.content_fields - left_out)} - self._asked_for
        candidates = {name: words for name, words in self.spellings.items() if name in there}
        new = refused(failure, candidates, defaults=candidates)
        for name in new:
            self._refused.add(name)
            value = f"={sent[name]!r}" if name in sent else ""
            self._notify(f"{self._info.name} refused {name}{value}: no longer sent")
        # Both names are refused, or the value is: leaving out what the user asked for is no remedy.
        renamed = {n: () for n in sent if n in self.instead and n not in self._asked_for}
        for name in refused(failure, renamed):
            other = self.instead[name]
            if other not in self._refused:
                self._refused.add(name)
                self._notify(f"{self._info.name} refused {name}: {other} is sent")
                new.append(name)
        return bool(new)

    def _notify(self, notice: str) -> None:
        notice = self.clean(notice)
        if notice not in self._notified:
            self._notified.add(notice)
            self._notices.append(notice)

    def _answer(self, response: httpx2.Response) -> Any:
        """Return an answer as plain JSON values, or the failure that came in its place.

        Raises `Fault` for what is neither.
        """
        try:
            # A stream of events, whether it was asked for or not.
            kind = response.headers.get("content-type", "")
            begins = response.content[:256].removeprefix(b"\xef\xbb\xbf").lstrip()
            if kind.startswith("text/event-stream") or begins.startswith(_BEGINS):
                from adapters.event_streams import events

                plain = self._joined(events(response.content))
            else:
                plain = plain_json(response.content)
            told = failure_inside(plain)
            return plain if told is None else self.failed(status_of(told), told, response.headers)
        except ValueError as error:
            fault = self._malformed(response, error)
        raise fault

    def _parsed(
        self, response: httpx2.Response, answer: Any, read: Read[R], sent: Json, latency_s: float
    ) -> R:
        # Another server's idea of the format, or worse.
        try:
            return read(convert_to(answer, self.answers), response.headers, sent, latency_s)
        except (ValueError, msgspec.ValidationError) as error:
            fault = self._malformed(response, error)
        raise fault

    def _malformed(self, response: httpx2.Response, error: Exception) -> Fault:
        beginning = response.content[:4096].decode(errors="replace")
        reason = self.clean(f"{error}; it begins {beginning!r}")
        return Fault("malformed", f"{self.speaker}: reply cannot be read ({reason})")


def _given_up(error: BaseException | None) -> Failure | None:
    """Return why the HTTP client gave up a reply; an SDK may have wrapped its error."""
    from adapters.transport import Undelivered

    while error is not None and not isinstance(error, Undelivered):
        error = error.__cause__
    return None if error is None else error.failure


class SdkClient(ApiClient[Info]):
    """One model that is asked through an SDK.

    sdk: the SDK's module.
    path: the path of calls.
    models_path: the path of the list of models.
    """

    sdk: ClassVar[str]
    path: ClassVar[str]
    models_path: ClassVar[str]

    @property
    @abstractmethod
    def client(self) -> Any:
        """The SDK's client."""

    def _send(self, body: Json) -> Awaitable[httpx2.Response]:
        import httpx2

        made: Awaitable[httpx2.Response] = self.client.post(
            self.path, content=msgspec.json.encode(body), cast_to=httpx2.Response
        )
        return made

    async def listed(self) -> dict[str, str]:
        """Return what the server's list of models says of this one; {} if it says nothing."""
        import httpx2

        call = self.client.get(self.models_path, cast_to=httpx2.Response)
        answer = await self.attempt(call, min(self._timeout_s, LIMIT_S))
        if isinstance(answer, Failure):
            return {}
        return said_of(self._info.model, answer.content, answer.headers)

    async def told(self, path: str, limit_s: float) -> Any:
        """Return the JSON that the server gives at a path of its host; None if it gives none.

        limit_s: seconds for the whole call.
        """
        import httpx2

        call = self.client.get(urljoin(self._endpoint.url, path), cast_to=httpx2.Response)
        answer = await self.attempt(call, limit_s)
        try:
            return None if isinstance(answer, Failure) else plain_json(answer.content)
        except ValueError:
            return None

    def _failure(self, error: Exception) -> Failure | None:
        sdk = import_module(self.sdk)
        if isinstance(error, sdk.APITimeoutError):
            return Failure("no answer in time", kind="timeout")
        if isinstance(error, sdk.APIConnectionError):
            return Failure(f"no connection ({error.__cause__ or error})", kind="connection")
        if isinstance(error, sdk.APIStatusError):
            response = error.response
            return self.failed(error.status_code, response.content, response.headers)
        if isinstance(error, sdk.APIError):
            return Failure(f"reply cannot be read ({error})", kind="malformed")
        return None


class OpenAIClient(SdkClient[Info]):
    """One model of OpenAI's API, or of a server that speaks its protocol."""

    sdk = "openai"
    models_path = "/models"

    @cached_property
    def client(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            api_key=self._endpoint.key or "none",
            base_url=self._endpoint.url,
            max_retries=0,
            http_client=self.http,
        )

    def failed(
        self, status: int, body: object, headers: Mapping[str, str] = MappingProxyType({})
    ) -> Failure:
        failure = super().failed(status, body, headers)
        path = urlsplit(self._endpoint.address or "/v1").path
        if status == 404 and "/v1" not in path:
            return replace(failure, message=f"{failure.message} (base URLs end in /v1 as a rule)")
        return failure


# A server of the user's own may serve other weights tomorrow under the same name and address. Its
# list of models says some of what they are: vLLM and SGLang give the checkpoint (`root`) and the
# base of a LoRA adapter (`parent`), llama.cpp the size of the weights, LM Studio and Ollama how
# they are quantised, and many the time of the model's creation.
LIMIT_S = 10.0
"""Seconds that a server has to send its list."""
FACTS = ("id", "name", "root", "parent", "version", "created", "created_at")
WEIGHTS = ("n_params", "size")
"""Facts in an object inside, such as some about quantisation."""
_LONGEST = 300
_SAME_TIME_S = 2


def said_of(model: str, body: bytes, headers: Mapping[str, str]) -> dict[str, str]:
    """Return what a list of models says of one; {} if it is not listed, or this is not a list.

    Where a list has a single model, that is taken for it: such servers ignore the name in requests.

    >>> said_of("m", b'{"data": [{"id": "m", "root": "/ckpt/2000", "owned_by": "vllm"}]}', {})
    {'id': 'm', 'root': '/ckpt/2000'}
    """
    try:
        answer = plain_json(body)
    except ValueError:
        return {}
    entry = _entry(model, answer)
    found = {name: entry[name] for name in FACTS if name in entry}
    for place in (entry, entry.get("meta"), entry.get("details")):
        for name, value in place.items() if isinstance(place, dict) else ():
            if name.lower().startswith("quant") or (place is not entry and name in WEIGHTS):
                found[name] = value
    if _is_time_of_answer(found.get("created"), headers.get("date", "")):
        del found["created"]
    return {name: str(value)[:_LONGEST] for name, value in found.items() if _is_plain(value)}


def _entry(model: str, answer: Any) -> dict[str, Any]:
    listed = answer.get("data", answer.get("models")) if isinstance(answer, dict) else None
    entries = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    names = (model, f"models/{model}")
    named = [one for one in entries if one.get("id", one.get("name")) in names]
    return (named or entries)[0] if len(named or entries) == 1 else {}


def _is_plain(value: object) -> bool:
    return isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))


def _is_time_of_answer(created: object, date: str) -> bool:
    """Return whether a server gives the time of its answer, as vLLM and llama.cpp do, which says
    nothing of the model."""
    if isinstance(created, bool) or not isinstance(created, (int, float)):
        return False
    try:
        now = parsedate_to_datetime(date).timestamp()
    except ValueError:
        now = time.time()
    return abs(created - now) <= _SAME_TIME_S
