"""The calls of a unit as the messages of an inspect_ai sample.

A sample has one list of messages, and a unit may hold several conversations: groups of a
tournament, batches asked side by side, other models. They stand one after the other, each whole,
and their first messages say in their metadata which call begins there. What was done on a live
page is a tool call of the reply before it, and what was seen then its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    ModelOutput,
)
from inspect_ai.tool import ToolCall, ToolCallError

from adapters.conversation import Finish, Picture
from adapters.inspect import Show, chat_messages, model_output
from harness.runs import CallRecord, MessageRecord, Unit
from harness.runs.live_steps import Done, Sight
from reports.exports.facts import by_conversation, in_order, public_text

AS_IT_IS = ""
"""The recipe of a picture that no model was sent."""


@dataclass(slots=True)
class Talk:
    """The conversations about a unit.

    unit_id: the unit.
    show: maps pictures to message content.
    model: the model under test, for replies that do not name theirs.
    several: True for several conversations; each then names its first call.
    sent: digests of the pictures that models were sent.
    messages: all conversations, one after the other.
    output: the last reply of the model under test; None without any.
    turns: number of its replies.
    """

    unit_id: str
    show: Show
    model: str
    several: bool
    sent: frozenset[str]
    messages: list[ChatMessage] = field(default_factory=list)
    output: ModelOutput | None = None
    turns: int = 0
    _replies: dict[str, ChatMessageAssistant] = field(default_factory=dict)
    """The replies by the conversation that they end."""
    _systems: set[str] = field(default_factory=set)
    _last: ChatMessageAssistant | None = None
    """The last reply, which what is done next belongs to."""

    @classmethod
    def of(cls, record: Unit[Any], calls: Sequence[CallRecord], show: Show, model: str) -> Talk:
        """Return the messages of the calls of a unit's last trial."""
        sent = (part for call in calls for one in call.messages for part in one.parts)
        begun = {call.conversation for call in calls}
        first = [call for call in calls if call.act is None and call.earlier not in begun]
        digests = frozenset(part.digest for part in sent if isinstance(part, Picture))
        talk = cls(record.unit_id, show, model, len(first) > 1, digests)
        for call in by_conversation(in_order(record, calls)):
            (talk._ask if call.act is None else talk._act)(call)
        return talk

    def _ask(self, call: CallRecord) -> None:
        """Add what a call asked, and its reply."""
        messages, answer = call.exchange
        if call.embed is not None:
            texts = "\n\n".join(part for one in messages for part in map(str, one.parts))
            messages = (MessageRecord("user", (texts,)),)
        before = self._replies.get(call.earlier or "")
        if before is not None and messages and messages[0].role == "assistant":
            # The reply that the conversation goes on from has been added with its own call.
            messages = messages[1:] if _text(messages[0]) == before.text else messages
        question = self._asked(messages)
        if before is None and self.several and question:
            other = call.asked_by if call.asked_by != self.unit_id else ""
            about = {"call": call.name, "role": call.role, "asked_by": other}
            question[0].metadata = {name: value for name, value in about.items() if value}
        public_reply = replace(call.reply, model=public_text("model", call.reply.model))
        output = model_output(public_reply, "" if call.role else self.model)
        reply = output.choices[0].message
        if call.embed is not None:
            reply.content = answer
        reply.metadata = _facts(call) or None
        self.messages += [*question, reply]
        self._replies[call.conversation] = self._last = reply
        if call.is_ask and not call.role:
            self.output, self.turns = output, self.turns + 1

    def _asked(self, messages: Iterable[MessageRecord]) -> list[ChatMessage]:
        """Messages without the system messages that have been added before.

        The viewer puts all of them into one at the top.
        """
        question: list[ChatMessage] = []
        for message in chat_messages(messages, self.show):
            if message.role == "system":
                if message.text in self._systems:
                    continue
                self._systems.add(message.text)
                self.messages.append(message)
            else:
                question.append(message)
            if message.role != "assistant":
                message.source = "input"
        return question

    def _act(self, call: CallRecord) -> None:
        """Add an action as a tool call of the reply before it, and what was seen after it."""
        assert call.act is not None
        done = Done.of(call.act.action)
        seen = Sight.of(call.act.observation, call.act.blobs)
        text = seen.told or call.exchange[1]
        unseen = seen.screenshot and seen.screenshot not in self.sent
        shown = [Picture(seen.screenshot, AS_IT_IS, *seen.viewport)] if unseen else []
        (page,) = chat_messages([MessageRecord("user", (text, *shown))], self.show)
        if done is None:
            page.source, page.metadata = "input", {"call": call.place}
            self.messages.append(page)
            return
        if self._last is None or self._last.tool_calls:
            self._last = ChatMessageAssistant(content="")
            self.messages.append(self._last)
        action = done.action
        place = {"element": action.element, "point": action.point}
        known = {name: value for name, value in place.items() if value is not None}
        self._last.tool_calls = [ToolCall(call.id, action.name, {**known, **action.arguments})]
        self.messages.append(
            ChatMessageTool(
                content=page.content,
                tool_call_id=call.id,
                function=action.name,
                error=ToolCallError("unknown", seen.error) if seen.error else None,
            )
        )


def _text(record: MessageRecord) -> str:
    return "".join(part for part in record.parts if isinstance(part, str))


def _facts(call: CallRecord) -> dict[str, Any]:
    """Return the facts about a reply that inspect_ai's messages lack."""
    reply = call.reply
    facts = {
        "role": call.role or None,
        "finish": str(reply.finish) if reply.finish is not Finish.STOP else None,
        "input_tokens": reply.usage.input or None if reply.usage else None,
        "output_tokens": reply.usage.output or None if reply.usage else None,
        "seconds": round(reply.latency_s, 3) or None,
        "cost": call.cost or None,
        "attempts": call.attempts if call.attempts > 1 else None,
        "from_cache": call.from_cache or None,
        "tier": reply.tier or None,
    }
    return {name: value for name, value in facts.items() if value is not None}
