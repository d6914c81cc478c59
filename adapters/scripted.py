"""A model that answers from a script: for tests, demonstrations and rehearsals of a run.

`scripted:FILE` reads JSON lines, an object per reply:

    {"step": "a1", "place": "round-1", "text": "I would click it."}
    {"step": "a1", "place": "round-2", "text": "ELEMENT: A\\nACTION: CLICK\\nVALUE: None"}
    {"place": "round-2", "text": "ELEMENT: B\\nACTION: CLICK", "usage": {"input": 900}}
    {"step": "a2", "fault": "rate_limit", "retry_after_s": 0.5}
    {"step": "a2", "text": "this time it works"}
    {"default": true, "text": "I do not know.", "latency_s": 0.2}

A line with `step`, `place` or both answers the calls that match, the more precise line first (both,
then `step`, then `place`). Lines with the same key are used one after the other and the last one
stays. Lines with neither key answer the remaining calls in the order of asking, once each; then
`default` (or, without one, a `Fatal`) answers. A line may also have

    finish         "stop", "length", "refusal", "content_filter", "provider_refused", "too_long"
    usage          input, cached, cache_write, output, reasoning (tokens)
    latency_s      how long the call takes, really waited for
    model          what the reply names as its model
    native         any JSON, given back with the conversation
    reasoning      what the model thought, for the record only
    fault          "rate_limit", "timeout", "connection", "server", "malformed" instead of a reply,
                   with `retry_after_s` and `message` where wanted
    fatal          the message of an error that stops the run

`scripted:package.module:function` calls a function with the request instead; it returns a text, a
`Reply` or an object like those lines, or raises `Fault` or `Fatal`, and may be asynchronous.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

from adapters.contract import (
    Adapter,
    AdapterInfo,
    Fatal,
    Fault,
    FaultKind,
    ImageRule,
    PictureSource,
    Request,
)
from adapters.conversation import Finish, Reply, Usage
from adapters.input_files import file_text

Line = Mapping[str, Any]
Answer = str | Reply | Line
AnswerFunction = Callable[[Request], Answer | Awaitable[Answer]]

FIELDS = {
    *("step", "place", "default", "text", "finish", "usage", "latency_s", "model", "native"),
    "reasoning",
    *("fault", "retry_after_s", "message", "fatal"),
}


class _Script:
    """The lines of a script, and which are used up. Raises `Fatal` for an invalid line."""

    def __init__(self, lines: Sequence[Line], name: str = "script") -> None:
        self.name = name
        self._keyed: dict[tuple[str | None, str | None], list[Line]] = {}
        self._in_order: list[Line] = []
        self._default: Line | None = None
        for number, line in enumerate(lines, 1):
            _check(line, f"{name} line {number}")
            if line.get("default"):
                self._default = line
            elif "step" in line or "place" in line:
                self._keyed.setdefault((line.get("step"), line.get("place")), []).append(line)
            else:
                self._in_order.append(line)

    def __call__(self, request: Request) -> Line:
        step, place = request.unit_id, request.place
        for key in ((step, place), (step, None), (None, place)):
            lines = self._keyed.get(key)
            if lines:
                return lines.pop(0) if len(lines) > 1 else lines[0]
        if self._in_order:
            return self._in_order.pop(0)
        if self._default is None:
            raise Fatal(f"{self.name} has no reply for step '{step}' at '{place}'")
        return self._default


class ScriptedModel:
    """The adapter around a script or a function. `asked` keeps every request, in order."""

    def __init__(self, answer: AnswerFunction, info: AdapterInfo, *, look: bool = False) -> None:
        self._answer = answer
        self._info = info
        self._look = look
        self.asked: list[Request] = []

    @property
    def info(self) -> AdapterInfo:
        return self._info

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        """Ask the script once. Raises `Fault` or `Fatal` where the script says so."""
        started = time.monotonic()
        self.asked.append(request)
        if self._look:
            for picture in request.conversation.pictures:
                await pictures.encoded(picture)
        answer = self._answer(request)
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, Reply):
            return answer
        line: Line = {"text": answer} if isinstance(answer, str) else answer
        if line.get("latency_s"):
            await asyncio.sleep(line["latency_s"])
        reply = _reply(line)
        return replace(
            reply,
            model=reply.model or self._info.model,
            latency_s=time.monotonic() - started,
            sent=request.generation.plain(),
        )

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        return None


def scripted(
    model: str = "",
    *,
    function: AnswerFunction | None = None,
    lines: Sequence[Line] | None = None,
    concurrency: int = 8,
    open_dialogues: int | None = None,
    context_tokens: int | None = None,
    image_rule: ImageRule | None = None,
    look: bool = False,
) -> Adapter:
    """Return the scripted model; `model` is the file or `module:function` unless one is given
    directly.

    Args:
        function: the answers, from Python.
        lines: the answers, from Python.
        open_dialogues: the largest number of dialogues in flight.
        context_tokens: the context that the model says it has.
        image_rule: what the model says it does to pictures, from Python.
        look: fetch the pictures as a real model would.

    Raises `Fatal` for a script that is missing or not as described above.
    """
    settings: dict[str, object] = {}
    if function is None:
        if lines is None:
            lines, function = _load(model)
        if lines is not None:
            digest = hashlib.sha256(json.dumps(lines, sort_keys=True, default=str).encode())
            settings["script"] = digest.hexdigest()
            function = _Script(lines, model or "script")
    if function is None:
        raise Fatal("scripted needs a file or a function (scripted:FILE)")
    if "script" not in settings:
        settings["function"] = getattr(function, "__qualname__", type(function).__qualname__)
    info = AdapterInfo(
        name=f"scripted:{model}" if model else "scripted",
        model=Path(model).stem if model else "scripted",
        provider="scripted",
        stand_in="code",
        concurrency=concurrency,
        open_dialogues=open_dialogues,
        context_tokens=context_tokens,
        image_rule=image_rule,
        # A script may answer equal requests of two steps differently.
        greedy=lambda generation: False,
        settings=settings,
    )
    return ScriptedModel(function, info, look=look)


def _load(model: str) -> tuple[list[Line] | None, AnswerFunction | None]:
    path = Path(model)
    if not model or path.is_file():
        return (_read(path) if model else None), None
    if re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", model):
        module, _, attribute = model.partition(":")
        try:
            return None, getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise Fatal(f"scripted: cannot load {model}: {error}") from error
    raise Fatal(f"scripted: no such file: {model}")


def _read(path: Path) -> list[Line]:
    lines: list[Line] = []
    try:
        content = file_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise Fatal(f"{path} cannot be read as UTF-8 text: {error}") from error
    for number, text in enumerate(content.split("\n"), 1):
        if not text.strip():
            continue
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError as error:
            raise Fatal(f"{path} line {number} is not valid JSON: {error}") from error
    return lines


def _check(line: Line, where: str) -> None:
    if not isinstance(line, Mapping):
        raise Fatal(f"{where} is not a JSON object")
    unknown = sorted(set(line) - FIELDS)
    if unknown:
        raise Fatal(f"{where}: unknown field '{unknown[0]}'")
    if "fault" in line and line["fault"] not in get_args(FaultKind):
        raise Fatal(f"{where}: unknown fault '{line['fault']}'")
    if "finish" in line and line["finish"] not in list(Finish):
        raise Fatal(f"{where}: unknown finish '{line['finish']}'")
    for name in ("text", "model", "message", "reasoning"):
        if not isinstance(line.get(name, ""), str):
            raise Fatal(f"{where}: '{name}' must be text")
    for name in ("latency_s", "retry_after_s"):
        if not isinstance(line.get(name, 0), (int, float)):
            raise Fatal(f"{where}: '{name}' must be a number of seconds")
    usage, known = line.get("usage", {}), [field.name for field in fields(Usage)]
    counts = usage.values() if isinstance(usage, Mapping) and set(usage) <= set(known) else [None]
    if not all(isinstance(count, int) for count in counts):
        raise Fatal(f"{where}: 'usage' must hold numbers of tokens: {', '.join(known)}")


def _reply(line: Line) -> Reply:
    if "fatal" in line:
        raise Fatal(str(line["fatal"]))
    if "fault" in line:
        raise Fault(line["fault"], line.get("message", "scripted fault"), line.get("retry_after_s"))
    return Reply(
        text=line.get("text", ""),
        finish=Finish(line.get("finish", "stop")),
        usage=Usage(**line["usage"]) if "usage" in line else None,
        model=line.get("model", ""),
        native=line.get("native"),
        reasoning=line.get("reasoning", ""),
    )
