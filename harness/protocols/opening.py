"""A protocol from the settings of a run: each setting to the parameter that takes it."""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from adapters.registry import UnknownName
from harness.errors import UserError
from harness.protocols import PROTOCOLS
from harness.protocols.contract import AskingProtocol

SHARED = ("prompts", "history", "max_tokens", "none", "first_of_many", "value_style")
"""Parameters with an option of their own on the command line."""
FROM_MODEL = "coordinates"
_ON, _OFF = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}


def parameters(name: str) -> frozenset[str]:
    """The settings that a protocol takes. Raises `UserError` for a protocol that is not there."""
    return frozenset(_signature(_factory(name)))


def own_parameters(name: str) -> tuple[str, ...]:
    """Those of them that `--protocol-option` fills."""
    return tuple(key for key in _signature(_factory(name)) if key not in SHARED)


def open_named(
    name: str, shared: Mapping[str, object], options: Mapping[str, object]
) -> AskingProtocol:
    """The protocol with its settings; what is left out has the protocol's default.

    `shared` are settings of `SHARED` (and `coordinates`), `options` those of the protocol's own, as
    text or as values. `max_tokens` and `coordinates` may be given to protocols that do not take
    them. Raises `UserError` for an unknown name, a setting that the protocol does not take, and a
    value that is none.
    """
    hints = _signature(_factory(name))
    given: dict[str, object] = {}
    for key, value in shared.items():
        if key in hints:
            given[key] = value
        elif key not in ("max_tokens", FROM_MODEL):
            raise UserError(f"--{key.replace('_', '-')} means nothing to '{name}'; leave it out")
    for key, value in options.items():
        if key in SHARED:
            written = key.replace("_", "-")
            raise UserError(f"--protocol-option {key}: give --{written} as an option of its own")
        if key not in hints:
            taken = ", ".join(own_parameters(name)) or "none"
            raise UserError(f"--protocol-option {key}: '{name}' takes {taken}")
        given[key] = _value(f"--protocol-option {key}={value}", value, hints[key])
    try:
        return PROTOCOLS.make(name, **given)
    except UnknownName as error:
        raise UserError(str(error)) from error
    except ValueError as error:
        raise UserError(f"protocol '{name}': {error}") from error


def _factory(name: str) -> Any:
    try:
        return PROTOCOLS.get(name)
    except UnknownName as error:
        raise UserError(str(error)) from error


@cache
def _signature(factory: Any) -> dict[str, Any]:
    """Names and types of the parameters, in order; a type that cannot be resolved is `str`."""
    if PROTOCOLS.is_instance(factory):
        return {}
    annotated: Any = factory
    try:
        hints = get_type_hints(annotated.__init__ if isinstance(factory, type) else annotated)
    except (NameError, TypeError, AttributeError):
        hints = {}
    named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    found = inspect.signature(factory).parameters.values()
    return {p.name: hints.get(p.name, str) for p in found if p.kind in named}


def _value(where: str, value: object, kind: Any) -> object:
    """What was written as the type asks for it; values that are no text are taken as they are."""
    if isinstance(value, list):
        return tuple(value)
    if not isinstance(value, str):
        return value
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        kinds = [one for one in inner if one is not type(None)]
        if len(kinds) < len(inner) and value.lower() == "none" and str not in kinds:
            return None
        return _value(where, value, kinds[0]) if len(kinds) == 1 else value
    if origin is Literal:
        by_text = {str(one): one for one in inner}
        if value in by_text:
            return by_text[value]
        raise UserError(f"{where}: expected one of {', '.join(by_text)}")
    if kind is bool:
        if value.lower() in _ON | _OFF:
            return value.lower() in _ON
        raise UserError(f"{where}: expected true or false")
    if kind is Path:
        return Path(value)
    if kind in (int, float):
        try:
            return kind(value)
        except ValueError as error:
            wanted = "a whole number" if kind is int else "a number"
            raise UserError(f"{where}: expected {wanted}") from error
    return value
