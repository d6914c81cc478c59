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
from tests.local.zoo.tiled import TILED
from tests.local.zoo.whole import WHOLE


def needs_more(name: str) -> bool:
    """Whether the transformers here, the oldest that is allowed, imports torchvision for it."""
    here = metadata.version("transformers") if find_spec("transformers") else "6"
    return name == "gemma4" and Version(here) < Version("5.21")


FAMILIES: Mapping[str, Family] = {
    name: family for name, family in {**WHOLE, **TILED}.items() if not needs_more(name)
}

__all__ = ["FAMILIES", "Family", "build"]
