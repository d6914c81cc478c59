"""The ranker alone: its first candidate is the answer (Mind2Web's `Classification` row).

Nobody is asked, so any model gives the same result, and only element accuracy is measured: the
prediction holds no operation, and the flag `element-only` says that none was asked for, so that
tables show operations and success as not measured instead of as zero.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.dialogue import Dialogue
from harness.protocols.contract import AskingProtocol, Needs
from harness.records import Choice, Step
from parsers import ELEMENT_ONLY, Prediction, Status


class Classify(AskingProtocol):
    """The candidate of rank 0."""

    name = "classify"
    paper = "Deng et al. 2023 (Mind2Web), classification"
    way = "classified"
    needs = Needs(("ranker",), 50, "none", "none", texts=False, forms=False, scene=False)

    def dialogue(self, step: Step, choices: Sequence[Choice]) -> Dialogue:
        """Settle without a call. Raises ValueError when there are no choices."""
        if not choices:
            raise ValueError(f"step {step.step_id} has no choices to offer")
        last = len(choices)
        first = min(choices, key=lambda choice: last if choice.rank is None else choice.rank)
        return Prediction(Status.ANSWERED, element=first.id, flags=(ELEMENT_ONLY,))
        yield ()  # a generator, though it asks nothing
