"""Runs of ours, and the same in inspect with a model that gives the replies on record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest
from inspect_ai import eval as inspect_eval
from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.model import GenerateConfig, Model, ModelOutput, ModelUsage, get_model

import harness
from adapters import PictureSource, Reply, Request
from adapters.inspect import InspectModel, chat_messages
from harness.bridge.tasks import benchmark
from harness.runs import MessageRecord, Run

Key = tuple[tuple[str, str], ...]
"""Roles and texts of a conversation."""
Answer = Callable[[list[Any], GenerateConfig], ModelOutput]


def output(text: str, **more: Any) -> ModelOutput:
    """A reply of the model; inspect would load a tokenizer for one without usage."""
    answered = ModelOutput.from_content("mockllm", text, **more)
    answered.usage = ModelUsage(input_tokens=5, output_tokens=2, total_tokens=7)
    return answered


def model(answer: Answer) -> Model:
    """A model of inspect's that answers by a function of messages and parameters."""
    return get_model(
        "mockllm/model",
        custom_outputs=lambda messages, tools, choice, config: answer(messages, config),
    )


def evaluated(
    arguments: Mapping[str, Any], answer: Answer | None = None, **options: Any
) -> EvalLog:
    """The log of an evaluation with these arguments of the task, and options of inspect."""
    chosen = model(answer or (lambda messages, config: output("I do not know.")))
    (log,) = inspect_eval(
        benchmark(**arguments), model=chosen, log_dir="logs", display="none", **options
    )
    return log


def in_order(log: EvalLog) -> list[EvalSample]:
    """The samples of a log in the order of the data."""
    samples = {sample.id: sample for sample in log.samples or []}
    return [samples[id] for id in log.eval.dataset.sample_ids or [] if id in samples]


def replies_of(run: Run) -> dict[Key, str]:
    """The replies on record by what was asked for them, in inspect's form."""
    messages: dict[str, tuple[MessageRecord, ...]] = {}
    replies = {}
    for call in run.calls():
        if not call.is_ask:
            continue
        whole = (*messages.get(call.earlier or "", ()), *call.messages)
        messages[call.conversation] = whole
        replies[key_of(chat_messages(whole, lambda picture: "[picture]"))] = call.reply.text
    return replies


def key_of(messages: list[Any]) -> Key:
    def text(message: Any) -> str:
        if isinstance(message.content, str):
            return message.content
        return "\n".join(getattr(part, "text", "[picture]") for part in message.content)

    return tuple((message.role, text(message)) for message in messages)


class Asked(NamedTuple):
    """What inspect asked: digests of conversations, by unit and place."""

    digests: dict[tuple[str, int, str], str]


def watched(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Note the digest of every conversation that a model of inspect's is asked to continue."""
    asked = Asked({})
    ask = InspectModel.ask

    async def noting(self: InspectModel, request: Request, pictures: PictureSource) -> Reply:
        key = request.unit_id, request.repeat, request.place
        assert key not in asked.digests
        asked.digests[key] = request.conversation.digest()
        return await ask(self, request, pictures)

    monkeypatch.setattr(InspectModel, "ask", noting)
    return asked


def our_run(model: str, settings: Mapping[str, Any]) -> Run:
    """A run of ours with the same settings."""
    run = harness.evaluate(model=model, **settings, progress="off", cache=False, out="run")
    assert run.complete
    return run
