"""A step by its id or the beginning of it."""

from __future__ import annotations

import difflib

from harness.benchmarks import Dataset
from harness.errors import DataError


def full_id(dataset: Dataset, text: str) -> str:
    """The one step whose id is or begins with `text`. Raises `DataError` for none or several."""
    ids = [entry.step_id for entry in dataset.entries]
    if text in ids:
        return text
    found = [step for step in ids if step.startswith(text)]
    if len(found) == 1:
        return found[0]
    if found:
        raise DataError(f"{len(found)} steps begin with '{text}', among them {found[0]}")
    near = difflib.get_close_matches(text, ids, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the first is {ids[0]}" if ids else ""
    raise DataError(f"no step '{text}' among the {len(ids)} selected; {hint}")
