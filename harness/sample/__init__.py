"""The shipped `sample` benchmark: small made-up web sites, recorded step by step.

It has exactly the columns of Multimodal-Mind2Web, so that code for that data set can be tried
without downloading it. It tests the pipeline and is not meant for comparing models. The sites are
split: `dev` is for developing prompts, baselines and anything else that can be tuned, `test` is for
reported numbers.

    >>> sorted(files())
    ['dev', 'test']
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["files"]

_DATA = Path(__file__).parent / "data"


def files() -> dict[str, Path]:
    """Return the shipped parquet file of each split, by split name."""
    return {split: _DATA / f"{split}.parquet" for split in ("dev", "test")}
