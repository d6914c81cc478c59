"""Open the protocol of a run for the kind of its units."""

from __future__ import annotations

from dataclasses import replace

from adapters import AdapterInfo
from harness.benchmarks import benchmark
from harness.errors import UserError
from harness.kinds.contract import kind_of
from harness.protocols import AskingProtocol, check_actions, open_protocol
from harness.settings import SETTINGS, Settings, written


def open_with(settings: Settings, info: AdapterInfo | None = None) -> AskingProtocol:
    """Open the protocol with the settings of the run. Raises `UserError`.

    `info` is the model's declaration, for settings that follow from it; None where a policy
    answers.
    """
    shared: dict[str, object] = {}
    options: dict[str, object] = dict(settings.protocol_options)
    for name, setting in SETTINGS.items():
        value = getattr(settings, name)
        if setting.to_protocol and value is not None:
            shared[name] = value
    protocol = open_protocol(settings.protocol, shared, options, model=info)
    return kind_of(settings).asks_with(protocol, settings, info)


def check_asks(settings: Settings, protocol: AskingProtocol) -> None:
    """Raise `UserError` if the protocol asks about other units than those of the benchmark, or
    answers with actions that say nothing there."""
    source = benchmark(settings.benchmark)
    if protocol.kind != source.kind:
        raise UserError(
            f"{written('protocol')} {protocol.name} asks about units of kind '{protocol.kind}', "
            f"and those of {source.name} are of kind '{source.kind}': ask with {source.protocol}"
        )
    check_actions(protocol, source.declared.actions)


def with_protocol(settings: Settings) -> Settings:
    """The settings with the benchmark's own protocol, if the user named none."""
    if "protocol" in settings.given or settings.protocol != SETTINGS["protocol"].default:
        return settings
    return replace(settings, protocol=benchmark(settings.benchmark).protocol)
