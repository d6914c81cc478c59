"""Records read by msgspec, whose types one thread at a time builds.

msgspec learns what it needs to know of a class when it first reads one. A second thread that meets
a class of which it knows half ends the process. All of the package decodes through this module, and
ruff refuses msgspec's own functions elsewhere.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar, overload

import msgspec
from msgspec.json import Decoder

__all__ = ["Decoder", "convert_to", "decode_json", "decoder_of"]

T = TypeVar("T")
_building = threading.RLock()


def decoder_of(kind: type[T]) -> Decoder[T]:
    """Return a decoder of JSON; it raises msgspec's errors."""
    with _building:
        return Decoder(kind)


@overload
def decode_json(data: bytes | str | msgspec.Raw) -> Any: ...
@overload
def decode_json(data: bytes | str | msgspec.Raw, kind: type[T]) -> T: ...
def decode_json(data: bytes | str | msgspec.Raw, kind: Any = Any) -> Any:
    """Return JSON as a type. Raises msgspec's errors."""
    return decoder_of(kind).decode(data)


Hook = Callable[[type, Any], Any]


@overload
def convert_to(
    value: object, kind: type[T], *, strict: bool = ..., hook: Hook | None = ...
) -> T: ...
@overload
def convert_to(value: object, kind: Any, *, strict: bool = ..., hook: Hook | None = ...) -> Any: ...
def convert_to(value: object, kind: Any, *, strict: bool = True, hook: Hook | None = None) -> Any:
    """Return plain values as a type; `hook` is msgspec's `dec_hook`. Raises msgspec's errors."""
    decoder_of(kind)
    return msgspec.convert(value, kind, strict=strict, dec_hook=hook)
