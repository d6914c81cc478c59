"""The fields of a recorded step that all editions of Mind2Web share."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from harness.benchmarks.index import StoredStep
from harness.benchmarks.parquet import Record
from harness.errors import DataError
from harness.page import Candidate, decode_candidates
from harness.records import NO_POSITIVE, NO_SCREENSHOT, Row, RowDetail
from parsers.records import OPERATIONS, Operation

_AS_CLICK = frozenset({"HOVER", "ENTER"})
_OPERATION = msgspec.json.Decoder(dict[str, object])


def recorded_row(
    record: Record,
    entry: StoredStep,
    where: str,
    screenshot: bytes | None = None,
    *,
    pictured: bool,
    called: str = "",
) -> Row:
    """Build a row from a record with the fields of Mind2Web. Raises `DataError`.

    Args:
        record: its fields by name.
        entry: the step.
        where: where the record is, for messages.
        screenshot: the encoded screenshot of the page.
        pictured: True if a row without a screenshot is invalid.
        called: prefix of field names in messages.
    """
    operation, _, value = decode_operation(record["operation"], where)
    positives, negatives = (
        candidates_in(record[name], f"{where}: {called}'{name}'")
        for name in ("pos_candidates", "neg_candidates")
    )
    actions = record["action_reprs"] or ()
    problems = find_problems(bool(positives), screenshot is not None or not pictured)
    detail = RowDetail(
        entry.detail.action_uid,
        history=tuple(action or "" for action in actions[: entry.position]),
        html=record["cleaned_html"] or "",
        screenshot=screenshot,
        positives=positives,
        negatives=negatives,
        operation=operation,
        value=value,
        problems=problems,
        told=next((action or "" for action in actions[entry.position : entry.position + 1]), ""),
    )
    return entry.with_detail(
        detail,
        goal=record["confirmed_task"] or "",
        total=max(len(actions), entry.total),
        source=where,
        invalid=next(iter(problems), None),
    )


def candidates_in(stored: Iterable[str | msgspec.Raw] | None, where: str) -> tuple[Candidate, ...]:
    """Decode the candidates of a field, which may be null. Raises `DataError`, naming `where`."""
    try:
        return tuple(decode_candidates(stored or ()))
    except ValueError as error:
        raise DataError(f"{where}: {error}") from error


def find_problems(has_positive: bool, has_picture: bool) -> tuple[str, ...]:
    """Return all reasons why a row is invalid; the one that no option can lift comes first."""
    return (() if has_positive else (NO_POSITIVE,)) + (() if has_picture else (NO_SCREENSHOT,))


def decode_operation(stored: object, where: str) -> tuple[Operation, tuple[str, ...], str]:
    """Return the operation to score, the names it was recorded under, and its value ("" if none).

    Raises `DataError`.
    """
    if isinstance(stored, str):
        try:
            stored = _OPERATION.decode(stored)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise DataError(f"{where}: column 'operation' is not valid JSON: {error}") from error
    if not isinstance(stored, dict):
        raise DataError(f"{where}: column 'operation' is {stored!r}, not an operation")
    recorded, original = str(stored.get("op")), str(stored.get("original_op"))
    scored = "CLICK" if recorded in _AS_CLICK else recorded
    for operation in OPERATIONS:
        if operation == scored:
            value = stored.get("value")
            if isinstance(value, bool) or not isinstance(value, str | int | float | None):
                raise DataError(f"{where}: column 'operation' has value {value!r}, not a text")
            names = tuple(dict.fromkeys((original, recorded)))
            return operation, names, "" if value is None else str(value)
    raise DataError(
        f"{where}: column 'operation' has op {recorded!r}, not one of {', '.join(OPERATIONS)}"
    )
