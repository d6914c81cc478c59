"""Settings in TOML files: what `--config` takes, and what a sweep is written in."""

from __future__ import annotations

import difflib
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.settings.setting import Setting
from harness.settings.values import describe, pairs

PAIRS = "KEY=VALUE"
STDIN = "-"
"""The name of standard input in place of a file."""


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
