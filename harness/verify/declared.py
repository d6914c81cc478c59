"""Assumptions of a run about the model behind a deployment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from adapters.contract import AdapterInfo, Generation
from adapters.open_models import open_model
from adapters.picture_tokens import FAMILIES, Rule, family_of, ruled
from harness.errors import UserError


@dataclass(frozen=True, slots=True)
class Declared:
    """Assumptions of a run about the model.

    family: by its name; None if that is unknown.
    own: the adapter's own rule for pictures, where it is the model's.
    limit: the limit in pixels that applies to the server.
    told: what requests say of thoughts.
    template: prompt tokens of the short texts by the checkpoint's own template; None if unknown.
    """

    family: str | None
    coordinates: str | None
    own: Rule | None = None
    limit: int | None = None
    thinks: str = "never"
    told: Literal["off", "budget"] | None = None
    template: tuple[int, ...] | None = None

    @property
    def rule(self) -> Rule | None:
        """A picture as a run assumes that it is taken; None for an unknown family."""
        family = FAMILIES.get(self.family or "")
        if family and family.limited and self.limit:
            return family.limited(self.limit)
        return self.own or (family.rule if family else None)


def declared_of(
    info: AdapterInfo,
    coordinates: str | None,
    generation: Generation,
    template: tuple[int, ...] | None = None,
) -> Declared:
    """Return what an adapter declares, how numbers are read, and what is asked of thoughts."""
    named = str(info.settings.get("family") or info.model)
    known, limit, family = open_model(named), info.settings.get("max_pixels"), family_of(named)
    if known is not None and known.pixels is not None:
        family = family or {28: "qwen2.5-vl", 32: "qwen3-vl"}.get(known.pixels.factor)
        limit = limit if isinstance(limit, int) else known.pixels.most
    hosted = info.weights_known and info.image_rule is not None
    effort, budget = generation.effort, generation.thinking_budget
    off = effort == "none" or budget == 0 or _is_switched_off(info.settings.get("extra_body"))
    return Declared(
        named if hosted and family is None else family,
        coordinates,
        own=ruled(info.image_rule) if hosted and info.image_rule else None,
        limit=limit if isinstance(limit, int) and not hosted else None,
        thinks="always" if info.thinking.happens(effort, budget) else "never",
        told="off" if off else "budget" if budget else None,
        template=template,
    )


def _is_switched_off(body: Any) -> bool:
    outer = body if isinstance(body, Mapping) else {}
    inner = outer.get("chat_template_kwargs")
    told = [outer, inner if isinstance(inner, Mapping) else {}]
    return any(one.get(name) is False for one in told for name in ("enable_thinking", "thinking"))


def tokens_by_template(checkpoint: str, texts: tuple[str, ...]) -> tuple[int, ...]:
    """Return the prompt tokens of texts by a checkpoint's own chat template.

    Raises `UserError` for one that cannot be read, and without the extra `local`.
    """
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise UserError(
            "--checkpoint needs the extra local: pip install 'vlm-web-eval[local]'"
        ) from error
    try:
        tokenizer = AutoTokenizer.from_pretrained(checkpoint)
        asked = [[{"role": "user", "content": text}] for text in texts]
        how = {"add_generation_prompt": True, "return_dict": False}
        return tuple(len(tokenizer.apply_chat_template(one, **how)) for one in asked)
    except Exception as error:
        raise UserError(
            f"--checkpoint {checkpoint}: no chat template can be read: {error}"
        ) from error
