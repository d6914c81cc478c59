"""Use a protocol with a benchmark that has another action space.

A protocol reads and spells actions of one action space. Its declared counterparts convert what it
reads to a prediction in the benchmark's space, and a policy's prediction there to its actions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.dialogue import Dialogue
from harness.errors import UserError
from harness.protocols.contract import AskingProtocol
from parsers.actions import ActionSpace, Counterparts
from parsers.records import Prediction
from parsers.settling import settled, spoken_as


def dialogue_about(
    protocol: AskingProtocol, asked: tuple[Any, ...], space: ActionSpace | None
) -> Dialogue:
    """Return the dialogue about a unit, with a prediction in terms of the benchmark's `space`.

    `parsers.settling` handles answers outside of it.
    """
    prediction = yield from protocol.dialogue(*asked)
    if not isinstance(prediction, Prediction):
        return prediction  # The engine reports the mistake.
    counterparts = _counterparts(protocol, space)
    if counterparts is None:
        return settled(prediction, space or protocol.actions)
    return settled(prediction, space, protocol.actions, counterparts)


def spelled(
    protocol: AskingProtocol,
    asked: tuple[Any, ...],
    prediction: Prediction,
    space: ActionSpace | None,
) -> Mapping[str, str]:
    """Return the replies, by place, of a model that has settled on a prediction in `space`."""
    counterparts = _counterparts(protocol, space)
    if counterparts is not None:
        prediction = spoken_as(prediction, counterparts)
    return protocol.spell(*asked, prediction)


def check_actions(protocol: AskingProtocol, space: ActionSpace | None) -> None:
    """Raise `UserError` if the protocol's actions have no counterparts in `space`."""
    counterparts = _counterparts(protocol, space)
    if counterparts is None or protocol.actions is None or space is None:
        return
    if not counterparts:
        raise UserError(
            f"protocol '{protocol.name}' answers with actions of '{protocol.actions.name}', which "
            f"have no counterparts in '{space.name}', the actions of this benchmark"
        )
    for name, counterpart in counterparts.items():
        for wanted, where in ((name, protocol.actions), (counterpart.name, space)):
            if wanted not in where:
                raise UserError(
                    f"protocol '{protocol.name}' declares {counterpart.name} of '{space.name}' as "
                    f"the counterpart of its {name}, and '{where.name}' has no {wanted}"
                )


def _counterparts(protocol: AskingProtocol, space: ActionSpace | None) -> Counterparts | None:
    """Return the counterparts of the protocol's actions in another space; None for the same."""
    own = protocol.actions
    if own is None or space is None or own.name == space.name:
        return None
    return protocol.counterparts.get(space.name, {})
