"""Labels that people give to units, kept in `labels.jsonl` in the run's directory.

A line is a label: step_id (of a unit of any kind), repeat, label, note, who, when. A person has one
label per unit and repeat: a newer one replaces it, an empty one removes it. Labels of several
people are kept side by side. The file is rewritten as a whole. An unreadable line is reported and
kept in the file; the other lines are still read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from adapters.decoding import decode_json
from harness.runs import Run, RunError
from harness.runs.files import replace_file
from harness.tables import clean

LABELS_FILE = "labels.jsonl"
DEFAULT_LABELS = ("hallucination", "poor graphical recognition", "misread task context", "pop-up")
"""The error classes of AutoWebGLM (Lai et al. 2024); any other text may be used."""

LONGEST_LABEL, LONGEST_NOTE, LONGEST_FILE = 100, 4_000, 64 << 20


class LabelError(RunError):
    """Labels cannot be read, imported or written; the message says why."""


@dataclass(frozen=True, slots=True)
class Label:
    """One person's label of a unit. Control characters are removed from texts; nothing is escaped.

    step_id, repeat: the unit.
    label: what went wrong; empty to remove the person's label.
    note: any further text.
    who: name of the person; may be empty.
    when: time in ISO 8601 with an offset, or empty.
    """

    step_id: str
    label: str
    repeat: int = 0
    note: str = ""
    who: str = ""
    when: str = ""

    @property
    def key(self) -> tuple[str, int, str]:
        """Step, repeat and person: there is one label for each."""
        return self.step_id, self.repeat, self.who


class _Labels(NamedTuple):
    """The labels of a run.

    labels: in the order of step, repeat and person.
    problems: a message per line that could not be read.
    """

    labels: tuple[Label, ...] = ()
    problems: tuple[str, ...] = ()

    def by_step(self) -> dict[tuple[str, int], str]:
        """Return the label of every labelled unit and repeat; differing labels are joined by `;
        `."""
        texts_of: dict[tuple[str, int], list[str]] = {}
        for one in self.labels:
            texts = texts_of.setdefault((one.step_id, one.repeat), [])
            if one.label not in texts:
                texts.append(one.label)
        return {key: "; ".join(sorted(texts)) for key, texts in texts_of.items()}


class Import(NamedTuple):
    """The result of an import.

    imported: number of labels imported.
    problems: a message per label that was not.
    """

    imported: int
    problems: tuple[str, ...]


def read_labels(run: Run | Path) -> _Labels:
    """Read the labels of a run, in the order of step, repeat and person. Raises `LabelError`."""
    labels, problems, _ = _read(_file(run))
    return _Labels(labels, problems)


def add_labels(run: Run | Path, labels: Iterable[Label]) -> _Labels:
    """Add labels to those of a run and return all of them.

    Of two labels with the same key the newer one is kept, on a tie the added one; an added label
    without a time gets the current one. Whether the steps exist is not checked. Raises `RunError`
    for an invalid label or a file that cannot be written, and then changes nothing.
    """
    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    added = [replace(one, when=one.when or time) for one in map(checked_label, map(asdict, labels))]
    path = _file(run)
    known, problems, unreadable = _read(path)
    together = merge_labels(known, added)
    lines = [*unreadable, *map(msgspec.json.encode, together)]
    replace_file(path, [line + b"\n" for line in lines])
    return _Labels(together, problems)


def merge_labels(known: Iterable[Label], added: Iterable[Label]) -> tuple[Label, ...]:
    """Merge labels, keeping the newer one per key (on a tie, the added one) and no empty ones."""
    merged = {label.key: label for label in known}
    for label in added:
        earlier = merged.get(label.key)
        if earlier is None or _time(label.when) >= _time(earlier.when):
            merged[label.key] = label
    return tuple(merged[key] for key in sorted(merged) if merged[key].label)


def import_labels(run: Run, content: bytes | str, *, name: str | None = None) -> Import:
    """Import labels that the HTML page has saved.

    The content is a JSON list of labels, or an object with such a list as `labels`. Entries whose
    `run` is not `name` (default: the run's name) are skipped. Invalid entries, and those about
    steps that the run does not have, are reported in `problems`; all others are imported. Raises
    `LabelError` if the content has no list of labels.
    """
    wanted = run.name if name is None else name
    unit = run.manifest.declaration.unit
    known = {(record.unit_id, record.repeat) for record in run.records()}
    labels: list[Label] = []
    problems: list[str] = []
    for number, entry in enumerate(_entries(content), 1):
        try:
            if isinstance(entry, Mapping) and entry.get("run") not in (None, "", wanted):
                continue
            label = checked_label(entry)
            if (label.step_id, label.repeat) not in known:
                raise LabelError(f"the run has no {unit} {clean(label.step_id)[:120]}")
        except LabelError as error:
            problems.append(f"label {number}: {error}")
        else:
            labels.append(label)
    if labels:
        add_labels(run, labels)
    return Import(len(labels), tuple(problems))


def checked_label(entry: Any) -> Label:
    """Check a decoded JSON value and make it a label. Raises `LabelError` if it is not valid."""
    if not isinstance(entry, Mapping):
        raise LabelError("it is not an object")
    step_id, repeat = entry.get("step_id"), entry.get("repeat", 0)
    if not isinstance(step_id, str) or not step_id or len(step_id) > 1_000:
        raise LabelError("step_id is missing or not a string")
    if type(repeat) is not int or not 0 <= repeat < 1 << 31:
        raise LabelError("repeat is not an integer from 0")
    texts = {name: entry.get(name, "") for name in ("label", "note", "who", "when")}
    for name, text in texts.items():
        limit = LONGEST_NOTE if name == "note" else LONGEST_LABEL
        if not isinstance(text, str):
            raise LabelError(f"{name} is not a string")
        if len(text) > limit:
            raise LabelError(f"{name} is longer than {limit:,} characters")
    note = "\n".join(clean(line).rstrip() for line in texts["note"].splitlines()).strip()
    when = texts["when"].strip()
    if when and _time(when) == _NEVER:
        raise LabelError("when is not a time such as 2025-01-31T12:00:00+00:00")
    return Label(
        step_id=clean(step_id),
        repeat=repeat,
        label=" ".join(clean(texts["label"]).split()),
        note=note,
        who=" ".join(clean(texts["who"]).split()),
        when=when,
    )


_NEVER = datetime.min.replace(tzinfo=UTC)


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return _NEVER


def _entries(content: bytes | str) -> list[Any]:
    try:
        data = decode_json(content)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise LabelError(f"the labels are not valid JSON: {error}") from error
    entries = data.get("labels") if isinstance(data, dict) else data
    if not isinstance(entries, list):
        raise LabelError("expected a list of labels, or an object with a list `labels`")
    return entries


def _file(run: Run | Path) -> Path:
    return (run.path if isinstance(run, Run) else run) / LABELS_FILE


def _read(path: Path) -> tuple[tuple[Label, ...], tuple[str, ...], list[bytes]]:
    """Labels, problems, and the lines that could not be read."""
    try:
        if path.stat().st_size > LONGEST_FILE:
            raise LabelError(f"{path} is larger than {LONGEST_FILE >> 20} MiB")
        data = path.read_bytes()
    except FileNotFoundError:
        return (), (), []
    except OSError as error:
        raise LabelError(f"cannot read {path}: {error.strerror or error}") from error
    labels: list[Label] = []
    problems: list[str] = []
    unreadable: list[bytes] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            labels.append(checked_label(decode_json(line)))
        except (msgspec.MsgspecError, UnicodeError, RecursionError, LabelError) as error:
            problems.append(f"{path} line {number} is not a label: {clean(error)}")
            unreadable.append(line)
    return merge_labels((), labels), tuple(problems), unreadable
