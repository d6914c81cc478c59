"""What there is, a line each: models, policies, benchmarks, protocols, trackers, and steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import click

from harness.printing import say

if TYPE_CHECKING:
    from harness.evaluation.units import Listed
    from harness.protocols import AskingProtocol, Role


def unit_lines(units: Iterable[Listed]) -> Iterator[str]:
    """A line per unit with its right answer, under a line per innermost parent.

    `PARENT:3` in front of units that have an order is what `vlm-eval show` takes.
    """
    last = None
    for unit in units:
        (level, parent), *others = [*unit.parents.items(), ("", "")][: len(unit.parents) or 1]
        if (unit.split, parent) != last:
            last = unit.split, parent
            where = ", ".join((unit.split, *(value for _, value in others)))
            goal = f": {_line(unit.goal)}" if unit.place is not None else ""
            yield f"{level} {parent} ({where}){goal}".lstrip()
        if unit.place is None:
            yield f"  {_line(unit.goal)}  {unit.right}  [{unit.unit_id}]"
        else:
            number = f"{parent}:{unit.place + 1}"
            yield f"  {number} of {unit.total}  {unit.right}  [{unit.unit_id}]"


def _line(text: str) -> str:
    return " ".join(text.split())


def _print(names: Mapping[str, str]) -> None:
    width = max(len(name) for name in names)
    for name, line in names.items():
        say(f"{name:<{width}}  {line}")


@click.command()
def models() -> None:
    """List the models that --model takes, and the embedders that --role takes."""
    from adapters import EMBEDDERS, names

    _print(names())
    say("\nThe model's own name follows the colon (openai:gpt-4o); names that begin with gpt-,")
    say("claude- or gemini- need no prefix. Baselines (vlm-eval policies) are models, too.")
    say("\nEmbedders, for protocols that compare texts (vlm-eval protocols says which):")
    _print(EMBEDDERS.names())


@click.command()
def policies() -> None:
    """List the baselines; --model takes them, too."""
    from harness.policies import POLICIES

    told = {}
    for name, line in POLICIES.names().items():
        kind, _, plain = name.rpartition("/")
        told[f"{plain} ({kind})" if kind else plain] = line
    _print(told)


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
    from harness.evaluation.recorded import RecordedSteps
    from harness.protocols import StepProtocol
    from harness.settings import Settings

    needs, offered, count = protocol.needs, "", 1
    if isinstance(protocol, StepProtocol):
        source = needs.sources[0]
        top_k = needs.top_k if source == "ranker" else None
        count = RecordedSteps.usual_count(Settings(candidates=source, top_k=top_k))
        told = {
            "snapshot": "one positive among seeded negatives",
            "ranker": f"a ranker's top {top_k}",
            "all": "every candidate",
        }
        offered = f"{told[source]}; "
    least, most = protocol.calls(count)
    calls = f"{least} to {most}" if least != most else str(least)
    shown = "none" if needs.pictures == "none" else needs.picture_policy
    unit = "call" if calls == "1" else "calls"
    return [
        *([protocol.paper] if protocol.paper else []),
        f"{calls} {unit} per {protocol.kind}; {offered}pictures: {shown}",
        *(f"--role {role.name}=...: {_about_role(role)}" for role in protocol.roles),
    ]


def _about_role(role: Role) -> str:
    usual = role.default or ("the model under test" if role.kind == "ask" else "lexical")
    return f"{role.help} ({'a model' if role.kind == 'ask' else 'an embedder'}; else {usual})"


@click.command()
def rankers() -> None:
    """List the rankers that --ranker takes, besides files of ranks."""
    from harness.rankers import RANKERS

    _print(RANKERS.names())


@click.command()
def trackers() -> None:
    """List the services that --track takes."""
    from harness.trackers import TRACKERS

    _print(TRACKERS.names())
