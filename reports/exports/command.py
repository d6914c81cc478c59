"""`vlm-eval export`: runs in the formats of other projects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from adapters.entry_points import code_in
from adapters.registry import UnknownName, allow
from harness.tables import clean, say
from reports.exports import EXPORTS, options_of
from reports.output import RUNS


class ExportCommand(click.Command):
    """A command with the options of every format, which are read when the command is called."""

    own = ""
    """The format of the command line, if it is code of the user's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        after = zip(args, [*args[1:], ""], strict=True)
        named = [following for word, following in after if word == "--to"]
        named += [word.partition("=")[2] for word in args if word.startswith("--to=")]
        self.own = next(filter(code_in, named), "")
        allow(self.own)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        runs, *own, help_option = super().get_params(ctx)
        to, *of_formats = self._of_formats
        return [runs, to, *own, *of_formats, help_option]

    @property
    def _of_formats(self) -> list[click.Option]:
        known = EXPORTS.names()
        listed = "; ".join(f"{name}: {summary}" for name, summary in known.items())
        to = click.Option(["--to"], required=True, metavar="|".join(known), help=f"{listed}.")
        options = []
        for name, of_formats in options_by_format(self.own).items():
            texts: dict[str, list[str]] = {}
            for form, facts in of_formats.items():
                texts.setdefault(facts["help"], []).append(form)
            help = " ".join(f"[{', '.join(forms)}] {text}" for text, forms in texts.items())
            facts = {**next(iter(of_formats.values())), "help": help}
            options.append(click.Option([name, option_name(name)], **facts))
        return [to, *options]


def option_name(field: str) -> str:
    """Return the option of a field of formats."""
    return f"--{field.replace('_', '-')}"


def options_by_format(own: str = "") -> dict[str, dict[str, dict[str, Any]]]:
    """Return the options of formats: arguments of `click.Option`, by option and format.

    `own` is a format that no package registers.
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for name in filter(None, (*EXPORTS.names(), own)):
        try:
            known = options_of(EXPORTS.get(name))
        except UnknownName:
            continue  # A broken package: asking for its format gives the error.
        for option, facts in known.items():
            switch = {"is_flag": True} if isinstance(facts["default"], bool) else {}
            found.setdefault(option, {})[name] = {**switch, **facts}
    return found


@click.command(cls=ExportCommand, short_help="Write runs in other projects' formats.")
@RUNS
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    default=Path("export"),
    show_default=True,
    help="The folder to write into.",
)
@click.option("--overwrite", is_flag=True, help="Replace files that are there already.")
@click.option(
    "--unfinished", is_flag=True, help="Export runs that are not finished as well, marked as such."
)
def export(
    runs: tuple[Path, ...], to: str, out: Path, overwrite: bool, unfinished: bool, **options: Any
) -> int:
    """Write every RUN (a run directory) in the format of another project (docs/export.md).

    Nothing is sent anywhere: files are written into a folder. Options with formats in brackets are
    for those formats only.
    """
    from reports.exports import export as export_runs

    EXPORTS.get(to)
    ctx, taken = click.get_current_context(), options_by_format(to)
    usual = ParameterSource.DEFAULT
    options = {k: v for k, v in options.items() if ctx.get_parameter_source(k) is not usual}
    for name in options:
        if to not in taken[name]:
            forms = " and ".join(taken[name])
            raise click.UsageError(f"{option_name(name)} is for --to {forms}, not {to}")
    done = export_runs(runs, to, out, overwrite=overwrite, unfinished=unfinished, **options)
    for path in done.files:
        say(clean(path))
    for line in done.notes:
        say(line, err=True)
    return 0
