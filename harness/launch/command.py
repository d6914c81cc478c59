"""`vlm-eval launch`: scripts that run the shards of a run on many machines."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from adapters import resolve
from adapters.registry import UnknownName
from adapters.secrets import masked
from harness.commands.options import is_given, read_options, require
from harness.commands.run import run
from harness.errors import UserError
from harness.launch import scripts
from harness.launch.scripts import Launch
from harness.planning.model import open_model, with_wrapper
from harness.planning.spending import is_agreed
from harness.policies import is_policy
from harness.printing import say
from harness.serve import ServerSettings
from harness.settings import SETTINGS, Settings, written

F = TypeVar("F", bound=Callable[..., Any])
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""What YAML or a shell takes for the end of a line, or does not take."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?")
_OURS = ("--max-cost", "--out", "-o")
"""Options that get other values for each shard."""


@click.group()
def launch() -> None:
    """Print a script that runs the shards of a run on many machines, and merges them.

    Nothing is submitted. Options after -- are those of `vlm-eval run`; --out names the folder of
    all shards, on a file system that all machines share.

    \b
    Example:
      vlm-eval launch slurm --shards 8 -- --model gpt-5.4 --max-cost 400 --out runs/gpt-5.4 > job
      bash job
    """


def _options(command: F) -> F:
    for decorate in (
        click.argument("options", nargs=-1, metavar="-- RUN OPTIONS"),
        click.option("--name", default="vlm-eval", show_default=True, help="Name of the job."),
        click.option(
            "--shards", type=click.IntRange(1), required=True, help="Number of shards.", metavar="N"
        ),
    ):
        command = decorate(command)
    return command


@launch.command()
@_options
def slurm(options: tuple[str, ...], shards: int, name: str) -> None:
    """Print a script for sbatch: an array job, and a job after it that merges."""
    say(scripts.slurm(read_launch(options, shards, name)), nl=False)


@launch.command()
@_options
@click.option("--image", required=True, help="Container image that has vlm-eval.")
def k8s(options: tuple[str, ...], shards: int, name: str, image: str) -> None:
    """Manifests for kubectl: an Indexed Job, and a Job that merges."""
    _refuse_control("--image", image)
    asked = replace(read_launch(options, shards, name), image=image)
    say(scripts.kubernetes(asked), nl=False)


@launch.command()
@_options
def ray(options: tuple[str, ...], shards: int, name: str) -> None:
    """Print a program that runs the shards as tasks of Ray, and merges them."""
    say(scripts.ray(read_launch(options, shards, name)), nl=False)


def read_launch(options: Sequence[str], shards: int, name: str) -> Launch:
    """Return the shards' settings. Raises `UserError` and click's errors for options that `run`
    would refuse or that a script cannot have."""
    if not _NAME.fullmatch(name):
        raise UserError(f"--name: '{name}' is not made of a-z, 0-9 and inner hyphens")
    for word in options:
        _refuse_control("an option", word)
    settings = _read(list(options))
    words = _without(options, _OURS)
    if settings.max_cost is not None:
        # Rounded down: all shards together never cost more.
        share = math.floor(settings.max_cost / shards * 1e4) / 1e4
        words += ["--max-cost", f"{share:.4f}"]
    return Launch(words, shards, str(settings.out), name, _needs_gpu(settings))


def _needs_gpu(settings: Settings) -> bool:
    """Return whether a shard loads a model itself. Raises `UserError` and `Fatal` for one that
    cannot be opened, and for one that costs money without a limit."""
    settings = with_wrapper(settings)
    if not settings.model or is_policy(settings.model):
        return False
    try:
        if resolve(settings.model, base_url=settings.base_url).runs_here:
            return True
    except UnknownName:
        pass  # `open_model` says more about it.
    model = open_model(settings, asks=False)
    if model.spends and not is_agreed(settings):
        raise UserError(
            f"calls to {model.info.name} may cost money, and no task can ask about it: say "
            "--max-cost DOLLARS, for all shards together, or --yes"
        )
    return ServerSettings.of(settings).with_server is not None


def _read(options: list[str]) -> Settings:
    """Read the settings of the run. Raises `UserError` and click's errors."""
    with run.make_context("run", options) as context:
        require("model", unless="redo_from")
        if context.params["dry_run"]:
            raise UserError("launch is for runs: leave out --dry-run")
        if is_given(context, "shard"):
            raise UserError("launch gives every task its shard: leave out --shard")
        settings = read_options()
        for name in SETTINGS:
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                _refuse_secrets(name, getattr(settings, name))
    if settings.out is None:
        raise UserError("launch needs --out DIR, on a file system that all machines share")
    return settings


def _refuse_secrets(name: str, value: object) -> None:
    pairs = value if isinstance(value, tuple) else ()
    plain: dict[str, str] = dict(pair for pair in pairs if isinstance(pair, tuple))
    if masked(plain) != plain:
        raise UserError(
            f"{written(name)} holds a key, which a script would give away: put it into a --config "
            "file that only you can read"
        )


def _refuse_control(what: str, word: str) -> None:
    if _CONTROL.search(word):
        raise UserError(f"{what} holds a line break or a control character: {word!r}")


def _without(options: Sequence[str], names: Sequence[str]) -> list[str]:
    """Drop some options that are written plainly; a later option counts anyway."""
    words: list[str] = []
    rest = iter(options)
    for word in rest:
        if word in names:
            next(rest, None)
        elif word.partition("=")[0] not in names:
            words.append(word)
    return words
