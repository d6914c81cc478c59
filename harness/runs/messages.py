"""The messages of a call, as lines hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from adapters.conversation import Message, Part, Picture, Result, Text


class ResultRecord(NamedTuple):
    """What came of a call that the model made (`adapters.conversation.Result`)."""

    call_id: str
    parts: tuple[str | Picture, ...]
    is_error: bool
    state: Any = None


PartRecord = str | Picture | ResultRecord


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """A message that a call added. A part is a text, a reference to a picture, or a result."""

    role: str
    parts: tuple[PartRecord, ...]
    native: Any = None

    @classmethod
    def of(cls, message: Message) -> MessageRecord:
        """Return the record of a message."""
        return cls(message.role, tuple(map(_part, message.parts)), message.native)

    @property
    def results(self) -> tuple[ResultRecord, ...]:
        """Its results of calls."""
        return tuple(part for part in self.parts if isinstance(part, ResultRecord))

    @property
    def shown(self) -> tuple[str | Picture, ...]:
        """Its texts and pictures, in order, those of results in the place of their result."""
        return tuple(
            shown
            for part in self.parts
            for shown in (part.parts if isinstance(part, ResultRecord) else (part,))
        )


def _part(part: Part) -> PartRecord:
    if isinstance(part, Result):
        shown = (one.text if isinstance(one, Text) else one for one in part.parts)
        return ResultRecord(part.call_id, tuple(shown), part.is_error, part.state)
    return part.text if isinstance(part, Text) else part
