"""`vlm-eval reproduce`: carry out a declared reproduction of a published row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from reports.reproductions.outcome import Reproduction


@click.command(
    short_help="Measure a published row again.", context_settings={"ignore_unknown_options": True}
)
@click.argument("name", required=False)
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[OPTION OF run]...")
def reproduce(name: str | None, options: tuple[str, ...]) -> int:
    """Carry out a reproduction by NAME, or list all of them.

    Prints the published figure, known differences and the command, runs it, and compares the
    result with the published row. An interrupted run is resumed. Every option of `vlm-eval run` is
    handed on, such as --dry-run, --max-cost and --data (docs/reproductions.md); settings that
    change the result are reported as differences. The run is in runs/NAME, unless --out is given.

    \b
      vlm-eval reproduce
      vlm-eval reproduce gpt-4-autowebbench --max-cost 5 --model gpt-5.4
    """
    from harness.tables import render, say, terminal_width
    from reports.reproductions.outcome import list_grid, reproductions

    known = reproductions()
    if name is None:
        say(render(list_grid(known.values()), width=terminal_width(), note=""), nl=False)
        return 0
    if name not in known:
        raise click.UsageError(f"unknown reproduction {name!r}; choose one of {', '.join(known)}")
    return _carry_out(click.get_current_context(), known[name], options)


def _carry_out(context: click.Context, one: Reproduction, added: tuple[str, ...]) -> int:
    from harness.tables import render, say, terminal_width
    from reports.load import guarding_notes, is_begun
    from reports.reproductions.outcome import heading, outcome_grid, outcome_of

    assert context.parent is not None and isinstance(context.parent.command, click.Group)
    run = context.parent.command.get_command(context.parent, "run")
    assert run is not None

    def parsed(words: Sequence[str]) -> click.Context:
        return run.make_context("run", list(words), parent=context.parent)

    given, declared = parsed(added), one.command[1:]
    if given.params["out"] is None:
        limit = given.params["limit"]
        added = (*added, "--out", f"runs/{one.name}{f'-limit-{limit}' if limit else ''}")
    words = [*_without(declared, given), *added]
    with parsed(words) as started:
        usual, chosen = values_of(parsed(declared)), values_of(started)
        splits = chosen["--split"]
        if splits != usual["--split"] and len(splits) == 1:
            one = one.on(splits[0])
            usual["--split"] = splits if one.measured_on == splits[0] else usual["--split"]
        changed = tuple(
            f"{option} {_text(chosen.get(option))} (declared: {_text(usual.get(option))})"
            for option in dict.fromkeys((*chosen, *usual))
            if chosen.get(option) != usual.get(option)
        )
        for line in heading(one, ("run", *words), changed):
            say(line)
        for command in one.needs.prepare:
            _, wrote, file = command.partition(" -o ")
            if wrote and file in map(str, started.params.values()) and not Path(file).exists():
                raise click.UsageError(f"there is no {file} yet; first run: {command}")
        code = int(run.invoke(started) or 0)
    directory, model = Path(started.params["out"]), chosen["--model"]
    on_record = (directory / "manifest.json").is_file() and is_begun(directory)
    if started.params["dry_run"] or not on_record:
        return code
    another = "" if model == usual["--model"] else f"{model}, given on the command line"
    grid = outcome_grid(outcome_of(one, directory, changed, another))
    note = guarding_notes([directory])
    say("\n" + render(grid, width=terminal_width(), note=note), nl=False)
    return code


def _without(declared: Sequence[str], added: click.Context) -> list[str]:
    """Remove options that the user gives, and that can be given several times, from the declared
    ones: they would add up."""
    from harness.settings import SETTINGS, SEVERAL
    from reports.reproductions.outcome import grouped

    replaced: set[str] = set()
    pairs: set[tuple[str, str]] = set()
    for name, one in SETTINGS.items():
        given = added.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and one.holds_pairs:
            pairs |= {(one.option, key) for key, _ in added.params[name]}
        elif given and (one.repeatable or name in SEVERAL):
            replaced |= {one.option, one.short}
    return [
        word
        for option, *values in grouped(declared)
        if option not in replaced
        and (option, "".join(values).partition("=")[0].replace("-", "_")) not in pairs
        for word in (option, *values)
    ]


def values_of(started: click.Context) -> dict[str, Any]:
    """Return the options of a command that change results, by their written names: `--split`.

    Secrets among the options are masked.
    """
    from adapters.secrets import masked
    from harness.settings import FIELDS, SETTINGS, read_settings, written

    given = {
        name: value
        for name, value in started.params.items()
        if name in SETTINGS and started.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    settings = read_settings(given)
    found: dict[str, Any] = {}
    for name in SETTINGS:
        if name not in FIELDS or name == "data" or SETTINGS[name].group == "Running":
            continue
        value = getattr(settings, name)
        if name.endswith("_option"):
            owner = name.removesuffix("_option")
            found |= {written(key, owner): one for key, one in masked(dict(value)).items()}
        else:
            found[written(name)] = value
    return found


def _text(value: Any) -> str:
    """Format the value of an option; secrets are masked."""
    from reports.reproductions.outcome import shown

    if value in (None, ()):
        return "none"
    if not isinstance(value, tuple):
        return str(value)
    return ", ".join(shown("=".join(one) if isinstance(one, tuple) else str(one)) for one in value)
