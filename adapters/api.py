"""Shared code of hosted adapters: what goes out for a request, and what a reply is read as.

A provider's adapter composes the content (`_compose`), chooses parameters (`_parameters`), sends
the body (`_send`), interprets errors (`_failure`) and reads an answer (`_read`) of the form
`answers`.
"""

from __future__ import annotations

from abc import abstractmethod
from binascii import b2a_base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import msgspec

from adapters.api_client import ApiClient, Json
from adapters.checks import checked
from adapters.contract import (
    AdapterInfo,
    EncodedPicture,
    Fatal,
    Fault,
    Generation,
    PictureSource,
    Request,
)
from adapters.conversation import Finish, Message, Reply, Tier, Usage
from adapters.endpoints import Endpoint
from adapters.error_bodies import status_of
from adapters.faults import Failure, error_line, judge
from adapters.thinking import thinking_of

_NAMES_OF = {
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "seed": ("seed",),
    "effort": ("reasoning_effort", "reasoning", "thinking_level", "output_config", "thinking"),
    "thinking_budget": ("thinking_budget", "thinking"),
}
"""The providers' names for what a user may ask for (`Generation`)."""
EMPTY_REPLY = "(no reply)"
"""Text of an empty reply when it is sent back: no provider takes an empty turn."""
UNCOUNTED = "counts impossible numbers of tokens: not recorded"
"""Notice of a server whose counts are none."""


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
        ends: Sequence[str] | None = None,
    ) -> None:
        """ends: further words of the provider for a reply that ended as usual."""
        info = replace(info, greedy=self._is_greedy)
        super().__init__(info, endpoint, timeout_s=timeout_s, options=options)
        self._ends = Ends(ends or ())

    def _is_greedy(self, generation: Generation) -> bool:
        """Return whether temperature 0 is sent, as far as the model has not refused it."""
        return self._temperature(generation) == 0 and "temperature" not in self._refused

    def _temperature(self, generation: Generation) -> object:
        """Return the temperature that is sent, None for the model's own."""
        return generation.temperature

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        """Ask once, and again only to leave out or rename a parameter that the model refused.

        Raises `Fault` and `Fatal`.
        """
        compose = partial(self._wanted, request, pictures)
        try:
            return await self._exchange(compose, partial(self.read, request), self.ended)
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
        refusal = error_line(failure, self.speaker, self.clean)
        return Reply("", finish, sent=sent, refusal=refusal)

    def note(self, request: Request) -> None:
        """Note what the user asks for, which no call is made without."""
        for field, names in _NAMES_OF.items():
            value = getattr(request.generation, field)
            if value is not None and field not in request.by_protocol:
                self._asked_for.update(names)

    async def _wanted(self, request: Request, pictures: PictureSource) -> tuple[Json, Json]:
        self.note(request)
        content = await self._compose(request, pictures)
        if request.tier:
            content[self.tier_field] = self.tier_words[request.tier]
        return content, self._parameters(request.generation, request)

    def _finish(self, word: str | None, text: str, error: object = None) -> Finish:
        """Return why a reply ended.

        word: the provider's reason, None without one.
        error: what the answer says of a failure.

        Raises `Fault` for a reply that failed and for an unknown reason, `Fatal` if that is the
        rule, ValueError for an answer with neither text nor reason.
        """
        if error:
            failure = self.failed(status_of(error), error)
            verdict = judge(failure, self.speaker, self.clean)
            if isinstance(verdict, Fatal):
                raise verdict
            kind = verdict.kind if isinstance(verdict, Fault) else "server"
            line = self.clean(f"{self.speaker}: the reply failed: {failure.message}")
            raise Fault(kind, line, failure.retry_after_s, 200)
        try:
            finish = self._ends.finish(word, text)
        except UnknownEnd as end:
            short = self.clean(end.word)[:80]
            line = (
                f"{self.speaker}: a reply ended as '{short}', which may be a failure; if this is "
                f"how whole replies end, say --adapter-option 'ends={short}'"
            )
            if end.is_final:
                raise Fatal(line.replace("a reply", "the first replies", 1)) from None
            self._notify(line)
            raise Fault("server", line, status=200) from None
        if finish is None and not text:
            raise ValueError("neither a text nor the reason for its end")
        if finish is None:
            self._notify(f"{self._info.name} does not say why its replies end: taken as whole")
        return finish or Finish.STOP

    def _counted(self, told: object, usage: Usage | None, text: str) -> Usage | None:
        """Return the usage of a reply; the user is informed if what the server counted is none."""
        if usage is not None and text and not usage.output:
            usage = None
        if told and usage is None:
            self._notify(f"{self._info.name} {UNCOUNTED}")
        return usage

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


def said_before(message: Message) -> str:
    """Return the text of an earlier reply to send back."""
    return message.text if message.text.strip() else EMPTY_REPLY


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


def hosted(
    endpoint: Endpoint, model: str, *, settings: Mapping[str, object], **more: Any
) -> AdapterInfo:
    """Return the declaration of a hosted model; `more` are further fields of `AdapterInfo`.

    The model's name says when it thinks, unless `more` does.
    """
    return AdapterInfo(
        **{"thinking": thinking_of(model), **endpoint.facts(model, settings), **more}
    )


# Why replies end, in the providers' words. Gateways pass on the words of other providers, so one
# table serves all. A word that is not here is not an end: servers also report their own failures in
# this field, next to half a reply.
_ENDS = {
    Finish.STOP: (
        *("stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "completed"),
        *("tool_calls", "function_call", "tool_use", "pause_turn", "compaction"),
    ),
    Finish.LENGTH: (
        *("length", "max_tokens", "max_output_tokens", "model_length"),
        *("model_context_window_exceeded", "continuation", "repetition"),
    ),
    Finish.CONTENT_FILTER: (
        *("content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii"),
        *("language", "image_safety", "image_prohibited_content", "image_recitation"),
        *("escalation", "model_armor"),
    ),
    Finish.REFUSAL: ("refusal",),
}
ALIKE = 3
"""A run stops if so many first replies of a model end with the same unknown word; one that ends as
usual does not count, since the call that tries a model out asks for a single word."""


def _plain(word: str) -> str:
    """Return a word without what providers spell differently.

    >>> _plain("Content-Filter"), _plain("MAX_TOKENS")
    ('contentfilter', 'maxtokens')
    """
    return word.lower().replace("-", "").replace("_", "")


_TABLE = {_plain(word): finish for finish, words in _ENDS.items() for word in words}
_CONTEXT_FULL = {_plain("model_length"), _plain("model_context_window_exceeded")}


class UnknownEnd(Exception):
    """A reply ended with a word that is not known to be an end.

    is_final: true if all replies so far but one, and at least `ALIKE`, ended with it.
    """

    def __init__(self, word: str, is_final: bool) -> None:
        super().__init__(word)
        self.word = word
        self.is_final = is_final


class Ends:
    """The ends of one model's replies.

    declared: further words that end a reply.
    """

    def __init__(self, declared: Iterable[str] = ()) -> None:
        self._table = _TABLE | dict.fromkeys(map(_plain, declared), Finish.STOP)
        self._known = 0
        self._unknown: list[str] = []

    def finish(self, word: str | None, text: str) -> Finish | None:
        """Return why a reply with this text ended, None if its provider gives no reason.

        Raises `UnknownEnd`.
        """
        plain = _plain(word or "")
        finish = self._table.get(plain)
        if finish is Finish.LENGTH and plain in _CONTEXT_FULL and not text:
            finish = Finish.TOO_LONG
        if finish is not None or not plain:
            self._known += 1
            return finish
        if len(self._unknown) < ALIKE:
            self._unknown.append(plain)
        alike = self._unknown == [plain] * ALIKE
        raise UnknownEnd(word or "", alike and self._known <= 1)
