"""Events that the engine reports while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from adapters.contract import FaultKind
from adapters.conversation import Finish, Reply, Usage
from harness.runs import CallRecord, Spent
from parsers.records import UNDELIVERED, Prediction, Status
from parsers.reply_text import ends_in_thought, without_thinking


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a dialogue.

    prediction: None leaves the step unsettled.
    error: reason for a missing reply; with `score_failures` there is a prediction, too.
    calls: ids of the calls of its last trial in the order of asking, shared ones included.
    usage, cost: as in `Spent`, over the calls of all trials that were made for this dialogue. A
        shared call counts for the dialogue that asked first: costs add up to the bill.
    prompt_tokens: estimate of the longest prompt of the model under test, replayed and unanswered
        calls included; None if nothing was asked or nothing estimates.
    trial: number of the last trial, from 0.
    roles: what was spent, by role; empty unless another role than the model under test was asked.
    tiers: number of replies that each tier served.
    invalid: why the unit does not count, although it was asked about: its environment failed.
    last: the last reply of the model under test; None if it was not asked.
    """

    unit_id: str
    repeat: int
    prediction: Prediction | None
    error: str | None
    calls: tuple[str, ...]
    usage: Usage | None
    cost: float | None
    prompt_tokens: int | None = None
    trial: int = 0
    roles: Mapping[str, Spent] = field(default_factory=dict)
    tiers: Mapping[str, int] = field(default_factory=dict)
    invalid: str | None = None
    last: Reply | None = field(default=None, repr=False)

    @property
    def settled(self) -> bool:
        return self.prediction is not None or self.invalid is not None

    @property
    def undelivered(self) -> bool:
        """True if there is no answer for a reason that may lie with the deployment.

        The model was not asked or gave nothing that could be read, not even in part.
        """
        status = self.prediction.status if self.prediction else None
        if status is Status.TRUNCATED:
            return self.last is not None and says_nothing(self.last)
        return status in UNDELIVERED


def says_nothing(reply: Reply) -> bool:
    """Return whether a reply calls nothing and has no text, or only a thought that was cut off."""
    if reply.tool_calls:
        return False
    cut = reply.finish is Finish.LENGTH and ends_in_thought(reply.text)
    return cut or not without_thinking(reply.text).strip()


class Observer:
    """Base class of observers: every method does nothing. Overrides must return quickly."""

    def opened(self, unit_id: str, repeat: int) -> None:
        """Called when a dialogue begins."""

    def passed_over(self, unit_id: str, repeat: int) -> None:
        """Called when a row that no model is asked about is on record."""

    def called(self, record: CallRecord, *, replayed: bool) -> None:
        """Called when a call is on record; `replayed` if it was before this session."""

    def retrying(
        self, unit_id: str, place: str, kind: FaultKind, wait_s: float, error: str = ""
    ) -> None:
        """Called when an attempt failed and the next one follows after `wait_s` seconds.

        `error` says in short what went wrong; some of it may be a server's words.
        """

    def settled(self, outcome: Outcome) -> None:
        """Called when a dialogue is over."""

    def parked(self, unit_id: str, repeat: int) -> None:
        """Called when a dialogue ends for now, as a reply comes later."""

    def notice(self, text: str) -> None:
        """Called with a line that the user should see once."""
