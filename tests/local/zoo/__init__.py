"""Tiny checkpoints of the families that transformers knows, with random weights.

Each has its own architecture, its own processor's settings and special tokens, and a template in
its family's manner, in the layout of published checkpoints; nothing needs torchvision to be built.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.local.zoo.build import Family, build
from tests.local.zoo.tiled import TILED
from tests.local.zoo.whole import WHOLE

FAMILIES: Mapping[str, Family] = {**WHOLE, **TILED}

__all__ = ["FAMILIES", "Family", "build"]
