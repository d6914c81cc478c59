"""Settings on record as others may read them: without secrets, paths and addresses."""

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
_ADDRESS = re.compile(r"[A-Za-z][\w+.-]*://[^\s\"']*|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b")
_PREFIX = re.compile(r"[A-Za-z0-9][\w.+-]+:(?![\\/]{2})")
"""The part before a path in a name such as `scripted:/home/me/replies.json`."""
_PATH = re.compile(r"(~[\w.-]*|\.{1,2})?[\\/]|[A-Za-z]:[\\/]")
_INSIDE = re.compile(r"""(?<![\w.~:/\\<-])(?:~[\w.-]*|\.{1,2}|[A-Za-z]:)?[\\/][^\s"',;<>]+""")
HIDDEN = "[address]"


def public(value: Any) -> Any:
    """Return a configuration (JSON) without settings that hold secrets or places.

    Paths in texts are cut to the name of the file, and addresses to `HIDDEN`. A text that is JSON,
    as options of models may be, is returned as what it says.

    >>> public({"model": "scripted:/home/me/replies.json", "base_url": "http://me", "seed": 42})
    {'model': 'scripted:replies.json', 'seed': 42}
    """
    if isinstance(value, Mapping):
        return {
            str(name): public(one)
            for name, one in value.items()
            if not is_secret(str(name)) and _PLACES.isdisjoint(words_of(str(name)))
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        return [public(one) for one in value]
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith(("{", "[")):
        try:
            return public(json.loads(value, parse_constant=_not_json))
        except (ValueError, RecursionError):
            pass
    cut = without_places(value)
    return cut if cut == value else public(cut)


def without_places(text: str) -> str:
    """Return a text, such as an error message, without addresses and folders.

    >>> without_places("http://10.0.0.1:8000/v1 has no /home/me/models/mine")
    '[address] has no mine'
    """
    text = _ADDRESS.sub(HIDDEN, text)
    prefix = _PREFIX.match(text)
    start = prefix.end() if prefix else 0
    if _is_path(text[start:]):
        return text[:start] + _last(text[start:])
    return _INSIDE.sub(lambda found: _last(found[0]), text)


def _not_json(constant: str) -> None:
    raise ValueError(constant)


def _is_path(text: str) -> bool:
    """Return True for a path; a name with a slash is one if there is such a file."""
    try:
        return bool(_PATH.match(text)) or ("/" in text and Path(text).exists())
    except (OSError, ValueError):
        return False


def _last(path: str) -> str:
    return re.split(r"[\\/]+", path.rstrip("\\/"))[-1]
