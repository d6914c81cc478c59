"""Questions without a `questions.toml`: what is assumed of a file by the usual names of columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.benchmarks.question.folder import SCHEMA, Bad, QuestionsFile
from harness.benchmarks.question.rows import Read, listed, read_file
from harness.errors import DataError
from parsers.question import LETTERS
from parsers.question.metrics import number_of

FILES = tuple(f"questions.{suffix}" for suffix in ("jsonl", "json", "csv", "tsv", "parquet"))
"""Files of questions that a folder without settings may have, one of them."""
USUAL: Mapping[str, Sequence[str]] = {
    "id": ("id", "question_id", "questionid", "qid", "uid", "index"),
    "question": ("question", "query", "prompt", "input", "text"),
    "answers": ("answers", "answer", "target", "label", "gold", "ground_truth"),
    "images": ("images", "image", "image_path", "picture", "img", "file_name", "filename"),
    "options": ("options", "choices"),
    "hint": ("hint", "context"),
    "system": ("system",),
    "split": ("split",),
    "metric": ("metric",),
    "labels": ("labels",),
    "turns": ("turns",),
}
"""Our columns with the names that files have for them, without regard to case."""
_LABELS = ("category", "task", "type", "subject")
"""Columns of texts that group questions."""


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
    """Read a file by the usual names of columns.

    Returns the settings, the rows by our names, and a line that says what was assumed. Questions
    with options are scored by `choice`, others by `number` if all answers are numbers, else by
    `exact`. Raises `DataError` for a file that cannot be read, or has no column of questions.
    """
    rows = list(read_file(path))
    names = list(dict.fromkeys(name for _, row in rows for name in row))
    small = {name.strip().lower(): name for name in reversed(names)}
    chosen = {
        ours: small[found]
        for ours, usual in USUAL.items()
        if (found := next((name for name in usual if name in small), None)) is not None
    }
    if "question" not in chosen and "turns" not in chosen:
        raise DataError(
            f"{path.name} has no column {', '.join(USUAL['question'][:-1])} or "
            f"{USUAL['question'][-1]}, only {', '.join(names) or 'none'}; a {SCHEMA} names others"
        )
    letters = [letter for letter in LETTERS if letter in names]
    by_letter = letters if "options" not in chosen and letters[:2] == ["A", "B"] else []
    labels = [small[name] for name in _LABELS if name in small and "labels" not in chosen]
    ours = [*_ours(rows, chosen, by_letter, labels)]
    told = [row for _, row in ours if not isinstance(row, Bad)]
    answers = [one for row in told for one in _answers_of(row) if "options" not in row]
    numbers = all(isinstance(one, int | float | str) and _is_number(one) for one in answers)
    metric = "number" if answers and numbers else "exact"
    for row in told:
        if "options" in row:
            row.setdefault("metric", "choice")
    optional = any("options" in row for row in told)
    open_ended = any("options" not in row for row in told)
    scored = " and ".join([*(["choice"] if optional else []), *([metric] if open_ended else [])])
    said = {name: f"'{theirs}'" for name, theirs in chosen.items()}
    said |= {"options": f"{by_letter[0]} to {by_letter[-1]}"} if by_letter else {}
    said |= {"labels": ", ".join(f"'{one}'" for one in labels)} if labels else {}
    said.setdefault("id", "the place in the file")
    line = (
        f"{path.name} without {SCHEMA}: {', '.join(f'{k} from {v}' for k, v in said.items())}; "
        f"metric {scored or metric}"
    )
    if "answers" not in chosen and "turns" not in chosen:
        line += "; no answers, so nothing is scored"
    return QuestionsFile(name=path.stem, questions=path.name, metric=metric), ours, line


def _ours(
    rows: Sequence[tuple[str, dict[str, Any]]],
    chosen: Mapping[str, str],
    by_letter: Sequence[str],
    labels: Sequence[str],
) -> Iterator[Read]:
    """Yield the rows by our names of columns; texts of lists are read as lists."""
    used = {*chosen.values(), *by_letter, *labels}
    for number, (place, row) in enumerate(rows, 1):
        try:
            found = {name: value for name, value in row.items() if name not in used}
            found |= {
                ours: listed(row[theirs]) if ours in ("answers", "images", "options") else value
                for ours, theirs in chosen.items()
                if (value := row.get(theirs)) is not None
            }
            found.setdefault("id", str(number))
            if by_letter:
                options = [row.get(letter) for letter in by_letter]
                while options and options[-1] is None:
                    options.pop()
                found |= {"options": options} if options else {}
            groups = {name: str(row[name]) for name in labels if row.get(name) is not None}
            yield place, found | ({"labels": groups} if groups else {})
        except Bad as bad:
            yield place, bad


def _answers_of(row: Mapping[str, Any]) -> list[Any]:
    value = row.get("answers")
    return value if isinstance(value, list) else [] if value is None else [value]


def _is_number(value: object) -> bool:
    return not isinstance(value, bool) and number_of(str(value)) is not None
