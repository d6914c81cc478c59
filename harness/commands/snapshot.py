"""`vlm-eval data snapshot`: write the seeded questions to a file."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from adapters import Message, Picture, Reply, Text
from harness.benchmarks import recorded_steps
from harness.benchmarks.shows import Ready
from harness.benchmarks.snapshot_file import SnapshotRow, write_snapshot
from harness.benchmarks.step.benchmark import StepBenchmark
from harness.commands.config import config_option
from harness.commands.options import MESSAGES, SettingsCommand, read_options, setting_options
from harness.dialogue import Ask
from harness.errors import UserError
from harness.pictures import PictureStore
from harness.planning.plan import Plan
from harness.printing import say
from harness.protocols import AskingProtocol
from harness.settings import on_record, written
from harness.tables import TEST_DATA_NOTE
from harness.views import StepView


def write(plan: Plan, path: Path, *, overwrite: bool = False) -> int:
    """Write the questions of a plan to a parquet file and return their number.

    Pictures are prepared as the run would send them. Raises `UserError` for a protocol other than
    two rounds, for candidates that are not drawn and for conversations, `DataError` for a file that
    exists.
    """
    if plan.dataset.whole == "conversation":
        # Its columns have no place for them: turns would be scored as tasks.
        raise UserError(f"a snapshot stores tasks, and {plan.dataset.benchmark} has conversations")
    protocol = plan.protocol
    if not isinstance(plan.source, StepBenchmark):
        raise UserError(f"a snapshot stores recorded steps, and {plan.dataset.benchmark} has none")
    if not protocol.can_be_stored:
        raise UserError(f"a snapshot stores two rounds; '{protocol.name}' asks in another way")
    if plan.source.options.candidates != "snapshot":
        option = written("candidates", "benchmark")
        raise UserError(f"a snapshot stores candidates drawn by seed; leave out {option}")
    settings = {
        **on_record(plan.settings),
        **{f"protocol_{key}": value for key, value in protocol.settings().items()},
        "pictures": plan.pictures.text,
        "note": TEST_DATA_NOTE,
    }
    with asyncio.Runner() as runner:
        store = PictureStore(plan.settings.workers)
        try:
            rows = _rows(plan, protocol, store, runner)
            return write_snapshot(path, rows, settings, overwrite=overwrite)
        finally:
            store.close()


def _rows(
    plan: Plan, protocol: AskingProtocol, store: PictureStore, runner: asyncio.Runner
) -> Iterator[SnapshotRow]:
    assert isinstance(plan.source, StepBenchmark)
    shows = replace(plan.shows, blind=plan.model.policy is not None)
    list_step = plan.source.lister(plan.selected.tasks, shows)
    for row in recorded_steps(plan.dataset).rows():
        question = list_step(row)
        urls = runner.run(_encoded(store, question))
        first, second = _rounds(protocol, question.view)
        yield SnapshotRow(
            row=row,
            choices=question.view.choices,
            first=[_plain(message, urls) for message in first],
            second=[_plain(message, urls) for message in second],
            recipe="\n".join(picture.recipe for picture in question.view.step.pictures),
        )


def _rounds(
    protocol: AskingProtocol, view: StepView
) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """Return the messages of the first round, and those that the second adds after a reply."""
    dialogue = protocol.dialogue(view)
    first = next(dialogue)
    second = dialogue.send(Reply("a description"))
    assert isinstance(first, Ask)
    assert isinstance(second, Ask)
    opening = first.conversation.messages
    return opening, second.conversation.messages[len(opening) + 1 :]


async def _encoded(store: PictureStore, question: Ready[StepView]) -> dict[Picture, str]:
    """Return the pictures of a question as data URLs."""
    pictures = question.view.step.pictures
    for digest, data in question.sources.items():
        store.add(digest, data, question.view.step.step_id)
    try:
        made = [await store.encoded(picture) for picture in pictures]
    finally:
        for digest in question.sources:
            store.discard(digest)
    return {
        picture: f"data:{encoded.media_type};base64,{base64.b64encode(encoded.data).decode()}"
        for picture, encoded in zip(pictures, made, strict=True)
    }


def _plain(message: Message, urls: dict[Picture, str]) -> dict[str, object]:
    parts: list[dict[str, object]] = [
        {"type": "text", "text": part.text}
        if isinstance(part, Text)
        else {"type": "image_url", "image_url": {"url": urls[part]}}
        for part in message.parts
    ]
    return {"role": message.role, "content": parts}


@click.command(cls=SettingsCommand)
@config_option()
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help="Parquet file.")
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
@setting_options(
    ["model", *MESSAGES, "workers"],
    model={"help": "Size pictures for this model. Default: by the image policy alone."},
)
def snapshot(out: Path, overwrite: bool, model: str, **_: Any) -> int:
    """Write the prompts, pictures and choices of a run to a file that others can run.

    The file has the columns of rabbit's snapshot of Multimodal-Mind2Web. Run it with
    `vlm-eval --benchmark snapshot --data FILE`.
    """
    from harness.planning.plan import plan_run

    if out.exists() and not overwrite:
        raise UserError(f"{out} exists; name another file, or pass --overwrite")
    plan = plan_run(read_options(model=model or "oracle"), asks=False)
    for notice in plan.dataset.notices:
        say(notice, err=True)
    count = write(plan, out, overwrite=overwrite)
    size = out.stat().st_size / 1e6
    say(f"{out}: {count} steps, {size:,.1f} MB. It contains test data of a benchmark;")
    say("keep it out of places where crawlers collect text.")
    return 0
