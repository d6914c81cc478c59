"""Shards of MT-Mind2Web for tests: conversations in the released format, of the sample's tasks or
made up at any size."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.benchmarks import open_steps
from harness.records import Row
from tests.harness.benchmarks.test_mind2web_json import original_task

SITE = ("website", "domain", "subdomain")


def turns_of(splits: Sequence[str] = ("test",)) -> Iterator[dict[str, Any]]:
    """The tasks of the sample as turns, each with its site."""
    tasks: dict[str, list[Row]] = {}
    for row in open_steps("sample", splits=splits).rows():
        tasks.setdefault(row.parents["task"], []).append(row)
    yield from map(original_task, tasks.values())


def conversations(turns: int = 3, splits: Sequence[str] = ("test",)) -> list[dict[str, Any]]:
    """Conversations of so many turns (the last may have fewer), each on the site of its first."""
    made = []
    every = list(turns_of(splits))
    for number, start in enumerate(range(0, len(every), turns)):
        parts = every[start : start + turns]
        site = {name: parts[0][name] for name in SITE}
        bare = [{key: turn[key] for key in turn if key not in SITE} for turn in parts]
        made.append({"task_id": f"{'-'.join(splits)}-{number}", **site, "turns": bare})
    return made


def written(
    folder: Path, listed: Sequence[dict[str, Any]], split: str = "test_task", **options: Any
) -> Path:
    """Write a shard as it lies on the hub; returns its folder."""
    path = folder / split / f"{split}_0.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(listed, **options), encoding="utf-8")
    return folder
