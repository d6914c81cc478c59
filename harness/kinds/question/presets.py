"""Rows of files that were written for other tools, by our names of columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from harness.kinds.question.pictures import Bad
from parsers.calls import read_arguments
from parsers.question import LETTERS

Row = dict[str, Any]
Read = tuple[str, Row | Bad]
"""The place of a row in its file, and the row or what is wrong with it."""
_INDEX = 64  # Characters of a picture's cell up to which VLMEvalKit reads another row's index.


def _filled(row: Mapping[str, Any], *names: str) -> Any:
    """Return the first of these columns that holds something."""
    for name in names:
        value = row.get(name)
        if (
            value is not None
            and value != ""
            and not (isinstance(value, float) and math.isnan(value))
        ):
            return value
    return None


def _ours(**columns: Any) -> Row:
    return {name: value for name, value in columns.items() if value is not None}


def listed(value: Any) -> Any:
    """Return the list that a text spells in Python's words; anything else as it is."""
    if not (isinstance(value, str) and value.strip()[:1] == "[" and value.strip()[-1:] == "]"):
        return value
    found = read_arguments(value.strip()[1:-1])
    if found is None or not all(isinstance(one, str) or one == one for one in found):
        raise Bad("list", "a cell begins as a list and cannot be read as one")
    return list(found)


def _pictures(cell: Any) -> list[Any]:
    """Return the pictures of a cell: base64, in which there is no comma, or a list of such."""
    if not isinstance(cell, str):
        return cell if isinstance(cell, list) else [cell]
    parts = cell.strip().removeprefix("[").removesuffix("]").split(",")
    return ["data:;base64," + part.strip().strip("'\"") for part in parts]


def _vlmevalkit(row: Row, cells: Mapping[str, Any]) -> Row:
    image = _filled(row, "image")
    if isinstance(image, str) and len(image) <= _INDEX:
        shared = cells.get(image)
        if not isinstance(shared, str) or len(shared) <= _INDEX:
            raise Bad("index", f"the image '{image}' is no index of a row with a picture")
        image = shared
    images = _pictures(image) if image else listed(_filled(row, "image_path"))
    if images is None:
        raise Bad("image", f"{row.get('index', '')} has neither image nor image_path")
    options = []
    for letter in LETTERS:
        if (option := _filled(row, letter)) is None:
            break
        options.append(str(option))
    labels = {
        name: str(value)
        for name in ("category", "l2-category")
        if (value := _filled(row, name)) is not None
    }
    return _ours(
        id=_filled(row, "index"),
        question=_filled(row, "question"),
        answers=listed(_filled(row, "answer")),
        images=images,
        options=options or None,
        hint=_filled(row, "hint"),
        split=_filled(row, "split"),
        labels=labels or None,
    )


def _inspect(row: Row, cells: Mapping[str, Any]) -> Row:
    question, system, images = _messages(row.get("input"))
    metadata = row.get("metadata")
    labels = {
        name: value
        for name, value in (metadata.items() if isinstance(metadata, dict) else ())
        if isinstance(value, str)
    }
    return _ours(
        id=_filled(row, "id"),
        question=question,
        system=system or None,
        answers=_filled(row, "target"),
        options=_filled(row, "choices"),
        images=images or None,
        labels=labels or None,
    )


def _messages(value: Any) -> tuple[Any, str, list[str]]:
    """Return question, system text and pictures of an input."""
    if not isinstance(value, list):
        return value, "", []
    said: dict[str, list[str]] = {"system": [], "user": []}
    images: list[str] = []
    for message in value:
        role = message.get("role") if isinstance(message, dict) else None
        if role not in said:
            raise Bad("role", f"input has a message by '{role}'; user and system are read")
        content = message.get("content")
        for part in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            kind = part.get("type") if isinstance(part, dict) else None
            if kind not in ("text", "image") or not isinstance(part.get(kind), str):
                raise Bad("part", f"input has a part '{kind}'; text and image are read")
            (images if kind == "image" else said[role]).append(part[kind])
    return "\n".join(said["user"]), "\n".join(said["system"]), images


def _squad(row: Row, cells: Mapping[str, Any]) -> Row:
    answers = row.get("answers")
    if isinstance(answers, dict):  # No text at all: the second edition's "cannot be answered".
        answers = answers.get("text") or [None]
    return {**row, **_ours(answers=answers, hint=row.get("context"))}


def _parquet_vqa(row: Row, cells: Mapping[str, Any]) -> Row:
    ours = _ours(
        id=_filled(row, "id", "question_id", "questionId"),
        question=_filled(row, "question", "query"),
        answers=_filled(row, "answers", "answer", "label"),
        images=_filled(row, "images", "image"),
    )
    theirs = {"question_id", "questionId", "query", "label", "answer", "image"}
    return {name: v for name, v in row.items() if name not in theirs} | ours


PRESETS: dict[str, Callable[[Row, Mapping[str, Any]], Row]] = {
    "vlmevalkit": _vlmevalkit,
    "inspect": _inspect,
    "squad": _squad,
    "parquet-vqa": _parquet_vqa,
}
"""What makes one of our rows of theirs, with the cells of pictures by index. Raises `Bad`."""


def read_as(preset: str, rows: Iterable[tuple[str, Row]]) -> Iterator[Read]:
    """Yield rows of another tool as ours."""
    held = list(rows)
    cells = {str(row["index"]): _filled(row, "image") for _, row in held if "index" in row}
    for place, row in held:
        try:
            yield place, PRESETS[preset](row, cells)
        except Bad as bad:
            yield place, bad
