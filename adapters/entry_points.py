"""Loading by name: entry points of installed packages, and code that the user names himself.

Entry points are read without `importlib.metadata`: importing that module takes longer than the rest
of a short command. For a folder on `sys.path` it reads small text files, which are read here
directly. Packages that may come from anything else (a zip file, a custom importer) are left to it.

`module:Class` names code in a file of the working folder or in any module that can be imported. It
is loaded only if the user has written this name (`allow`): runs on disk may come from anybody, and
their contents must not decide which code is called.
"""

from __future__ import annotations

import inspect
import re
import sys
import traceback
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module, invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_INFO = (".dist-info", ".egg-info")
_CODE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?=:|$)")
_PATH = re.compile(r"(?:.*[/\\])?([^\W\d]\w*)\.py:(.+)")
_allowed: set[str] = set()


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


def code_in(text: str) -> str:
    """Return the `module:Class` that a text is, or begins with before a colon; "" if none."""
    found = _CODE.match(text)
    return found[0] if found else ""


def allow(text: str) -> None:
    """Let the code that a text names be loaded, if it names any, for the rest of the process.

    For texts that the user wrote, or that code of the user's has; never for what a file says.
    """
    _allowed.add(code_in(text))


def is_allowed(code: str) -> bool:
    """Return whether the user has named this code."""
    return code in _allowed


def named_code(kind: str, text: str) -> str:
    """Return the code that a text is, or begins with. Raises `UnknownName` if the user has not
    named it."""
    if not is_allowed(code := code_in(text)):
        why = f"is code, which is run only if you name it: add --allow {code}"
        raise UnknownName(f"{kind} '{text}' {why}")
    return code


def absent(text: str) -> str:
    """Say why a text is not the name of code that is here; "" if it is. Imports nothing."""
    if path := _PATH.fullmatch(text):
        return f"code is named {path[1]}:{path[2]}, in the folder of its file"
    code = code_in(text)
    module = code.partition(":")[0]
    if not code or _file_here(module) is not None:
        return "" if code else "that is neither a name nor module:Class"
    try:
        spec = find_spec(module.partition(".")[0])
    except (ValueError, ImportError):  # Of a module that was not imported from anywhere.
        spec = None
    # Any folder on the path is found as a module without an origin.
    if spec is not None and (spec.origin is not None or "." in module):
        return ""
    return f"there is no file {module.replace('.', '/')}.py here, nor a module '{module}'"


def _file_here(module: str) -> Path | None:
    """Return the file in the working folder that has a module, None if there is none."""
    path = Path.cwd().joinpath(*module.split("."))
    files = (path.with_name(f"{path.name}.py"), path / "__init__.py")
    return next(filter(Path.is_file, files), None)


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
            raise NotInstalled(f"module {error.name} is not installed") from error
        raise
    for part in attribute.split("."):
        loaded = getattr(loaded, part)
    return loaded


def load_code(code: str) -> Any:
    """Import code that the user has named: files of the working folder come after modules.

    Raises as `load`, and `ImportError` for a file that a module of the same name hides.
    """
    module = code.partition(":")[0]
    file, here = _file_here(module), str(Path.cwd())
    if file is not None and here not in sys.path:
        sys.path.append(here)  # Last: what is installed finds its own modules first.
    invalidate_caches()
    if file is not None:
        place = getattr(import_module(module), "__file__", None)
        if place is None or Path(place).resolve() != file.resolve():
            raise ImportError(
                f"{file.name} is hidden by {place or 'a module'}: give it another name"
            )
    return load(code)


def load_named(kind: str, name: str, target: str) -> object:
    """Import what a name of a kind represents. Raises `UnknownName`."""
    own = target == name
    module = target.partition(":")[0]
    broken = (
        (Exception, SystemExit) if own else (ImportError, AttributeError, ValueError, TypeError)
    )
    try:
        return load_code(target) if own else load(target)
    except NotInstalled as error:
        why = f"there is no module '{module}'" if own else str(error)
        raise NotInstalled(f"{kind} '{name}': {why}") from error
    except broken as error:
        origin = "" if own else f" from {target}"
        told = _told(error, module)
        raise UnknownName(f"{kind} '{name}' cannot be loaded{origin}: {told}") from error


def _told(error: BaseException, module: str) -> str:
    """Describe what importing a module raised, with its last line that ran."""
    frames = [
        (str(frame.f_globals.get("__name__")), line)
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    behind = [one for one in frames if one[0].partition(".")[0] not in ("importlib", __package__)]
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    if isinstance(error, SyntaxError):  # Its text has the line.
        return f"{text}; --debug prints the traceback"
    if not behind:
        return str(error)
    where, line = next((one for one in reversed(behind) if one[0] == module), behind[-1])
    return f"{text} ({where}, line {line}); --debug prints the traceback"


def nearest(text: str, names: Collection[str], starts: Iterable[str]) -> str | None:
    """Return the name that a text is probably a misspelling or the first word of, in quotes;
    several names that begin with the word, or what an argument without a name begins with
    (`starts`)."""
    import difflib

    begun = [name for name in names if name.startswith(f"{text}-")]
    if text and begun:
        return " or ".join(f"'{name}'" for name in begun)
    near = difflib.get_close_matches(text.partition(":")[0], names, n=1, cutoff=0.65)
    if near:
        return f"'{near[0]}'"
    alike = {
        difflib.SequenceMatcher(None, text[: len(start)].lower(), start).ratio(): start
        for start in starts
        if len(start) > 3
    }
    best = max(alike, default=0.0)
    return f"'{alike[best]}...'" if best >= 0.75 else None


def parameters_of(factory: Any) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a class or factory, by name; {} for what cannot be called."""
    if not callable(factory):
        return {}
    try:
        return inspect.signature(factory).parameters
    except ValueError:  # Some callables written in C have no signature.
        return {
            "args": inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
            "kwargs": inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
        }
