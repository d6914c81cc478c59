"""What there is, a line each: models, policies, benchmarks, protocols, and steps."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import click

from harness.printing import say

if TYPE_CHECKING:
    from harness.benchmarks import StepDataset
    from harness.protocols import AskingProtocol
    from parsers.records import StepInfo

LONGEST = 60
"""Characters of a value that a line shows."""


class Listed(NamedTuple):
    """A step in a list: its id, what it is, and its recorded action in a few words."""

    step_id: str
    info: StepInfo
    action: str


def steps_of(dataset: StepDataset) -> Iterator[Listed]:
    """The steps of a selection. Raises `DataError` for a damaged file."""
    for entry, row in dataset.decoded():
        if isinstance(row, Exception):
            info = entry.info(dataset.benchmark, "")
            yield Listed(entry.step_id, info, f"unreadable: {_line(str(row))}")
        else:
            action = recorded_action(row.operation, row.value, row.invalid)
            yield Listed(entry.step_id, row.info, action)


def recorded_action(operation: str, value: str, invalid: str | None) -> str:
    """An action in a few words, with the reason why its row is invalid."""
    value = value[:LONGEST] + ("…" if len(value) > LONGEST else "")
    action = operation + (f" {json.dumps(value, ensure_ascii=False)}" if value else "")
    return f"{action} ({invalid})" if invalid else action


def step_lines(steps: Iterable[Listed]) -> Iterator[str]:
    """A line per step with its number in the task and its action, under a line per task.

    `TASK:3` in front is what `vlm-eval show` takes.
    """
    task = None
    for step_id, info, action in steps:
        if (info.split, info.task_id) != task:
            task = info.split, info.task_id
            yield f"task {info.task_id} ({info.split}, {info.website}): {_line(info.task)}"
        number = f"{info.task_id}:{info.index + 1}"
        yield f"  {number} of {info.total_steps}  {action}  [{step_id}]"


def _line(text: str) -> str:
    return " ".join(text.split())


def _print(names: Mapping[str, str]) -> None:
    width = max(len(name) for name in names)
    for name, line in names.items():
        say(f"{name:<{width}}  {line}")


@click.command()
def models() -> None:
    """List the models that --model takes."""
    from adapters import names

    _print(names())
    say("\nThe model's own name follows the colon (openai:gpt-4o); names that begin with gpt-,")
    say("claude- or gemini- need no prefix. Baselines (vlm-eval policies) are models, too.")


@click.command()
def policies() -> None:
    """List the baselines; --model takes them, too."""
    from harness.policies import POLICIES

    _print(POLICIES.names())


@click.command()
def benchmarks() -> None:
    """List the benchmarks that --benchmark takes."""
    from harness.benchmarks import BENCHMARKS

    _print(BENCHMARKS.names())


@click.command()
def protocols() -> None:
    """List the protocols that --protocol takes, with their papers and calls per step."""
    from harness.errors import UserError
    from harness.protocols import PROTOCOLS, open_protocol

    names = PROTOCOLS.names()
    width = max(len(name) for name in names)
    for name, line in names.items():
        say(f"{name:<{width}}  {line}")
        try:
            protocol = open_protocol(name)
        except UserError as error:
            # Somebody else's protocol must not take the list down with it.
            say(f"{'':<{width}}  ({error})")
            continue
        for detail in _about(protocol):
            say(f"{'':<{width}}  {detail}")
    say("\nCalls are for the usual number of candidates of a step.")


def _about(protocol: AskingProtocol) -> list[str]:
    """The paper, and what a protocol usually asks with."""
    from harness.evaluation.plan import usual_count
    from harness.settings import Settings

    needs = protocol.needs
    source = needs.sources[0]
    top_k = needs.top_k if source == "ranker" else None
    least, most = protocol.calls(usual_count(Settings(candidates=source, top_k=top_k)))
    calls = f"{least} to {most}" if least != most else str(least)
    offered = {
        "snapshot": "one positive among seeded negatives",
        "ranker": f"a ranker's top {top_k}",
        "all": "every candidate",
    }
    shown = "none" if needs.pictures == "none" else needs.picture_policy
    unit = "call" if calls == "1" else "calls"
    asks = f"{calls} {unit} per step; {offered[source]}; pictures: {shown}"
    return [protocol.paper, asks] if protocol.paper else [asks]


@click.command()
def rankers() -> None:
    """List the rankers that --ranker takes, besides files of ranks."""
    from harness.rankers import RANKERS

    _print(RANKERS.names())
