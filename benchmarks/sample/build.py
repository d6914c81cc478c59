"""Build the files of the samples, and compare a rebuild with the shipped files.

Conversations are stored in the form of MT-Mind2Web: a packed JSON list, and a file of screenshots.
That data set has none: Multimodal-Mind2Web has them by `action_uid`. The sample's are in a file
with the columns of that data set.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from benchmarks.sample.counts import decoys
from benchmarks.sample.trajectories import (
    Conversation,
    Task,
    as_rows,
    launch,
    load,
    load_conversations,
    record,
)
from harness.recording import columns
from harness.recording.columns import StepRow
from harness.sample import DATA, conversation_files, files, screenshot_files

_Column = Literal[
    "annotation_id",
    "confirmed_task",
    "website",
    "domain",
    "subdomain",
    "operation",
    "action_reprs",
    "target_action_index",
    "target_action_reprs",
    "cleaned_html",
    "raw_html",
]
_EXACT: tuple[_Column, ...] = get_args(_Column)
_CANDIDATES: tuple[Literal["pos_candidates", "neg_candidates"], ...] = (
    "pos_candidates",
    "neg_candidates",
)


# A conversation or two, whose pages look alike: a quarter smaller than in groups of eight.
_ROWS_OF_CONVERSATIONS = 32


def _quiet(line: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Part:
    """One of the two samples: what is recorded for it, and its files.

    sessions: tasks performed one after the other in a browser session.
    files: the files of each split, as `write` and `read` take them.
    """

    name: str
    sessions: tuple[tuple[Task, ...], ...]
    files: Mapping[str, tuple[Path, ...]]
    write: Callable[..., None]
    read: Callable[..., list[StepRow]]

    def within(self, folder: Path) -> Part:
        """Return the same with its files in another folder than that of the shipped ones."""
        files = {
            split: tuple(folder / path.relative_to(DATA) for path in paths)
            for split, paths in self.files.items()
        }
        return replace(self, files=files)


def parts() -> tuple[Part, ...]:
    """Return the single tasks, and the conversations."""
    shipped, screenshots = conversation_files(), screenshot_files()
    return (
        Part(
            name="tasks",
            sessions=tuple((task,) for task in load()),
            files={split: (path,) for split, path in files().items()},
            write=columns.write,
            read=columns.read,
        ),
        Part(
            name="conversations",
            sessions=tuple(found.turns for found in load_conversations()),
            files={split: (shipped[split], screenshots[split]) for split in shipped},
            write=write_conversations,
            read=read_conversations,
        ),
    )


def rows_of(
    sessions: Iterable[Sequence[Task]],
    browser: Path | None = None,
    on_progress: Callable[[str], None] = _quiet,
) -> dict[str, list[StepRow]]:
    """Record sessions and return their rows by split; `on_progress` gets one line per session."""
    rows: dict[str, list[StepRow]] = {}
    with launch(browser) as started:
        for tasks in sessions:
            steps = list(record(started, tasks))
            rows.setdefault(tasks[0].site.split, []).extend(as_rows(steps))
            decoyed = sum(bool(decoys(step.root, step.target)) for step in steps)
            name = f"{tasks[0].site.site}/{tasks[0].name.partition('/')[0]}"
            on_progress(f"{name}: {len(steps)} steps, {decoyed} with a decoy")
    return rows


def build(
    part: Part, browser: Path | None = None, on_progress: Callable[[str], None] = _quiet
) -> list[Path]:
    """Record a part and write its files."""
    written: list[Path] = []
    for split, content in rows_of(part.sessions, browser, on_progress).items():
        paths = part.files[split]
        paths[0].parent.mkdir(parents=True, exist_ok=True)
        part.write(*paths, content)
        written += paths
    return written


class Comparison(NamedTuple):
    """The result of comparing two builds.

    differences: one line each.
    moved: number of rows whose candidates differ, if only in their boxes. Boxes vary by fractions
        of a pixel with the fonts of the machine, so they are counted separately.
    """

    differences: list[str]
    moved: int


def compare(shipped: Sequence[StepRow], rebuilt: Sequence[StepRow]) -> Comparison:
    """Compare rows in order, column by column; screenshots are ignored."""
    differences = []
    if [row["action_uid"] for row in shipped] != [row["action_uid"] for row in rebuilt]:
        differences.append(f"steps: {len(shipped)} shipped, {len(rebuilt)} rebuilt, or their order")
    others = {row["action_uid"]: row for row in rebuilt}
    moved = 0
    for row in shipped:
        if (other := others.get(row["action_uid"])) is None:
            continue
        differences += [f"{_place(row)}: {column}" for column in _differing(row, other)]
        moved += any(row[column] != other[column] for column in _CANDIDATES)
    return Comparison(differences, moved)


def _differing(row: StepRow, other: StepRow) -> Iterator[str]:
    for column in _EXACT:
        if row[column] != other[column]:
            yield column
    for entry in _CANDIDATES:
        if [_placeless(text) for text in row[entry]] != [_placeless(text) for text in other[entry]]:
            yield entry


def _place(row: StepRow) -> str:
    return f"{row['website']}, “{row['confirmed_task'][:40]}…”, step {row['target_action_index']}"


def _placeless(text: str) -> dict[str, Any]:
    entry: dict[str, Any] = json.loads(text)
    attributes = json.loads(entry["attributes"])
    attributes.pop("bounding_box_rect")
    return {**entry, "attributes": attributes}


def write_conversations(path: Path, screenshots: Path, rows: Sequence[StepRow]) -> None:
    """Write the conversations whose steps are `rows`, and the screenshots of these."""
    turns = {
        annotation_id: list(steps)
        for annotation_id, steps in groupby(rows, key=lambda row: row["annotation_id"])
    }
    content = [
        json.dumps(_conversation(found, turns), ensure_ascii=False)
        for found in load_conversations()
        if found.turns[0].annotation_id in turns
    ]
    with lzma.open(path, "wt", encoding="utf-8", preset=9) as file:
        file.write("[" + ",\n".join(content) + "]\n")
    columns.write(screenshots, rows, _ROWS_OF_CONVERSATIONS)


def _conversation(found: Conversation, turns: Mapping[str, Sequence[StepRow]]) -> dict[str, Any]:
    site = found.site
    return {
        "task_id": found.task_id,
        "website": site.website,
        "domain": site.domain,
        "subdomain": site.subdomain,
        "turns": [_turn(turns[task.annotation_id]) for task in found.turns],
    }


def _turn(rows: Sequence[StepRow]) -> dict[str, Any]:
    return {
        "annotation_id": rows[0]["annotation_id"],
        "confirmed_task": rows[0]["confirmed_task"],
        "action_reprs": rows[0]["action_reprs"],
        "actions": [
            {
                "action_uid": row["action_uid"],
                "raw_html": row["raw_html"],
                "cleaned_html": row["cleaned_html"],
                "operation": json.loads(row["operation"]),
                "pos_candidates": [json.loads(text) for text in row["pos_candidates"]],
                "neg_candidates": [json.loads(text) for text in row["neg_candidates"]],
            }
            for row in rows
        ],
    }


def read_conversations(path: Path, screenshots: Path, without: Sequence[str] = ()) -> list[StepRow]:
    """Read the steps of a file of conversations as rows, with screenshots unless left out."""
    pictures: dict[str, Any] = {}
    if "screenshot" not in without:
        pictures = {row["action_uid"]: row["screenshot"] for row in columns.read(screenshots)}
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [row for conversation in json.load(file) for row in _rows_of(conversation, pictures)]


def _rows_of(conversation: Mapping[str, Any], pictures: Mapping[str, Any]) -> Iterator[StepRow]:
    for turn in conversation["turns"]:
        for index, action in enumerate(turn["actions"]):
            yield StepRow(
                action_uid=action["action_uid"],
                raw_html=action["raw_html"],
                cleaned_html=action["cleaned_html"],
                operation=_text(action["operation"]),
                pos_candidates=[_text(entry) for entry in action["pos_candidates"]],
                neg_candidates=[_text(entry) for entry in action["neg_candidates"]],
                website=conversation["website"],
                domain=conversation["domain"],
                subdomain=conversation["subdomain"],
                annotation_id=turn["annotation_id"],
                confirmed_task=turn["confirmed_task"],
                screenshot=pictures.get(action["action_uid"]),
                action_reprs=turn["action_reprs"],
                target_action_index=str(index),
                target_action_reprs=turn["action_reprs"][index],
            )


def _text(entry: object) -> str:
    return json.dumps(entry, ensure_ascii=False)
