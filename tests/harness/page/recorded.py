"""The recorded step that the golden tests read; it is not part of the project."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

VARIABLE = "VLM_EVAL_TEST_DATA"


def folder() -> Path:
    """The folder of the recorded SeeAct step; skips the test where no test data are given."""
    root = os.environ.get(VARIABLE)
    if not root:
        pytest.skip(f"{VARIABLE} does not name the folder with the recorded step")
    return Path(root) / "seeact-example"


def row() -> dict[str, Any]:
    """The step as a row of Multimodal-Mind2Web, without the screenshot."""
    import pyarrow.parquet as parquet

    path = folder() / "multimodal_mind2web_row.parquet"
    columns = ["cleaned_html", "pos_candidates", "neg_candidates"]
    (stored,) = parquet.read_table(path, columns=columns).to_pylist()
    return dict(stored)


def golden() -> list[dict[str, Any]]:
    """Candidate sets with the expected snippet and choices."""
    return _lines(folder() / "golden_prune.jsonl")


def batches() -> list[dict[str, Any]]:
    """The three batches of SeeAct's stored queries for the step."""
    (path,) = (folder() / "textual_choice").glob("*/queries.jsonl")
    return _lines(path)


def _lines(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
