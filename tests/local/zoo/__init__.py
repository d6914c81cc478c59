"""Tiny checkpoints of the families that transformers knows, with random weights.

Each has its own architecture, its own processor's settings and special tokens, and a template in
its family's manner, in the layout of published checkpoints; nothing needs torchvision to be built.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from importlib.util import find_spec

from packaging.version import Version

from tests.local.zoo.build import Family, build
from tests.local.zoo.further import FURTHER
from tests.local.zoo.patched import PATCHED
from tests.local.zoo.refused import REFUSED
from tests.local.zoo.tiled import TILED
from tests.local.zoo.whole import WHOLE

NEW = {**PATCHED, **FURTHER}


def needs_more(name: str) -> bool:
    """Whether the transformers here, the oldest that is allowed, imports torchvision for it or may
    not know it; or has it broken, as 5.24.0 has Llama 4 (no attribute `image_outputs`)."""
    here = Version(metadata.version("transformers") if find_spec("transformers") else "6")
    if name == "llama4" and here == Version("5.24.0"):
        return True
    return here < Version("5.23" if name in NEW else "5.21" if name == "gemma4" else "5.20")


ALL = {**WHOLE, **TILED, **NEW}
FAMILIES: Mapping[str, Family] = {
    name: family for name, family in ALL.items() if not needs_more(name)
}
NOT_HERE = ALL.keys() - FAMILIES.keys()
"""Families that need another transformers than the one that is installed."""

__all__ = ["FAMILIES", "NOT_HERE", "REFUSED", "Family", "build"]
