"""One model asked through its own tool, through functions of ours, or in words.

The difference of two such arms has a name (`native − prompted`) only where nothing else differs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from harness.runs import Run, Unit
from harness.tables import counted, percent
from parsers import Declaration
from reports.settings import Setting, settings_of

ARMS = ("prompted", "functions", "native")
"""Each before those that are compared with it."""
_FREE = frozenset(
    (
        *("protocol", "tool", "form", "family", "coordinates", "turns", "pairs", "zoom", "extras"),
        *("members", "choice", "tool_choice", "prompts", "prompts_sha256", "acts", "entry"),
    )
)
"""Settings that make an arm."""
_NAMED = frozenset(("batch", "state", "refusals", "wire", "api", "store"))
"""Settings that may differ, and are named."""
_LOOK = "/look-"


def arm_of(run: Run) -> str:
    """Return the arm of a run."""
    settings = settings_of(run.manifest)
    tool = settings.get("protocol_option.tool") or settings.get("model.tool")
    return "prompted" if tool is None else "functions" if tool == "functions" else "native"


def own_name(setting: str) -> str:
    """Return the name of a setting or an option without its owner's.

    >>> own_name("protocol_option.order"), own_name("model.settings.api"), own_name("history")
    ('order', 'api', 'history')
    """
    return setting.rpartition(".")[2]


def named(arms: tuple[str, str], ours: Mapping[str, Setting], theirs: Mapping[str, Setting]) -> str:
    """Return what the difference of two arms is called, the second minus the first.

    ours, theirs: their settings that a comparison can be about. What only one of them has belongs
    to its arm.
    """
    sides = [{own_name(name): one for name, one in side.items()} for side in (ours, theirs)]
    differing = [
        name
        for name in sorted(sides[0].keys() & sides[1].keys() - _FREE)
        if sides[0][name] != sides[1][name]
    ]
    told = ", ".join(f"{name} ({sides[0][name]} against {sides[1][name]})" for name in differing)
    if differing and not _NAMED.issuperset(differing):
        return f"other settings differ: {told}"
    return f"{arms[1]} − {arms[0]}" + (f", with {told}" if told else "")


def facts(
    first: Run, second: Run, unit_ids: Collection[str], declared: Declaration
) -> Iterator[str]:
    """Yield lines about two arms: who is right where, and what looks brought and cost."""
    main, arms = declared.main_of_units.name, (arm_of(first), arm_of(second))
    if arms[0] == arms[1]:
        return
    right = [
        {
            one.key: value > 0
            for one in run.records()
            if (value := _main(one, unit_ids, main)) is not None
        }
        for run in (first, second)
    ]
    shared = right[0].keys() & right[1].keys()
    outcomes = [(right[0][key], right[1][key]) for key in shared]
    yield (
        f"right in both: {outcomes.count((True, True)):,}, only {arms[0]}: "
        f"{outcomes.count((True, False)):,}, only {arms[1]}: {outcomes.count((False, True)):,}, "
        f"in neither: {outcomes.count((False, False)):,}"
    )
    for mine, other in ((0, 1), (1, 0)):
        if arms[mine] == ARMS[0]:
            continue
        by_looks: dict[int, list[Unit[Any]]] = {}
        for one in (first, second)[mine].records():
            if one.key in shared:
                by_looks.setdefault(sum(_LOOK in id for id in one.calls), []).append(one)
        at_once = by_looks.get(0, ())
        if at_once and len(by_looks) > 1:
            shares = [_share(right[side][one.key] for one in at_once) for side in (mine, other)]
            yield (
                f"answered without a look, as {arms[mine]} chose (turns=0 gives a clean figure): "
                f"{counted(len(at_once), declared.unit, declared.units)}, {arms[mine]} "
                f"{shares[0]}, {arms[other]} {shares[1]}"
            )
        told = (
            f"{counted(looks, 'look')}: {counted(len(of), declared.unit, declared.units)}, "
            f"{_share(right[mine][one.key] for one in of)} right, {_tokens(of)} tokens each"
            for looks, of in sorted(by_looks.items())
        )
        if by_looks.keys() - {0}:
            yield f"{arms[mine]} by looks: {'; '.join(told)}"


def _main(one: Unit[Any], unit_ids: Collection[str], main: str) -> float | None:
    counts = one.unit_id in unit_ids and one.invalid is None
    return (one.scores or {}).get(main) if counts else None


def _share(right: Iterable[bool]) -> str:
    values = list(right)
    return f"{percent(sum(values) / len(values))} %"


def _tokens(units: Collection[Unit[Any]]) -> str:
    used = [one.usage.input + one.usage.output for one in units if one.usage]
    return f"{round(sum(used) / len(used)):,}" if used else "unknown"
