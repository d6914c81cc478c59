"""Views of a unit for protocols and policies: a class for each sort of question.

A benchmark names the class that it shows (`Benchmark.View`), protocols and policies the one that
they answer; `issubclass` says what fits what. Nothing in a view says which answer is right.

    class SignView(ItemView[str]):
        \"\"\"A road sign, described in words.\"\"\"
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from adapters.conversation import Picture
from harness.records import Choice, Earlier, Step

if TYPE_CHECKING:
    from parsers.question import Asked
    from parsers.screen import Task

T = TypeVar("T")


class View:
    """Base class of views.

    recorded: whether the right answer is on record, for policies that need it.
    """

    __slots__ = ()

    recorded: ClassVar[bool] = True

    @property
    def count(self) -> int:
        """Number of candidates, used to estimate calls."""
        return 1

    @property
    def looked_up(self) -> tuple[Picture, ...]:
        """The pictures that a dialogue has requested while it was open."""
        return ()

    def shuffled(self, number: int) -> Self:
        """Return the view as the shuffle of that number shows it."""
        return self

    def again(self) -> Self:
        """Return the view for another dialogue about the same."""
        return self

    def latest(self, last: int | None) -> Self:
        """Return the view with no more than the last so many earlier actions; None: all."""
        return self


@dataclass(frozen=True, slots=True)
class StepView(View):
    """A page before an action, and the elements that are offered."""

    step: Step
    choices: tuple[Choice, ...]

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """The pictures of the page."""
        return self.step.pictures

    @property
    def count(self) -> int:
        return len(self.choices)

    @property
    def looked_up(self) -> tuple[Picture, ...]:
        """The crops that the dialogue has requested from the scene."""
        return tuple(getattr(self.step.scene, "shown", ()))

    def shuffled(self, number: int) -> Self:
        """Return the view with candidates dealt out anew, for protocols that do so."""
        return replace(self, step=replace(self.step, shuffle=number))

    def latest(self, last: int | None) -> Self:
        history = self.step.history
        kept = history if last is None else history[max(0, len(history) - last) :]
        return replace(self, step=replace(self.step, history=kept))


@dataclass(frozen=True, slots=True)
class LiveView(StepView):
    """Observation in an episode before an action.

    memory: what a protocol made for live pages has kept of the episode so far; it fills it.
    """

    recorded = False
    memory: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ItemView(View, Generic[T]):
    """Base class of views of units that come ready from their benchmark.

    Attributes:
        content: what is asked about it; `asked` of the unit's detail.
        pictures: those that the run's policy shows.
        before: the units before it in its group, oldest first, where the protocol shows more of
            them than what `content` says (`--history`).
    """

    unit_id: str
    content: T
    pictures: tuple[Picture, ...] = ()
    before: tuple[Earlier, ...] = ()


class PlaceView(ItemView[str]):
    """A picture, and an instruction that means a place on it."""


@dataclass(frozen=True, slots=True)
class QuestionView(ItemView[Any]):
    """A question about pictures, or about none."""

    content: Asked


@dataclass(frozen=True, slots=True)
class ScreenView(ItemView[Any]):
    """A screen before an action, and the task."""

    content: Task


class PromptView(ItemView[str]):
    """A finished prompt."""
