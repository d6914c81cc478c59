"""Lanes: what is needed to ask the model of one role."""

from __future__ import annotations

from dataclasses import dataclass, field

from adapters.contract import Adapter, Generation
from adapters.embedding import Embedder
from harness.engine.calls import PromptTokens
from harness.engine.limits import Pricing


@dataclass(frozen=True, slots=True)
class Lane:
    """What is needed to ask the model of one role.

    Every lane has a queue and a rate limit of its own; the cost limit and the end of the session
    are shared.

    model: an adapter, or an embedder.
    generation: parameters of its calls; an embedder takes none.
    pricing: its prices; None if calls are free or their price is unknown.
    prompt_tokens: estimates the tokens of a prompt, to keep one over the model's context from being
        sent.
    concurrency: most calls in flight; None takes the model's limit.
    """

    model: Adapter | Embedder
    generation: Generation = field(default_factory=Generation)
    pricing: Pricing | None = None
    prompt_tokens: PromptTokens | None = None
    concurrency: int | None = None
