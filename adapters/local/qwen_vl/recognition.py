"""Recognises checkpoints other than an original Qwen-VL by their `config.json`."""

from __future__ import annotations

from collections.abc import Mapping

from adapters.local.checkpoint import QWEN_VL, is_qwen_vl


def foreign_kind(config: Mapping[str, object]) -> str | None:
    """Name a checkpoint's kind, with advice, unless it is an original Qwen-VL (None)."""
    if is_qwen_vl(config):
        return None
    kind = str(config.get("model_type") or "")
    listed = config.get("architectures")
    named = str(listed[0]) if isinstance(listed, list) and listed else ""
    if kind == QWEN_VL:
        if "audio" in config:
            return "Qwen-Audio, which takes sound and no pictures"
        return "a text-only Qwen (no vision tower in its configuration)"
    from adapters.local.families import QWEN

    if not kind and not named:
        return "of an unknown architecture (config.json has neither model_type nor architectures)"
    return f"{named or kind}; name it with --model {QWEN.get(kind, 'hf')}"
