"""What a protocol offers: a dialogue, its inverse, and what makes its results comparable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from harness.dialogue import Dialogue
from harness.records import Choice, Step
from parsers.records import Prediction

NoneRule = Literal["last", "first", "absent"]
NONE_RULES: tuple[NoneRule, ...] = ("last", "first", "absent")


@dataclass(frozen=True, slots=True)
class Lettering:
    """The letters of the choices in listed order, and that of the None option if there is one."""

    choices: tuple[str, ...]
    none: str | None


class AskingProtocol(Protocol):
    """A way to ask. Instances are values: the same settings give the same dialogues.

    `places` are the names of the calls of a step, in order.
    """

    @property
    def name(self) -> str: ...

    @property
    def places(self) -> tuple[str, ...]: ...

    def letters(self, count: int) -> Lettering:
        """How `count` choices are lettered."""
        ...

    def dialogue(self, step: Step, choices: Sequence[Choice]) -> Dialogue:
        """Ask about one step. Raises ValueError when there is nothing to choose from."""
        ...

    def spell(
        self, step: Step, choices: Sequence[Choice], prediction: Prediction
    ) -> Mapping[str, str]:
        """The replies, by place, of a model that has settled on `prediction`."""
        ...

    def settings(self) -> dict[str, object]:
        """Everything that changes dialogues, for the run's record (texts as a hash)."""
        ...
