"""Settings as options of a command, and a help with headings."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from adapters.input_files import piped_text
from adapters.options import alternatives, describe
from harness.errors import UserError
from harness.printing import say
from harness.settings import (
    GROUPS,
    SETTINGS,
    Setting,
    Settings,
    allow_code,
    folded,
    moved,
    read_settings,
    unknown,
    written,
)
from harness.settings.declared import pairs

F = TypeVar("F", bound=Callable[..., Any])
FILE = "vlm_eval.file"
"""Where a context keeps the settings that `--config` has under options of pairs, and these."""
GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP, ParameterSource.ENVIRONMENT)


_LISTED = {
    "adapter_option": "; vlm-eval models NAME lists the keys",
    "benchmark_option": "; vlm-eval benchmarks NAME lists the keys",
    "protocol_option": "; vlm-eval protocols NAME lists the keys",
}


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
            listed = _LISTED.get(self._setting.name, "")
            return self.fail(f"{error}{listed}", param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return self.metavar

    @property
    def metavar(self) -> str:
        """The word for the value in the help."""
        if self._setting.choices:
            return f"[{'|'.join(self._setting.choices)}]"
        kind = alternatives(self._setting.type)[0]
        return self._setting.metavar or {int: "N", float: "X"}.get(kind, "TEXT")


COMMON = frozenset(
    {
        *("model", "base_url", "adapter_option", "max_tokens", "temperature"),
        *("benchmark", "benchmark_option", "data", "split", "limit", "protocol", "protocol_option"),
        *("distractors", "seed", "history", "image_policy"),
        *("out", "concurrency", "max_cost", "yes"),
    }
)
"""The settings that `--help` lists."""


class SettingOption(click.Option):
    """The option of a setting."""

    def __init__(
        self,
        _: Any,
        *,
        setting: Setting,
        **changes: Any,
    ) -> None:
        self.setting = setting
        names = [setting.name, setting.option, *filter(None, [setting.short])]
        facts: dict[str, Any] = {"default": setting.default, "help": setting.help}
        if setting.is_switch:
            facts["is_flag"] = True
            if setting.default is not False:
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

    takes: settings among options of others that it reads without the options of their heading.
    """

    def __init__(self, *args: Any, takes: Collection[str] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        self.takes = frozenset(takes)

    @property
    def _has_many(self) -> bool:
        return sum(isinstance(option, SettingOption) for option in self.params) > 30

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        params = super().get_params(ctx)
        return [*params, _HELP_ALL] if self._has_many else params

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            known = {o.setting.option for o in self.params if isinstance(o, SettingOption)}
            now = moved(error.option_name)
            if now and (not now.startswith("--") or now.partition(" ")[0] in known):
                raise click.UsageError(
                    f"no such option: {error.option_name}; give {now}", ctx
                ) from error
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        short = self._has_many and not ctx.meta.get(_ALL)
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            if record is None or isinstance(option, click.Argument):
                continue
            heading = "Options"
            if isinstance(option, SettingOption):
                if short and option.setting.name not in COMMON:
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

    def decorate(command: F) -> F:
        for name in reversed(list(names)):
            more = changes.get(name, {})
            command = click.option(cls=SettingOption, setting=SETTINGS[name], **more)(command)
        return command

    return decorate


def json_option(rest: str) -> Callable[[F], F]:
    """Return the option `--json`: the scores, and with `--json=full` the `rest`, too."""
    return click.option(
        "--json",
        "as_json",
        type=click.Choice(["scores", "full"]),
        is_flag=False,
        flag_value="scores",
        metavar="[full]",
        help=f"Print the scores as JSON{rest}.",
    )


def names_of(*groups: str, without: Collection[str] = ()) -> list[str]:
    """Return the settings under some headings that are options of their own."""
    return [
        n for n, s in SETTINGS.items() if s.group in groups and n not in without and not s.among
    ]


DATA = names_of("Data")
"""The settings that select rows of a benchmark."""
MESSAGES = names_of(
    *("Data", "Question"), without=["repeats", "samples", "vote", "shuffles", "shard"]
)
"""The settings that decide which messages are sent."""


def given_options() -> list[str]:
    """Return the written options of the command under way."""
    context = click.get_current_context()
    return [written(name) for name in (*_given(context), *context.meta.get(FILE, {}))]


def _given(context: click.Context) -> dict[str, Any]:
    return {
        option.setting.name: context.params[option.setting.name]
        for option in context.command.params
        if isinstance(option, SettingOption)
        and context.get_parameter_source(option.setting.name) in GIVEN
    }


def given_settings() -> dict[str, Any]:
    """Return the values of the settings that were given to the command under way, by name."""
    context = click.get_current_context()
    given = _given(context)
    try:
        read = over(folded(context.meta.get(FILE, {})), folded(given))
        _refuse_of_run(context.command, read)
        allow_code(read)
        return read
    except ValueError as error:
        raise UserError(str(error)) from error


def _refuse_of_run(command: click.Command, given: Iterable[str]) -> None:
    """Raise ValueError for a setting among options of others that this command does not read: it
    lacks options of the same heading."""
    known = {option.name for option in command.params}
    known |= set(getattr(command, "takes", ()))
    for name in given:
        setting = SETTINGS[name]
        if setting.among and name not in known and not known.issuperset(names_of(setting.group)):
            raise ValueError(f"{written(name)} has no effect on {command.name}; leave it out")


def over(file: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of a file with those given over them; pairs are taken over by key."""
    both = {**file, **given}
    for name in file.keys() & given.keys():
        if SETTINGS[name].holds_pairs:
            parse = SETTINGS[name].read
            both[name] = list({**dict(parse(file[name])), **dict(parse(given[name]))}.items())
    return both


def read_options(**more: Any) -> Settings:
    """Return the settings that were given to the command under way, and `more` of them."""
    try:
        return read_settings({**given_settings(), **more})
    except ValueError as error:
        raise UserError(str(error)) from error


def is_given(ctx: click.Context, name: str) -> bool:
    """Return True if an option was given, on the command line or in a file."""
    return ctx.get_parameter_source(name) in GIVEN or name in ctx.meta.get(FILE, {})


def require(name: str, *, unless: str) -> None:
    """Raise click's error for a setting that was not given, unless another one was, with its
    help."""
    context = click.get_current_context()
    if not is_given(context, name) and not is_given(context, unless):
        setting = SETTINGS[name]
        known = setting.help.partition("; ")[2].rstrip(".")
        raise click.UsageError(f"name a {name} with {setting.option}: {known}", context)


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
