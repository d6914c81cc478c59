"""The newest record of a verification that a run knows, confirmed by a call of the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adapters.checks import plain_json
from adapters.contract import Fatal
from adapters.conversation import Picture, Reply
from harness.pictures import PictureStore
from harness.planning.plan import Plan
from harness.runs import RunDirectory
from harness.runs.manifest import another_deployment
from harness.settings import VERIFIED
from harness.verify.calls import CALLS, stored
from harness.verify.checks import rows
from harness.verify.facts import facts_of
from harness.verify.probing import Verification
from harness.verify.record import FORMAT, VERSION, endpoint_of, record_of, write
from harness.verify.report import lines
from harness.verify.words import BROKEN, overall

NEEDED = (
    *("sizes", "points", "picture seen", "thinking", "max_tokens", "long reply"),
    *("context", "repeats"),
)
"""Checks without which no result compares with a published one."""
_MOST_BYTES = 5_000_000
_WORDS_APART = 16
"""Tokens by which the question of a verification and that of a first call may differ."""


async def known(plan: Plan, directory: RunDirectory, say: Callable[[str], None]) -> Known:
    """Return what is known of the deployment of a run; with `--verify`, after asking it.

    Raises `Fatal` for a deployment that is broken or could not be verified.
    """
    info, settings = plan.model.info, plan.settings
    if settings.verify:
        done = verification(plan)
        done.spent = directory.spent
        await done.ask(say, directory.path)
        server = await facts_of(plan.model.adapter)
        directory.note_spent(done.spent)
        checks = done.judge.checks()
        verdict, _ = overall(checks, strict=False)
        record = record_of(done, checks, verdict, server)
        path = write(record)
        if done.interrupted:
            raise KeyboardInterrupt
        for line in lines(checks, done.probe.declared, record, every=False):
            say(line)
        if done.failed or verdict == BROKEN:
            why = done.failed or "this deployment is broken"
            raise Fatal(
                f"--verify {settings.verify}: {why} ({path}); --verify off goes on all the same"
            )
    if info.runs_here or info.stand_in:
        return Known(None)
    named = {"name": info.model, "endpoint": endpoint_of(info)}
    found = [one for one in _records(VERIFIED) if named.items() <= one["model"].items()]
    return Known(max(found, key=lambda one: str(one["at"]), default=None))


def verification(plan: Plan) -> Verification:
    """Return the verification that a run asks for, which leaves its model open."""
    settings, quick = plan.settings, plan.settings.verify == "quick"
    if settings.protocol != "grounding":
        settings = replace(settings, protocol_option=())
    model = replace(plan.model, is_borrowed=True)
    return Verification.of(settings, model, rows(quick), quick=quick)


def at_most(plan: Plan) -> tuple[int, float | None]:
    """Return how many calls `--verify` makes at most, and what they cost at most, in US dollars;
    None without a price."""
    found = verification(plan)
    try:
        return found.most
    finally:
        found.store.close()


@dataclass(frozen=True)
class Known:
    """The knowledge of a deployment; `record` is None where it was never verified."""

    record: Mapping[str, Any] | None

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
