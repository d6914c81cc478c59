"""Benchmarks and protocols that a Python caller hands over as objects instead of names.

A benchmark is known by its name for the rest of the process, so that its runs can be read. A
protocol is known by its class; its fields become settings of the run, as on the command line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields, is_dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from adapters.decoding import decode_json
from adapters.registry import Registry, UnknownName
from harness.benchmarks import BENCHMARKS, Benchmark
from harness.errors import UserError
from harness.protocols import PROTOCOLS, AskingProtocol
from harness.settings import SETTINGS, Settings, field_of

_NOT_ITS_OWN = ("name", "declared", "options", "given", "first", "rounds")
LONGEST = 1000
"""Bytes of a field's value that a run records unchanged."""

_lock = Lock()
_in_use: Counter[tuple[str, str]] = Counter()


@contextmanager
def named(values: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """Yield settings with names in place of objects, which are in use until the end of the block.

    Raises `UserError` for an object that cannot be used, or whose name another object has that is
    in use.
    """
    plain, held = dict(values), list[tuple[str, str]]()
    try:
        for setting, value in values.items():
            if isinstance(value, Benchmark):
                plain[setting] = value.name
                if not _is_registered(value):
                    held.append(_hold(BENCHMARKS, value.name, value))
            elif isinstance(value, AskingProtocol):
                kind = type(value)
                plain[setting] = value.name
                _add_fields(plain, value)
                if not _is_class_of(value.name, kind):
                    held.append(_hold(PROTOCOLS, value.name, kind))
        yield plain
    finally:
        with _lock:
            _in_use.subtract(held)


def _is_registered(benchmark: Benchmark) -> bool:
    """Return True if the name of a benchmark, without an object of a caller, means the same."""
    if BENCHMARKS.was_put(benchmark.name):
        return False
    try:
        return BENCHMARKS.make(benchmark.name) == benchmark
    except UnknownName:
        return False


def _is_class_of(name: str, kind: type) -> bool:
    if PROTOCOLS.was_put(name):
        return False
    try:
        return kind in PROTOCOLS.all(name)
    except UnknownName:
        return False


def _hold(registry: Registry[Any], name: str, thing: object) -> tuple[str, str]:
    key = registry.kind, name
    with _lock:
        if _in_use[key] > 0 and registry.get(name) != thing:
            raise UserError(
                f"another {registry.kind} '{name}' is being evaluated; give this one another name"
            )
        try:
            registry.put(name, thing)
        except ValueError as error:
            raise UserError(str(error)) from error
        _in_use[key] += 1
    return key


def _add_fields(values: dict[str, object], protocol: AskingProtocol) -> None:
    """Add the fields of a protocol that differ from their defaults to settings.

    Raises `UserError` for one that is given twice or cannot be recorded.
    """
    made = {one.name: getattr(protocol, one.name) for one in fields(protocol) if one.init}
    try:
        same = is_dataclass(protocol) and type(protocol)(**made) == protocol
    except TypeError:
        same = False
    if not same:
        raise UserError(
            f"protocol '{protocol.name}': {type(protocol).__name__} is not a dataclass whose "
            "fields are its settings; see docs/extending.md"
        )
    options = {
        one.name: "all" if one.name == "history" and made[one.name] is None else made[one.name]
        for one in fields(protocol)
        if one.name in made and one.name != "max_tokens" and made[one.name] != _default(one)
    }
    if options:
        for name in values:
            known = SETTINGS.get(field_of(name) or "")
            if known is not None and (known.name == "protocol_option" or known.of == "protocol"):
                raise UserError(
                    f"{name}: set the options on the object of protocol '{protocol.name}' instead"
                )
        values["protocol_option"] = options


def _default(one: Field[Any]) -> object:
    return one.default if one.default_factory is MISSING else one.default_factory()


def on_record(settings: Settings) -> dict[str, Any]:
    """Return what a run records of the objects among its settings: class and fields.

    >>> on_record(Settings(benchmark="sample"))
    {}
    """
    found = dict[str, Any]()
    if BENCHMARKS.was_put(settings.benchmark):
        thing = BENCHMARKS.get(settings.benchmark)
        found["benchmark_object"] = {"class": _class_of(thing), **_fields_of(thing)}
    if PROTOCOLS.was_put(settings.protocol):
        found["protocol_class"] = _class_of(PROTOCOLS.get(settings.protocol))
    return found


def _fields_of(benchmark: Benchmark) -> dict[str, Any]:
    """Return the fields that differ from their defaults, as JSON; a long one as its digest."""
    changed = dict[str, Any]()
    for one in fields(benchmark):
        value = getattr(benchmark, one.name)
        if one.name in _NOT_ITS_OWN or value == _default(one):
            continue
        text = msgspec.json.encode(value, enc_hook=_plain, order="deterministic")
        long = len(text) > LONGEST
        plain = f"sha256:{sha256(text).hexdigest()}" if long else decode_json(text)
        changed[one.name] = plain
    return changed


def _plain(value: object) -> object:
    if isinstance(value, Path):
        return value.as_posix()
    if isinstance(value, Mapping):
        return dict(value)
    return _class_of(value)


def _class_of(thing: Any) -> str:
    """Return where a class or function, or the class of another object, is (`module:Class`)."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}:{named.__qualname__}"
