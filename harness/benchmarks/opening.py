"""Open the protocol of a run for the kind of its units, and read its own spelling of an answer."""

from __future__ import annotations

from typing import Any

from adapters import AdapterInfo, Reply
from adapters.embedding import stand_in
from harness.benchmarks import Benchmark
from harness.benchmarks.shows import Ready
from harness.dialogue import hold
from harness.errors import UserError
from harness.policies import Oracle, chance_for
from harness.protocols import AskingProtocol, ask, check_actions, open_protocol, written_as
from harness.settings import Settings, written
from parsers.actions import ActionSpace
from parsers.records import Prediction


def open_with(
    settings: Settings, source: Benchmark, info: AdapterInfo | None = None, *, texts: bool = True
) -> AskingProtocol:
    """Open the protocol with the settings of the run. Raises `UserError`.

    `source` is the benchmark that it asks about. `info` is the model's declaration, for options
    that follow from it; None where a policy answers. Without `texts`, prompts of the user's own are
    left out: what is only read needs none.
    """
    options = dict(settings.protocol_option)
    if not texts:
        options.pop("prompts", None)
    limits = settings.max_tokens
    return open_protocol(
        settings.protocol, options, max_tokens=limits, model=info, View=source.View
    )


def check_asks(source: Benchmark, protocol: AskingProtocol) -> None:
    """Raise `UserError` if the protocol answers other views than the benchmark shows, or with
    actions that say nothing there."""
    if not issubclass(source.View, protocol.View):
        raise UserError(
            f"{written('protocol')} {protocol.name} answers {protocol.View.__name__}, and "
            f"{source.name} shows {source.View.__name__}: ask with {source.protocol}"
        )
    check_actions(protocol, source.declared.actions)


def as_oracle(
    protocol: AskingProtocol, question: Ready[Any], space: ActionSpace | None
) -> Prediction:
    """Return what the protocol reads from the oracle's answers, written in its form."""
    chance = chance_for(0, 0, question.unit_id, "oracle")
    right = Oracle().predict(question.view, chance, question.secret)
    replies = written_as(protocol, question.view, right, space)
    return hold(
        ask(protocol, question.view, space),
        lambda call: Reply(replies[call.place]),
        embed=lambda call: stand_in(call.texts),
    )
