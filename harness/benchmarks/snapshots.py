"""rabbit's snapshot of the test splits: steps whose choices and prompts are sent as stored.

The columns are those of the card of rabbit-hmi/MM-Mind2Web-tilde_test_snapshot_20dist. Element ids
are read from the `bnid` attributes in the stored texts.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from harness.benchmarks.index import NarrowRow, StoredStep, TableLayout, build_index, of_splits
from harness.benchmarks.mind2web import TEST_SPLITS
from harness.benchmarks.recorded import StepDataset, decode_operation, find_problems, whole
from harness.benchmarks.step.benchmark import StepBenchmark
from harness.data_files import local_files, missing_shards
from harness.errors import DataError
from harness.page import Candidate
from harness.parquet import Kind, Record
from harness.records import Choice, Row, RowDetail, StoredQuestion
from parsers.option_text import letter

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from harness.settings import Settings

REPO = "rabbit-hmi/MM-Mind2Web-tilde_test_snapshot_20dist"
MARKED_INVALID = "marked_invalid"
"""Reason of a stored row flagged as invalid although it has a positive and a picture."""

_CARD = (
    "task_id",
    "split",
    "step",
    "task_description",
    "prompt_0",
    "prompt_1",
    "cleaned_html",
    "candidates",
    "target_elements",
    "target_op",
    "target_op_value",
    "website",
    "domain",
    "subdomain",
    "is_valid",
)
_TEXTS = ("candidates", "target_elements")
_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(_CARD, "text"),
    **dict.fromkeys(("prompt_0", "prompt_1"), "messages"),
    **dict.fromkeys(_TEXTS, "texts"),
    "step": "step number",
    "is_valid": "truth value",
}
_ELEMENT = re.compile(r"\s*<\s*([\w:.-]+)[^>]*?\bbnid\s*=\s*[\"']?([^\s\"'>]+)")


@dataclass(frozen=True, slots=True)
class TildeLayout(TableLayout):
    """The columns of the snapshot."""

    what: str = "a snapshot"
    required: tuple[str, ...] = _CARD
    negatives_column: str | None = None

    kinds = _KINDS

    def narrow(self, present: Collection[str]) -> list[str]:
        return ["task_id", "split", "step", "website", "domain", "subdomain"]

    def wide(self, file: pq.ParquetFile) -> list[str]:
        return list(self.required)

    def key(self, record: Record, where: str) -> NarrowRow:
        step = whole(record["step"], "step", where)
        if step is None:
            raise DataError(f"{where}: column 'step' is empty")
        if not record["task_id"]:
            raise DataError(f"{where}: column 'task_id' is empty")
        return NarrowRow(
            task_id=record["task_id"],
            action_uid=str(step),
            index=step,
            split=record["split"] or "",
            website=record["website"] or "",
            domain=record["domain"] or "",
            subdomain=record["subdomain"] or "",
        )

    def decode(self, record: Record, entry: StoredStep) -> Row:
        where = str(entry.detail)
        operation, value = decode_operation(
            {"op": record["target_op"], "value": record["target_op_value"]}, where
        )
        first, pictures = _messages(record["prompt_0"], "prompt_0", where)
        second, more = _messages(record["prompt_1"], "prompt_1", where)
        for name in _TEXTS:
            if None in (record.get(name) or ()):
                raise DataError(f"{where}: column '{name}' has an empty entry")
        is_valid = _is_true(record["is_valid"])
        choices = tuple(
            Choice(letter(number), *_element(text, f"choice-{number}"), text)
            for number, text in enumerate(record["candidates"] or ())
        )
        positives, negatives = _by_text(record, choices)
        problems = find_problems(bool(positives), bool(pictures) or is_valid)
        detail = RowDetail(
            entry.detail.action_uid,
            html=record["cleaned_html"] or "",
            screenshot=pictures[0] if pictures else None,
            positives=positives,
            negatives=negatives,
            operation=operation,
            value=value,
            problems=problems,
            stored=StoredQuestion(
                first=first, second=second, choices=choices, pictures=(*pictures, *more)
            ),
        )
        return entry.with_detail(
            detail,
            goal=record["task_description"] or "",
            source=where,
            invalid=None if is_valid and positives else next(iter(problems), MARKED_INVALID),
        )


@dataclass(frozen=True)
class Snapshot(StepBenchmark):
    """The snapshot: from the hub, or from local files."""

    name: str = "mm-mind2web-tilde"
    splits: tuple[str, ...] = TEST_SPLITS
    default_splits: tuple[str, ...] = TEST_SPLITS
    candidates: str = "snapshot 1+20, as stored"
    stores = True

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> StepDataset:
        """The files determine which splits there are."""
        if data is not None:
            origin: dict[str, object] = {"origin": "local"}
            files = tuple(local_files(data))
        else:
            from harness.benchmarks.hub import fetch

            copy = fetch(REPO, None, [lambda name: name.endswith(".parquet")])
            files, origin = copy.files, copy.origin
        layout = TildeLayout()
        entries, notices = build_index(files, layout, self.name)
        kept = of_splits(entries, splits, self.default_splits)
        if not kept:
            raise DataError(f"no rows in {data or REPO}")
        if missing_shards([file.name for file in files]):
            notices.append("some shards are missing, judging by the numbers in file names")
        return StepDataset(
            benchmark=self.name,
            layout=layout,
            files=files,
            entries=kept,
            origin=origin,
            notices=tuple(notices),
        )

    def of_run(self, settings: Settings) -> Self:
        """Refuse what its data fixes."""
        from harness.benchmarks.step.settings import refuse_fixed

        refuse_fixed(self, settings)
        return super().of_run(settings)


def _element(text: str, otherwise: str) -> tuple[str, str]:
    """Return the id and the tag of an element written as `<tag bnid=id ...>` or as its bare id.

    `otherwise` is the id of an element that has none.
    """
    match = _ELEMENT.match(text)
    if match:
        return match[2], match[1]
    return (text.strip() if text.strip().isdigit() else otherwise), ""


def _by_text(
    record: Record, choices: tuple[Choice, ...]
) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
    """Positives and negatives of a row that stores only texts; their boxes are unknown."""
    known = {choice.text: choice for choice in choices}
    positives: dict[str, Candidate] = {}
    for number, text in enumerate(record["target_elements"] or ()):
        if text in known:
            node_id, tag = known[text].id, known[text].tag
        else:
            node_id, tag = _element(text, f"target-{number}")
        positives.setdefault(node_id, Candidate(node_id, tag, None, False, False, "{}"))
    negatives = tuple(
        Candidate(c.id, c.tag, None, False, False, "{}") for c in choices if c.id not in positives
    )
    return tuple(positives.values()), negatives


def _without_nulls(value: Any) -> Any:
    """Return a nested value without the keys whose value is null.

    Arrow gives every part of a message the keys of all parts, so a text comes with a null
    `image_url`, and servers that validate requests reject such keys.
    """
    if isinstance(value, Mapping):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, (list, tuple)):
        return [_without_nulls(inner) for inner in value]
    return value


def _messages(
    stored: object, column: str, where: str
) -> tuple[tuple[Mapping[str, object], ...], tuple[bytes, ...]]:
    """Return the messages of a column without their pictures, and the bytes of those pictures.

    Raises:
        DataError: the column does not hold chat messages, or refers to a picture elsewhere.
    """
    if isinstance(stored, str):
        try:
            stored = json.loads(stored)
        except ValueError as error:
            raise DataError(f"{where}: column '{column}' is not valid JSON: {error}") from error
    pictures: list[bytes] = []
    messages = []
    for message in stored if isinstance(stored, Sequence) else [None]:
        plain = _without_nulls(message)
        content = plain.get("content") if isinstance(plain, Mapping) else None
        if not isinstance(content, str | list) or not isinstance(plain.get("role"), str):
            raise DataError(f"{where}: column '{column}' does not hold chat messages")
        if isinstance(content, list):
            plain["content"] = [_extract_picture(part, pictures, column, where) for part in content]
        messages.append(plain)
    return tuple(messages), tuple(pictures)


def _extract_picture(part: Any, pictures: list[bytes], column: str, where: str) -> Any:
    """Move a picture's bytes to `pictures` and keep its type and detail; other parts stay."""
    if not isinstance(part, Mapping) or "image_url" not in part:
        return part
    image = part["image_url"]
    url = image.get("url") if isinstance(image, Mapping) else image
    pictures.append(_picture(url, column, where))
    detail = {"detail": image["detail"]} if isinstance(image, Mapping) and "detail" in image else {}
    return {"type": part.get("type", "image_url"), "image_url": detail}


def _picture(url: object, column: str, where: str) -> bytes:
    if isinstance(url, str) and url.startswith("data:"):
        head, _, encoded = url.partition(",")
        if head.endswith(";base64"):
            try:
                return base64.b64decode(encoded, validate=True)
            except ValueError as error:
                raise DataError(f"{where}: column '{column}': picture: {error}") from error
    raise DataError(f"{where}: column '{column}' has a picture that is not in the file")


def _is_true(stored: object) -> bool:
    """Read a truth value: the card documents a string, the files hold a boolean."""
    return stored.strip().lower() == "true" if isinstance(stored, str) else bool(stored)


BENCHMARK = Snapshot()
