"""`vlm-eval show`: what a model would be sent for one step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from harness.commands.options import (
    MESSAGES,
    SettingsCommand,
    config_option,
    read_options,
    setting_options,
)
from harness.errors import DataError
from harness.printing import printable

if TYPE_CHECKING:
    from harness.benchmarks import Dataset
    from harness.dialogue import Ask
    from harness.evaluation.questions import Question
    from harness.protocols import AskingProtocol

REPLY = "(the model's description of the next action)"


@click.command(cls=SettingsCommand)
@config_option()
@click.argument("step")
@setting_options(
    ["model", *MESSAGES], model={"help": "Size pictures and count tokens for this model."}
)
@click.option("--answer", is_flag=True, help="Print the recorded action as well.")
def show(step: str, model: str, answer: bool, **_: Any) -> int:
    """Print what a model would be sent for STEP, a step's id or the beginning of one.

    No model is called. Where a message depends on earlier replies, these are the replies of a model
    that rejects every choice, or with --answer of one that finds the correct one.
    """
    from adapters import Reply
    from harness.dialogue import hold
    from harness.evaluation.model import tokens_of
    from harness.evaluation.plan import plan_run

    plan = plan_run(read_options(model=model or "oracle"), asks=False)
    row = plan.dataset.row(_full_id(plan.dataset, step))
    question = plan.preparer().prepare(row)
    record = question.record
    info = record.info
    size = f"{record.page_size[0]} x {record.page_size[1]}" if record.page_size else "lost"
    echo(
        f"step {record.step_id} ({info.split}, {info.website}, number {info.index + 1} of "
        f"{info.total_steps}), screenshot {size}, "
        f"{record.positives} positive and {record.negatives} negative candidates"
    )
    if record.invalid:
        echo(f"invalid: {record.invalid}; no model is asked about it")
        return 0
    if question.missed and plan.settings.missed != "ask":
        echo(
            f"the recorded element is not among the first {plan.settings.top_k} of the "
            "ranker: scored as zero, and no model is asked about it"
        )
        return 0
    replies = _replies(plan.protocol, question, answer)

    def reply(ask: Ask) -> Reply:
        _print_call(ask, tokens_of(ask.conversation, plan.model.info))
        # A description goes into the next message, where a stand-in is easier to see.
        return Reply(REPLY if ask.continues else replies.get(ask.place, ""))

    hold(plan.protocol.dialogue(question.step, question.choices), reply)
    if answer:
        gold = record.gold
        letters = [c.letter or "one without a letter" for c in record.choices if c.positive]
        echo(
            f"\n===== recorded: {gold.operation} {gold.value} on {', '.join(gold.elements)} "
            f"(listed as {', '.join(letters) or 'nothing'}) ====="
        )
    return 0


def _full_id(dataset: Dataset, text: str) -> str:
    """The one step whose id is or begins with `text`. Raises `DataError` for none or several."""
    import difflib

    ids = [entry.step_id for entry in dataset.entries]
    if text in ids:
        return text
    matches = [step for step in ids if step.startswith(text)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise DataError(f"{len(matches)} steps begin with '{text}', among them {matches[0]}")
    near = difflib.get_close_matches(text, ids, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the first is {ids[0]}" if ids else ""
    raise DataError(f"no step '{text}' among the {len(ids)} selected; {hint}")


def _replies(protocol: AskingProtocol, question: Question, right: bool) -> Mapping[str, str]:
    """What a model would reply that finds the right choice, or none of them."""
    from harness.policies.baselines import Oracle
    from harness.policies.contract import chance_for
    from parsers.records import Prediction, Status

    step, choices = question.step, question.choices
    prediction = Prediction(Status.NONE)
    if right:
        chance = chance_for(0, 0, step.step_id, "show")
        prediction = Oracle().predict(step, choices, chance, question.secret)
    return protocol.spell(step, choices, prediction)


def _print_call(ask: Ask, tokens: int) -> None:
    echo(f"\n===== {ask.place}: about {tokens:,} tokens =====")
    for message in ask.conversation.added:
        echo(f"\n--- {message.role} ---")
        for part in message.parts:
            if hasattr(part, "text"):
                echo(part.text)
            else:
                echo(f"[picture {part.width} x {part.height}: {part.recipe}]")


def echo(text: str) -> None:
    """Print page text: it is somebody else's, so control characters do not reach the terminal."""
    click.echo(printable(text))
