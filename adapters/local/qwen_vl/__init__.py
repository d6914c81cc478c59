"""A new implementation of the original Qwen-VL (Qwen-VL-Chat, SeeClick).

The published code of these checkpoints does not run on current transformers. This package computes
the same from the checkpoints' own weights and vocabulary, without remote code. `docs/qwen-vl.md`
says what was checked against what. Importing the package loads neither torch nor transformers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapters.local.qwen_vl.recognition import foreign_kind, is_qwen_vl

if TYPE_CHECKING:
    from adapters.local.contract import Loaded
    from adapters.local.options import LocalOptions

__all__ = ["foreign_kind", "is_qwen_vl", "load"]


def load(options: LocalOptions, device: str) -> Loaded:
    """The model that the options name, on `device`. Raises `Fatal` with one line."""
    from adapters.local.qwen_vl.loading import described

    return described(options, device).load()
