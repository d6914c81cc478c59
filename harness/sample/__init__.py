"""The shipped samples: small made-up web sites, recorded step by step.

`sample` has exactly the columns of Multimodal-Mind2Web, to try code for that data set without
downloading it; `mt-sample` has conversations on the same sites, in the JSON of MT-Mind2Web.
They test the pipeline and are not meant for comparing models. The sites are split: `dev` is for
developing prompts, baselines and anything else that can be tuned, `test` is for reported numbers.

    >>> sorted(files())
    ['dev', 'test']
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["DATA", "SCREENS", "WINDOWS", "conversation_files", "files", "screenshot_files"]

DATA = Path(__file__).parent / "data"
"""The folder of the shipped files."""

SCREENS = DATA / "screens"
"""The folder of the recorded steps on a phone."""

WINDOWS = DATA / "windows"
"""The folder of what is asked about windows of the screenshots."""

_SPLITS = ("dev", "test")


def files() -> dict[str, Path]:
    """Return the shipped parquet file of each split, by split name."""
    return {split: DATA / f"{split}.parquet" for split in _SPLITS}


def conversation_files() -> dict[str, Path]:
    """Return the shipped file of conversations of each split, packed JSON, by split name."""
    return {split: DATA / "conversations" / f"{split}.json.xz" for split in _SPLITS}


def screenshot_files() -> dict[str, Path]:
    """Return the parquet file with the screenshots of each split's conversations."""
    return {split: DATA / "conversations" / f"{split}.parquet" for split in _SPLITS}
