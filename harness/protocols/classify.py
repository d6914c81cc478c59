"""The ranker alone: its first candidate is the answer (Mind2Web's `Classification` row).

No model is called, so every model gets the same result, and only element accuracy is measured. The
prediction has no operation; its flag `element-only` makes tables show operations and success as not
measured instead of zero.
"""

from __future__ import annotations

from harness.dialogue import Dialogue
from harness.protocols.contract import Needs, StepProtocol, offered
from harness.views import StepView
from parsers import ELEMENT_ONLY, Prediction, Status


class Classify(StepProtocol):
    """The candidate with rank 0."""

    name = "classify"
    paper = "Deng et al. 2023 (Mind2Web), classification"
    way = "classified"
    needs = Needs(
        sources=("ranker",),
        pictures="none",
        picture_policy="none",
        texts=False,
        scene=False,
    )

    def dialogue(self, view: StepView) -> Dialogue:
        """Answer without a call. Raises ValueError without choices."""
        _, choices = offered(view)
        last = len(choices)
        first = min(choices, key=lambda choice: last if choice.rank is None else choice.rank)
        return Prediction.of(Status.ANSWERED, element=first.id, flags=(ELEMENT_ONLY,))
        yield ()  # a generator, though it asks nothing
