"""Groups of commands that are imported when they are named, as some need an extra."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from adapters.registry import load


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
