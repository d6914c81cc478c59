"""Open the protocol of a run for the kind of its units, and read its own spelling of an answer."""

from __future__ import annotations

from typing import Any

from adapters import AdapterInfo, Reply
from adapters.embedding import stand_in
from harness.benchmarks import Benchmark
from harness.dialogue import hold
from harness.errors import UserError
from harness.kinds.contract import Question, kind_of
from harness.policies import Oracle, chance_for
from harness.protocols import AskingProtocol, check_actions, dialogue_about, open_protocol, spelled
from harness.settings import SETTINGS, Settings, written
from parsers.actions import ActionSpace
from parsers.records import Prediction


def open_with(settings: Settings, info: AdapterInfo | None = None) -> AskingProtocol:
    """Open the protocol with the settings of the run. Raises `UserError`.

    `info` is the model's declaration, for settings that follow from it; None where a policy
    answers.
    """
    shared: dict[str, object] = {}
    options: dict[str, object] = dict(settings.protocol_options)
    for name, setting in SETTINGS.items():
        value = getattr(settings, name)
        if setting.fills == "protocol" and value is not None:
            shared[name] = value
    protocol = open_protocol(settings.protocol, shared, options, model=info)
    kind = kind_of(settings.benchmark)
    if settings.samples is not None:
        from harness.protocols.vote import Vote, with_votes

        vote = Vote(settings.samples, settings.vote or "majority", kind.same)
        protocol = with_votes(protocol, vote)
    return kind.asks_with(protocol, settings, info)


def check_asks(source: Benchmark, protocol: AskingProtocol) -> None:
    """Raise `UserError` if the protocol asks about other units than those of the benchmark, or
    answers with actions that say nothing there."""
    if protocol.kind != source.kind:
        raise UserError(
            f"{written('protocol')} {protocol.name} is for benchmarks of kind '{protocol.kind}', "
            f"and {source.name} is of kind '{source.kind}': ask with {source.protocol}"
        )
    check_actions(protocol, source.declared.actions)


def as_oracle(
    protocol: AskingProtocol, question: Question, space: ActionSpace | None
) -> Prediction:
    """Return what the protocol reads from the oracle's answers."""
    chance = chance_for(0, 0, question.unit_id, "oracle")
    right = Oracle().predict(*question.asked, chance, question.secret)
    return as_answered(protocol, question.asked, right, space)


def as_answered(
    protocol: AskingProtocol, asked: tuple[Any, ...], answer: Prediction, space: ActionSpace | None
) -> Prediction:
    """Spell a prediction in terms of `space` in the protocol's form and read it back.

    `asked` is what its dialogue is given of the unit.
    """
    replies = spelled(protocol, asked, answer, space)
    return hold(
        dialogue_about(protocol, asked, space),
        lambda ask: Reply(replies[ask.place]),
        embed=lambda call: stand_in(call.texts),
    )
