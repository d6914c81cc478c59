"""Parses the texts of settings whose types do not say how they are written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import get_args

from adapters.conversation import Tier
from harness.options import History


def pair(text: str) -> tuple[str, str]:
    """Parse `key=value` into a pair."""
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise ValueError(f"expected key=value, not '{text}'")
    return key.strip().replace("-", "_"), value


def condition(text: str) -> str:
    """Check the form `key=value`, and return the text unchanged."""
    key, sign, _ = text.partition("=")
    if not sign or not key:
        raise ValueError(f"expected key=value, not '{text}'")
    return text


def role(text: str) -> tuple[str, str]:
    """Parse `name=model`, or `name.setting=value`, as a pair.

    >>> role("planner=openai:gpt-5.4"), role("planner.max-tokens=300")
    (('planner', 'openai:gpt-5.4'), ('planner.max_tokens', '300'))
    """
    key, value = pair(text)
    if key.count(".") > 1 or not all(part.isidentifier() for part in key.split(".")):
        raise ValueError(f"'{key}' is neither a role nor a setting of one (planner.max_tokens)")
    return key.removesuffix(".model"), value


def pairs(table: Mapping[str, object]) -> list[str]:
    """Return the entries of a table as `key=value`, one for each value of a list, and those of a
    table within it as `key.inner=value`.

    >>> pairs({"planner": {"model": "gpt-5.4", "max_tokens": 300}, "embedding": "lexical"})
    ['planner.model=gpt-5.4', 'planner.max_tokens=300', 'embedding=lexical']
    """
    written = []
    for key, value in table.items():
        if isinstance(value, Mapping):
            written += [f"{key}.{inner}" for inner in pairs(value)]
        else:
            items = value if isinstance(value, list) else [value]
            written += [f"{key}={str(v).lower() if isinstance(v, bool) else v}" for v in items]
    return written


def shard(text: str) -> tuple[int, int]:
    """Parse `1/4`: number and count."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError(f"'{text}' is not a shard; write 1/4 to 4/4")
    return int(match[1]), int(match[2])


def per_round(text: str) -> tuple[int, ...]:
    """Parse `1024`, or `800,300` with a number for each round."""
    parts = text.split(",")
    if not all(part.strip().isdigit() and int(part) > 0 for part in parts):
        raise ValueError(f"'{text}' is not a number of tokens per round (1024, or 800,300)")
    return tuple(int(part) for part in parts)


def tiers(text: str) -> tuple[str, ...]:
    """Parse `flex`, or `flex,default` with a tier to fall back to."""
    parts = tuple(part.strip() for part in text.split(","))
    for part in parts:
        if part not in get_args(Tier):
            raise ValueError(f"'{part}' is not a tier ({', '.join(get_args(Tier))})")
    return parts


def history(text: str) -> int | str:
    """Return a history in the one spelling that is put on record: `all`, a number, or a text."""
    read = History.parse(text)
    return read.actions if read.plain and read.actions is not None else str(read)
