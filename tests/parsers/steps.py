"""Scored steps for tests, by hand and by chance."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from parsers import F1_VARIANTS, OPERATIONS, ScoredUnit, Status
from parsers.counting import Trial
from parsers.records import Scores
from tests.units import step_scores


def scores(success: bool, f1: float | None = None, element: bool | None = None) -> Scores:
    """Scores of a step; F1 is that of the success unless given."""
    variants = dict.fromkeys(map(str, F1_VARIANTS), float(success) if f1 is None else f1)
    return step_scores(success if element is None else element, variants, success, success)


def step(
    task: str,
    index: int,
    outcome: bool | Scores | None,
    *,
    invalid: str | None = None,
    status: Status | None = Status.ANSWERED,
    flags: tuple[str, ...] = (),
    **names: str,
) -> ScoredUnit:
    """A row of a task; `outcome` None leaves it unsettled."""
    if isinstance(outcome, bool):
        outcome = scores(outcome)
    named = {"website": "w", "domain": "d", "subdomain": "s", "operation": "CLICK", **names}
    return ScoredUnit(
        unit_id=f"{task}_{index}",
        split=named.pop("split", "test_task"),
        parents={"task": task, "website": named.pop("website")},
        labels=named,
        invalid=invalid,
        scores=outcome,
        status=None if outcome is None else status,
        flags=flags,
    )


def once(units: Iterable[ScoredUnit]) -> list[Trial]:
    """Trials of units that were asked about once."""
    return [(0, unit) for unit in units]


@st.composite
def selections(
    draw: st.DrawFn, *, unsettled: bool = True, invalid: bool = True
) -> list[ScoredUnit]:
    """Rows of some tasks; website, domain and split belong to the task, the operation to a step."""
    rows = []
    for number in range(draw(st.integers(0, 6))):
        website = draw(st.sampled_from(["a", "b", "c"]))
        split = draw(st.sampled_from(["test_task", "test_website"]))
        for index in range(draw(st.integers(1, 5))):
            success = draw(st.booleans())
            f1 = 1.0 if success else draw(st.sampled_from([0.0, 1 / 3, 0.5, 2 / 3, 1.0]))
            outcome: Scores | None = scores(success, f1, success or draw(st.booleans()))
            bad = draw(st.sampled_from([None, None, "no_positive", "no_screenshot"]))
            if (bad and invalid) or (unsettled and draw(st.integers(0, 5)) == 0):
                outcome = None
            rows.append(
                step(
                    f"t{number}",
                    index,
                    outcome,
                    invalid=bad if invalid else None,
                    status=draw(st.sampled_from(list(Status))),
                    split=split,
                    website=website,
                    domain=website.upper(),
                    subdomain=website * 2,
                    operation=draw(st.sampled_from(OPERATIONS)),
                )
            )
    return rows
