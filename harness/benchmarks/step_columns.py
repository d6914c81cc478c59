"""The columns of a user's recorded steps, and the conversion of a record to a row."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adapters.input_files import file_bytes, file_text
from harness.benchmarks.index import NarrowRow, StoredStep
from harness.benchmarks.recorded import decode_operation, find_problems, whole
from harness.errors import DataError
from harness.page import NODE_ID, Box, Candidate, Page, PageError, PageNode
from harness.page.html import as_page
from harness.parquet import Record
from harness.records import Row, RowDetail


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of recorded steps; the index pass reads those that are `narrow`."""

    name: str
    type: str
    meaning: str
    required: bool = False
    narrow: bool = False


COLUMNS = (
    _Column("task", "text", "what the user wants, in words", required=True, narrow=True),
    _Column("html", "text", "the page before the action, or the path of its file", required=True),
    _Column("operation", "text", "CLICK, TYPE or SELECT", required=True, narrow=True),
    _Column("positives", "elements", "the elements that count as right", required=True),
    _Column("value", "text", "what is typed or selected; default: nothing", narrow=True),
    _Column("negatives", "elements", "other candidates; default: the page's controls"),
    _Column("candidates", "elements", "all candidates, in place of `negatives`"),
    _Column("screenshot", "picture", "the full page before the action; default: none"),
    _Column("task_id", "text", "the task's id; default: made from `task`", narrow=True),
    _Column(
        "step", "number", "the step's place in its task, from 0; default: file order", narrow=True
    ),
    _Column("action_id", "text", "the step's id within its task; default: `step`", narrow=True),
    _Column("action", "text", "the action in words; default: operation and value", narrow=True),
    _Column(
        "history", "texts", "the actions before; default: `action` of the task's earlier steps"
    ),
    _Column("split", "text", "the step's split; default: local", narrow=True),
    _Column("website", "text", "the site; default: nothing", narrow=True),
    _Column("domain", "text", "the kind of site; default: nothing", narrow=True),
    _Column("subdomain", "text", "a finer kind of site; default: nothing", narrow=True),
)
"""`elements` is a list of ids, or of objects with `id` and perhaps `tag`, `box` ([x, y, width,
height] in page pixels) and `attributes`. `picture` is encoded bytes, an object with `bytes`, a data
URL, or the path of a file. Paths are relative to the folder of the data file."""

_CONTROLS = frozenset({"a", "button", "input", "label", "option", "select", "summary", "textarea"})
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class StepColumns:
    """The mapping of our columns to the fields of the user's records.

    Attributes:
        names: our column to their field; a dot leads into an object (`action.type`).
        values: our column to a default for rows without a value.
        operations: their operation names to CLICK, TYPE and SELECT.
        id_attribute: the HTML attribute that holds the ids of elements.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    operations: Mapping[str, str] = field(default_factory=dict)
    id_attribute: str = NODE_ID

    def name_of(self, column: str) -> str:
        """Return the name of the column in the records."""
        return self.names.get(column, column)

    def stored(self, *, narrow: bool = False) -> dict[str, _Column]:
        """Return the top-level fields that are read from records, with the columns they hold."""
        columns = (column for column in COLUMNS if column.narrow or not narrow)
        return {self.name_of(column.name).partition(".")[0]: column for column in columns}

    def required(self) -> tuple[str, ...]:
        """Return the top-level fields that every record must have."""
        names = (c.name for c in COLUMNS if c.required and c.name not in self.values)
        return tuple(dict.fromkeys(self.name_of(name).partition(".")[0] for name in names))

    def value(self, record: Record, column: str) -> Any:
        """Return the value of a column as stored; None if there is none."""
        value: Any = record
        for part in self.name_of(column).split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return self.values.get(column) if value is None else value

    def text(self, record: Record, column: str, where: str) -> str:
        """Return a text; "" without one. Raises `DataError` for anything but a text or number."""
        value = self.value(record, column)
        if value is None or isinstance(value, str):
            return value or ""
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        raise self._wrong(column, where, value, "a text")

    def key(self, record: Record, where: str) -> NarrowRow:
        """Return the key that identifies a step. Raises `DataError`."""
        for column in COLUMNS:
            if column.required and column.narrow and not self.text(record, column.name, where):
                raise DataError(f"{where}: no '{self.name_of(column.name)}'")
        task = self.text(record, "task", where)
        return NarrowRow(
            task_id=self.text(record, "task_id", where)
            or hashlib.sha256(task.encode()).hexdigest()[:12],
            action_uid=self.text(record, "action_id", where) or None,
            index=whole(self.value(record, "step"), self.name_of("step"), where),
            split=self.text(record, "split", where) or "local",
            website=self.text(record, "website", where),
            domain=self.text(record, "domain", where),
            subdomain=self.text(record, "subdomain", where),
        )

    def action(self, record: Record, where: str) -> str:
        """Return the action in words, for the history of later steps. Raises `DataError`."""
        if words := self.text(record, "action", where):
            return words
        value = self.text(record, "value", where)
        operation = self.text(record, "operation", where)
        return f"{self._operation(operation)}{': ' + value if value else ''}"

    def row(self, record: Record, entry: StoredStep, earlier: Sequence[str], lost: bool) -> Row:
        """Convert a record to a row.

        Args:
            record: the record.
            entry: the step.
            earlier: the actions of the task's earlier steps, in words.
            lost: True if a row without a screenshot is invalid.

        Raises:
            DataError: a value is missing or not of its column's type.
        """
        where, folder = str(entry.detail), entry.detail.file.parent
        written = self._operation(self.text(record, "operation", where))
        value = self.text(record, "value", where)
        operation, value = decode_operation({"op": written, "value": value}, where)
        html = self._html(record, where, folder)
        nodes = _nodes(html, f"{where}: '{self.name_of('html')}'")
        positives, negatives = self._candidates(record, where, nodes)
        screenshot = self._picture(record, where, folder)
        problems = find_problems(bool(positives), screenshot is not None or not lost)
        history = self._list(record, "history", where)
        detail = RowDetail(
            entry.detail.action_uid,
            history=tuple(map(str, history)) if history is not None else tuple(earlier),
            html=html,
            screenshot=screenshot,
            positives=positives,
            negatives=negatives,
            operation=operation,
            value=value,
            problems=problems,
        )
        return entry.with_detail(
            detail,
            goal=self.text(record, "task", where),
            source=where,
            invalid=next(iter(problems), None),
        )

    def _operation(self, written: str) -> str:
        return self.operations.get(written, written).strip().upper()

    def _html(self, record: Record, where: str, folder: Path) -> str:
        written = self.text(record, "html", where)
        if "<" not in written:
            try:
                written = file_text(_inside(folder, written))
            except (OSError, ValueError) as error:
                raise self._wrong("html", where, written, "a page or its file") from error
        try:
            return as_page(written, self.id_attribute)
        except ValueError as error:
            raise self._wrong("html", where, written, f"a page ({error})") from error

    def _picture(self, record: Record, where: str, folder: Path) -> bytes | None:
        """Return the screenshot as encoded bytes. Raises `DataError` if its file cannot be read."""
        stored = self.value(record, "screenshot")
        if isinstance(stored, Mapping):
            stored = stored.get("bytes") or stored.get("path")
        if not stored or isinstance(stored, bytes):
            return stored or None
        if not isinstance(stored, str):
            raise self._wrong("screenshot", where, stored, "a picture")
        try:
            if stored.startswith("data:"):
                return base64.b64decode(stored.partition(",")[2], validate=True)
            return file_bytes(_inside(folder, stored))
        except (OSError, ValueError) as error:
            raise self._wrong("screenshot", where, stored, "a picture or its file") from error

    def _candidates(
        self, record: Record, where: str, nodes: Mapping[str, PageNode]
    ) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
        """Return the positives, and the negatives without the positives."""
        right = self._elements(record, "positives", where)
        if right is None:
            raise DataError(f"{where}: no '{self.name_of('positives')}'")
        offered = self._elements(record, "candidates", where)
        others = self._elements(record, "negatives", where)
        if offered is not None and others is not None:
            names = [f"'{self.name_of(name)}'" for name in ("negatives", "candidates")]
            raise DataError(f"{where}: give {' or '.join(names)}, not both")
        known = {element["id"]: element for element in offered or ()}
        if others is None:
            others = offered if offered is not None else _controls(nodes)
        positives = {e["id"]: known.get(e["id"], {}) | e for e in right}
        negatives = {e["id"]: e for e in others if e["id"] not in positives}
        return (
            tuple(
                self._candidate(element, nodes, f"{where}: '{self.name_of('positives')}'", n == 0)
                for n, element in enumerate(positives.values())
            ),
            tuple(
                self._candidate(element, nodes, f"{where}: element '{node_id}'")
                for node_id, element in negatives.items()
            ),
        )

    def _elements(self, record: Record, column: str, where: str) -> list[dict[str, Any]] | None:
        stored = self._list(record, column, where)
        if stored is None:
            return None
        elements: list[dict[str, Any]] = []
        for element in stored:
            if isinstance(element, str) and element.startswith("{"):
                element = self._json(element, column, where)
            if isinstance(element, str | int) and not isinstance(element, bool):
                element = {"id": element}
            if not isinstance(element, Mapping) or element.get("id") in (None, ""):
                raise self._wrong(
                    column, where, element, "an element: an id, or an object with one"
                )
            known = {key: value for key, value in element.items() if value is not None}
            elements.append(known | {"id": str(element["id"])})
        return elements

    def _candidate(
        self,
        element: Mapping[str, Any],
        nodes: Mapping[str, PageNode],
        where: str,
        original: bool = False,
    ) -> Candidate:
        node = nodes.get(element["id"])
        box = element.get("box")
        try:
            place = None if box is None else Box(*map(float, _corners(box)))
        except (TypeError, ValueError, KeyError) as error:
            raise DataError(f"{where}: box {box!r} is not [x, y, width, height]") from error
        tag = element.get("tag") or (node.tag if node else "")
        attributes = json.dumps(dict(element.get("attributes") or {}), ensure_ascii=False)
        return Candidate(element["id"], str(tag), place, original, original, attributes)

    def _list(self, record: Record, column: str, where: str) -> Sequence[Any] | None:
        """Return a list, or JSON of one; None if there is none."""
        value = self.value(record, column)
        if isinstance(value, str):
            value = self._json(value, column, where)
        if value is None or (isinstance(value, Sequence) and not isinstance(value, bytes)):
            return value
        raise self._wrong(column, where, value, "a list")

    def _json(self, text: str, column: str, where: str) -> Any:
        try:
            return json.loads(text)
        except ValueError as error:
            raise self._wrong(column, where, text, "a list or JSON") from error

    def _wrong(self, column: str, where: str, value: object, wanted: str) -> DataError:
        shown = repr(value)
        shown = shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."
        return DataError(f"{where}: '{self.name_of(column)}' is {shown}, not {wanted}")


def _nodes(html: str, where: str) -> dict[str, PageNode]:
    try:
        return {node.id: node for node in Page.parse(html).nodes() if node.id}
    except PageError as error:
        raise DataError(f"{where}: {error}") from error


def _controls(nodes: Mapping[str, PageNode]) -> list[dict[str, Any]]:
    """Return the elements of a page that a user may act on, judging by tag and role."""
    return [
        {"id": node.id}
        for node in nodes.values()
        if (node.tag in _CONTROLS and node.attributes.get("type") != "hidden")
        or "role" in node.attributes
    ]


def _corners(box: Any) -> tuple[Any, Any, Any, Any]:
    if isinstance(box, Mapping):
        return box["x"], box["y"], box["width"], box["height"]
    x, y, width, height = box
    return x, y, width, height


def _inside(folder: Path, name: str) -> Path:
    """Return a path in the folder of the data, which others may have made. Raises ValueError."""
    path = Path(name)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError("it lies outside of the folder of the data")
    return folder / path
