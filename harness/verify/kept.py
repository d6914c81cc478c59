"""What a run knows of its deployment: the newest record of a verification, confirmed by a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.checks import plain_json
from adapters.contract import AdapterInfo
from adapters.conversation import Picture, Reply
from harness.pictures import PictureStore
from harness.runs import RunDirectory
from harness.runs.answerers import another_deployment
from harness.verify.calls import CALLS, stored
from harness.verify.record import FOLDER, FORMAT, VERSION, endpoint_of
from harness.verify.words import BROKEN

NEEDED = (
    *("sizes", "points", "picture seen", "thinking", "max_tokens", "long reply"),
    *("context", "repeats"),
)
"""Checks without which no result compares with a published one."""
_MOST_BYTES = 5_000_000
_WORDS_APART = 16
"""Tokens by which the question of a verification and that of a first call may differ."""


@dataclass(frozen=True)
class Known:
    """What is known of a deployment; `record` is None where it was never verified."""

    record: Mapping[str, Any] | None

    @classmethod
    def of(cls, info: AdapterInfo, folder: Path = Path(FOLDER)) -> Known:
        """Return the newest record of a hosted or served model at its endpoint."""
        if info.runs_here or info.stand_in or not folder.is_dir():
            return cls(None)
        named = {"name": info.model, "endpoint": endpoint_of(info)}
        found = [one for one in _records(folder) if named.items() <= one["model"].items()]
        return cls(max(found, key=lambda one: str(one["at"]), default=None))

    def picture(self, usual: Picture | None, pictures: PictureStore) -> Picture | None:
        """Return the picture of a first call: the first one of the verification, if there was one.

        `usual` is the picture without one; a run that sends no pictures has None.
        """
        if usual is None or self.record is None:
            return usual
        (what,) = CALLS["size-a"].pictures
        return stored(pictures, what, _whole(self.record.get("seed")) or 1)

    def note(
        self, directory: RunDirectory, first: Reply | None, say: Callable[[str], None]
    ) -> None:
        """Keep the deployment in the session of a run, and say where it is not the one before.

        `first` is the reply about `picture`; None if no such call was made.
        """
        if self.record is None:
            return
        record, earlier = self.record, directory.manifest.deployment
        asked = next((c for c in _rows(record, "calls") if c.get("id") == "size-a"), {})
        counted = _whole(_table(asked, "usage").get("input"))
        now = first.usage.input if first is not None and first.usage is not None else None
        confirmed = None if not (counted and now) else abs(now - counted) <= _WORDS_APART
        if confirmed is False:
            say(
                f"warning: the deployment changed since it was verified at {record['at']}: a "
                f"picture of 448x448 and a question count {now:,} tokens, and did {counted:,}; "
                "run vlm-eval verify again"
            )
        numbers = _table(record, "measured").get("numbers")
        broken = {c.get("name") for c in _rows(record, "checks") if c.get("verdict") == BROKEN}
        counts = _table(record, "counts")
        told = {
            "digest": str(record.get("digest"))[:12],
            "verdict": str(record.get("verdict"))[:20],
            "verified_at": str(record["at"])[:40],
            "confirmed": confirmed,
            "broken": [name for name in NEEDED if name in broken],
            "counts": {
                name: [*map(_whole, listed[:5])] if isinstance(listed, list) else []
                for name in ("texts", "pictures")
                for listed in [counts.get(name)]
            },
            "numbers": str(numbers)[:20] if numbers else None,
        }
        if earlier is not None and (why := another_deployment(earlier, told)):
            say(f"warning: another deployment answers than before: {why}")
        directory.note_measured({"deployment": told})


def _records(folder: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a folder; whatever else lies there is passed over."""
    for path in folder.glob("*.json"):
        try:
            data = path.read_bytes() if path.stat().st_size <= _MOST_BYTES else b""
            found = plain_json(data)
        except (OSError, ValueError):
            continue
        kind = (found.get("format"), found.get("version")) if isinstance(found, dict) else ()
        is_one = kind == (FORMAT, VERSION) and isinstance(found.get("model"), dict)
        if is_one and isinstance(found.get("at"), str):
            yield found


def _table(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = record.get(name)
    return found if isinstance(found, dict) else {}


def _rows(record: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    rows = record.get(name)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
