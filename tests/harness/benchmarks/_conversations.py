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


def large_shard(path: Path, conversations: int, turns: int, actions: int, size: int) -> None:
    """Write a shard whose actions have `size` bytes of pages each, half of them raw."""
    row = next(turns_of())["actions"][0]
    filler = f'<p title=\'"{{[\' class="a b">{"word " * 12}</p>'
    raw = filler * (size // 2 // len(filler))
    cleaned = row["cleaned_html"].replace("</html>", f"{raw}</html>")
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        for c in range(conversations):
            file.write(", " if c else "")
            file.write(f'{{"task_id": "c{c}", "website": "w{c % 3}", "turns": [')
            for t in range(turns):
                file.write(", " if t else "")
                acts = [
                    {**row, "action_uid": f"{c}-{t}-{a}", "raw_html": raw, "cleaned_html": cleaned}
                    for a in range(actions)
                ]
                turn = {
                    "annotation_id": f"c{c}t{t}",
                    "confirmed_task": f"Do {t}",
                    "action_reprs": [f"[button]  {a} -> CLICK" for a in range(actions)],
                    "actions": acts,
                }
                json.dump(turn, file)
            file.write('], "domain": "d", "subdomain": "s"}')
        file.write("]")
