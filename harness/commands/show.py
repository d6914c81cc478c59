"""`vlm-eval show`: what a model would be sent for one step, or what a run has on record for it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from harness.commands.listing import unit_lines
from harness.commands.options import (
    MESSAGES,
    SettingsCommand,
    config_option,
    given_options,
    read_options,
    setting_options,
)
from harness.errors import DataError, UserError
from harness.printing import say

if TYPE_CHECKING:
    from adapters import Embedded, Picture
    from harness.benchmarks import Benchmark
    from harness.benchmarks.shows import Ready
    from harness.dialogue import Ask, Embed
    from harness.protocols import AskingProtocol
    from harness.runs import ActRecord, CallRecord, MessageRecord, Unit

REPLY = "(the model's reply)"


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
    """Print what a model would be sent for STEP.

    STEP is a step's id, a task's id with the number of the step (TASK:3), or the beginning of
    either; if several steps begin with it, they are listed. vlm-eval data list prints all of them.

    No model is called. Where a message depends on earlier replies, these are the replies of a model
    that rejects every choice, or with --answer of one that finds the correct one.
    """
    if directory is not None:
        return _show_run(directory, step, answer)
    from adapters import Reply
    from adapters.embedding import stand_in as vectors
    from harness import dialogue
    from harness.planning.model import tokens_of
    from harness.planning.plan import plan_run
    from parsers.records import STATUS_WORDS

    plan = plan_run(read_options(model=model or "oracle"), asks=False)
    dataset = plan.dataset
    known = {e.unit_id: (dataset.parent_of(e), e.place) for e in dataset.entries}
    found = _matching(known, step, dataset.unit)
    if len(found) > 1:
        _refuse(dataset.without(known.keys() - found).listed(), step, dataset.unit)
    (question,) = plan.ready_of(plan.only(found).dataset)
    if question.opens is not None:
        raise UserError(
            f"what is shown in {dataset.unit} {question.unit_id} is known once it is played: "
            f"vlm-eval show {shlex.quote(question.unit_id)} --run RUN"
        )
    say(_about(question.unit, dataset.unit))
    if question.unit.invalid:
        say(f"invalid: {question.unit.invalid}; no model is asked about it")
        return 0
    if question.known is not None:
        status = STATUS_WORDS[question.known.status]
        say(f"its outcome is known beforehand ({status}); no model is asked about it")
        return 0
    replies = _replies(plan.protocol, question, answer)

    def held(tell: Callable[[Ask | Embed], None], *, stand_in: bool) -> None:
        def reply(ask: Ask) -> Reply:
            tell(ask)
            if ask.role:
                return Reply(f"(the reply of the {ask.role})")
            described = stand_in and ask.continues
            return Reply(REPLY if described else replies.get(ask.place, ""))

        def embed(call: Embed) -> Embedded:
            tell(call)
            return vectors(call.texts)

        dialogue.hold(plan.source.dialogue(question.view, plan.shows), reply, embed=embed)

    def tell(call: Ask | Embed) -> None:
        if isinstance(call, dialogue.Ask):
            _print_call(call, tokens_of(call.conversation, plan.model.info))
            return
        say(f"\n===== {call.place}, to be embedded =====")
        for text in call.texts:
            say(text)

    # A description goes into the next message, where a stand-in is easier to see. Where that ends
    # the dialogue early, what is continued from is an answer.
    described: list[Ask | Embed] = []
    answered: list[Ask | Embed] = []
    held(described.append, stand_in=True)
    held(answered.append, stand_in=False)
    held(tell, stand_in=len(described) >= len(answered))
    if answer:
        say(f"\n===== {_right(plan.source, question.unit)} =====")
    return 0


def _show_run(directory: Path, text: str, answer: bool) -> int:
    """Print the recorded calls. Raises `UserError` for settings: the run has its own."""
    from harness.benchmarks.scoring import on_record
    from harness.runs import open_run
    from harness.runs.run import settings_of

    for option in given_options():
        raise UserError(f"{option} has no effect with --run: the calls are on record")
    run = open_run(directory)
    records = {record.key: record for record in run.records()}
    known = {
        record.unit_id: (next(iter(record.parents.values()), ""), record.place)
        for record in records.values()
    }
    unit = run.manifest.declaration.unit
    found = _matching(known, text, unit)
    if len(found) > 1:
        one_each = {step: record for (step, _), record in records.items() if step in set(found)}
        _refuse(one_each.values(), text, unit)
    for (step_id, repeat), record in records.items():
        if step_id not in found:
            continue
        number = f", repeat {repeat}" if repeat else ""
        say(f"{unit} {step_id}{number} in {directory}: {_ended(record)}")
        calls = run.calls_of(step_id, repeat)
        for call in calls:
            _print_recorded(call)
        if not calls:
            say("no call is on record")
        if answer:
            source = on_record(settings_of(run), run.manifest.declaration)
            say(f"\n===== {_right(source, record)} =====")
    return 0


def _about(record: Unit[Any], unit: str) -> str:
    """A line about a unit that is going to be asked about."""
    place = () if record.place is None else (f"number {record.place + 1} of {record.total}",)
    return (
        f"{unit} {record.unit_id} ({', '.join((record.split, *record.parents.values(), *place))})"
    )


def _right(source: Benchmark, record: Unit[Any]) -> str:
    """The right answer, and what it is listed as where candidates are."""
    listed = [
        f"{one.letter or 'one without a letter'}: {one.text}"
        for one in getattr(record.detail, "right", ())
    ]
    told = f" (listed as {', '.join(listed)})" if listed else ""
    return f"right: {source.words(record)}{told}"


def _ended(record: Unit[Any]) -> str:
    """Say how a unit ended: the action that was answered, what was read next to it, its scores."""
    said = record.prediction
    if said is None:
        return record.invalid or "not answered"
    action = f": {said.action}" if said.action else ""
    read = [f"{name} {value}" for name, value in said.parsed.items()]
    scores = [f"{name} {value:g}" for name, value in (record.scores or {}).items() if value]
    return "; ".join(
        [f"{said.status}{action}", *filter(None, (", ".join(read), ", ".join(scores)))]
    )


def _print_recorded(call: CallRecord) -> None:
    who = "environment" if call.act else call.reply.model or "no model named"
    say(f"\n===== {call.place}: {call.role and f'{call.role}, '}{who} =====")
    if call.act is not None and (action := _acted(call.act)):
        say(action)
        return
    messages, answer = call.exchange
    for message in messages:
        say(f"\n--- {message.role} ---")
        _print_parts(message)
    if call.reply.reasoning:
        say(f"\n--- reasoning ---\n{call.reply.reasoning}")
    heading = f"reply ({call.reply.finish})" if call.is_ask else "answer"
    say(f"\n--- {heading} ---\n{answer}")


def _acted(act: ActRecord) -> str:
    """Return an action and what was seen after it, in short; "" where these are not those of
    pages."""
    from harness.runs.live_steps import PerformedAction, Sight

    done, seen = PerformedAction.of(act.action), Sight.of(act.observation, act.blobs)
    if not seen.told or (done is None and act.action is not None):
        return ""
    action = f"action: {done.told}" if done else f"goal: {seen.goal}"
    return f"{action}\nseen: {seen.told}"


def _matching(known: Mapping[str, tuple[str, int | None]], text: str, unit: str) -> Sequence[str]:
    """Return the units that `text` may mean: the one with this id or number, else all that begin
    with it.

    `known` has the group of each unit and its place in there; `unit` is the word for one. Raises
    `DataError` for none.
    """
    import difflib

    task, _, number = text.rpartition(":")
    numbers = {
        one: one if place is None else f"{group}:{place + 1}"
        for one, (group, place) in known.items()
    }
    begun = [step for step, name in numbers.items() if name.endswith(f":{number}")] if task else []
    for matches in (
        [step for step, name in numbers.items() if text in (step, name)],
        [step for step in begun if known[step][0].startswith(task)],
        [step for step in known if step.startswith(text)],
    ):
        if matches:
            return matches
    near = difflib.get_close_matches(text, [*numbers, *numbers.values()], n=1)
    first = next(iter(numbers), None)
    hint = f"did you mean {near[0]}?" if near else f"the first is {first}" if first else ""
    raise DataError(f"no {unit} '{text}' among the {len(known)} selected; {hint}")


def _refuse(matches: Iterable[Unit[Any]], text: str, unit: str) -> NoReturn:
    """List the units that may be meant, and raise `DataError`."""
    listed = list(matches)
    for line in unit_lines(listed):
        say(line)
    raise DataError(
        f"{len(listed)} {unit}s begin with '{text}': name one as TASK:NUMBER or by its id"
    )


def _replies(protocol: AskingProtocol, question: Ready[Any], right: bool) -> Mapping[str, str]:
    """Return the reply of a model that finds the right choice, or none of them."""
    from harness.benchmarks import actions_of
    from harness.policies import Oracle, chance_for
    from harness.protocols import written_as
    from parsers.records import Prediction, Status

    prediction = Prediction(Status.NONE)
    if right:
        chance = chance_for(0, 0, question.unit_id, "show")
        prediction = Oracle().predict(question.view, chance, question.secret)
    space = actions_of(question.unit.benchmark)
    return written_as(protocol, question.view, prediction, space)


def _print_call(ask: Ask, tokens: int) -> None:
    from harness.runs import MessageRecord

    say(f"\n===== {ask.place}: about {tokens:,} tokens =====")
    for message in ask.conversation.added:
        say(f"\n--- {message.role} ---")
        _print_parts(MessageRecord.of(message))


def _print_parts(message: MessageRecord) -> None:
    for part in message.parts:
        if isinstance(part, tuple):
            say(f"[{'error' if part.is_error else 'result'} of call {part.call_id}]")
        for shown in part.parts if isinstance(part, tuple) else (part,):
            say(shown if isinstance(shown, str) else _picture(shown))


def _picture(picture: Picture) -> str:
    return f"[picture {picture.width} x {picture.height}: {picture.recipe}]"
