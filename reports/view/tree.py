"""JSON as a tree of plain lists, which names nothing that a script could take for its own."""

from __future__ import annotations

import math
from typing import Any

import msgspec

DEEPEST = 24
"""Levels that are taken apart; what lies deeper is one text."""
MOST = 2_000
"""Most values of a tree; behind them a word says how many are left out."""
LONGEST_KEY = 200


def tree(value: Any) -> list[Any]:
    """Return a node: its kind (`object`, `list` or `value`), and its content.

    An object holds pairs of key and node, a list nodes, a value a scalar. Numbers that a script
    cannot hold are texts.

    >>> tree({"a": [1, None]})
    ['object', [['a', ['list', [['value', 1], ['value', None]]]]]]
    """
    plain = msgspec.to_builtins(value, str_keys=True, builtin_types=())
    return _node(plain, 0, [MOST])


def _node(value: Any, depth: int, left: list[int]) -> list[Any]:
    if isinstance(value, (dict, list)) and value and depth >= DEEPEST:
        return ["value", msgspec.json.encode(value).decode("utf-8", "replace")]
    if isinstance(value, dict):
        pairs = [[str(key)[:LONGEST_KEY], one] for key, one in value.items()]
        kept = pairs[: max(0, left[0])]
        left[0] -= len(kept)
        nodes = [[key, _node(one, depth + 1, left)] for key, one in kept]
        return ["object", nodes, *_omitted(len(pairs) - len(kept))]
    if isinstance(value, (list, tuple)):
        items = list(value)[: max(0, left[0])]
        left[0] -= len(items)
        return [
            "list",
            [_node(one, depth + 1, left) for one in items],
            *_omitted(len(value) - len(items)),
        ]
    return ["value", _scalar(value)]


def _omitted(count: int) -> list[int]:
    return [count] if count else []


def _scalar(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53:
        return str(value)
    return value if isinstance(value, (str, bool, int, float)) or value is None else str(value)
