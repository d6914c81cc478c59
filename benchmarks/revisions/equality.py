"""What a case left behind, as plain values, and in which keys two of them differ."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path
from typing import Any

from benchmarks.revisions.rows import rest_of, rows_of

TIMES = re.compile(r"latency|seconds|^timed$|^request_id$|_s$|^checksum$|^created$")
"""Keys whose values depend on the clock or on the server's numbering."""
PROSE = {"note", "notes", "about", "title", "caption", "captions", "verdict"}
SESSION = {"sessions"}
RESUMED = frozenset({"sessions", "unrecorded"})
"""What a run that was interrupted says otherwise than one that was not."""
KILLED_TOO = RESUMED | {"from_cache", "attempts", "price"}
"""Of equal calls of several steps, which one was asked and which one took its reply, is chance."""
CUT_TOO = RESUMED | {"cached", "cached_tokens"}
"""A model on this machine keeps nothing of a dialogue's beginning over an interruption."""
FROM_CACHE = RESUMED | {"from_cache", "attempts", "cost", "price", "sent", "reused_from"}
"""What a call says otherwise when its reply came from the cache."""

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Exit codes and printed JSON of a case's commands, and the folder that they worked in."""

    folder: Path
    codes: tuple[int, ...] = ()
    printed: Mapping[str, Any] = field(default_factory=dict)
    sent: Mapping[str, Any] = field(default_factory=dict)
    """Contents of requests as the server received them."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A key with two values; None where a side does not have it."""

    where: str
    base: Any
    head: Any

    def __str__(self) -> str:
        return f"{self.where}\n      base: {short(self.base)}\n      head: {short(self.head)}"


def short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= 160 else f"{text[:160]}... ({len(text)} characters)"


def left_by(outcome: Outcome, ignored: frozenset[str] = frozenset()) -> Values:
    """Everything that a case left behind, by what it is."""
    values: Values = {"exit": list(outcome.codes)}
    for name, document in outcome.printed.items():
        values[name] = plain(document, ignored | PROSE)
    for place, manifest in enumerate(sorted(outcome.folder.rglob("manifest.json")), 1):
        run = manifest.parent
        folder = {"folder": str(run.relative_to(outcome.folder))}
        values[f"run {place}"] = {**folder, **run_values(run, ignored)}
    for table in sorted(outcome.folder.glob("*.parquet")):
        values[table.name] = parquet_values(table, ignored)
    return values


def results_of(outcome: Outcome) -> Values:
    """Predictions, scores, contents of requests, replies and printed numbers of a case.

    Names of runs depend on settings; runs are counted instead.
    """
    values: Values = {"exit": list(outcome.codes), "sent": outcome.sent}
    for name, document in outcome.printed.items():
        text = document.get("numbers")  # of a command that prints no JSON
        values[name] = dict(Counter(numbers_in(document) if text is None else text))
    runs = (manifest.parent for manifest in outcome.folder.rglob("manifest.json"))
    for place, run in enumerate(sorted(runs, key=_content_of), 1):
        summary = run / "summary.json"
        values[f"run {place}"] = {
            "calls.jsonl": {
                str(call["id"]): [
                    [[message["role"], message["parts"]] for message in call["messages"]],
                    (call["reply"] or {}).get("text"),
                ]
                for call in lines_of(run / "calls.jsonl")
            },
            "steps.jsonl": {
                f"{step['unit_id']}/{step['repeat']}": [
                    step["prediction"],
                    _without_repeated(step["scores"] or {}),
                ]
                for step in lines_of(run / "steps.jsonl")
            },
            "summary": summary_values(run)["rows"] if summary.exists() else None,
        }
    return values


def _without_repeated(scores: Mapping[str, Any]) -> Values:
    """Scores of a unit without those that repeat one of their variants, which older lines lack."""
    varied = {"operation_f1", "score"} & {name.partition(".")[0] for name in scores if "." in name}
    return {name: value for name, value in scores.items() if name not in varied}


def summary_values(run: Path, ignored: frozenset[str] = frozenset()) -> Values:
    """The summary of a run: its numbers as rows, and the rest."""
    summary, manifest = (
        json.loads((run / name).read_text("utf-8")) for name in ("summary.json", "manifest.json")
    )
    rows = rows_of(summary, manifest["declaration"])
    return {"rows": plain(rows, ignored), "rest": plain(rest_of(summary), ignored)}


def _content_of(run: Path) -> tuple[str, list[str]]:
    """The model and the units of a run, which order the runs of a case on both sides."""
    model = json.loads((run / "manifest.json").read_text("utf-8"))["model"]["name"]
    return model, sorted(step["unit_id"] for step in lines_of(run / "steps.jsonl"))


def numbers_in(document: Any) -> Iterator[str]:
    """The numbers of a JSON document other than times, settings and counts within prose."""
    if isinstance(document, Mapping):
        for item in plain(document, {"settings", *PROSE}).values():
            yield from numbers_in(item)
    elif isinstance(document, list):
        for item in document:
            yield from numbers_in(item)
    elif isinstance(document, int | float) and not isinstance(document, bool):
        yield repr(document)


def run_values(run: Path, ignored: frozenset[str] = frozenset()) -> Values:
    """A run directory: manifest, summary, calls and steps by id."""
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    if run.parent.name == "judgments":  # of lines with the times of the judged run
        ignored |= {"units_sha256", "digests"}
    sessions = [session["settings"] for session in manifest["sessions"]]
    values: Values = {"manifest": plain(manifest, ignored | SESSION)}
    if "sessions" not in ignored:
        values["settings"] = plain(sessions)
    values["calls.jsonl"] = {
        str(line["id"]): plain(line, ignored) for line in lines_of(run / "calls.jsonl")
    }
    values["steps.jsonl"] = {
        f"{line['unit_id']}/{line['repeat']}": plain(line, ignored)
        for line in lines_of(run / "steps.jsonl")
    }
    if (run / "summary.json").exists():
        values["summary"] = summary_values(run, ignored)
    return values


def lines_of(path: Path) -> list[Values]:
    """The whole lines of a journal."""
    text = path.read_text("utf-8")
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def parquet_values(path: Path, ignored: frozenset[str] = frozenset()) -> Values:
    """Column types, and the rows, sorted, with bytes as their length and digest."""
    import hashlib

    import pyarrow.parquet as pq

    def shown(value: Any) -> Any:
        if isinstance(value, bytes):
            return [len(value), hashlib.sha256(value).hexdigest()]
        if isinstance(value, dict):
            return {name: shown(item) for name, item in value.items()}
        return [shown(item) for item in value] if isinstance(value, list) else value

    table = pq.read_table(path)
    every = [plain(shown(row), ignored) for row in table.to_pylist()]
    rows = [json.dumps(row, sort_keys=True, default=str) for row in every]
    return {
        "columns": {column.name: str(column.type) for column in table.schema},
        "rows": [json.loads(row) for row in sorted(rows)],
    }


def plain(value: Any, ignored: frozenset[str] | set[str] = frozenset()) -> Any:
    """A document without what depends on the clock, and without the folder of the data file."""
    if isinstance(value, Mapping):
        plainer = {
            name: plain(item, ignored)
            for name, item in value.items()
            if name not in ignored and not TIMES.search(name)
        }
        if plainer.get("source"):
            plainer["source"] = Path(plainer["source"]).name
        if plainer.get("style") == "seconds":
            return None  # what a success takes
        if "unrecorded" in plainer:  # a difference of sums of costs, in the order of the replies
            plainer["unrecorded"] = round(plainer["unrecorded"], 12)
        return plainer
    return [plain(item, ignored) for item in value] if isinstance(value, list) else value


def differences(base: Any, head: Any, where: str = "") -> Iterator[Difference]:
    """Every key, as a path, whose values differ."""
    if isinstance(base, dict) and isinstance(head, dict):
        for name in [*base, *(name for name in head if name not in base)]:
            yield from differences(base.get(name), head.get(name), f"{where}/{name}")
    elif isinstance(base, list) and isinstance(head, list) and len(base) == len(head):
        for place, (first, second) in enumerate(zip(base, head, strict=True)):
            yield from differences(first, second, f"{where}/{place}")
    elif not same(base, head):
        yield Difference(where, base, head)


def same(base: Any, head: Any) -> bool:
    """Whether two values are equal; numbers that differ by the order of a sum are."""
    if isinstance(base, float) and isinstance(head, float):
        return isclose(base, head, rel_tol=1e-12) or (base != base and head != head)
    return bool(base == head)


@dataclass(slots=True)
class Intended:
    """Differences that are meant, by the exact keys that `Difference` prints."""

    reasons: Mapping[str, str]
    met: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, tables: Iterable[Mapping[str, Any]]) -> Intended:
        """Read `[[intended]]` tables.

        Raises `ValueError` for one without an issue, a reason or keys, and for a key that is not
        one value: a pattern, a comparison, or a file of one.
        """
        reasons: dict[str, str] = {}
        for table in tables:
            if set(table) - {"cases"} != {"issue", "reason", "keys"} or not table["keys"]:
                raise ValueError("an [[intended]] table has issue, reason, keys, perhaps cases")
            cases = [f"base = head: {case}/" for case in table.get("cases", ())] or [""]
            for key in (f"{case}{key}" for case in cases for key in table["keys"]):
                _, _, rest = key.partition(": ")
                _, _, inner = rest.partition("/")
                if "*" in key or not inner or _WHOLE.fullmatch(inner):
                    raise ValueError(f"{key!r} is not the exact key of one value")
                reasons[key] = f"issue {table['issue']}: {table['reason']}"
        return cls(reasons)

    def covers(self, where: str) -> bool:
        if where not in self.reasons:
            return False
        self.met.add(where)
        return True


_WHOLE = re.compile(
    r"exit|printed \d+|[^/]+\.parquet(/rows)?|run \d+(/manifest|/settings|/(calls|steps)\.jsonl"
    r"|/parquet(/rows)?|/summary(/(rows|rest))?)?"
)
"""What holds more than one value: a file, a printed document."""


def compared(
    name: str, base: Values, head: Values, intended: Intended, say: Callable[[str], None]
) -> list[Difference]:
    """Print a line about a comparison, with the first differences; return all that is not meant."""
    every = list(differences(base, head, name))
    left = [difference for difference in every if not intended.covers(difference.where)]
    meant = f", {len(every) - len(left)} intended" if len(every) > len(left) else ""
    if not left:
        say(f"equal    {name}: {size(base)}{meant}")
        return []
    say(f"DIFFERS  {name}: {len(left)} keys{meant}")
    for difference in _varied(left):
        say(f"    {str(difference).removeprefix(name)}")
    return left


def size(values: Values) -> str:
    """What was compared: how many runs, calls, steps, printed documents."""
    runs = [
        value for value in values.values() if isinstance(value, dict) and "steps.jsonl" in value
    ]
    parts = []
    if runs:
        calls, steps = (
            sum(len(run[f"{what}.jsonl"]) for run in runs) for what in ("calls", "steps")
        )
        parts.append(f"{calls} calls and {steps} steps of {len(runs)} run{'s'[: len(runs) != 1]}")
    if printed := sum(name.startswith("printed") for name in values):
        parts.append(f"{printed} printed document{'s'[: printed != 1]}")
    return ", ".join(parts) or "exit codes"


def _varied(every: Sequence[Difference], most: int = 8) -> list[Difference]:
    """The first differences of different kinds: ids and places in a list make no kind."""
    kinds: dict[str, Difference] = {}
    for difference in every:
        kinds.setdefault(re.sub(r"/[^/]*\d[^/]*", "/*", difference.where), difference)
    return list(kinds.values())[:most]
