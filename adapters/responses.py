"""OpenAI's Responses wire, which vLLM, OpenRouter and others speak as well (Open Responses).

A dialogue goes on by echo: all items go out again, the model's own as they came, hidden reasoning
included. So it can be played back from the record, and no server needs to store anything. Replies
are read into lenient records, not the SDK's models, which demand fields that servers leave out.
Written against openai 3.52 and the documents of the servers, November 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import msgspec

from adapters import chat_answers, chat_completions
from adapters.api import picture_text, said_before, served_on
from adapters.api_client import Json
from adapters.chat_completions import ChatAdapter
from adapters.checks import held_or_none, named
from adapters.contract import EchoRefused, Fatal, Fault, Generation, PictureSource, Request
from adapters.conversation import (
    Finish,
    Message,
    ProviderTool,
    Reply,
    Result,
    Shown,
    Text,
    Tool,
    ToolCall,
)
from adapters.faults import Failure, error_line

ENCRYPTED = "reasoning.encrypted_content"
_COUNTS = "input", "output"
_OF_ITEMS = frozenset(("type", "id", "call_id", "status"))
_OVER = ("response.completed", "response.incomplete", "response.failed")
# Codes of a reply that failed because of what was asked.
_OF_THE_PROMPT = re.compile(r"image|_policy|^invalid_prompt$")
# What went back is not what the server had said: by another account, say, or by an error of ours.
_ECHO_REFUSED = re.compile(
    r"\bitem\b.{0,200}\b(not found|provided without)|\bno tool (output|call) found|"
    r"invalid_encrypted_content|\bencrypted content\b.{0,200}\b(verified|decrypted|parsed|invalid)",
    re.IGNORECASE,
)


class ModelResponse(msgspec.Struct):
    """The fields of a response that are read."""

    output: list[dict[str, Any]]
    status: str | None = None
    incomplete_details: object = None
    error: object = None
    id: object = None
    model: object = None
    usage: object = None
    service_tier: object = None


class ResponsesWire(ChatAdapter):
    """The wire in place of chat completions, put before a class that knows the models."""

    spellings: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "temperature": (),
        "top_p": (),
        "seed": (),
        "reasoning": ("reasoning.effort", "reasoning_effort"),
        "include": ("include[0]", ENCRYPTED, "encrypted content"),
        "store": (),
        "repetition_penalty": (),
        "frequency_penalty": (),
        "skip_special_tokens": (),
        "prompt_cache_key": (),
        "prompt_cache_options": ("prompt_cache_options.mode", "prompt_cache_breakpoint"),
    }
    instead: ClassVar[Mapping[str, str]] = {}
    answers: ClassVar[type] = ModelResponse
    streaming: ClassVar[Mapping[str, object]] = {"stream": True}
    limit = "max_output_tokens"
    path = "/responses"

    def deferring(self) -> Any:
        raise Fatal(
            f"{self._info.name} is not asked in batches over the Responses wire: leave out "
            "--tier batch or --adapter-option wire=responses"
        )

    def verdict(
        self, failure: Failure, sent: Json, left_out: frozenset[str] = frozenset()
    ) -> Finish | Fault | Fatal | None:
        said = f"{failure.code} {failure.message}"
        if failure.status in {400, 404} and _ECHO_REFUSED.search(said):
            return EchoRefused(error_line(failure, self.speaker, self.clean))
        return super().verdict(failure, sent, left_out)

    async def _compose(self, request: Request, pictures: PictureSource) -> Json:
        marks = self._marks(request)
        messages, tools = request.conversation.messages, request.conversation.tools
        keeps = _keeps(request) or bool(self._extra.get("store"))
        kinds = {item["call_id"]: item for m in messages for item in _calls_in(m.native)}
        body: Json = {
            "model": self._info.model,
            "input": [
                item
                for number, message in enumerate(messages)
                if message.role != "system"
                for item in await self._items(message, pictures, number in marks, keeps, kinds)
            ],
        }
        if tools:
            body["tools"] = list(map(_tool, tools))
        if system := "\n\n".join(m.text for m in messages if m.role == "system"):
            body["instructions"] = system
        return body

    async def _items(
        self,
        message: Message,
        pictures: PictureSource,
        marked: bool,
        keeps: bool,
        calls: Mapping[str, Json],
    ) -> Iterable[Json]:
        """Return the items of a message.

        keeps: whether the server stores what it says. calls: the items of earlier calls, by id.
        """
        if message.role == "assistant":
            return self._echoed(message, keeps)
        items: list[Json] = []
        content: list[Json] = []
        for part in message.parts:
            if isinstance(part, Result):
                shown = [await self._shown(one, pictures) for one in part.parts]
                items.append(_output(calls.get(part.call_id, {}), part, shown))
            else:
                content.append(await self._shown(part, pictures))
        if marked and content:
            content[-1]["prompt_cache_breakpoint"] = {"mode": "explicit"}
        return [*items, {"role": "user", "content": content}] if content else items

    async def _shown(self, part: Shown, pictures: PictureSource) -> Json:
        if isinstance(part, Text):
            return {"type": "input_text", "text": part.text}
        picture = await pictures.encoded(part)
        url = picture_text(picture, f"data:{picture.media_type};base64,")
        return {"type": "input_image", "image_url": url, "detail": self._detail or "auto"}

    def _echoed(self, message: Message, keeps: bool) -> list[Json]:
        """Return the items of a reply as they go back."""
        native: Any = message.native or []
        # Calls that were cut off have no answers.
        items: list[Json] = [item for item in native if not _is_call(item) or _is_whole(item)]
        # No provider takes reasoning that was cut off before anything followed it.
        while items and items[-1].get("type") == "reasoning":
            items.pop()
        if not items:
            return [{"role": "assistant", "content": said_before(message)}]
        if keeps:
            return items
        # Nothing was stored that an id could name.
        return [{name: item[name] for name in item if name != "id"} for item in items]

    def _reasons(self, generation: Generation) -> bool:
        """Return whether OpenAI's model has to reason, and so takes no sampling parameters."""
        return self._endpoint.is_official and generation.effort not in {None, "none"}

    def _temperature(self, generation: Generation) -> object:
        return None if self._reasons(generation) else super()._temperature(generation)

    def _parameters(self, generation: Generation, request: Request) -> Json:
        wanted = super()._parameters(generation, request)
        effort = wanted.pop("reasoning_effort", None)
        reasoning = wanted.get("reasoning", {})
        if effort is not None and isinstance(reasoning, Mapping):
            wanted["reasoning"] = {"effort": effort, **reasoning}
        if _keeps(request):
            self._notify(
                f"{self._info.name}: OpenAI takes its own tools only with store, and keeps the "
                "pictures for 30 days"
            )
        usual: Json = {"store": _keeps(request)}
        if self._info.thinking.happens(effort, None):
            usual["include"] = [ENCRYPTED]
        wanted = {name: usual[name] for name in usual if name not in self._extra} | wanted
        if self._endpoint.is_official and wanted.pop("seed", None) is not None:
            self._notify(f"{self._info.name}: OpenAI's Responses wire has no seed: not sent")
        if self._reasons(generation):
            self._drop_sampling(generation, wanted)
        return wanted

    def _drop_sampling(self, generation: Generation, wanted: Json) -> None:
        """Leave out what a protocol asks for. Raises `Fatal` for what the user asks for."""
        for name in ("temperature", "top_p"):
            if wanted.pop(name, None) is None and getattr(generation, name) is None:
                continue
            line = f"{self._info.name} takes no {name} with reasoning"
            if name in self._asked_for:
                raise Fatal(f"{line}: leave out {name} or the effort")
            self._notify(f"{line}: not sent")

    def _joined(self, stream: Iterable[Json]) -> Json:
        for event in stream:
            answer = event.get("response")
            if event.get("error"):
                return event
            if event.get("type") in _OVER and isinstance(answer, dict):
                return answer
        raise ValueError("the stream breaks off")

    def _read(self, answer: Any, headers: Mapping[str, str]) -> Reply:
        text, reasoning, refusal = _said(answer.output)
        calls = () if refusal else tuple(map(_call, _calls_in(answer.output)))
        why = self._why_refused(answer.error)
        if why:
            text, refusal, calls, finish = "", "", (), Finish.PROVIDER_REFUSED
        else:
            failed = answer.error or answer.status == "failed"
            said = text or refusal or "".join(call.name for call in calls)
            finish = self._finish(_end(answer), said, failed)
        return Reply(
            text=refusal or text,
            finish=Finish.REFUSAL if refusal else finish,
            usage=self._counted(answer.usage, chat_answers.usage(answer.usage, _COUNTS), text),
            model=named(answer.model),
            native=(held_or_none(answer.output) if calls else answer.output) or None,
            request_id=named(headers.get("x-request-id")) or named(answer.id),
            reasoning=reasoning,
            picture_tokens=chat_answers.picture_tokens(answer.usage, _COUNTS),
            tier=served_on(answer.service_tier),
            refusal=why,
            tool_calls=calls,
        )

    def _why_refused(self, error: object) -> str:
        """Return the provider's words if a reply failed because of its prompt, else ""."""
        code = error.get("code") if isinstance(error, dict) else None
        if not isinstance(code, str) or not _OF_THE_PROMPT.search(code):
            return ""
        failure = self.failed(200, {"error": error})
        return self.ended(Finish.PROVIDER_REFUSED, failure, {}).refusal


def on_record(detail: str | None, extra_body: Mapping[str, object] | None) -> dict[str, object]:
    """Return the settings that a run records for a model behind this wire."""
    store = (extra_body or {}).get("store") or False
    recorded = chat_completions.on_record(detail, extra_body)
    return recorded | {"api": "responses", "state": "echo", "store": store}


def _said(output: list[Json]) -> tuple[str, str, str]:
    """Return the text of a reply, the thoughts before it, and the refusal in its place.

    Items of other kinds say nothing. Raises ValueError for content that has no text.
    """
    texts: list[str] = []
    thoughts: list[str] = []
    refusals: list[str] = []
    for item in output:
        if item.get("type") == "reasoning":
            content: object = [item]
        elif item.get("type") == "message":
            content = item.get("content")
        else:
            continue
        text, thought, refusal = chat_answers.said(chat_answers.ChatMessage(content))
        texts.append(text)
        thoughts.append(thought)
        refusals.append(refusal)
    return "\n".join(filter(None, texts)), "\n\n".join(filter(None, thoughts)), "".join(refusals)


def _keeps(request: Request) -> bool:
    """Return whether a request has a tool of the provider's own."""
    return any(isinstance(tool, ProviderTool) for tool in request.conversation.tools)


def _tool(tool: Tool | ProviderTool) -> Json:
    if isinstance(tool, ProviderTool):
        return dict(tool.entry)
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "strict": tool.strict,
        "parameters": dict(tool.parameters),
    }


def _calls_in(native: object) -> list[Json]:
    """Return the items of a reply that are whole calls, in order."""
    items = native if isinstance(native, list) else []
    return [item for item in items if _is_call(item) and _is_whole(item)]


def _is_call(item: Json) -> bool:
    return str(item.get("type", "")).endswith("_call")


def _is_whole(item: Json) -> bool:
    return isinstance(item.get("call_id"), str) and item.get("status") in (None, "completed")


def _call(item: Json) -> ToolCall:
    """Read a call: of a function, or of a tool whose item has its arguments as fields."""
    kind = str(item["type"]).removesuffix("_call")
    if kind == "function":
        arguments = chat_answers.arguments_of(item.get("arguments"))
        return ToolCall(named(item["call_id"]), named(item.get("name")), arguments)
    fields = {name: item[name] for name in item if name not in _OF_ITEMS}
    return ToolCall(named(item["call_id"]), named(kind), held_or_none(fields))


def _output(item: Json, result: Result, shown: list[Json]) -> Json:
    """Return the answer to a call. A tool of the provider's is answered with one picture."""
    answer: Json = {"type": f"{item.get('type')}_output", "call_id": result.call_id}
    if item.get("type") == "function_call":
        texts = [one["text"] for one in shown if one["type"] == "input_text"]
        return answer | {"output": "".join(texts) if len(texts) == len(shown) else shown}
    picture = next(one for one in reversed(shown) if one["type"] == "input_image")
    answer["output"] = {**picture, "type": f"{str(item['type']).removesuffix('_call')}_screenshot"}
    if checks := item.get("pending_safety_checks"):
        answer["acknowledged_safety_checks"] = checks
    return answer


def _end(answer: ModelResponse) -> str | None:
    """Return the word for the end of a reply."""
    details = answer.incomplete_details
    reason = details.get("reason") if isinstance(details, dict) else None
    is_incomplete = answer.status in {None, "incomplete"}
    return reason if is_incomplete and reason and isinstance(reason, str) else answer.status
