"""Settings of conversations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from adapters.settings import LeafSettings, setting

_model = partial(setting, group="Model", about="model")


@dataclass(frozen=True, kw_only=True)
class ConversationSettings(LeafSettings):
    """Models of the roles of conversations, in short."""

    rationale_model: str | None = _model(
        None,
        "Short for --role rationale=MODEL (self-map).",
        recorded="never",
        heading="never",
        needs=("model", "roles"),
        names_role="rationale",
    )
    embedding_model: str | None = _model(
        None,
        "Short for --role embedding=EMBEDDER (self-map, mt-synapse).",
        recorded="never",
        heading="never",
        needs=("model", "roles"),
        names_role="embedding",
    )
