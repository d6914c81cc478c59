"""Settings from a file of options (`--config`)."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from adapters.input_files import piped_text
from adapters.options import describe
from harness.commands.options import FILE, SettingOption
from harness.errors import UserError
from harness.settings import SETTINGS, Setting, unknown
from harness.settings.values import pairs

F = TypeVar("F", bound=Callable[..., Any])
PAIRS = "KEY=VALUE"
STDIN = "-"
"""The name of standard input in place of a file."""
RUN = "run"
"""The key of the tables of a file that describes several runs: `[[run]]`."""
CONFIG, MATRIX = "vlm_eval.config", "vlm_eval.matrix"
"""Where a context keeps the path of its file, and the content of one that describes several
runs."""


def config_option(*, several: bool = False) -> Callable[[F], F]:
    """`--config FILE`: defaults for the other options of the command, from a TOML file.

    Keys are the long names of options without the dashes (`max-cost = 5`). What is given on the
    command line takes precedence. `-` is standard input. With `several`, a file may describe
    several runs, and the command reads it from the context (`MATRIX`).
    """

    def fill(ctx: click.Context, _: click.Parameter, value: str | None) -> str | None:
        if value is not None:
            ctx.meta[CONFIG] = value
            content = read_toml(value, f"--config {value}")
            if several and _describes_several(content):
                ctx.meta[MATRIX] = content
                return value
            read = _read_config(content, value, ctx.command)
            own = {n for n in read if n in SETTINGS and _is_joined(SETTINGS[n])}
            ctx.meta[FILE] = {name: read.pop(name) for name in own}
            ctx.default_map = {**(ctx.default_map or {}), **read}
        return value

    return click.option(
        "--config",
        metavar="FILE",
        is_eager=True,
        expose_value=False,
        callback=fill,
        help="TOML file with options (-: standard input). The command line takes precedence.",
    )


def _is_joined(setting: Setting) -> bool:
    """Return whether a setting of a file is joined with what the command line has of it."""
    return setting.holds_pairs or setting.of in ("benchmark", "protocol")


def _describes_several(content: Mapping[str, Any]) -> bool:
    known = by_key()
    return RUN in content or any(
        key in known and is_several(known[key], value) for key, value in content.items()
    )


def is_several(setting: Setting, value: object) -> bool:
    """Return whether a file gives a setting several values, one for each run.

    A list is several values; for an option that takes a list, a list of lists or tables is.
    """
    if not isinstance(value, list):
        return False
    takes_list = setting.repeatable or setting.one_text
    return not takes_list or any(isinstance(one, (list, dict)) for one in value)


def by_key() -> dict[str, Setting]:
    """Return the settings by their keys in a file."""
    return {one.key.replace("_", "-"): one for one in SETTINGS.values() if not one.among}


def _read_config(content: Mapping[str, Any], path: str, command: click.Command) -> dict[str, Any]:
    """Return the file as a click default map. Raises `UserError` for unknown keys and values."""
    options = {
        spelling.removeprefix("--"): option
        for option in command.params
        if isinstance(option, click.Option) and option.name != "config"
        for spelling in option.opts
        if spelling.startswith("--")
    }
    defaults: dict[str, Any] = {}
    for key, value in content.items():
        option = options.get(key)
        try:
            if option is None:
                raise UserError(f"--config {path}: {unknown('key', key, options)}")
            read = _config_value(option, value)
            several = option.multiple and not isinstance(read, list)
            defaults[str(option.name)] = [read] if several else read
        except ValueError as error:
            raise UserError(f"--config {path}: {key}: {error}") from error
    return defaults


def _config_value(option: click.Option, value: Any) -> Any:
    if isinstance(option, SettingOption):
        return config_value(option.setting, value)
    if option.is_flag != isinstance(value, bool):
        wanted = "true or false" if option.is_flag else "a value"
        raise ValueError(f"expected {wanted}, not {value!r}")
    return value


def read_toml(path: str, what: str) -> dict[str, Any]:
    """Return the content of a TOML file, which may be a pipe, or of standard input (`-`).

    `what` is what an error calls the file. Raises `UserError`.
    """
    try:
        if path == STDIN:
            return tomllib.loads(sys.stdin.buffer.read().decode("utf-8-sig"))
        return tomllib.loads(piped_text(Path(path)))
    except OSError as error:
        raise UserError(f"{what}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{what}: not TOML: {error}") from error


def config_value(setting: Setting, value: Any) -> Any:
    """Return the value that a file gives to a setting.

    Raises ValueError naming what was expected.
    """
    if isinstance(value, dict):
        if setting.metavar != PAIRS:
            raise ValueError(f"expected {describe(setting.type)}, not a table")
        value = pairs(value)
    elif isinstance(value, list) and not (setting.repeatable or setting.one_text):
        raise ValueError(f"expected one value, not {value!r}")
    read = setting.read(value)
    return list(read) if setting.repeatable else read
