"""What a comparison shows, in a few sentences for a reader who wants no statistics."""

from __future__ import annotations

from parsers import FEW
from reports.comparison.results import Average, Comparison, Contrast

LEVEL = 0.05


def verdict(found: Comparison, planned: float | None = None) -> str:
    """The verdict on step success, averaged over tasks.

    A difference is claimed when the permutation test (corrected for several runs) and the interval
    agree on it. The tasks needed are for the `planned` difference, where one is given.
    """
    steps = _contrast(found, "macro")
    won = _contrast(found, "micro").effect
    if not won.better and not won.worse:
        return (
            f"{found.run} and {found.baseline} succeed in exactly the same steps: "
            "by step success nothing tells them apart."
        )
    said = _claim(found, steps, planned)
    if steps.difference.few:
        said += (
            f" With fewer than {FEW} tasks ({steps.difference.tasks}) the interval is too narrow "
            "and the numbers of tasks are rough."
        )
    return said


def _contrast(found: Comparison, average: Average) -> Contrast:
    return next(c for c in found.contrasts if (c.metric, c.average) == ("step_success", average))


def _claim(found: Comparison, steps: Contrast, planned: float | None) -> str:
    own = steps.difference
    rates = f"{100 * own.second:.1f} against {100 * own.first:.1f} % of steps, mean over tasks"
    size = f"{100 * own.difference:+.1f} points"
    bounds = ""
    if own.low is not None and own.high is not None:
        bounds = f", 95 % interval {100 * own.low:+.1f} to {100 * own.high:+.1f}"
    by_test = steps.p_permutation <= LEVEL
    by_interval = own.low is not None and own.high is not None and not own.low <= 0 <= own.high
    told = f"{rates} ({size}{bounds}; permutation p {p_text(steps.p_permutation)})"
    if by_test and by_interval:
        better = "better" if own.difference > 0 else "worse"
        return f"{found.run} is {better} than {found.baseline}: {told}."
    if by_test or by_interval:
        pair = f"{found.run} and {found.baseline}"
        return f"Undecided between {pair}, test and interval disagree: {told}."
    return (
        f"No difference is shown between {found.run} and {found.baseline}: {told}. "
        f"{_needs(steps, planned)}That is not proof that they are equal."
    )


def _needs(steps: Contrast, planned: float | None) -> str:
    said = ""
    if steps.visible is not None:
        said = (
            f"With {steps.difference.tasks:,} tasks, a true difference below "
            f"{100 * steps.visible:.1f} points would be missed in more than one of five experiments"
        )
        if steps.needed is not None:
            size = "as small as this" if planned is None else f"of {100 * planned:.10g} points"
            said += f"; for one {size}, {steps.needed:,} tasks would be needed"
        said += ". "
    return said


def p_text(p: float | None) -> str:
    """A p value for readers.

    >>> p_text(0.00004), p_text(0.0312), p_text(None)
    ('< 0.001', '0.031', 'n/a')
    """
    if p is None:
        return "n/a"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
