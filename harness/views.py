"""What protocols and policies are shown of a unit: a class for each sort of question.

A benchmark names the class that it shows (`Benchmark.View`), protocols and policies the one that
they answer; `issubclass` says what fits what. Nothing in a view says which answer is right.

    class SignView(ItemView[str]):
        \"\"\"A road sign, described in words.\"\"\"
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from adapters.conversation import Picture
from harness.records import Choice, Earlier, Step

if TYPE_CHECKING:
    from parsers.question import Asked
    from parsers.screen import Task

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StepView:
    """A page before an action, and the elements that are offered.

    recorded: whether the right answer is on record, for policies that need it.
    """

    recorded: ClassVar[bool] = True

    step: Step
    choices: tuple[Choice, ...]

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """The pictures of the page."""
        return self.step.pictures


class LiveView(StepView):
    """What is seen in an episode before an action."""

    recorded = False


@dataclass(frozen=True, slots=True)
class ItemView(Generic[T]):
    """Base class of views of units that come ready from their benchmark.

    Attributes:
        content: what is asked about it; `asked` of the unit's detail.
        pictures: those that the run's policy shows.
        before: the units before it in its group, oldest first, where the protocol shows more of
            them than what `content` says (`--history`).
        recorded: whether the right answer is on record, for policies that need it.
    """

    recorded: ClassVar[bool] = True

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
