"""The shipped `sample` benchmark: small web sites of our own, recorded step by step.

It has exactly the columns of Multimodal-Mind2Web, so that whatever reads that dataset can be tried
without downloading it. It tests the plumbing and ranks nobody. The sites are split: `dev` is for
developing prompts, baselines and everything else that can be tuned, `test` is for printed figures.

    >>> sorted(files())
    ['dev', 'test']
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["files"]

_DATA = Path(__file__).parent / "data"


def files() -> dict[str, Path]:
    """Return the shipped parquet file of each split, by the name of the split."""
    return {split: _DATA / f"{split}.parquet" for split in ("dev", "test")}
