"""What the engine tells whoever watches."""

from __future__ import annotations

from dataclasses import dataclass

from adapters.contract import FaultKind
from adapters.conversation import Usage
from harness.runs import CallRecord
from parsers.records import Prediction


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a dialogue.

    Without a prediction the step is unsettled and `error` says why; with `settle_failures` both are
    there. `calls` are ids in the order of asking. `usage` adds up what the replies took, those from
    the cache included; `cost` what was paid for them, in US dollars, None without a price.
    `prompt_tokens` is the estimate of the longest prompt, played-back and unanswered ones included;
    None when nothing was asked, or when nobody estimates.
    """

    step_id: str
    repeat: int
    prediction: Prediction | None
    error: str | None
    calls: tuple[str, ...]
    usage: Usage | None
    cost: float | None
    prompt_tokens: int | None = None

    @property
    def settled(self) -> bool:
        return self.prediction is not None


class Observer:
    """Override what is of interest; every method does nothing by itself and must return quickly."""

    def opened(self, step_id: str, repeat: int) -> None:
        """A dialogue begins."""

    def passed_over(self, step_id: str, repeat: int) -> None:
        """A row is on record that no model is asked about."""

    def called(self, record: CallRecord, *, replayed: bool) -> None:
        """A call is on record; `replayed` when it had been before this session."""

    def retrying(self, step_id: str, place: str, kind: FaultKind, wait_s: float) -> None:
        """A try failed; the next one is `wait_s` seconds away."""

    def settled(self, outcome: Outcome) -> None:
        """A dialogue is over."""

    def notice(self, text: str) -> None:
        """Something the user should be told once."""
