"""Secrets among options: kept out of what a run writes down.

Keys are read from the environment. Some servers want another one in the body or in a header of
their own, and such an option is masked on record by its name: who answers is the same whatever the
key.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adapters import ModelInfo

MASK = "[masked]"
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
_ALWAYS = {"password", "passwd", "passphrase", "secret", "credential", "credentials", "apikey"}
_AT_THE_END = {"key", "keys", "token", "auth", "authorization", "bearer", "cookie", "cookies", "pw"}
# Keys and tokens that are none: of caches, and of text.
_HARMLESS = {
    *("cache", "sort", "prefix", "group", "top", "eos", "bos", "pad", "unk", "sep", "cls", "mask"),
    *("stop", "start", "begin", "end", "image", "video", "special", "think", "thinking", "max"),
    *("min", "per", "next", "each", "separator", "tool"),
}


def words_of(name: str) -> list[str]:
    """Return the words of an option's name, in small letters.

    >>> words_of("BASE_URL"), words_of("baseUrl")
    (['base', 'url'], ['base', 'url'])
    """
    return [word.lower() for word in _WORDS.findall(name)]


def is_secret(name: str) -> bool:
    """Return whether an option is a key, a token or a password, by its name.

    >>> [is_secret(name) for name in ("api_key", "X-Auth-Token", "clientSecret", "max_tokens")]
    [True, True, True, False]
    """
    words = words_of(name)
    if not words:
        return False
    if _ALWAYS & {*words, "".join(words[-2:])}:
        return True
    return words[-1] in _AT_THE_END and not (len(words) > 1 and words[-2] in _HARMLESS)


LEAST = 8
"""Characters of a key; what is shorter ("EMPTY") is none."""
_PASSWORD = re.compile(r"://[^/\s@:]*:[^/\s@]+@")


def key_in(value: object) -> str:
    """Return the variable of the environment whose value, a key by its name, is part of a value; ""
    for none."""
    texts = list(_texts(value))
    for name, key in os.environ.items():
        if (
            is_secret(name)
            and len(key.strip()) >= LEAST
            and any(key.strip() in one for one in texts)
        ):
            return name
    return ""


def has_password(value: object) -> bool:
    """Return whether an address in a value has a password (`https://user:password@host`)."""
    return any(map(_PASSWORD.search, _texts(value)))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = tuple(value.items())
    if isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, str):
        yield value


_INNER = re.compile(r"[\s;&|()\"'`]+")
_NAMED = re.compile(r"(-{0,2})([A-Za-z_][\w-]*)(=|:|$)(.*)", re.DOTALL)


def secrets_in(words: Sequence[str]) -> Iterator[str]:
    """Yield the names of keys among the words of a command, also of one within a word (`sh -c`).

    A variable in the place of the key (`$NAME`) is none.
    """
    inner = [part for word in words for part in _INNER.split(word) if part]
    for part, following in zip(inner, [*inner[1:], ""], strict=True):
        named = _NAMED.fullmatch(part)
        if named is None or not is_secret(named[2]) or not (named[1] or named[3]):
            continue
        if not (named[4] or following).startswith("$"):
            yield named[2]


def masked(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with the values of those that are secrets masked, at any depth and in JSON
    texts."""
    return {name: _masked(value, is_secret(name)) for name, value in options.items()}


def secrets(value: object, hidden: bool = False) -> Iterator[str]:
    """Return the texts that `masked` masks."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from secrets(inner, hidden or is_secret(str(name)))
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from secrets(inner, hidden)
    elif hidden and isinstance(value, str):
        yield value


def _masked(value: Any, hidden: bool) -> Any:
    if isinstance(value, Mapping):
        return {name: _masked(one, hidden or is_secret(str(name))) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_masked(one, hidden) for one in value]
    if hidden:
        return value if value is None or isinstance(value, bool) else MASK
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        return _masked_json(value)
    return value


def _masked_json(text: str) -> str:
    """Mask secrets in an option in JSON from a command line; unchanged if it has none."""
    try:
        plain = json.loads(text)
        safe = _masked(plain, False)
    except (ValueError, RecursionError):
        return text
    return text if safe == plain else json.dumps(safe, ensure_ascii=False)


def identity_of(info: ModelInfo) -> dict[str, Any]:
    """Return what a run records of a model; secrets are masked."""
    return {
        "name": info.name,
        "model": info.model,
        "provider": info.provider,
        **({"stand_in": info.stand_in} if info.stand_in else {}),
        "revision": info.revision,
        "endpoint": info.endpoint,
        "settings": masked(info.settings),
    }
