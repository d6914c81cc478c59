"""Trackers by name, their packages, and the configuration that is sent to them without secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import click

from adapters.registry import Registry, UnknownName, install
from adapters.secrets import is_secret, words_of
from harness.commands.listing import print_names
from harness.errors import UserError
from harness.trackers.contract import Tracker

_PLACES = frozenset(
    {
        *("url", "uri", "address", "endpoint", "host", "hostname", "proxy", "server", "port"),
        *("path", "dir", "directory", "folder", "data", "out"),
    }
)
"""Words in the name of a setting that holds a path or an address."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PREFIX = re.compile(r"[A-Za-z0-9][\w.+-]+:(?![\\/]{2})")
"""The part before a path in a name such as `scripted:/home/me/replies.json`."""
_PATH = re.compile(r"(~[\w.-]*|\.{1,2})?[\\/]|[A-Za-z]:[\\/]")
_INSIDE = re.compile(r"""(?<![\w.~:/\\-])(?:~[\w.-]*|\.{1,2}|[A-Za-z]:)?[\\/][^\s"',;]+""")
HIDDEN = "[address]"


def sendable(value: Any) -> Any:
    """A configuration (JSON) without settings that hold secrets or places.

    Paths in texts are cut to the name of the file, texts with an address are replaced whole. A text
    that is JSON, as options of models may be, is sent as what it says.

    >>> sendable({"model": "scripted:/home/me/replies.json", "base_url": "http://me", "seed": 42})
    {'model': 'scripted:replies.json', 'seed': 42}
    """
    if isinstance(value, Mapping):
        return {
            str(name): sendable(one)
            for name, one in value.items()
            if not is_secret(str(name)) and _PLACES.isdisjoint(words_of(str(name)))
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        return [sendable(one) for one in value]
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith(("{", "[")):
        try:
            return sendable(json.loads(value, parse_constant=_not_json))
        except (ValueError, RecursionError):
            pass
    cut = _without_places(value)
    return cut if cut == value else sendable(cut)


def _not_json(constant: str) -> None:
    raise ValueError(constant)


def _without_places(text: str) -> str:
    if _ADDRESS.search(text):
        return HIDDEN
    prefix = _PREFIX.match(text)
    start = prefix.end() if prefix else 0
    if _PATH.match(text[start:]) or _is_file(text[start:]):
        return text[:start] + _last(text[start:])
    return _INSIDE.sub(lambda found: _last(found[0]), text)


def _is_file(text: str) -> bool:
    """Return whether a text with a slash is a path and not the name of a model."""
    try:
        return "/" in text and Path(text).exists()
    except (OSError, ValueError):
        return False


def _last(path: str) -> str:
    return re.split(r"[\\/]+", path.rstrip("\\/"))[-1]


def package(name: str) -> Any:
    """The package of a service. Raises `UserError` with the line that installs it.

    It is imported where the tracker is made and not on the tracker's own thread: others look into
    modules while these are being imported there, and stumble (openai's client over `httpx`).
    """
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        spec = None
    # A folder of that name is none: services leave their files in such folders.
    if spec is None or spec.origin is None:
        raise UserError(f"the package {name} is missing: {install(name)}")
    return import_module(name)


TRACKERS: Registry[Tracker] = Registry(
    "tracker", "vlm_eval.trackers", has=("start", "log", "finish")
)
TRACKERS.add(
    "trackio",
    "harness.trackers.trackio:TrackioTracker",
    "trackio: a local database and dashboard, or a Space (extra trackio)",
)
TRACKERS.add(
    "wandb",
    "harness.trackers.wandb:WandbTracker",
    "Weights & Biases, online or offline (extra wandb)",
)


def open_trackers(
    names: Iterable[str], given: Mapping[str, object] | None = None
) -> dict[str, Tracker]:
    """Open trackers by name; nothing is sent yet.

    `given` has trackers of the caller by the names that stand for them. Raises `UserError` for an
    unknown name, a repeated one, and a tracker that cannot be made: its package or its key is
    missing.
    """
    opened: dict[str, Tracker] = {}
    for written in names:
        if written in opened:
            raise UserError(f"--track {written} is given twice")
        if given and written in given:
            opened[written] = _checked(written, given[written])
            continue
        try:
            name, argument = TRACKERS.split(written)
            opened[written] = TRACKERS.make(name, argument)
        except (UnknownName, UserError) as error:
            raise UserError(f"--track {written}: {error}") from error
        except Exception as error:
            raise UserError(
                f"--track {written}: it cannot be opened ({type(error).__name__}: {error})"
            ) from error
    return opened


def _checked(name: str, tracker: object) -> Tracker:
    """A tracker of the caller. Raises `UserError` for an object that is not a tracker."""
    for needed in TRACKERS.has:
        if not hasattr(tracker, needed):
            raise UserError(f"track: {name} is not a tracker: it has no '{needed}'")
    return cast(Tracker, tracker)


@click.command()
def trackers() -> None:
    """List the services that --track takes."""
    print_names(TRACKERS.names().items())
