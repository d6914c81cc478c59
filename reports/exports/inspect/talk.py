"""The calls of a unit as the messages of an inspect_ai sample, and their pictures.

A sample has one list of messages, and a unit may hold several conversations: groups of a
tournament, batches asked side by side, other models. They follow one another, each whole, and
their first messages say in their metadata which call begins there. An action on a live page is a
tool call of the reply before it, and what was seen then its result.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from inspect_ai import model as im
from inspect_ai.tool import ToolCall, ToolCallError

from adapters.contract import EncodedPicture
from adapters.conversation import Finish, Picture, Usage, placeholder
from harness.runs import BLOBS, CallRecord, DataGone, MessageRecord, Run, RunError, Unit
from harness.runs.live_steps import PerformedAction, Sight
from harness.runs.pictures import made_again
from harness.tables import clean
from reports.exports import ExportError
from reports.exports.results import public_text

STOP_REASONS: dict[Finish, im.StopReason] = {
    Finish.STOP: "stop",
    Finish.LENGTH: "max_tokens",
    Finish.TOO_LONG: "model_length",
}
"""inspect_ai's words for ends of replies; any other is a `content_filter`."""
LIMIT = 1_000_000_000
"""Most bytes of pictures in a log, which is written from memory and has a picture once in each
sample that shows it."""
TYPES = ((b"\xff\xd8\xff", "jpeg"), (b"\x89PNG", "png"), (b"GIF8", "gif"), (b"RIFF", "webp"))
"""Media types by the first bytes of a file."""

Show = Callable[[Picture], EncodedPicture | str]
"""The bytes of a picture, or a text in its place."""


@dataclass(slots=True)
class Talk:
    """The conversations about a unit.

    unit_id: the unit.
    show: maps pictures to message content.
    model: the model under test, for replies that do not name theirs.
    messages: all conversations, one after the other.
    output: the last reply of the model under test; None without any.
    turns: number of its replies.
    """

    unit_id: str
    show: Show
    model: str
    messages: list[im.ChatMessage] = field(default_factory=list)
    output: im.ModelOutput | None = None
    turns: int = 0
    _replies: dict[str, im.ChatMessageAssistant] = field(default_factory=dict)
    """The replies by the conversation that they end."""
    _last: im.ChatMessageAssistant | None = None
    """The last reply, which the next action belongs to."""

    @classmethod
    def of(cls, record: Unit[Any], calls: Sequence[CallRecord], show: Show, model: str) -> Talk:
        """Return the messages of the calls of a unit's last trial."""
        talk = cls(record.unit_id, show, model)
        # In the order of the dialogue; calls of an unfinished one in that of their replies.
        places = {id: place for place, id in enumerate(record.calls)}
        ordered = sorted(calls, key=lambda call: places.get(call.id, len(places)))
        for acting, group in groupby(ordered, key=lambda call: call.act is not None):
            for call in group if acting else _by_conversation(list(group)):
                (talk._act if acting else talk._ask)(call)
        return talk

    def _ask(self, call: CallRecord) -> None:
        asked, answer = call.exchange
        if call.embed is not None:
            texts = "\n\n".join(part for one in asked for part in map(str, one.shown))
            asked = (MessageRecord("user", (texts,)),)
        question = [_message(one, self.show) for one in asked]
        before = self._replies.get(call.earlier or "")
        if before is not None and question[:1] and question[0].role == "assistant":
            # The reply that the conversation goes on from has been added with its own call.
            question = question[1:] if question[0].text == before.text else question
        # The viewer puts all system messages into one at the top.
        known = {one.text for one in self.messages if one.role == "system"}
        question = [one for one in question if one.role != "system" or one.text not in known]
        for message in question:
            message.source = None if message.role == "assistant" else "input"
        spoken = [one for one in question if one.role != "system"]
        if before is None and spoken:
            other = call.asked_by if call.asked_by != self.unit_id else ""
            about = {"call": call.name, "role": call.role, "asked_by": other}
            spoken[0].metadata = {name: value for name, value in about.items() if value}
        output = self._output(call, answer)
        self._last = self._replies[call.conversation] = output.message
        self.messages += [*question, self._last]
        if call.is_ask and not call.role:
            self.output, self.turns = output, self.turns + 1

    def _output(self, call: CallRecord, answer: str) -> im.ModelOutput:
        reply = call.reply
        model = public_text("model", reply.model) or ("" if call.role else self.model)
        content: str | list[im.Content] = answer if call.embed is not None else reply.text
        if reply.reasoning:
            thoughts = im.ContentReasoning(reasoning=reply.reasoning)
            content = [thoughts, im.ContentText(text=reply.text)]
        message = im.ChatMessageAssistant(
            content=content, source="generate", model=model or None, metadata=_facts(call) or None
        )
        end = STOP_REASONS.get(reply.finish, "content_filter")
        return im.ModelOutput(
            model=model,
            choices=[im.ChatCompletionChoice(message=message, stop_reason=end)],
            usage=model_usage(reply.usage) if reply.usage else None,
            time=reply.latency_s,
            response_id=reply.request_id or None,
        )

    def _act(self, call: CallRecord) -> None:
        """Add an action as a tool call of the reply before it, and what was seen after it."""
        assert call.act is not None
        done, seen = (
            PerformedAction.of(call.act.action),
            Sight.of(call.act.observation, call.act.blobs),
        )
        text = seen.told or call.exchange[1]
        if done is None:
            page = im.ChatMessageUser(content=text, source="input", metadata={"call": call.place})
            self.messages.append(page)
            return
        if self._last is None or self._last.tool_calls:
            self._last = im.ChatMessageAssistant(content="")
            self.messages.append(self._last)
        action = done.action
        values = {"element": action.element, "point": action.point}
        known = {name: value for name, value in values.items() if value is not None}
        self._last.tool_calls = [ToolCall(call.id, action.name, {**known, **action.arguments})]
        error = ToolCallError("unknown", seen.error) if seen.error else None
        self.messages.append(
            im.ChatMessageTool(
                content=text, tool_call_id=call.id, function=action.name, error=error
            )
        )


def model_usage(usage: Usage) -> im.ModelUsage:
    """Count tokens as inspect_ai does: those of the prompt cache are no `input_tokens`."""
    return im.ModelUsage(
        input_tokens=max(usage.input - usage.cached - usage.cache_write, 0),
        output_tokens=usage.output,
        total_tokens=usage.input + usage.output,
        input_tokens_cache_write=usage.cache_write or None,
        input_tokens_cache_read=usage.cached or None,
        reasoning_tokens=usage.reasoning or None,
    )


def _by_conversation(asks: Sequence[CallRecord]) -> Iterator[CallRecord]:
    """Yield the calls with every conversation followed by those that go on from it."""
    begun = {call.conversation for call in asks}
    after: dict[str | None, list[CallRecord]] = {}
    for call in asks:
        after.setdefault(call.earlier if call.earlier in begun else None, []).append(call)
    waiting = after.pop(None, [])[::-1]
    while waiting:
        call = waiting.pop()
        yield call
        waiting += after.pop(call.conversation, [])[::-1]


def _message(record: MessageRecord, show: Show) -> im.ChatMessage:
    """Return a message as inspect_ai has it; `show` is asked for every picture."""
    parts = [_content(part, show) for part in record.shown]
    alone = parts[0] if len(parts) == 1 else None
    content = alone.text if isinstance(alone, im.ContentText) else parts
    if record.role == "system":
        return im.ChatMessageSystem(content=content)
    if record.role == "assistant":
        return im.ChatMessageAssistant(content=content)
    return im.ChatMessageUser(content=content)


def _content(part: str | Picture, show: Show) -> im.Content:
    shown = show(part) if isinstance(part, Picture) else part
    if isinstance(shown, str):
        return im.ContentText(text=shown)
    encoded = b64encode(shown.data).decode()
    return im.ContentImage(image=f"data:{shown.media_type};base64,{encoded}")


def _facts(call: CallRecord) -> dict[str, Any]:
    """Return the facts about a reply that inspect_ai's messages lack."""
    reply = call.reply
    facts = {
        "role": call.role,
        "finish": "" if reply.finish is Finish.STOP else str(reply.finish),
        "seconds": round(reply.latency_s, 3),
        "cost": call.cost,
    }
    return {name: value for name, value in facts.items() if value}


class ShownPictures:
    """The pictures that the units of a run were shown, made again.

    `missing` counts missing ones and gives the first reason; "" if there are none. Raises
    `ExportError` if they are too large together, `RunError` if the run cannot be read.
    """

    def __init__(self, run: Run, records: Sequence[Unit[Any]]) -> None:
        self._made: dict[Picture, EncodedPicture] = {}
        times = Counter(one for record in records for one in dict.fromkeys(record.pictures))
        gone = dict.fromkeys(times, "the data has no such picture")
        wanted: dict[str, list[Picture]] = {}
        for picture in times:
            wanted.setdefault(picture.digest, []).append(picture)
        size = 0
        for digest, data in _sources(run, records, wanted):
            for picture in wanted.pop(digest, ()):
                made = _made(picture, data)
                if isinstance(made, DataGone):
                    gone[picture] = str(made)
                    continue
                self._made[picture] = made
                del gone[picture]
                size += len(made.data) * times[picture]
            if size > LIMIT:
                raise ExportError(
                    f"the pictures of {clean(run.name)} are more than {LIMIT / 1e6:,.0f} MB: leave "
                    "out --with-pictures (vlm-eval view shows any number of them)"
                )
        reason = next(iter(gone.values()), "")
        self.missing = f"{len(gone):,} pictures are missing: {reason}" if gone else ""

    def show(self, picture: Picture) -> EncodedPicture | str:
        """Return a picture, or a line in its place, without folders of the user's."""
        return self._made.get(picture) or placeholder(picture)


def _sources(
    run: Run, records: Iterable[Unit[Any]], digests: Iterable[str]
) -> Iterator[tuple[str, bytes | DataGone]]:
    """Return the sources of pictures by digest: blobs of the run, or screenshots of its data."""
    left = set(digests)
    for digest in sorted(left) if (run.path / BLOBS).is_dir() else ():
        if (found := _blob(run, digest)) is not None:
            left.discard(digest)
            yield digest, found
    units = {one.screenshot: one.unit_id for one in records if one.screenshot in left}
    names = {unit_id: digest for digest, unit_id in units.items() if digest is not None}
    for unit_id, data in run.screenshots(names):
        yield names[unit_id], data


def _blob(run: Run, digest: str) -> bytes | None:
    try:
        return run.blobs.get(digest)
    except RunError:  # It is missing, damaged, or no digest.
        return None


def _made(picture: Picture, source: bytes | DataGone) -> EncodedPicture | DataGone:
    """Return a picture as sent, or the reason for its absence."""
    if isinstance(source, DataGone):
        return source
    try:
        return _encoded(picture, made_again(picture, source))
    except DataGone as gone:
        return gone


def _encoded(picture: Picture, data: bytes) -> EncodedPicture:
    kind = next((name for begin, name in TYPES if data.startswith(begin)), "jpeg")
    return EncodedPicture(data, f"image/{kind}", picture.width, picture.height)
