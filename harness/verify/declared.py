"""What a run would assume of the model behind a deployment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from adapters.contract import AdapterInfo
from adapters.open_models import open_model
from adapters.picture_tokens import FAMILIES, Rule, family_of, ruled


@dataclass(frozen=True, slots=True)
class Declared:
    """What a run would assume of the model.

    family: by its name; None if that is unknown.
    own: the adapter's own rule for pictures, where it is the model's.
    limit: the limit in pixels that applies to the server.
    told: what requests say of thoughts.
    """

    family: str | None
    coordinates: str | None
    own: Rule | None = None
    limit: int | None = None
    thinks: str = "never"
    told: Literal["off", "budget"] | None = None
    template: tuple[int, ...] | None = None
    """Prompt tokens of the short texts by the checkpoint's own template; None if unknown."""

    @property
    def rule(self) -> Rule | None:
        """What becomes of a picture, as a run assumes; None for an unknown family."""
        family = FAMILIES.get(self.family or "")
        if family and family.limited and self.limit:
            return family.limited(self.limit)
        return self.own or (family.rule if family else None)

    @classmethod
    def of(
        cls, info: AdapterInfo, coordinates: str | None, effort: str | None, budget: int | None
    ) -> Declared:
        """Return what an adapter declares, how numbers are read, and what is asked of thoughts."""
        named = str(info.settings.get("family") or info.model)
        known, limit = open_model(named), info.settings.get("max_pixels")
        family = family_of(named)
        if known is not None and known.pixels is not None:
            family = family or {28: "qwen2.5-vl", 32: "qwen3-vl"}.get(known.pixels.factor)
            limit = limit if isinstance(limit, int) else known.pixels.most
        hosted = info.weights_known and info.image_rule is not None
        happens = info.thinking.happens(effort, budget)
        return cls(
            named if hosted and family is None else family,
            coordinates,
            own=ruled(info.image_rule) if hosted and info.image_rule else None,
            limit=limit if isinstance(limit, int) and not hosted else None,
            thinks="always" if happens else "never",
            told="off" if _told_off(info, effort, budget) else "budget" if budget else None,
        )


def _told_off(info: AdapterInfo, effort: str | None, budget: int | None) -> bool:
    extra = info.settings.get("extra_body")
    body = extra if isinstance(extra, Mapping) else {}
    template = body.get("chat_template_kwargs")
    inner = template if isinstance(template, Mapping) else {}
    switched = (body.get("enable_thinking"), inner.get("enable_thinking"), inner.get("thinking"))
    return effort == "none" or budget == 0 or False in switched
