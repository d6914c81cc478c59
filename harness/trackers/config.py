"""Remove paths, addresses and secrets from a configuration that is sent to a service."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adapters.secrets import is_secret, words_of

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
