"""A row of a page of buttons, for tests of rankers."""

from __future__ import annotations

from harness.page import Candidate
from harness.records import Row
from tests.harness.benchmarks._files import page
from tests.units import recorded


def step(
    *,
    buttons: int = 4,
    positive: str | None = "b1",
    task: str = "Press it",
    history: tuple[str, ...] = (),
    html: str | None = None,
    ids: tuple[str, ...] | None = None,
    task_id: str = "t",
    action_uid: str = "u",
) -> Row:
    """A step whose candidates are the buttons of the page, or the ids given."""
    offered = ids if ids is not None else tuple(f"b{n}" for n in range(buttons))
    known = {i: Candidate(i, "button", None, False, False, "{}") for i in offered}
    return recorded(
        benchmark="made-up",
        split="test",
        task_id=task_id,
        action_uid=action_uid,
        index=len(history),
        total_steps=len(history) + 1,
        website="w",
        domain="d",
        subdomain="s",
        task=task,
        history=history,
        html=html if html is not None else page(buttons),
        positives=tuple(c for i, c in known.items() if i == positive),
        # Another order than that of the page.
        negatives=tuple(c for i, c in reversed(known.items()) if i != positive),
    )
