"""Snapshots: steps whose choices and prompts are fixed on disk and sent verbatim.

Two kinds of files share the same columns (data set card of
rabbit-hmi/MM-Mind2Web-tilde_test_snapshot_20dist): rabbit's, where element ids are read from the
`bnid` attributes in the stored texts, and those written by `vlm-eval data snapshot`, whose extra
columns hold whatever a run needs to give the same results as one on the original data.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from adapters.decoding import convert_to
from harness.benchmarks.index import NarrowRow, StoredStep, TableLayout, build_index, of_splits
from harness.benchmarks.mind2web import TEST_SPLITS
from harness.benchmarks.recorded import (
    StepDataset,
    candidates_in,
    decode_operation,
    find_problems,
    whole,
)
from harness.benchmarks.step.benchmark import StepBenchmark
from harness.data_files import DataFile, local_files, missing_shards
from harness.errors import DataError
from harness.page import Box, Candidate
from harness.parquet import Kind, Record, column_names, opened
from harness.records import Choice, Row, RowDetail, StoredQuestion
from parsers.option_text import letter

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from harness.settings import Settings

REPO = "rabbit-hmi/MM-Mind2Web-tilde_test_snapshot_20dist"
MARKED_INVALID = "marked_invalid"
"""Reason of a stored row flagged as invalid although it has a positive and a picture."""

OWN = "vlm_eval_"
"""Prefix of the columns that `vlm-eval data snapshot` adds."""
SETTINGS = b"vlm_eval_snapshot"
"""Key of a file's metadata that holds, as JSON, the settings that it was made with."""

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
_UID = OWN + "action_uid"
_TEXTS = ("candidates", "target_elements")
_OWN_TEXTS = tuple(OWN + n for n in ("history", "problems", "pos_candidates", "neg_candidates"))
_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(_CARD, "text"),
    **dict.fromkeys(("prompt_0", "prompt_1"), "messages"),
    **dict.fromkeys((*_TEXTS, *_OWN_TEXTS), "texts"),
    "step": "step number",
    "is_valid": "truth value",
    **dict.fromkeys((_UID, OWN + "recipe", OWN + "reply_prefix"), "text"),
    OWN + "choices": "messages",
    OWN + "total_steps": "step number",
}
_ELEMENT = re.compile(r"\s*<\s*([\w:.-]+)[^>]*?\bbnid\s*=\s*[\"']?([^\s\"'>]+)")


@dataclass(frozen=True, slots=True)
class TildeLayout(TableLayout):
    """The columns of a snapshot, with or without those that `vlm-eval data snapshot` adds."""

    what: str = "a snapshot"
    required: tuple[str, ...] = _CARD
    negatives_column: str | None = None

    kinds = _KINDS

    def narrow(self, present: Collection[str]) -> list[str]:
        uid = [_UID] if _UID in present else []
        return ["task_id", "split", "step", "website", "domain", "subdomain", *uid]

    def wide(self, file: pq.ParquetFile) -> list[str]:
        return [n for n in column_names(file) if n in self.required or n.startswith(OWN)]

    def key(self, record: Record, where: str) -> NarrowRow:
        step = whole(record["step"], "step", where)
        if step is None:
            raise DataError(f"{where}: column 'step' is empty")
        if not record["task_id"]:
            raise DataError(f"{where}: column 'task_id' is empty")
        return NarrowRow(
            task_id=record["task_id"],
            action_uid=str(record.get(_UID) or step),
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
        ours = _UID in record
        for name in (*_TEXTS, *(_OWN_TEXTS if ours else ())):
            if None in (record.get(name) or ()):
                raise DataError(f"{where}: column '{name}' has an empty entry")
        is_valid = _is_true(record["is_valid"])
        if ours:
            choices = _own_choices(record, where)
            positives, negatives = (
                candidates_in(record[column], f"{where}: column '{column}'")
                for column in (OWN + "pos_candidates", OWN + "neg_candidates")
            )
            problems = tuple(record[OWN + "problems"] or ())
        else:
            choices = tuple(
                Choice(letter(number), *_element(text, f"choice-{number}"), text)
                for number, text in enumerate(record["candidates"] or ())
            )
            positives, negatives = _by_text(record, choices)
            problems = find_problems(bool(positives), bool(pictures) or is_valid)
        detail = RowDetail(
            entry.detail.action_uid,
            history=tuple(record.get(OWN + "history") or ()),
            html=record["cleaned_html"] or "",
            screenshot=pictures[0] if pictures else None,
            positives=positives,
            negatives=negatives,
            operation=operation,
            value=value,
            problems=problems,
            stored=StoredQuestion(
                first=first,
                second=second,
                choices=choices,
                pictures=(*pictures, *more),
                # In rabbit's prompts two line breaks precede the reply that is sent back.
                reply_prefix=(record.get(OWN + "reply_prefix") or "") if ours else "\n\n",
                recipe=record.get(OWN + "recipe") or "",
            ),
        )
        return entry.with_detail(
            detail,
            goal=record["task_description"] or "",
            total=max(record.get(OWN + "total_steps") or 0, entry.total),
            source=where,
            invalid=None if is_valid and positives else next(iter(problems), MARKED_INVALID),
        )


@dataclass(frozen=True)
class Snapshot(StepBenchmark):
    """A benchmark of snapshot files. `repo` is their place on the hub; None if they are local."""

    repo: str | None = None
    stores = True

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> StepDataset:
        """The files determine which splits there are."""
        if data is not None:
            origin: dict[str, object] = {"origin": "local"}
            files = tuple(local_files(data))
        elif self.repo is not None:
            from harness.benchmarks.hub import fetch

            copy = fetch(self.repo, None, [lambda name: name.endswith(".parquet")])
            files, origin = copy.files, copy.origin
        else:
            raise DataError(f"{self.name} needs --data PATH: the file or folder of the snapshot")
        layout = TildeLayout()
        entries, notices = build_index(files, layout, self.name)
        kept = of_splits(entries, splits, self.default_splits)
        if not kept:
            raise DataError(f"no rows in {data or self.repo}")
        if missing_shards([file.name for file in files]):
            notices.append("some shards are missing, judging by the numbers in file names")
        return StepDataset(
            benchmark=self.name,
            layout=layout,
            files=files,
            entries=kept,
            origin=origin,
            settings=_settings(files),
            notices=tuple(notices),
        )

    def of_run(self, settings: Settings) -> Self:
        """Return it with what its local files fix. Missing data is reported when it is opened."""
        from harness.benchmarks.step.settings import fixed

        data = Path(settings.data) if settings.data and Path(settings.data).exists() else None
        stored = {} if data is None else _settings(local_files(data))
        return fixed(super().of_run(settings), stored, settings)


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


class _OwnChoice(msgspec.Struct):
    letter: str
    id: str
    tag: str
    box: tuple[float, float, float, float] | None


def _own_choices(record: Record, where: str) -> tuple[Choice, ...]:
    try:
        listed = convert_to(record[OWN + "choices"] or (), tuple[_OwnChoice, ...])
        pairs = list(zip(listed, record["candidates"] or (), strict=True))
    except (KeyError, ValueError) as error:
        raise DataError(f"{where}: column '{OWN}choices': {error}") from error
    return tuple(
        Choice(c.letter, c.id, c.tag, text, Box(*c.box) if c.box else None) for c, text in pairs
    )


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


def _settings(files: Sequence[DataFile]) -> dict[str, object]:
    """Return the settings that all the files were made with; {} if they have none."""
    stored = set()
    for file in files:
        with opened(file.path) as opened_file:
            stored.add((opened_file.schema_arrow.metadata or {}).get(SETTINGS, b"{}"))
    if len(stored) > 1:
        raise DataError("these snapshots were made with different settings; run them separately")
    settings = json.loads(stored.pop())
    if not isinstance(settings, dict) or not settings:
        return {}
    if not isinstance(settings.get("benchmark_option"), dict):
        raise DataError("these snapshots are of another version: write them again")
    return settings


BENCHMARK = Snapshot(
    "mm-mind2web-tilde",
    splits=TEST_SPLITS,
    default_splits=TEST_SPLITS,
    repo=REPO,
    candidates="snapshot 1+20, as stored",
)
SNAPSHOT = Snapshot("snapshot")
