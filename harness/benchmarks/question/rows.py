"""Rows of questions: the files that hold them, VLMEvalKit's columns, and rows of several turns.

JSON, JSON lines, CSV, TSV and parquet are read, each row with its place in the file.

A folder without a `questions.toml` may hold a file whose columns have our names.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from adapters.input_files import file_text
from harness.benchmarks.folders import decoded, decoded_text
from harness.benchmarks.question.folder import SCHEMA, Bad, QuestionsFile
from harness.errors import DataError, suggestion
from parsers.calls import read_arguments
from parsers.question import LETTERS
from parsers.question.metrics import number_of

Row = dict[str, Any]
Read = tuple[str, Row | Bad]
"""The place of a row in its file, and the row or what is wrong with it."""
_INDEX = 64  # Characters of a picture's cell up to which VLMEvalKit reads another row's index.


def _filled(row: Mapping[str, Any], name: str) -> Any:
    """Return what a column holds; None for nothing."""
    value = row.get(name)
    return None if value == "" or _is_nan(value) else value


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def listed(value: Any) -> Any:
    """Return the list that a text spells as Python does; other values unchanged."""
    if not (isinstance(value, str) and value.strip()[:1] == "[" and value.strip()[-1:] == "]"):
        return value
    found = read_arguments(value.strip()[1:-1])
    if found is None or any(map(_is_nan, found)):
        raise Bad("list", "a cell begins as a list and cannot be read as one")
    return list(found)


def _pictures(cell: Any) -> list[Any]:
    """Return the pictures of a cell: one in base64, or a list of them."""
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
    # The letter of an empty cell ahead of others is left out, as theirs is.
    cells_of = [_filled(row, letter) for letter in LETTERS]
    last = max((n for n, one in enumerate(cells_of, 1) if one is not None), default=0)
    options = [None if one is None else str(one) for one in cells_of[:last]]
    labels = {
        name: str(value)
        for name in ("category", "l2-category")
        if (value := _filled(row, name)) is not None
    }
    ours = {
        **{name: _filled(row, name) for name in ("question", "hint", "split")},
        "id": _filled(row, "index"),
        "answers": listed(_filled(row, "answer")),
        "images": images,
        "options": options or None,
        "labels": labels or None,
    }
    return {name: value for name, value in ours.items() if value is not None}


def _of_vlmevalkit(rows: Iterable[tuple[str, Row]]) -> Iterator[Read]:
    """Yield rows of VLMEvalKit as ours."""
    held = list(rows)
    cells = {str(row["index"]): _filled(row, "image") for _, row in held if "index" in row}
    for place, row in held:
        try:
            yield place, _vlmevalkit(row, cells)
        except Bad as bad:
            yield place, bad


csv.field_size_limit(2**28)  # Cells may hold pictures.


def rows_of(path: Path, schema: QuestionsFile) -> Iterator[Read]:
    """Yield the rows of a file by our names of columns, each with its place (`, line 3`).

    Raises `DataError` as `read_file`.
    """
    rows = ((where, _renamed(row, schema.columns)) for where, row in read_file(path))
    yield from _of_vlmevalkit(rows) if schema.preset else rows


def read_file(path: Path) -> Iterator[tuple[str, Row]]:
    """Yield the rows of a file unchanged, each with its place.

    Raises `DataError` for a file that cannot be read, and for a row that is not an object.
    """
    try:
        yield from _read(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text ({error.reason})") from error


def _read(path: Path) -> Iterator[tuple[str, Row]]:
    suffix = path.suffix.lower()
    if suffix == ".jsonl":
        for number, row in decoded_text(path, Row):
            yield f", line {number}", row
    elif suffix == ".json":
        for number, row in enumerate(decoded(path, list[Row]), 1):
            yield f", item {number}", row
    elif suffix in (".csv", ".tsv"):
        text = file_text(path)
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=",\t"[suffix == ".tsv"])
        for row in reader:
            where = f"{path.name}, line {reader.line_num}"
            if None in row or None in row.values():
                raise DataError(f"{where}: not as many cells as there are columns")
            yield f", line {reader.line_num}", {k: v for k, v in row.items() if v != ""}
    elif suffix == ".parquet":
        from harness.parquet import opened

        with opened(path) as table:
            number = 0
            for batch in table.iter_batches(batch_size=64):
                for row in batch.to_pylist():
                    number += 1
                    yield f", row {number}", {k: v for k, v in row.items() if v is not None}
    else:
        raise DataError(f"{path.name}: questions are read from .jsonl, .json, .csv, .tsv, .parquet")


def _renamed(row: dict[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """Return a row by our names; a dot in theirs leads into an object."""
    if not columns:
        return row
    taken = {theirs.partition(".")[0] for theirs in columns.values()}
    found = {name: value for name, value in row.items() if name not in taken}
    for ours, theirs in columns.items():
        value: Any = row
        for part in theirs.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value is not None and not _is_nan(value):
            found[ours] = value
    return found


COLUMNS = ("question", "answers", "answer", "images", "image", "options", "metric")
"""Columns that a turn may have."""
OF_TURNS = ("question", "answers", "answer", "options")
"""Those that the row of a dialogue may not have."""
AT_FIRST = ("images", "image", "hint")
"""Columns that a dialogue has once, for its first turn."""


class TurnRow(dict[str, Any]):
    """A turn as a row; its id is for messages.

    dialogue: the id of its row.
    """

    dialogue: str


def turns_of(row: dict[str, Any] | Bad, history: str) -> Sequence[dict[str, Any] | Bad]:
    """Return the turns of a row as rows; the row itself if it has none."""
    if isinstance(row, Bad) or row.get("turns") is None:
        return [row]
    id, turns = row.get("id", ""), row["turns"]
    id = "" if isinstance(id, (list, dict)) else str(id)
    if not isinstance(turns, list) or not turns or not all(isinstance(one, dict) for one in turns):
        return [Bad("turns", f"turns of {id} is no list of objects with a question each")]
    if both := [name for name in OF_TURNS if row.get(name) is not None]:
        return [Bad("turns", f"{id} has turns, and {both[0]} belongs to each of them")]
    return [
        _turn(row, turn, f"turn {n} of {id}" if id else "", n, history)
        for n, turn in enumerate(turns, 1)
    ]


def _turn(
    row: Mapping[str, Any], turn: Mapping[str, Any], id: str, number: int, history: str
) -> TurnRow | Bad:
    if unknown := [name for name in turn if name not in COLUMNS]:
        return Bad("turn", f"{id} has the column '{unknown[0]}'; {suggestion(unknown[0], COLUMNS)}")
    begins = number == 1 or history == "none"
    shared = {
        name: value
        for name, value in row.items()
        if name != "turns" and (begins or name not in AT_FIRST)
    }
    own = {name: value for name, value in turn.items() if value is not None}
    made = TurnRow({**shared, **own, "id": id})
    made["images"] = [*(pictures_of(row) if begins else ()), *pictures_of(turn)]
    made.dialogue = str(row.get("id", ""))
    return made


def given(row: Mapping[str, Any], *names: str) -> Any:
    """Return the first of these columns that a row has; None for none."""
    return next((row[name] for name in names if row.get(name) is not None), None)


def pictures_of(row: Mapping[str, Any]) -> Sequence[Any]:
    """Return the pictures of a row as it names them."""
    shown = given(row, "images", "image")
    return shown if isinstance(shown, (list, tuple)) else () if shown is None else (shown,)


FILES = tuple(f"questions.{suffix}" for suffix in ("jsonl", "json", "csv", "tsv", "parquet"))
"""Files of questions that a folder without settings may have, one of them."""
_LISTS = ("answers", "answer", "images", "image", "options")


def question_file(data: Path) -> Path | None:
    """Return the file of questions that a path represents without settings; None for none.

    Raises `DataError` for a folder with several.
    """
    if data.is_file():
        return None if data.name == SCHEMA else data
    found = [data / name for name in FILES if (data / name).is_file()]
    if len(found) > 1 and not (data / SCHEMA).exists():
        names = " and ".join(path.name for path in found)
        raise DataError(f"{data} has {names}: name one of them, or write a {SCHEMA}")
    return None if (data / SCHEMA).exists() else next(iter(found), None)


def usual_rows(path: Path) -> tuple[QuestionsFile, list[Read], str]:
    """Read a file by our names of columns; texts of lists are read as lists.

    Returns the settings, the rows, and a line that says how they are scored: questions with options
    by `choice`, others by `number` if all answers are numbers, else by `exact`. Raises `DataError`
    for a file that cannot be read, or has no column of questions.
    """
    rows = list(read_file(path))
    names = dict.fromkeys(name for _, row in rows for name in row)
    if "question" not in names and "turns" not in names:
        raise DataError(
            f"{path.name} has no column question, only {', '.join(names) or 'none'}; "
            f"a {SCHEMA} names others under [columns]"
        )
    read = [(place, _row(row, number)) for number, (place, row) in enumerate(rows, 1)]
    told = [row for _, row in read if not isinstance(row, Bad)]
    lettered = [row for row in told if "options" in row]
    for row in lettered:
        row.setdefault("metric", "choice")
    answers = [one for row in told if "options" not in row for one in _answers_of(row)]
    metric = "number" if answers and all(map(_is_number, answers)) else "exact"
    scored = [*(["choice"] if lettered else []), *([metric] if len(lettered) < len(told) else [])]
    line = f"{path.name} without {SCHEMA}: metric {' and '.join(scored) or metric}"
    if not {"answers", "answer", "turns"} & names.keys():
        line += "; no answers, so nothing is scored"
    return QuestionsFile(name=path.stem, questions=path.name, metric=metric), read, line


def _row(row: Mapping[str, Any], number: int) -> dict[str, Any] | Bad:
    """Return a row without empty values, its place in the file for an id that it lacks."""
    try:
        filled = {
            name: listed(value) if name in _LISTS else value
            for name, value in row.items()
            if value is not None
        }
    except Bad as bad:
        return bad
    return {"id": str(number), **filled}


def _answers_of(row: Mapping[str, Any]) -> list[Any]:
    value = given(row, "answers", "answer")
    return value if isinstance(value, list) else [] if value is None else [value]


def _is_number(value: object) -> bool:
    plain = isinstance(value, int | float | str) and not isinstance(value, bool)
    return plain and number_of(str(value)) is not None
