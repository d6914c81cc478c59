"""A walker over the types of a provider's SDK: a request that they do not allow is refused.

The SDKs themselves send whatever they are given, and pydantic drops keys that a `TypedDict` does
not have.
"""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin

import typing_extensions


def complaint(
    value: Any, kind: Any, at: str = "", lenient: Collection[str] = frozenset()
) -> str | None:
    """Return what is wrong with JSON as a type, None if nothing is.

    at: where the value stands. lenient: keys that may be missing although a type demands them.
    """
    origin, members = get_origin(kind), get_args(kind)
    if origin in (Annotated, Required, NotRequired):
        return complaint(value, members[0], at, lenient)
    if origin in (Union, types.UnionType):
        found = [complaint(value, member, at, lenient) for member in members]
        # The complaint that got deepest is about the member that was meant.
        return None if None in found else max(map(str, found), key=_depth)
    if origin is Literal:
        return None if value in members else f"{at}: {value!r} is none of {members}"
    if typing_extensions.is_typeddict(kind):
        return _of_object(value, kind, at, lenient)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            return f"{at}: no object"
        inner = [complaint(one, members[1], f"{at}.{n}", lenient) for n, one in value.items()]
        return next(filter(None, inner), None)
    if origin is not None and issubclass(origin, Iterable):
        if not isinstance(value, list):
            return f"{at}: no list"
        found = [complaint(one, members[0], f"{at}[{n}]", lenient) for n, one in enumerate(value)]
        return next(filter(None, found), None)
    if kind in (Any, object):
        return None
    is_fine = type(value) is kind or (kind is float and type(value) is int)
    return None if is_fine else f"{at}: {value!r} is no {kind}"


def _of_object(value: Any, kind: Any, at: str, lenient: Collection[str]) -> str | None:
    if not isinstance(value, dict):
        return f"{at}: no object"
    hints = _hints(kind)
    if type_hint := hints.get("type"):
        # Says which member of a union was meant.
        wrong = complaint(value.get("type"), type_hint, f"{at}.type")
        if wrong and (get_origin(type_hint) is Required or "type" in value):
            return wrong
    for name in value:
        if name not in hints:
            return f"{at}.{name}: unknown parameter"
    for name, hint in hints.items():
        if name in value:
            if wrong := complaint(value[name], hint, f"{at}.{name}", lenient):
                return wrong
        elif get_origin(hint) is Required and name not in lenient:
            return f"{at}.{name}: missing"
    return None


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing_extensions.get_type_hints(kind, include_extras=True)


def _depth(found: str) -> tuple[int, int]:
    place = found.partition(": ")[0]
    is_type = place.endswith(".type")
    return (0 if is_type else 1, place.count(".") + place.count("["))
