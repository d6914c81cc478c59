"""What people say about steps, kept in `labels.jsonl` beside the run.

A line is a label: step_id, repeat, label, note, who, when. A person has one label for a step and
repeat; a newer one takes its place, an empty one takes it away. Labels of several people stand side
by side. The file is replaced as a whole, under a lock. A line that cannot be read is named, left
where it is, and does not keep the others from being read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from harness.runs import Run, RunError
from harness.tables import clean

LABELS_FILE = "labels.jsonl"
FORMAT = "vlm-eval labels"
DEFAULT_LABELS = (
    "hallucination",
    "poor graphical recognition",
    "misread task context",
    "pop-up",
)
"""The error classes of AutoWebGLM (Lai et al. 2024); any other label is as good."""

PATIENCE = 20.0
"""Seconds to wait for another process that writes labels."""
LONGEST_LABEL, LONGEST_NOTE, LONGEST_FILE = 100, 4_000, 64 << 20


class LabelError(RunError):
    """Labels cannot be read, taken or written; the message says why."""


@dataclass(frozen=True, slots=True)
class Label:
    """What one person (`who`) says about a step. `when` is ISO 8601 with an offset, or empty.

    Texts are kept as written but for control characters; nothing in them is escaped.
    """

    step_id: str
    label: str
    repeat: int = 0
    note: str = ""
    who: str = ""
    when: str = ""

    @property
    def key(self) -> tuple[str, int, str]:
        """What there is one label for."""
        return self.step_id, self.repeat, self.who


class Labels(NamedTuple):
    """The labels of a run by step, repeat and person; `problems` name lines left out."""

    labels: tuple[Label, ...] = ()
    problems: tuple[str, ...] = ()

    def by_step(self) -> dict[tuple[str, int], str]:
        """The label of every labelled step; different ones of several people with `; ` between."""
        found: dict[tuple[str, int], list[str]] = {}
        for one in self.labels:
            said = found.setdefault((one.step_id, one.repeat), [])
            if one.label not in said:
                said.append(one.label)
        return {key: "; ".join(sorted(said)) for key, said in found.items()}


class Taken(NamedTuple):
    """What became of an import: how many were taken, and why others were not."""

    taken: int
    problems: tuple[str, ...]


def read_labels(run: Run | Path) -> Labels:
    """The labels beside a run, in the order of step, repeat and person. Raises `LabelError`."""
    labels, problems, _ = _read(_file(run))
    return Labels(labels, problems)


def add_labels(run: Run | Path, labels: Iterable[Label]) -> Labels:
    """Add labels to those beside a run and return what is there then.

    The newer of two labels with the same key holds, the given one where both are as old; one
    without a time is from now. Steps are not looked up. Raises `LabelError` for a label that is not
    sound or a file that cannot be written; then nothing is changed.
    """
    from filelock import FileLock

    time = now()
    given = [replace(one, when=one.when or time) for one in map(sound, map(asdict, labels))]
    path = _file(run)
    try:
        with FileLock(path.with_name(f".{path.name}.lock"), timeout=PATIENCE):
            known, problems, lost = _read(path)
            together = merge_labels(known, given)
            _write(path, [*lost, *(_line(label) for label in together)])
    except OSError as error:
        raise LabelError(f"cannot write {path}: {error.strerror or error}") from error
    return Labels(tuple(one for one in together if one.label), problems)


def merge_labels(known: Iterable[Label], given: Iterable[Label]) -> tuple[Label, ...]:
    """Both together, one per key: the newer, or the given. Empty ones take theirs away."""
    found = {label.key: label for label in known}
    for label in given:
        other = found.get(label.key)
        if other is None or _time(label.when) >= _time(other.when):
            found[label.key] = label
    return tuple(found[key] for key in sorted(found) if found[key].label)


def import_labels(run: Run, content: bytes | str, *, name: str | None = None) -> Taken:
    """Take the labels that the HTML page or `export_labels` wrote.

    The content is an object with a list `labels`, or the list. An entry that names another `run`
    than `name` (the run's own name if not given) is left for that one; one about a step that the
    run does not have, or that is not sound, is named among the problems, and the others are taken.
    Raises `LabelError` when the content holds no list of labels.
    """
    wanted = run.name if name is None else name
    steps = {(record.step_id, record.repeat) for record in run.records()}
    labels: list[Label] = []
    problems: list[str] = []
    for number, entry in enumerate(_entries(content), 1):
        try:
            if isinstance(entry, Mapping) and entry.get("run") not in (None, "", wanted):
                continue
            label = sound(entry)
            if (label.step_id, label.repeat) not in steps:
                raise LabelError(f"the run has no step {clean(label.step_id)[:120]}")
        except LabelError as error:
            problems.append(f"label {number}: {error}")
        else:
            labels.append(label)
    if labels:
        add_labels(run, labels)
    return Taken(len(labels), tuple(problems))


def export_labels(runs: Mapping[str, Run]) -> str:
    """The labels of runs by name as JSON that `import_labels` takes, with the test-data note."""
    from reports.formats import TEST_DATA_NOTE

    entries = [
        {"run": name, **asdict(label)}
        for name, run in runs.items()
        for label in read_labels(run).labels
    ]
    content = {"format": FORMAT, "schema": 1, "note": TEST_DATA_NOTE, "labels": entries}
    return json.dumps(content, indent=2) + "\n"


def now() -> str:
    """The time for a new label."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def sound(entry: Any) -> Label:
    """A label from what JSON held. Raises `LabelError` saying what is wrong with it."""
    if not isinstance(entry, Mapping):
        raise LabelError("it is no object")
    step_id, repeat = entry.get("step_id"), entry.get("repeat", 0)
    if not isinstance(step_id, str) or not step_id or len(step_id) > 1_000:
        raise LabelError("step_id is missing or no text")
    if type(repeat) is not int or not 0 <= repeat < 1 << 31:
        raise LabelError("repeat is no number from 0")
    texts = {name: entry.get(name, "") for name in ("label", "note", "who", "when")}
    for name, text in texts.items():
        limit = LONGEST_NOTE if name == "note" else LONGEST_LABEL
        if not isinstance(text, str):
            raise LabelError(f"{name} is no text")
        if len(text) > limit:
            raise LabelError(f"{name} is longer than {limit:,} characters")
    note = "\n".join(clean(line).rstrip() for line in texts["note"].splitlines()).strip()
    when = texts["when"].strip()
    if when and _time(when) == _NEVER:
        raise LabelError("when is no time as in 2025-01-31T12:00:00+00:00")
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
        data = msgspec.json.decode(content)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise LabelError(f"the labels are no JSON: {error}") from error
    entries = data.get("labels") if isinstance(data, dict) else data
    if not isinstance(entries, list):
        raise LabelError("there is no list of labels")
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
    lost: list[bytes] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            labels.append(sound(msgspec.json.decode(line)))
        except (msgspec.MsgspecError, UnicodeError, RecursionError, LabelError) as error:
            problems.append(f"{path} line {number} is no label: {clean(error)}")
            lost.append(line)
    return merge_labels((), labels), tuple(problems), lost


def _line(label: Label) -> bytes:
    return msgspec.json.encode(label)


def _write(path: Path, lines: Iterable[bytes]) -> None:
    """Put the lines in the place of the file: a reader finds the old ones or the new ones."""
    new = path.with_name(f".{path.name}.new")
    with new.open("wb") as file:
        file.writelines(line + b"\n" for line in lines)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
