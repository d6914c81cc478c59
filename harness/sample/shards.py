"""Conversations in the form of MT-Mind2Web: a packed JSON list, and a file of screenshots.

MT-Mind2Web has no screenshots: Multimodal-Mind2Web has them by `action_uid`. The sample's are in a
file with the columns of that data set.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from harness.recording import columns
from harness.recording.columns import Row, Screenshot
from harness.sample.trajectories import Conversation, load_conversations

# A conversation or two, whose pages look alike: a quarter smaller than in groups of eight.
_ROWS_PER_GROUP = 32


def write(path: Path, screenshots: Path, rows: Sequence[Row]) -> None:
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
    columns.write(screenshots, rows, _ROWS_PER_GROUP)


def _conversation(found: Conversation, turns: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    site = found.site
    return {
        "task_id": found.task_id,
        "website": site.website,
        "domain": site.domain,
        "subdomain": site.subdomain,
        "turns": [_turn(turns[task.annotation_id]) for task in found.turns],
    }


def _turn(rows: Sequence[Row]) -> dict[str, Any]:
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


def read(path: Path, screenshots: Path, without: Sequence[str] = ()) -> list[Row]:
    """Read the steps of a file of conversations as rows, with screenshots unless left out."""
    pictures: dict[str, Screenshot | None] = {}
    if "screenshot" not in without:
        pictures = {row["action_uid"]: row["screenshot"] for row in columns.read(screenshots)}
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [row for conversation in json.load(file) for row in _rows(conversation, pictures)]


def _rows(
    conversation: Mapping[str, Any], pictures: Mapping[str, Screenshot | None]
) -> Iterator[Row]:
    for turn in conversation["turns"]:
        for index, action in enumerate(turn["actions"]):
            yield Row(
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
