"""A unit of a run, ready to be asked about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from adapters.conversation import Picture
from harness.dialogue import Observation
from harness.engine import Environment
from harness.policies import Secret
from harness.protocols import AskingProtocol
from harness.runs import Unit
from parsers.records import Prediction


@dataclass(frozen=True, slots=True)
class Question:
    """Everything about one unit before it is asked about.

    Attributes:
        record: its record so far; `record.invalid` says why no model is asked, None for a valid
            unit.
        view: what the protocol's `dialogue` and `write` are given.
        secret: the right answer, for policies that need it.
        sources: encoded pictures that those in `view` are made from, by digest.
        outcome: the prediction of a valid unit that needs no model call; None for all others.
        environment: opens what the dialogue acts in; None for units that are not acted upon.
        glimpse: what is observed of it in its stead where calls are estimated.
    """

    record: Unit[Any]
    view: Any
    secret: Secret
    sources: Mapping[str, bytes] = field(default_factory=dict)
    outcome: Prediction | None = None
    environment: Callable[[], Awaitable[Environment]] | None = None
    glimpse: Observation | None = None

    @property
    def unit_id(self) -> str:
        """Id of the unit."""
        return self.record.unit_id

    @property
    def count(self) -> int:
        """Number of candidates, from which a protocol estimates its calls."""
        return 1

    def shuffled(self, number: int) -> Self:
        """The question as the shuffle of that number asks it."""
        return self

    def repeated(self) -> Question:
        """The question for another of its dialogues."""
        return self

    def for_policy(self, protocol: AskingProtocol) -> Any:
        """Return the view for a policy: no more than `protocol` shows a model."""
        return self.view

    def looked_up(self) -> tuple[Picture, ...]:
        """The pictures that the dialogue has requested while it was open."""
        return ()
