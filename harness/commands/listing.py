"""List models, baselines, benchmarks, protocols, and steps, a line each."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from harness.printing import say

if TYPE_CHECKING:
    from harness.protocols import AskingProtocol, Role
    from harness.runs import Unit


def unit_lines(units: Iterable[Unit[Any]]) -> Iterator[str]:
    """Yield a line per unit with its right answer, under a line per innermost parent.

    `PARENT:3` in front of units that have an order is what `vlm-eval show` takes.
    """
    from harness.benchmarks import benchmark

    last = None
    for unit in units:
        right = benchmark(unit.benchmark).words(unit)
        (level, parent), *others = [*unit.parents.items(), ("", "")][: len(unit.parents) or 1]
        if (unit.split, parent) != last:
            last = unit.split, parent
            where = ", ".join((unit.split, *(value for _, value in others)))
            goal = f": {_line(unit.goal)}" if unit.place is not None else ""
            yield f"{level} {parent} ({where}){goal}".lstrip()
        if unit.place is None:
            yield f"  {_line(unit.goal)}  {right}  [{unit.unit_id}]"
        else:
            number = f"{parent}:{unit.place + 1}"
            yield f"  {number} of {unit.total}  {right}  [{unit.unit_id}]"


def _line(text: str) -> str:
    return " ".join(text.split())


def print_names(names: Iterable[tuple[str, str]]) -> None:
    listed = list(names)
    width = max(len(name) for name, _ in listed)
    for name, line in listed:
        say(f"{name:<{width}}  {line}")


def print_options(option: str, rows: Iterable[tuple[str, Any, object, str]]) -> None:
    """Print the keys of an option of pairs: each with its type, its default and a sentence."""
    from adapters.options import describe

    formatter = click.get_current_context().make_formatter()
    listed = []
    for key, kind, default, sentence in rows:
        words = describe(kind)
        words = f"{words[0].upper()}{words[1:]}."
        plain = words in ("A text.", "True or false.")
        words = (sentence if plain else f"{sentence} {words}") if sentence else words
        usual = "" if default in (None, (), "") else f"  [default: {_value(default)}]"
        listed.append((key, words + usual))
    with formatter.section(f"Keys of {option}"):
        formatter.write_dl(listed or [("(none)", "")])
    say(formatter.getvalue().rstrip())


_FIELD = re.compile(
    r'^    (\w+): .+\n(?:(?: {5,}.*|    [)\]}].*)\n)*    """((?:[^"]|"(?!""))+)"""', re.MULTILINE
)
"""A field of a class with the text below it."""
_ENTRY = re.compile(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)
"""An entry under `Attributes:` or `Args:`."""


def sentences(owner: object) -> dict[str, str]:
    """Return what the source of a class or function says of its fields or parameters, by name: the
    first sentence below each, or of its entry in the documentation."""
    found: dict[str, str] = {}
    for one in reversed(inspect.getmro(owner)) if isinstance(owner, type) else (owner,):
        for text in (inspect.getdoc(one), inspect.getdoc(getattr(one, "__init__", None))):
            found |= {name: _sentence(words) for name, words in _ENTRY.findall(text or "")}
        if isinstance(one, type):
            with suppress(OSError, TypeError):  # Built in, or made while the program runs.
                source = textwrap.dedent(inspect.getsource(one))
                found |= {name: _sentence(words) for name, words in _FIELD.findall(source)}
    return found


def _sentence(text: str) -> str:
    first = re.split(r"(?<=[.;])\s", " ".join(text.split()), maxsplit=1)[0].rstrip(".;")
    return f"{first[:1].upper()}{first[1:]}."


def _value(default: object) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    return ",".join(map(str, default)) if isinstance(default, tuple) else str(default)


@click.command()
@click.argument("name", required=False)
def models(name: str | None) -> None:
    """List the models and baselines that --model takes, and the embedders that --role takes.

    With NAME, list the keys of --adapter-option for that model.
    """
    from adapters import EMBEDDERS, names
    from harness.policies import POLICIES

    if name is not None:
        _model(name)
        return
    print_names(names().items())
    say("\nThe model's own name follows the colon (openai:gpt-5.4); names that begin with gpt-,")
    say("claude- or gemini- need no prefix.")
    say("\nBaselines, which answer without a model:")
    print_names((entry.name, entry.summary) for entry in POLICIES.entries())
    say("\nEmbedders, for protocols that compare texts (vlm-eval protocols says which):")
    print_names(EMBEDDERS.names().items())
    say("\nvlm-eval models NAME lists the keys of --adapter-option for a model.")


def _model(name: str) -> None:
    """Print the options of a model's adapter. Raises `UserError`."""
    from adapters import MODELS, UnknownName, options_of
    from adapters.options import kinds_of
    from adapters.registry import allow
    from harness.errors import UserError
    from harness.settings import HANDED_OVER

    allow(name)
    try:
        resolved = MODELS.resolve(name)
        taken = options_of(name)
    except UnknownName as error:
        raise UserError(str(error)) from error
    provider = resolved.provider
    kinds = kinds_of(MODELS.registry.get(provider))
    parameters = MODELS.registry.parameters(provider)
    made = MODELS.registry.get(provider)
    told = sentences(getattr(made, "declared", made))
    own = {*HANDED_OVER, "api_key"}
    summary = MODELS.names().get(provider) or _about_code(MODELS.registry.get(provider))
    say(f"{provider}  {summary}\n")
    print_options(
        "--adapter-option",
        [
            *(
                (key, kinds[key], parameters[key].default, told.get(key, ""))
                for key in taken
                if key in kinds and key not in own
            ),
            *_among("adapter_option", here=resolved.runs_here),
        ],
    )


def _among(option: str, *, here: bool = False) -> Iterator[tuple[str, Any, object, str]]:
    """Yield the settings of a run that are written among the options of its benchmark or model.

    `here`: the model runs on this machine, and has none of hosted ones.
    """
    from harness.settings import SETTINGS

    for one in SETTINGS.values():
        if one.among == option and not (here and one.only == "hosted"):
            yield one.key, one.type, one.default, one.help


def _about_code(thing: object) -> str:
    """Return the first line of the documentation of what no package registers."""
    return (inspect.getdoc(thing) or "").partition("\n")[0]


@click.command()
@click.argument("name", required=False)
def benchmarks(name: str | None) -> None:
    """List the benchmarks that --benchmark takes.

    With NAME, list the keys of --benchmark-option for that benchmark.
    """
    from adapters.registry import allow
    from harness.benchmarks import BENCHMARKS, benchmark
    from harness.settings import declared_by

    names = BENCHMARKS.names()
    if name is None:
        print_names(names.items())
        say("\nvlm-eval benchmarks NAME lists the keys of --benchmark-option for a benchmark.")
        return
    allow(name)
    known = benchmark(name)
    about = names.get(name.partition(":")[0]) or _about_code(type(known))
    say(f"{known.name}  {about}\n")
    options = declared_by(type(known.options)).values()
    print_options(
        "--benchmark-option",
        [
            *((one.name, one.type, getattr(known.options, one.name), one.help) for one in options),
            *_among("benchmark_option"),
        ],
    )


@click.command()
@click.argument("name", required=False)
def protocols(name: str | None) -> None:
    """List the protocols that --protocol takes, with their papers and calls per step.

    With NAME, list the keys of --protocol-option for that protocol.
    """
    from adapters.registry import allow
    from harness.errors import UserError
    from harness.protocols import PROTOCOLS, open_protocol, options_of
    from harness.protocols.registry import SHARED

    if name is not None:
        allow(name)
        open_protocol(name)
        lines = [entry.summary for entry in PROTOCOLS.entries() if entry.name == name] or [
            _about_code(PROTOCOLS.get(name))
        ]
        for target, summary in zip(PROTOCOLS.all(name), lines, strict=False):
            known = getattr(target, "View", None)  # a factory's is known once it is called
            View = known if isinstance(known, type) else None
            protocol, kinds = open_protocol(name, View=View), options_of(name, View)
            for line in (f"{name}  {summary}", *_about(protocol), ""):
                say(line)
            told = sentences(target)
            print_options(
                "--protocol-option",
                [
                    *(
                        (
                            key,
                            kind,
                            getattr(protocol, key, None),
                            SHARED.get(key) or told.get(key, ""),
                        )
                        for key, kind in kinds.items()
                    ),
                    *_among("protocol_option"),
                ],
            )
        return
    names = PROTOCOLS.names()
    width = max(len(name) for name in names)
    for name, line in names.items():
        say(f"{name:<{width}}  {line}")
        try:
            protocol = open_protocol(name)
        except UserError as error:
            # A broken protocol of another package must not end the list.
            say(f"{'':<{width}}  ({error})")
            continue
        for detail in _about(protocol):
            say(f"{'':<{width}}  {detail}")
    say("\nCalls are for the usual number of candidates of a step.")
    say("vlm-eval protocols NAME lists the keys of --protocol-option for a protocol.")


def _about(protocol: AskingProtocol) -> list[str]:
    """Return the paper, and what a protocol usually asks with."""
    from harness.benchmarks import benchmark
    from harness.settings import SETTINGS
    from harness.views import StepView

    needs, offered, count = protocol.needs, "", 1
    if protocol.View is StepView:
        source = needs.sources[0]
        top_k = needs.top_k if source == "ranker" else None
        usual = benchmark(SETTINGS["benchmark"].default)
        count = usual.with_options({"candidates": source, "top_k": top_k}.items()).usual_count
        kinds = {
            "snapshot": "one positive among seeded negatives",
            "ranker": f"a ranker's top {top_k}",
            "all": "every candidate",
        }
        offered = f"{kinds[source]}; "
    least, most = protocol.calls(count)
    calls = f"{least} to {most}" if least != most else str(least)
    shown = "none" if needs.pictures == "none" else needs.picture_policy
    unit = "call" if calls == "1" else "calls"
    asked = protocol.View.__name__.removesuffix("View").lower()
    return [
        *([protocol.paper] if protocol.paper else []),
        f"{calls} {unit} per {asked}; {offered}pictures: {shown}",
        *(f"--role {role.name}=...: {_about_role(role)}" for role in protocol.roles),
    ]


def _about_role(role: Role) -> str:
    usual = role.default or ("the model under test" if role.kind == "ask" else "lexical")
    return f"{role.help} ({'a model' if role.kind == 'ask' else 'an embedder'}; else {usual})"
