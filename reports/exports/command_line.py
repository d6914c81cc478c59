"""A run's settings as the options of the command that would carry it out again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.settings import OF_MODEL, SETTINGS, Setting

ALWAYS = ("model", "benchmark")
"""Settings that a command always shows."""
_ADDRESS = re.compile(r"\w[\w+.-]*://[^\s\"']+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b")
_FOLDER = re.compile(r"(?<![\w./<~-])~?/(?:[^/\s\"'<>,;:]+/)+(?=[^/\s\"'<>,;:])")


def command_of(config: Mapping[str, Any], *, data: object = None) -> str:
    """Return the command that carries out a run with these settings on record, for others to read.

    Addresses and folders are private: `URL`, `FOLDER` and the mere names of files replace them,
    and `[masked]` for secrets.

    Args:
        config: the configuration on record (`Manifest.config`).
        data: where the data lay, if not at its usual place.
    """
    words = ["vlm-eval", "run", *arguments_of(config)]
    return shlex.join([*words, "--data", "FOLDER"] if data else words)


def arguments_of(config: Mapping[str, Any]) -> list[str]:
    """Return the options of the recorded settings that differ from their defaults."""
    words: list[str] = []
    for name, setting in SETTINGS.items():
        value = config.get(name)
        if name in config.get(OF_MODEL, ()) or (name not in ALWAYS and _is_default(setting, value)):
            continue
        words += _option(setting, value)
    return words


def _is_default(setting: Setting, value: Any) -> bool:
    if value is None or value in ([], {}, "") or (value is False and setting.default is None):
        return True
    return bool((tuple(value) if isinstance(value, list) else value) == setting.default)


def _option(setting: Setting, value: Any) -> Iterator[str]:
    if setting.is_switch:
        switch = setting.option
        yield switch if value else switch.replace("--", "--no-", 1)
        return
    for text in _texts(setting, value):
        yield from (setting.option, text)


def _texts(setting: Setting, value: Any) -> list[str]:
    if isinstance(value, Mapping):
        known = {key: one for key, one in value.items() if one is not None}
        return [f"{key}={public_text(key.rpartition('.')[2], one)}" for key, one in known.items()]
    if isinstance(value, (list, tuple)):
        listed = [public_text(setting.name, one) for one in value]
        joint = "/" if setting.name == "shard" else ","
        return listed if setting.repeatable else [joint.join(listed)]
    return [public_text(setting.name, value)]


def public_text(name: str, value: Any) -> str:
    """Return the value of a setting as others may read it, without private addresses and folders.

    >>> public_text("ranker", "/home/me/ranks.parquet"), public_text("model", "hf:/models/mine")
    ('ranks.parquet', 'hf:mine')
    """
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    if name == "base_url":
        return "URL"
    provider, colon, place = text.rpartition(":")
    if Path(place).is_absolute() and not place.startswith("//"):
        return f"{provider}{colon}{Path(place).name}"
    return without_places(text)


def without_places(text: str) -> str:
    """Return a text such as an error message without addresses and folders.

    >>> without_places("http://10.0.0.1:8000/v1 has no /home/me/models/mine")
    'URL has no mine'
    """
    return _FOLDER.sub("", _ADDRESS.sub("URL", text))
