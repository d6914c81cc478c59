"""A unit of a run, ready to be asked about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from harness.dialogue import Observation
from harness.engine import Environment
from harness.policies import Secret
from harness.runs.records import Unit
from harness.views import View
from parsers.records import Prediction

V = TypeVar("V", bound=View, covariant=True)


@dataclass(frozen=True, slots=True)
class Ready(Generic[V]):
    """Everything about one unit before it is asked about.

    Attributes:
        unit: its record so far; `unit.invalid` says why no model is asked, None for a valid unit.
        view: what the protocol's `dialogue` and `write` are given.
        secret: the right answer, for policies that need it.
        sources: encoded pictures that those in `view` are made from, by digest.
        known: the prediction of a valid unit that needs no model call; None for all others.
        opens: opens what the dialogue acts in; None for units that are not acted upon.
        glimpse: what is observed of it in its stead where calls are estimated.
    """

    unit: Unit[Any]
    view: V
    secret: Secret
    sources: Mapping[str, bytes] = field(default_factory=dict)
    known: Prediction | None = None
    opens: Callable[[], Awaitable[Environment]] | None = None
    glimpse: Observation | None = None

    @property
    def unit_id(self) -> str:
        """Id of the unit."""
        return self.unit.unit_id
