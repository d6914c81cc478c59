"""OpenAI's chat protocol, which many providers and all servers for open models speak.

Every vision model is served by it; OpenAI's other wire is in `adapters.responses`. `ChatAdapter` is
one model of a provider that speaks the protocol and adds nothing; `ServedModel` one of a server of
the user's own. Written against openai 3.52, November 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar

from adapters import chat_answers
from adapters.api import ApiAdapter, picture_text, said_before, served_on
from adapters.api_client import Json, OpenAIClient
from adapters.chat_answers import ChatCompletion
from adapters.checks import named
from adapters.contract import (
    AdapterInfo,
    Fatal,
    Generation,
    PictureSource,
    Request,
)
from adapters.conversation import (
    Conversation,
    Finish,
    Message,
    Part,
    Picture,
    Prefixes,
    ProviderTool,
    Reply,
    Result,
    Text,
    Tier,
    Tool,
)
from adapters.endpoints import Endpoint
from adapters.open_models import OPEN_MODELS, OpenModel, open_model
from adapters.registry import load

_LIKELY_CONTROLS = re.compile(r"<\|[^|<>\s]{1,40}\|>|<(?:start|end)_of_turn>|\[/?INST\]")
"""What tokenizers of common models read as a control token."""
_OF_REPLIES = re.compile(r"</?think>|<\|(?:box|object_ref|quad)_(?:start|end)\|>")
"""Control tokens that models write in a reply."""


class ChatAdapter(OpenAIClient[AdapterInfo], ApiAdapter):
    """One model behind the chat protocol.

    `detail` is sent with every picture if it is given. `extra_body` is added to the body unchanged;
    a value of None removes a parameter.
    """

    spellings: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "temperature": (),
        "top_p": (),
        "seed": (),
        "reasoning_effort": ("reasoning.effort",),
        "repetition_penalty": (),
        "frequency_penalty": (),
        "prompt_cache_key": (),
        "prompt_cache_options": ("prompt_cache_options.mode", "prompt_cache_breakpoint"),
        "stream_options": ("include_usage",),
    }
    instead: ClassVar[Mapping[str, str]] = {
        "max_tokens": "max_completion_tokens",
        "max_completion_tokens": "max_tokens",
    }
    answers: ClassVar[type] = ChatCompletion
    streaming: ClassVar[Mapping[str, object]] = {
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    limit: ClassVar[str] = "max_tokens"
    """The parameter for the most tokens of a reply."""
    zero: bool = True
    """Whether temperature 0 is sent if the user asks for none; in any case without any effort."""
    prefixes: Prefixes | None = None
    """Prefixes that a provider keeps, if it wants its prompt cache marked."""
    path = "/chat/completions"
    tier_words: ClassVar[Mapping[Tier, str]] = {
        "default": "default",
        "flex": "flex",
        "priority": "priority",
    }

    def __init__(
        self,
        info: AdapterInfo,
        endpoint: Endpoint,
        *,
        timeout_s: float,
        detail: str | None = None,
        extra_body: Mapping[str, object] | None = None,
        ends: Sequence[str] | None = None,
    ) -> None:
        self._extra = dict(extra_body or {})
        super().__init__(info, endpoint, timeout_s=timeout_s, options=self._extra, ends=ends)
        self._detail = detail

    def deferring(self) -> Any:
        """Return the way to send requests in batches."""
        return load("adapters.batches.openai:OpenAIBatches")(self, self.client)

    def _marks(self, request: Request) -> set[int]:
        """Return the indexes of the messages at whose end the provider's prompt cache is to be
        written."""
        if self.prefixes is None or "prompt_cache_options" in self._refused:
            return set()
        return self.prefixes.marks(request.conversation, request.continues)

    def _temperature(self, generation: Generation) -> object:
        usual = 0.0 if self.zero or generation.effort == "none" else None
        asked = usual if generation.temperature is None else generation.temperature
        return self._extra.get("temperature", asked)

    def _additions(self, request: Request) -> Json:
        """Return parameters beyond those that the user asks for."""
        return {}

    async def _compose(self, request: Request, pictures: PictureSource) -> Json:
        marks = self._marks(request)
        messages: list[Any] = []
        for number, message in enumerate(request.conversation.messages):
            messages += await self._messages(message, pictures, number in marks)
        body: Json = {"model": self._info.model, "messages": messages}
        if request.conversation.tools:
            body["tools"] = [self._function(tool) for tool in request.conversation.tools]
        return body

    def _function(self, tool: Tool | ProviderTool) -> Json:
        if isinstance(tool, ProviderTool):
            raise Fatal(
                f"{self._info.name}: chat completions take functions, not the provider's own "
                "tools: add --adapter-option wire=responses"
            )
        function = {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
        }
        return {"type": "function", "function": function}

    async def _messages(
        self, message: Message, pictures: PictureSource, marked: bool
    ) -> list[object]:
        """Return a message in the protocol's form.

        A result is a separate message and holds text alone: its pictures follow behind all
        results, in a user's message.
        """
        if message.role == "system":
            return [{"role": "system", "content": message.text}]
        if message.role == "assistant":
            return [message.native or {"role": "assistant", "content": said_before(message)}]
        results = [part for part in message.parts if isinstance(part, Result)]
        answers: list[object] = [
            {
                "role": "tool",
                "tool_call_id": result.call_id,
                "content": "".join(part.text for part in result.parts if isinstance(part, Text)),
            }
            for result in results
        ]
        shown = [part for result in results for part in result.parts if isinstance(part, Picture)]
        rest = [part for part in message.parts if not isinstance(part, Result)]
        if results and not shown and not rest:
            return answers
        content: list[Json] = []
        for part in (*shown, *rest):
            if isinstance(part, Text):
                content.append({"type": "text", "text": part.text})
                continue
            picture = await pictures.encoded(part)
            image: Json = {"url": picture_text(picture, f"data:{picture.media_type};base64,")}
            if self._detail is not None:
                image["detail"] = self._detail
            content.append({"type": "image_url", "image_url": image})
        if marked and content:
            content[-1]["prompt_cache_breakpoint"] = {"mode": "explicit"}
        return [*answers, {"role": "user", "content": content}]

    def _parameters(self, generation: Generation, request: Request) -> Json:
        wanted: Json = {
            self.limit: generation.max_tokens,
            "temperature": self._temperature(generation),
            "top_p": generation.top_p,
            "seed": generation.seed,
            "reasoning_effort": generation.effort,
        }
        if generation.thinking_budget is not None:
            self._notify(f"{self._info.name} has no thinking budget (only an effort): not sent")
        wanted |= self._additions(request)
        wanted |= self._extra
        return {name: value for name, value in wanted.items() if value is not None}

    def _joined(self, stream: Iterable[Json]) -> Json:
        from adapters.event_streams import chat_answer

        return chat_answer(stream)

    def _read(self, answer: ChatCompletion, headers: Mapping[str, str]) -> Reply:
        if not answer.choices:
            raise ValueError("no choices")
        choice = answer.choices[0]
        text, reasoning, refusal = chat_answers.said(choice.message)
        calls = chat_answers.calls(choice.message)
        said = text or refusal or "".join(call.name for call in calls)
        finish = self._finish(choice.finish_reason, said, choice.error or answer.error)
        return Reply(
            text=refusal or text,
            finish=Finish.REFUSAL if refusal else finish,
            usage=self._counted(answer.usage, chat_answers.usage(answer.usage), text),
            model=named(answer.model),
            request_id=named(headers.get("x-request-id")) or named(answer.id),
            reasoning=reasoning,
            picture_tokens=chat_answers.picture_tokens(answer.usage),
            tier=served_on(answer.service_tier),
            tool_calls=calls,
            native=_as_it_came(choice.message) if calls else None,
        )


class ServedModel(ChatAdapter):
    """A model of a server of the user's own (vLLM, SGLang, llama.cpp, transformers serve).

    Greedy decoding without a repetition penalty is requested explicitly, because some servers use
    the checkpoint's sampling defaults for every parameter that is not sent.
    """

    _sizes_told = False
    _broken_up = 0
    _told_unguarded = False
    spellings: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **ChatAdapter.spellings,
        "skip_special_tokens": (),
    }

    def measured(self) -> Mapping[str, object]:
        """Return the number of control tokens in texts that were broken up."""
        guarded = self._controls is not None
        return {"control_tokens_broken_up": self._broken_up if guarded else "not guarded"}

    @cached_property
    def _controls(self) -> re.Pattern[str] | None:
        known = open_model(str(self._info.settings.get("family") or self._info.model))
        return known.controls if known else None

    async def _wanted(self, request: Request, pictures: PictureSource) -> tuple[Json, Json]:
        shown = self._guarded(request.conversation)
        return await super()._wanted(replace(request, conversation=shown), pictures)

    def _guarded(self, conversation: Conversation) -> Conversation:
        """Return the conversation with a blank within all that the server's tokenizer would read as
        a control token. A reply in the provider's own form goes back as it came."""
        found = 0

        def safe(parts: Iterable[Part], replied: bool) -> Iterator[Part]:
            nonlocal found
            # Texts that follow each other are one for the tokenizer.
            for is_text, group in groupby(parts, lambda part: isinstance(part, Text)):
                same = list(group)
                text = "".join(part.text for part in same if isinstance(part, Text))
                written, count = self._broken(text, replied) if is_text else ("", 0)
                found += count
                for part in [Text(written)] if written != text else same:
                    if isinstance(part, Result):
                        inner: Any = tuple(safe(part.parts, replied))
                        yield replace(part, parts=inner)
                    else:
                        yield part

        messages = tuple(
            message
            if message.native is not None
            else replace(message, parts=tuple(safe(message.parts, message.role == "assistant")))
            for message in conversation.messages
        )
        if found and not self._broken_up:
            self._notify(
                f"{self._info.name}: texts hold control tokens of this model, which are broken up "
                f"by a blank ({found} in the first such prompt; the record of the run counts all)"
            )
        self._broken_up += found
        return replace(conversation, messages=messages)

    def _broken(self, text: str, replied: bool) -> tuple[str, int]:
        """Return a text with control tokens broken up, and how many there were. In a reply the
        marks of places stay, and those of a thought: templates leave it out of later rounds by
        them."""
        controls = self._controls
        if controls is None:
            if not self._told_unguarded and (mark := _LIKELY_CONTROLS.search(text)):
                self._told_unguarded = True
                self._notify(
                    f"{self._info.name}: not guarded: texts hold {mark[0]}, which may be a control "
                    "token of this model, whose tokenizer is not known here (--adapter-option "
                    "family= names one that is)"
                )
            return text, 0
        found = 0

        def broken_up(mark: re.Match[str]) -> str:
            nonlocal found
            said, half = mark[0], len(mark[0]) // 2
            if replied and _OF_REPLIES.fullmatch(said):
                return said
            found += 1
            return f"{said[:half]} {said[half:]}"

        return controls.sub(broken_up, text), found

    def _additions(self, request: Request) -> Json:
        added: Json = {"repetition_penalty": 1.0}
        if "repetition_penalty" in self._refused:
            # transformers serve takes 1 + this for it, and else what the checkpoint says.
            added["frequency_penalty"] = 0.0
        if "skip_special_tokens" in self._info.settings:
            added["skip_special_tokens"] = False
        return added

    def _done(self, request: Request, reply: Reply) -> None:
        """Tell once when the server's count of tokens rules out the sizes that were sent."""
        rule, shown = self._info.image_rule, request.conversation.pictures
        exact = self._info.coordinates in (None, "absolute")
        if self._sizes_told or not exact or rule is None or not shown:
            return
        expected = sum(rule.tokens(picture.width, picture.height) or 0 for picture in shown)
        if reply.picture_tokens is not None:
            counted, least, most = reply.picture_tokens, expected, expected
        else:
            # A text has no more tokens than bytes; templates and default system texts add some.
            messages = request.conversation.messages
            texts = sum(len(message.text.encode("utf-8", "replace")) for message in messages)
            counted, least = reply.usage.input if reply.usage else 0, expected
            most = expected + texts + 64 * (1 + len(messages))
        slack = 4 * len(shown)
        if not counted or least - slack <= counted <= most + slack:
            return
        self._sizes_told = True
        limits = self._info.settings
        self._notify(
            f"{self._info.name}: the server counted {counted:,} "
            f"{'prompt' if reply.picture_tokens is None else 'picture'} tokens, but pictures in "
            f"the size that was sent make {expected:,}. Unless it counts in another way, it "
            f"resizes by other limits than {limits['min_pixels']} to {limits['max_pixels']} "
            "pixels, and points are read in the wrong place: declare its limits with "
            "--adapter-option max_pixels=N and --adapter-option min_pixels=N"
        )


def _as_it_came(message: chat_answers.ChatMessage) -> Json:
    """Return a reply that makes calls, to send back: the text, and the calls unchanged."""
    content = message.content
    return {"role": "assistant", "content": content, "tool_calls": message.tool_calls}


def on_record(detail: str | None, extra_body: Mapping[str, object] | None) -> dict[str, object]:
    """Return the settings that a run records for a model behind this protocol."""
    return {"api": "chat.completions", "detail": detail, "extra_body": dict(extra_body or {})}


def served(
    model: str, *, family: str | None = None, least: int | None = None, most: int | None = None
) -> tuple[OpenModel, Mapping[str, object]]:
    """Return the facts of a model behind a compatible server, and those to record.

    `family` is the published name of a model that the server calls otherwise. `least` and `most`
    are the pixel limits of the server; None: as published. On record, and so in the key of the
    response cache, is what was given, and what replies depend on: the limits of a model that
    answers in pixels, and special tokens that are kept.

    Raises `Fatal` for an unknown family, for limits of a model that resizes by an unknown rule, and
    for impossible ones.
    """
    known = open_model(family or model)
    if known is None and family is not None:
        raise Fatal(f"nothing is known of a family '{family}' (known: {', '.join(OPEN_MODELS)})")
    known = known or OpenModel(None)
    settings: dict[str, object] = {} if family is None else {"family": family}
    if known.special_tokens:
        settings["skip_special_tokens"] = False
    given = (least, most) != (None, None)
    if known.pixels is None:
        if given:
            raise Fatal(
                f"how {family or model} resizes pictures is not known, so min_pixels and "
                "max_pixels mean nothing: leave them out, or name the family of models that it "
                "belongs to with --adapter-option family=qwen2.5-vl"
            )
        return known, settings
    pixels = known.pixels
    pixels = replace(
        pixels,
        least=pixels.least if least is None else least,
        most=pixels.most if most is None else most,
    )
    if not pixels.least <= pixels.most or pixels.most < pixels.factor**2:
        raise Fatal(
            f"pictures of {pixels.least} to {pixels.most} pixels are impossible for "
            f"{family or model}: min_pixels must not exceed max_pixels, and one picture token has "
            f"{pixels.factor**2} pixels"
        )
    if given or known.exact:
        settings |= {"min_pixels": pixels.least, "max_pixels": pixels.most}
    return replace(known, pixels=pixels), settings
