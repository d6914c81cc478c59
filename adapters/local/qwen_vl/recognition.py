"""What a checkpoint is that is not an original Qwen-VL, by its `config.json`."""

from __future__ import annotations

from collections.abc import Mapping

from adapters.local.checkpoint import QWEN_VL, is_qwen_vl


def foreign_kind(config: Mapping[str, object]) -> str | None:
    """What a checkpoint is, with advice, if it is not an original Qwen-VL; None if it is one."""
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
