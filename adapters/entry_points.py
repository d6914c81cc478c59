"""Entry points of installed packages, read without `importlib.metadata`, and what names load.

Importing that module takes longer than the rest of a short command. For a folder on `sys.path` it
reads small text files, which are read here directly. Packages that may come from anything else (a
zip file, a custom importer) are left to `importlib.metadata`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

_INFO = (".dist-info", ".egg-info")


class UnknownName(LookupError):
    """No such name, or nothing usable under it; the message is one line for the user."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class NotInstalled(UnknownName):
    """The module of a name is missing."""


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A name that an installed package provides.

    Attributes:
        target: the object, as "module:attribute".
        package: the distribution that provides it, "" if that is unknown.
    """

    target: str
    package: str = ""


def entry_points(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name. Like
    `importlib.metadata.entry_points(group=group)`."""
    return dict(_all().get(group, {}))


def look_again() -> None:
    """Forget what was read: packages may have been installed since, in a notebook for example."""
    _all.cache_clear()


@cache
def _all() -> Mapping[str, Mapping[str, EntryPoint]]:
    groups: dict[str, dict[str, EntryPoint]] = {}
    for group, name, point in _from_folders() if _only_folders() else _from_metadata():
        groups.setdefault(group, {}).setdefault(name, point)
    return groups


def _only_folders() -> bool:
    from importlib.machinery import PathFinder

    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_distributions")]
    return finders == [PathFinder] and not any(Path(place).is_file() for place in sys.path)


def _from_folders() -> Iterator[tuple[str, str, EntryPoint]]:
    seen: set[str] = set()
    for place in sys.path:
        try:
            folders = sorted(path for path in Path(place).iterdir() if path.suffix in _INFO)
        except OSError:
            continue
        for folder in folders:
            package = folder.stem.partition("-")[0]
            normal = re.sub(r"[-_.]+", "-", package).lower()
            # As everywhere in Python, the first on the path hides later ones.
            if normal in seen:
                continue
            seen.add(normal)
            yield from _in_folder(folder, normal)


def _in_folder(folder: Path, package: str) -> Iterator[tuple[str, str, EntryPoint]]:
    try:
        text = (folder / "entry_points.txt").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return
    group = ""
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1].strip()
        elif line and not line.startswith(("#", ";")):
            name, _, target = line.partition("=")
            yield group, name.strip(), _entry(target, package)


def _from_metadata() -> Iterator[tuple[str, str, EntryPoint]]:
    from importlib.metadata import distributions

    for distribution in distributions():
        for point in distribution.entry_points:
            yield point.group, point.name, _entry(point.value, distribution.name)


def _entry(target: str, package: str) -> EntryPoint:
    # The text in brackets names extras of the package, which are obsolete.
    return EntryPoint(target.partition("[")[0].strip(), package)


def load(target: str) -> Any:
    """Import what "module:attribute" names.

    Raises `NotInstalled` if the module is missing, `ImportError` or `AttributeError` if it is
    broken.
    """
    module, _, attribute = target.partition(":")
    try:
        loaded: Any = import_module(module)
    except ModuleNotFoundError as error:
        if error.name and f"{module}.".startswith(f"{error.name}."):
            raise NotInstalled(f"leaf {error.name} is not installed") from error
        raise
    for part in attribute.split("."):
        loaded = getattr(loaded, part)
    return loaded


def load_named(kind: str, name: str, target: str) -> object:
    """Import what a name of a kind stands for. Raises `UnknownName`."""
    try:
        return load(target)
    except NotInstalled as error:
        raise NotInstalled(f"{kind} '{name}': {error}") from error
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise UnknownName(f"{kind} '{name}' cannot be loaded from {target}: {error}") from error
