"""A folder of questions: its settings (`questions.toml`), and its pictures."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from adapters.input_files import file_bytes
from harness.benchmarks.folders import decoded_toml
from harness.errors import DataError, suggestion
from harness.pictures import PictureError, read_size
from parsers.question.metrics import METRICS

SCHEMA = "questions.toml"
PLACEHOLDER = re.compile(r"\{([A-Za-z_][\w-]*)\}")
OPEN = "{hint}\n{question}\nAnswer in a few words.{decline}"
CHOICE = "{hint}\n{question}\n{options}\nAnswer with the letter of one option.{decline}"
DECLINE = " If the picture does not answer it, write {no_answer}."


class Prompt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words around a question; `{name}` represents a column or a label."""

    system: str = ""
    question: str = OPEN
    options: str = "{letter}. {option}"
    choice: str = CHOICE


class Tolerance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tolerance of a number."""

    absolute: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    relative: Annotated[float, msgspec.Meta(ge=0)] = 0.0


class QuestionsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`questions.toml`.

    name: what the set is called, for the record.
    questions: the file of questions.
    metric: for rows without one; metric_of: by the value of a label.
    cells: labels whose cells are averaged; average: cells, micro or macro.
    cluster: the label whose values intervals take as independent; the pictures unless given.
    box: meaning of the numbers of boxes.
    no_answer: what represents "not on the picture".
    answer_after: the answer is what follows the last of these words.
    columns: our columns to those of the file; a dot leads into an object.
    preset: the tool whose columns the file has; `columns` are renamed before.
    history: what is shown of the turns before a turn: with the model's own replies, with the right
        answers, or nothing.
    """

    name: str
    questions: str = "questions.jsonl"
    metric: str = ""
    cells: list[str] = []
    average: Literal["", "cells", "micro", "macro"] = ""
    cluster: str = ""
    box: Literal["", "xyxy-px", "xyxy-unit", "xywh-px", "xywh-unit"] = ""
    no_answer: str = ""
    answer_after: str = ""
    prompt: Prompt = Prompt()
    metric_of: dict[str, dict[str, str]] = {}
    tolerance: Tolerance = Tolerance()
    columns: dict[str, str] = {}
    preset: Literal["", "vlmevalkit", "inspect", "squad", "parquet-vqa"] = ""
    history: Literal["own", "gold", "none"] = "own"

    def metric_for(self, own: str, labels: Mapping[str, str]) -> str:
        """Return the metric of a row: its own, that of a label's value, or the set's."""
        of_label = (
            metrics[labels[label]]
            for label, metrics in self.metric_of.items()
            if labels.get(label) in metrics
        )
        return own or next(of_label, "") or self.metric

    def labels_of(self, labels: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
        """Return the labels that every row has."""
        return tuple(name for name in labels[0] if all(name in one for one in labels))


def read_schema(root: Path) -> QuestionsFile:
    """Read the settings in a folder. Raises `DataError`."""
    path = root / SCHEMA
    if not path.is_file():
        raise DataError(
            f"{root} has no {SCHEMA}, which names the set and its metric, and no questions.jsonl, "
            ".json, .csv, .tsv or .parquet"
        )
    schema = decoded_toml(path, QuestionsFile, check=_refuse_unknown)
    for name in (schema.metric, *(m for each in schema.metric_of.values() for m in each.values())):
        check_metric(name, SCHEMA)
    if schema.average == "cells" and not schema.cells:
        raise DataError(f"{SCHEMA}: average is cells, and no cells are named")
    return schema


_HINTS = {
    "weight": "rows have no weights; name labels under cells to count groups alike",
    "pattern": "patterns are not supported; answer_after reads what follows a phrase",
}


def refused(name: str) -> str:
    """Say why a key or column is none of ours; "" where nothing more is known."""
    words = {"weights": "weight", "regex": "pattern", "regexp": "pattern", "patterns": "pattern"}
    return _HINTS.get(words.get(name, name), "")


def _refuse_unknown(found: dict[str, Any]) -> None:
    parts = (
        (found, QuestionsFile),
        (found.get("prompt"), Prompt),
        (found.get("tolerance"), Tolerance),
    )
    for part, kind in parts:
        known = kind.__struct_fields__
        for name in part if isinstance(part, dict) else ():
            if name not in known:
                why = refused(name) or f"unknown key '{name}'; {suggestion(name, known)}"
                raise DataError(f"{SCHEMA}: {why}")


def check_metric(name: str, where: str) -> None:
    """Raise `DataError` for a name that is not a metric; "" is none."""
    if name and name not in METRICS:
        raise DataError(f"{where}: '{name}' is no metric; {suggestion(name, METRICS)}")


@dataclass(frozen=True)
class Template:
    """A text with placeholders, each replaced once; other braces stay."""

    text: str
    names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", frozenset(PLACEHOLDER.findall(self.text)))

    def fill(self, values: Mapping[str, Any]) -> str:
        """Fill in values; a line of placeholders that are all empty is left out.

        >>> Template("{hint}\\nAsk {question}").fill({"hint": "", "question": "{hint}?"})
        'Ask {hint}?'
        """
        lines = []
        for line in self.text.split("\n"):
            filled = PLACEHOLDER.sub(lambda match: str(values.get(match[1], match[0])), line)
            if filled.strip() or not PLACEHOLDER.search(line):
                lines.append(filled)
        return "\n".join(lines).strip()


_LARGEST = 256 * 2**20


class Bad(Exception):
    """A problem of a row: its kind, and what is wrong."""


@dataclass
class Pictures:
    """The pictures of a set: files in its folder, or bytes of its rows."""

    root: Path
    _held: dict[str, bytes] = field(default_factory=dict)
    _known: dict[str, str] = field(default_factory=dict)

    def add(self, value: object) -> tuple[str, str]:
        """Return the name of a picture and its digest. Raises `Bad`."""
        if isinstance(value, Mapping):
            value = value.get("bytes") or value.get("path")
        if isinstance(value, str) and not value.startswith("data:"):
            return value, self._of_file(value)
        data = _decoded(value) if isinstance(value, str) else value
        if not isinstance(data, bytes):
            raise Bad("picture", "a picture is a path, a data URL or bytes")
        digest = _digest(data, "a picture")
        self._held[digest] = data
        return digest, digest

    def read(self, name: str) -> bytes:
        """Return the bytes of a picture."""
        return self._held[name] if name in self._held else file_bytes(self._path(name))

    def _of_file(self, name: str) -> str:
        if name not in self._known:
            try:
                data = file_bytes(self._path(name))
            except OSError:
                raise Bad("picture", f"{name} is not in {self.root}") from None
            self._known[name] = _digest(data, name)
        return self._known[name]

    def _path(self, name: str) -> Path:
        path = (self.root / name).resolve() if "\0" not in name else self.root.parent
        if not path.is_relative_to(self.root.resolve()):
            raise Bad("picture", f"{name} lies outside of {self.root}")
        return path


def _decoded(url: str) -> bytes:
    _, comma, text = url.partition(",")
    try:
        return base64.b64decode(text if comma else "?", validate=True)
    except (ValueError, binascii.Error):
        raise Bad("picture", "its data URL is not base64") from None


def _digest(data: bytes, name: str) -> str:
    if len(data) > _LARGEST:
        raise Bad("picture", f"{name} has {len(data):,} bytes")
    try:
        return read_size(data, name).digest
    except PictureError:
        raise Bad("picture", f"{name} cannot be decoded") from None
