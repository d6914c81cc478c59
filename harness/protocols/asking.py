"""Ask by a protocol in the actions of a benchmark, and write its answers.

A protocol reads and writes actions of one action space. Its declared counterparts convert what it
reads to a prediction in the benchmark's space (`ask`), and a policy's prediction there
to its actions (`written_as`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.dialogue import Dialogue
from harness.errors import UserError
from harness.protocols.contract import AskingProtocol
from parsers.actions import ActionSpace, Counterparts
from parsers.records import Prediction
from parsers.settling import settled, spoken_as

if TYPE_CHECKING:
    from harness.protocols.vote import Vote


def ask(
    protocol: AskingProtocol, view: Any, space: ActionSpace | None, vote: Vote | None = None
) -> Dialogue:
    """Return the dialogue about a view, with a prediction in terms of the benchmark's `space`.

    With a `vote`, everything is asked several times, and the predictions are counted.
    `parsers.settling` handles answers outside of the space.
    """
    if vote is None:
        prediction = yield from protocol.dialogue(view)
    else:
        prediction = yield from vote.held(lambda: protocol.dialogue(view))
    if not isinstance(prediction, Prediction):
        return prediction  # The engine reports the mistake.
    counterparts = _counterparts(protocol, space)
    if counterparts is None:
        return settled(prediction, space or protocol.actions)
    return settled(prediction, space, protocol.actions, counterparts)


def written_as(
    protocol: AskingProtocol,
    view: Any,
    said: Prediction,
    space: ActionSpace | None,
) -> Mapping[str, str]:
    """Return the replies, by place, of a model that has settled on a prediction in `space`."""
    counterparts = _counterparts(protocol, space)
    if counterparts is not None:
        said = spoken_as(said, counterparts)
    return protocol.write(view, said)


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
