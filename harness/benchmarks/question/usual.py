"""Questions without a `questions.toml`: a file whose columns have our names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.benchmarks.question.folder import SCHEMA, Bad, QuestionsFile
from harness.benchmarks.question.rows import Read, given, listed, read_file
from harness.errors import DataError
from parsers.question.metrics import number_of

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
