"""`vlm-eval reproduce`: carry out a declared reproduction of a published row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from reports.reproductions.outcome import Reproduction


@click.command(short_help="Measure a published row again.")
@click.argument("name", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGUMENTS]...")
@click.option("--dry-run", is_flag=True, help="Count calls, tokens and cost without asking.")
@click.option("--data", metavar="PATH", help="Path of the data; see docs/reproductions.md.")
@click.option("--out", "-o", metavar="DIR", help="Directory of the run.  [default: runs/NAME]")
@click.option("--max-cost", metavar="USD", help="Highest cost of the run, in US dollars.")
@click.option("--limit", metavar="N", help="Run only the first N tasks.")
def reproduce(
    name: str | None,
    arguments: tuple[str, ...],
    dry_run: bool,
    **options: str | None,
) -> int:
    """Carry out a reproduction by NAME, or list all of them.

    Prints the published figure, known differences and the command, runs it, and compares the
    result with the published row. An interrupted run is resumed. ARGUMENTS are further options
    of `vlm-eval run`; settings that change the result are reported as differences.

    \b
      vlm-eval reproduce
      vlm-eval reproduce gpt-4-autowebbench --max-cost 5 -- --model gpt-5.4
    """
    from harness.tables import render, say, terminal_width
    from reports.reproductions.outcome import reproductions
    from reports.reproductions.words import list_grid

    context, known = click.get_current_context(), reproductions()
    passed = {option: value for option, value in options.items() if value is not None}
    if name is None:
        if passed or dry_run:
            raise click.UsageError("--dry-run, --data, --out, --max-cost and --limit need a NAME")
        say(render(list_grid(known.values()), width=terminal_width(), note=""), nl=False)
        return 0
    if name not in known:
        raise click.UsageError(f"unknown reproduction {name!r}; choose one of {', '.join(known)}")
    return _carry_out(context, known[name], arguments, passed, dry_run)


def _carry_out(
    context: click.Context,
    one: Reproduction,
    arguments: tuple[str, ...],
    passed: dict[str, str],
    dry_run: bool,
) -> int:
    from harness.tables import render, say, terminal_width
    from reports.load import guarding_notes, is_begun
    from reports.reproductions.outcome import outcome_grid, outcome_of
    from reports.reproductions.words import heading

    trial = f"-limit-{passed['limit']}" if "limit" in passed else ""
    passed = {"out": str(Path("runs") / f"{one.name}{trial}"), **passed}
    name, *declared = one.command
    run = _sibling(context, name)
    added = [word for option, value in passed.items() for word in (_option(option), value)]
    added += [*arguments, *(["--dry-run"] if dry_run else [])]
    words = [*_without(declared, _parsed(run, context, name, added)), *added]
    with _parsed(run, context, name, words) as started:
        usual, chosen = values_of(_parsed(run, context, name, declared)), values_of(started)
        splits = chosen["--split"]
        if splits != usual["--split"] and len(splits) == 1:
            one = one.on(splits[0])
            usual["--split"] = splits if one.measured_on == splits[0] else usual["--split"]
        changed = _changed(chosen, usual)
        model = chosen["--model"]
        for line in heading(one, (name, *words), changed):
            say(line)
        for command in one.needs.prepare:
            _, wrote, file = command.partition(" -o ")
            if wrote and file in map(str, started.params.values()) and not Path(file).exists():
                raise click.UsageError(f"there is no {file} yet; first run: {command}")
        code = run.invoke(started)
    directory = Path(started.params["out"])
    if dry_run or not (directory / "manifest.json").is_file() or not is_begun(directory):
        return int(code or 0)
    another = "" if model == usual["--model"] else f"{model}, given on the command line"
    grid = outcome_grid(outcome_of(one, directory, changed, another))
    note = guarding_notes([directory])
    say("\n" + render(grid, width=terminal_width(), note=note), nl=False)
    return int(code or 0)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _sibling(context: click.Context, name: str) -> click.Command:
    """Return another command of the same program."""
    parent = context.parent
    if parent is not None and isinstance(parent.command, click.Group):
        found = parent.command.get_command(parent, name)
        if found is not None:
            return found
    raise click.UsageError(f"unknown command {name}")


def _parsed(
    command: click.Command, context: click.Context, name: str, words: Sequence[str]
) -> click.Context:
    return command.make_context(name, list(words), parent=context.parent)


def _without(declared: Sequence[str], added: click.Context) -> list[str]:
    """Remove options that the user gives, and that can be given several times, from the declared
    ones: they would add up."""
    from harness.settings import SETTINGS, SEVERAL
    from reports.reproductions.words import grouped

    given = [
        setting
        for name, setting in SETTINGS.items()
        if (setting.repeatable or name in SEVERAL)
        and added.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    replaced = {o for one in given if not one.holds_pairs for o in (one.option, one.short)}
    keys = {
        (one.option, key) for one in given if one.holds_pairs for key, _ in added.params[one.name]
    }
    return [
        word
        for words in grouped(declared)
        if words[0] not in replaced and (words[0], _key(words[-1])) not in keys
        for word in words
    ]


def _key(pair: str) -> str:
    return pair.partition("=")[0].replace("-", "_")


def values_of(started: click.Context) -> dict[str, Any]:
    """Return what a command was given that changes results, as it is written: `--split`.

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


def _changed(chosen: Mapping[str, Any], usual: Mapping[str, Any]) -> tuple[str, ...]:
    """List what changes results and differs from what is declared."""
    return tuple(
        f"{option} {_text(chosen.get(option))} (declared: {_text(usual.get(option))})"
        for option in dict.fromkeys((*chosen, *usual))
        if chosen.get(option) != usual.get(option)
    )


def _text(value: Any) -> str:
    """Format the value of an option; secrets are masked."""
    from reports.reproductions.words import shown

    if value in (None, ()):
        return "none"
    if not isinstance(value, tuple):
        return str(value)
    return ", ".join(shown("=".join(one) if isinstance(one, tuple) else str(one)) for one in value)
