"""`vlm-eval show`: what a model would be sent for one step, or what a run has on record for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.commands.options import (
    MESSAGES,
    SettingsCommand,
    config_option,
    given_settings,
    read_options,
    setting_options,
)
from harness.errors import DataError, UserError
from harness.printing import printable
from harness.settings import written

if TYPE_CHECKING:
    from adapters import Picture
    from harness.dialogue import Ask
    from harness.evaluation.questions import Question
    from harness.protocols import AskingProtocol
    from harness.runs import CallRecord, StepRecord

REPLY = "(the model's description of the next action)"


@click.command(cls=SettingsCommand)
@config_option()
@click.argument("step")
@setting_options(
    ["model", *MESSAGES], model={"help": "Size pictures and count tokens for this model."}
)
@click.option("--answer", is_flag=True, help="Print the recorded action as well.")
@click.option(
    "--run",
    "directory",
    metavar="RUN",
    type=click.Path(path_type=Path),
    help="Print what was sent and replied in this run, with the model's reasoning.",
)
def show(step: str, model: str, answer: bool, directory: Path | None, **_: Any) -> int:
    """Print what a model would be sent for STEP, a step's id or the beginning of one.

    No model is called. Where a message depends on earlier replies, these are the replies of a model
    that rejects every choice, or with --answer of one that finds the correct one.
    """
    if directory is not None:
        return _show_run(directory, step, answer)
    from adapters import Reply
    from harness.dialogue import hold
    from harness.evaluation.model import tokens_of
    from harness.evaluation.plan import plan_run

    plan = plan_run(read_options(model=model or "oracle"), asks=False)
    ids = [entry.step_id for entry in plan.dataset.entries]
    row = plan.dataset.row(_full_id(ids, step))
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
        _print_answer(record)
    return 0


def _show_run(directory: Path, text: str, answer: bool) -> int:
    """Print the calls on record. Raises `UserError` for settings, which the run has of its own."""
    from harness.runs import open_run

    for name in given_settings():
        raise UserError(f"{written(name)} has no effect with --run: the calls are on record")
    run = open_run(directory)
    records = {(record.step_id, record.repeat): record for record in run.records()}
    step_id = _full_id([*dict.fromkeys(step_id for step_id, _ in records)], text)
    for (found, repeat), record in records.items():
        if found != step_id:
            continue
        status = record.prediction.status if record.prediction else "unsettled"
        number = f", repeat {repeat}" if repeat else ""
        echo(f"step {step_id}{number} in {directory}: {status}")
        calls = run.calls_of(step_id, repeat)
        for call in calls:
            _print_recorded(call)
        if not calls:
            echo("no call is on record")
        if answer:
            _print_answer(record)
    return 0


def _print_recorded(call: CallRecord) -> None:
    echo(f"\n===== {call.place}: {call.reply.model or 'no model named'} =====")
    for message in call.messages:
        echo(f"\n--- {message.role} ---")
        for part in message.parts:
            echo(part if isinstance(part, str) else _picture(part))
    if call.reply.reasoning:
        echo(f"\n--- reasoning ---\n{call.reply.reasoning}")
    echo(f"\n--- reply ({call.reply.finish}) ---\n{call.reply.text}")


def _print_answer(record: StepRecord) -> None:
    gold = record.gold
    letters = [c.letter or "one without a letter" for c in record.choices if c.positive]
    echo(
        f"\n===== recorded: {gold.operation} {gold.value} on {', '.join(gold.elements)} "
        f"(listed as {', '.join(letters) or 'nothing'}) ====="
    )


def _full_id(ids: Sequence[str], text: str) -> str:
    """The one step whose id is or begins with `text`. Raises `DataError` for none or several."""
    import difflib

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
    from adapters import Text

    echo(f"\n===== {ask.place}: about {tokens:,} tokens =====")
    for message in ask.conversation.added:
        echo(f"\n--- {message.role} ---")
        for part in message.parts:
            echo(part.text if isinstance(part, Text) else _picture(part))


def _picture(picture: Picture) -> str:
    return f"[picture {picture.width} x {picture.height}: {picture.recipe}]"


def echo(text: str) -> None:
    """Print page text: it is somebody else's, so control characters do not reach the terminal."""
    click.echo(printable(text))
