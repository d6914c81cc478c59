"""Former names of what `harness.protocols` offers; nothing new should use them."""

from __future__ import annotations

from collections.abc import Mapping

from harness.protocols.contract import AskingProtocol
from harness.protocols.registry import SHARED, _settings_of, open_protocol

FROM_MODEL = "coordinates"


def parameters(name: str) -> frozenset[str]:
    return frozenset(_settings_of(name))


def own_parameters(name: str) -> tuple[str, ...]:
    return tuple(key for key in _settings_of(name) if key not in SHARED)


def open_named(
    name: str, shared: Mapping[str, object], options: Mapping[str, object]
) -> AskingProtocol:
    declared = {k: v for k, v in shared.items() if k == FROM_MODEL and k in parameters(name)}
    rest = {key: value for key, value in shared.items() if key != FROM_MODEL}
    return open_protocol(name, rest, {**declared, **options})
