"""Settings as options of a command or keys of a file (`--config`), and a help with headings."""

from __future__ import annotations

import difflib
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from harness.errors import UserError
from harness.printing import say
from harness.settings import GROUPS, SETTINGS, Setting, Settings, read_settings
from harness.settings.values import alternatives, describe, pairs

F = TypeVar("F", bound=Callable[..., Any])
GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP, ParameterSource.ENVIRONMENT)
PAIRS = "KEY=VALUE"
STDIN = "-"
"""The name of standard input in place of a file."""


class Value(click.ParamType[Any]):
    """The value of a setting; of a repeatable one, a single item."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self.name = setting.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            if self._setting.repeatable:
                (item,) = self._setting.read([value])
                return item
            return self._setting.read(value)
        except ValueError as error:
            return self.fail(str(error), param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        if self._setting.choices:
            return f"[{'|'.join(self._setting.choices)}]"
        kind = alternatives(self._setting.type)[0]
        return self._setting.metavar or {int: "N", float: "X"}.get(kind, "TEXT")


class SettingOption(click.Option):
    """The option of a setting."""

    def __init__(self, _: Any, *, setting: Setting, **changes: Any) -> None:
        self.setting = setting
        names = [setting.name, setting.option, *filter(None, [setting.short])]
        facts: dict[str, Any] = {"default": setting.default, "help": setting.help}
        if setting.is_switch:
            facts["is_flag"] = True
            if setting.default is True:
                names[1] = f"{setting.option}/{setting.option.replace('--', '--no-', 1)}"
        else:
            facts |= {"type": Value(setting), "multiple": setting.repeatable}
        if changes.get("required"):
            del facts["default"]
        elif changes.get("multiple"):
            facts["default"] = [setting.default] if setting.default else None
        shown = bool(setting.default) or (setting.default == 0 and not setting.is_switch)
        super().__init__(names, show_default=shown, **{**facts, **changes})


class SettingsCommand(click.Command):
    """A command whose help lists options under the headings of their settings.

    With many settings, `--help` lists the common ones alone, each in a sentence, and `--help-all`
    all of them.
    """

    @property
    def _has_many(self) -> bool:
        return sum(isinstance(option, SettingOption) for option in self.params) > 40

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        params = super().get_params(ctx)
        return [*params, _HELP_ALL] if self._has_many else params

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        short = self._has_many and not ctx.meta.get(_ALL)
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            if record is None or isinstance(option, click.Argument):
                continue
            heading = "Options"
            if isinstance(option, SettingOption):
                if short and not option.setting.common:
                    continue
                heading = heading if short else option.setting.group
            elif self._has_many and not short:
                heading = "Other"
            if short:
                record = record[0], _first_sentence(record[1])
            sections.setdefault(heading, []).append(record)
        for heading in ("Options", *GROUPS, "Other"):
            if heading in sections:
                with formatter.section(heading):
                    formatter.write_dl(sections[heading])


_ALL = "vlm_eval.help_all"


def _help_all(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        say(ctx.get_help())
        ctx.exit()


_HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_help_all,
    help="Show all options and exit.",
)


def _first_sentence(text: str) -> str:
    """Return the first sentence of a help, and the default."""
    sentence = re.split(r"[.]\s|; may be repeated", text, maxsplit=1)[0].rstrip(".")
    default = re.search(r"\s\s(\[default: [^]]*\])$", text)
    return f"{sentence}.  {default[1]}" if default else f"{sentence}."


def setting_options(names: Iterable[str], **changes: Mapping[str, Any]) -> Callable[[F], F]:
    """Return the options of some settings; `changes` are further arguments of an option, by
    setting."""
    listed = list(names)

    def decorate(command: F) -> F:
        for name in reversed(listed):
            more = changes.get(name, {})
            command = click.option(cls=SettingOption, setting=SETTINGS[name], **more)(command)
        return command

    return decorate


def names_of(*groups: str, without: Iterable[str] = ()) -> list[str]:
    """Return the settings under some headings."""
    return [n for n, s in SETTINGS.items() if s.group in groups and n not in set(without)]


DATA = names_of("Data", without=["lost_rows"])
"""The settings that select rows of a benchmark."""
MESSAGES = names_of(
    *("Data", "Question"),
    without=["first_of_many", "value_style", "repeats", "shuffles", "shard"],
)
"""The settings that decide which messages are sent."""


def given_settings() -> dict[str, Any]:
    """Return the values of the settings that were given to the command under way, by name."""
    context = click.get_current_context()
    return {
        option.setting.name: context.params[option.setting.name]
        for option in context.command.params
        if isinstance(option, SettingOption) and is_given(context, option.setting.name)
    }


def read_options(**more: Any) -> Settings:
    """Return the settings that were given to the command under way, and `more` of them."""
    try:
        return read_settings({**given_settings(), **more})
    except ValueError as error:
        raise UserError(str(error)) from error


def is_given(ctx: click.Context, name: str) -> bool:
    """Return True if an option was given, on the command line or in a file."""
    return ctx.get_parameter_source(name) in GIVEN


def require(name: str, *, unless: str) -> None:
    """Raise click's error for a setting that was not given, unless another one was."""
    context = click.get_current_context()
    if not is_given(context, name) and not is_given(context, unless):
        [option] = [option for option in context.command.params if option.name == name]
        raise click.MissingParameter(ctx=context, param=option)


def config_option() -> Callable[[F], F]:
    """`--config FILE`: defaults for the other options of the command, from a TOML file.

    Keys are the long names of options without the dashes (`max-cost = 5`). What is given on the
    command line takes precedence. `-` is standard input.
    """

    def fill(ctx: click.Context, _: click.Parameter, value: str | None) -> str | None:
        if value is not None:
            ctx.default_map = {**(ctx.default_map or {}), **_read_config(value, ctx.command)}
        return value

    return click.option(
        "--config",
        metavar="FILE",
        is_eager=True,
        expose_value=False,
        callback=fill,
        help="TOML file with options (-: standard input). The command line takes precedence.",
    )


def _read_config(path: str, command: click.Command) -> dict[str, Any]:
    """Return the file as a click default map. Raises `UserError` for unknown keys and broken
    files."""
    content = read_toml(path, f"--config {path}")
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
        if option is None:
            raise UserError(f"--config {path}: {unknown_key(key, options)}")
        try:
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
    """Return the content of a TOML file, or of standard input (`-`).

    `what` is what an error calls the file. Raises `UserError`.
    """
    try:
        data = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
        return tomllib.loads(data.decode("utf-8"))
    except OSError as error:
        raise UserError(f"{what}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{what}: not TOML: {error}") from error


def unknown_key(key: str, known: Iterable[str]) -> str:
    """Return the complaint about a key that there is not."""
    near = difflib.get_close_matches(key, list(known), n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return f"unknown key '{key}'{hint}"


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
