"""The group of commands, loaded lazily: `vlm-eval --help` imports none of them."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from adapters.entry_points import code_in
from adapters.registry import Registry, UnknownName, allow, load
from harness import __version__
from harness.printing import say


class LazyGroup(click.Group):
    """A group that takes further commands from other modules, and imports these when they are
    named.

    later: for each of these commands its place ("module:attribute") and a line for the help.
    """

    def __init__(self, *args: Any, later: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.places = {name: place for name, (place, _) in later.items()}
        for name, (_, line) in later.items():
            self.add_command(click.Command(name, short_help=line))  # For help and suggestions.

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.places:
            return super().get_command(ctx, cmd_name)
        command: click.Command = load(self.places[cmd_name])
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [
            (name, self.commands[name].get_short_help_str(80)) for name in sorted(self.commands)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


@click.group(
    cls=LazyGroup,
    later={
        "play": (
            "harness.gym:play",
            "Play the environment of recorded tasks with a baseline.",
        ),
        "check": (
            "harness.benchmarks.episode.browsergym.benchmark:check",
            "Print the commands that make an environment of BrowserGym.",
        ),
    },
)
def environments() -> None:
    """Play the environment of recorded tasks, or see what one of BrowserGym needs."""


COMMANDS: Registry[click.Command] = Registry("command", "vlm_eval.commands", has=("make_context",))
DEBUG = "--debug"
ALLOW = "--allow"
_BUILT_IN: dict[str, dict[str, tuple[str | None, str]]] = {
    "Evaluate": {
        "run": ("harness.commands.run:run", "Evaluate a model (the default command)."),
        "score": ("harness.commands.score:score", "Score a run again, or others' predictions."),
        "verify": ("harness.verify.command:verify", "Check what a deployment does to pictures."),
        "reproduce": (None, "Measure a published row again."),
        "batches": (
            "harness.batches.passes:batches",
            "Show or cancel a run's batches at a provider.",
        ),
        "launch": ("harness.sweep.launch:launch", "Print scripts that run shards on a cluster."),
        "merge": ("harness.commands.merge:merge", "Join the shards of a run."),
    },
    "Look": {
        "show": ("harness.commands.show:show", "Print what a model would be sent for a step."),
        # Commands of the package `reports`, which registers them as entry points.
        "list": (None, "List runs: what, how far, which score, at what cost."),
        "report": (None, "Print the results of runs."),
        "compare": (None, "Test whether two runs differ."),
        "errors": (None, "Sort the failures of runs into classes."),
        "analyse": (None, "Look into positions, distractors, pictures and more."),
        "view": (None, "Write runs as pages that show every step."),
        "export": (None, "Write runs in the formats of other projects."),
    },
    "Data": {
        "data": ("harness.commands.data:data", "Check, list and record data."),
        "environments": (
            "harness.commands.main:environments",
            "Play recorded tasks; check an environment of BrowserGym.",
        ),
    },
    "List": {
        "models": ("harness.commands.listing:models", "List models and baselines."),
        "benchmarks": ("harness.commands.listing:benchmarks", "List benchmarks."),
        "protocols": ("harness.commands.listing:protocols", "List ways to ask."),
        "rankers": (
            "harness.ranker_models.commands:rankers",
            "List rankers of candidates; rank with them, measure and train them.",
        ),
    },
}
for _heading, _commands in _BUILT_IN.items():
    for _name, (_target, _summary) in _commands.items():
        COMMANDS.add(_name, _target, _summary, heading=_heading)

_MOVED = {
    "play": "environments play",
    "check": "environments check",
    "record": "data record",
    "policies": "models",
    "trackers": "run --help-all",
}
"""Commands that once stood by themselves, by what does their work now."""


class Commands(click.Group):
    """Commands by name; a command line that begins with an option means `run`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS.names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        known = cmd_name in COMMANDS.names() or code_in(cmd_name)
        return COMMANDS.make(cmd_name) if known else None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0].startswith("-") and args[0] not in ("--help", "-h", "--version"):
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            allow(args[0])
            COMMANDS.get(args[0])
        except UnknownName as error:
            if args[0] in _MOVED:
                moved = f"'{args[0]}' is now 'vlm-eval {_MOVED[args[0]]}'"
                raise click.UsageError(moved) from error
            raise click.UsageError(f"{error} (vlm-eval --help lists them)") from error
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for entry in COMMANDS.entries():
            row = entry.name, entry.summary
            sections.setdefault(entry.heading or "From other packages", []).append(row)
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=False,
)
@click.version_option(__version__, prog_name="vlm-eval")
@click.option(
    DEBUG,
    is_flag=True,
    expose_value=False,
    help="Print the tracebacks of errors; may stand anywhere in the line.",
)
@click.option(
    ALLOW,
    metavar="MODULE:CLASS",
    expose_value=False,
    help="Run this code of yours where a run on disk names it; may stand anywhere, and repeatedly.",
)
def cli() -> None:
    """How good is a vision-language model at operating websites?

    Without a command, options are those of `vlm-eval run`:

    \b
        vlm-eval --model gpt-5.4 --distractors 20
        vlm-eval --model lexical --benchmark sample
    """


def run(args: list[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 ended early, 2 bad input.

    `--debug` and `--allow` may stand anywhere in front of `--`.
    """
    _open_standard_streams()
    _replace_unprintable()
    args = list(sys.argv[1:] if args is None else args)
    debug = DEBUG in args[: args.index("--") if "--" in args else None]
    if debug:
        args.remove(DEBUG)
        _print_what_is_logged()
    try:
        args = _without_allowed(args)
        code: Any = cli.main(args, prog_name="vlm-eval", standalone_mode=False)
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except click.Abort:
        _say("stopped")
        code = 130
    except click.exceptions.NoArgsIsHelpError as error:
        say(error.ctx.get_help() if error.ctx else error.format_message(), err=True)
        code = 2
    except click.UsageError as error:
        _say(error.format_message())
        code = 2
    except click.ClickException as error:
        _say(error.format_message())
        code = error.exit_code
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe.
        sys.stderr.close()
        code = 141
    except Exception as error:
        if debug:
            import traceback

            say("".join(traceback.format_exception(error)), err=True)
        _say(complaint(error))
        code = 2
    sys.exit(code if isinstance(code, int) else 0)


def _without_allowed(args: list[str]) -> list[str]:
    """Take each `--allow` out of a command line, and let the code that it names be loaded.

    Raises click's error for one that names none.
    """
    end = args.index("--") if "--" in args else len(args)
    left, words = list[str](), iter(args[:end])
    for word in words:
        option, has_value, value = word.partition("=")
        if option != ALLOW:
            left.append(word)
            continue
        named = value if has_value else next(words, "")
        if code_in(named) != named or not named:
            raise click.UsageError(f"{ALLOW} '{named}': name code of yours as module:Class")
        allow(named)
    return left + args[end:]


def _print_what_is_logged() -> None:
    """Print the tracebacks of exceptions that are otherwise a line or a count."""
    import logging

    class _Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            say(self.format(record), err=True)

    logger = logging.getLogger("harness")
    logger.handlers = [_Lines()]
    logger.setLevel(logging.DEBUG)


def _open_standard_streams() -> None:
    """Let what is printed to a closed stream (`>&-`) go nowhere.

    The numbers of closed streams would be given to the next files that are opened, such as those of
    a run, and libraries would write their messages into them.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115


def _replace_unprintable() -> None:
    """Print "?" for what the encoding of a stream lacks, which may be latin-1 or cp1252."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def complaint(error: Exception) -> str:
    """Return what is wrong with the input, a run, the disk or a part of another package."""
    # Imported here, because commands that succeed need none of it.
    from adapters.contract import Fatal
    from harness.errors import UserError, memory_error, raised

    if reason := memory_error(error):
        return reason
    if isinstance(error, (UserError, Fatal, UnknownName)):
        return str(error)
    if isinstance(error, ValueError) and "null byte" in str(error):
        return "a path contains a null byte"
    full_or_refused = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)
    if isinstance(error, OSError) and error.errno in full_or_refused:
        return f"{error.strerror}: {error.filename or 'while writing'}"
    from harness.engine import ProtocolError

    if isinstance(error, ProtocolError):
        return str(error)
    return f"{raised(error)}; {DEBUG} prints the traceback"


def _say(text: str) -> None:
    """Print an error as one line, its own lines separated by semicolons."""
    message = ""
    for line in (" ".join(part.split()) for part in text.splitlines()):
        joint = " " if message.endswith((":", ";", ",")) else "; "
        message += (joint if message and line else "") + line
    say(f"vlm-eval: {message}", err=True)
