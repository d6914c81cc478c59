"""One model asked through its own tool, through functions of ours, or in words.

The difference of two such arms has a name (`native − prompted`) only where nothing else differs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from harness.runs import Run, Unit
from harness.tables import bounds, counted, percent
from parsers import Declaration, ScoredUnit
from parsers.measure import PREDICTED
from parsers.records import Status
from reports.comparison.pairing import UnitName, unit_name
from reports.frames.rows import RunRows
from reports.settings import Setting, settings_of
from reports.statistics.paired import Difference

OTHERWISE = "other settings differ"
ARMS = ("prompted", "functions", "native")
"""Each before those that are compared with it."""
_FREE = frozenset(
    (
        *("protocol", "tool", "form", "family", "coordinates", "turns", "pairs", "zoom", "extras"),
        *("members", "choice", "tool_choice", "prompts", "prompts_sha256", "acts", "tools"),
    )
)
"""Settings that make an arm."""
_NAMED = frozenset(("batch", "state", "refusals", "wire", "api", "store"))
"""Settings that may differ, and are named."""
_OF_TOOLS: Mapping[str, Setting] = {"past": "neutral"}
"""Settings of prompts that tools do not have, with what a tool is asked by."""
_LOOK, _PAIR = "/look-", "/pair"
AT_ONCE = "at once"
"""The units that a model asked through a tool has decided without a look."""


def arm_of(run: Run) -> str:
    """Return the arm of a run."""
    settings = settings_of(run.manifest)
    tool = settings.get("protocol_option.tool") or settings.get("model.tool")
    return "prompted" if tool is None else "functions" if tool == "functions" else "native"


@dataclass(frozen=True, slots=True)
class Bracket:
    """The difference of a tool from a prompt on pages where a press and its text are one step.

    turn: where a reply alone counts, which costs a tool that does not batch.
    next: where the text of a field may come in one more reply, which no prompted model gets.
    called: what both ends agree on with their intervals; None where they do not.
    """

    turn: Difference
    next: Difference
    called: Literal["gain", "loss"] | None

    def __str__(self) -> str:
        return f"{_points(self.turn)} by `turn` and {_points(self.next)} by `next`"


def _points(one: Difference) -> str:
    interval = bounds(one.low, one.high, few=one.few, style="points")
    return f"{100 * one.difference:+.1f} {interval}".rstrip()


@dataclass(frozen=True, slots=True)
class Looks:
    """Units of an arm with so many looks (None: those that ran out of turns), the share of them
    that is right, and their tokens each, None where no usage is known."""

    looks: int | None
    units: int
    right: float
    tokens: float | None


@dataclass(frozen=True, slots=True)
class OfArm:
    """Facts about the shared units of one arm.

    looks: by their number; () for prompts.
    answers: predictions.
    extras: of these, such as came from a function beside the tool.
    pairs: units about which one more reply was read for the text of a field.
    typed: of these, such as became another action by it.
    clicks: clicks on the right field where a text is recorded.
    first_input, first_cached: mean tokens of the first call, and of these from the prompt cache;
        None where no usage is known.
    """

    arm: str
    looks: tuple[Looks, ...]
    answers: int
    extras: int
    pairs: int
    typed: int
    clicks: int
    first_input: float | None
    first_cached: float | None


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about two arms.

    name: what their difference is called.
    right: the shared units that both, only the first, only the second and neither got right.
    bracket: None where only one rule reads the replies, or both arms have the same rules.
    even: whether the difference may be split with a third arm.
    """

    name: str
    right: tuple[int, int, int, int]
    arms: tuple[OfArm, OfArm]
    bracket: Bracket | None
    even: bool


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
    sides = [
        {**({} if arm == ARMS[0] else _OF_TOOLS), **{own_name(name): side[name] for name in side}}
        for arm, side in zip(arms, (ours, theirs), strict=True)
    ]
    differing = [
        name
        for name in sorted(sides[0].keys() & sides[1].keys() - _FREE)
        if sides[0][name] != sides[1][name]
    ]
    told = ", ".join(f"{name} ({sides[0][name]} against {sides[1][name]})" for name in differing)
    if differing and not _NAMED.issuperset(differing):
        return f"{OTHERWISE}: {told}"
    return f"{arms[1]} − {arms[0]}" + (f", with {told}" if told else "")


def subsets(
    first: RunRows, second: RunRows, units: Sequence[ScoredUnit], declared: Declaration
) -> dict[str, set[UnitName]]:
    """Return the units that two arms are also compared on, by name: those of each right action,
    and those that the model with the tool has settled at once. {} for two runs of one arm."""
    arms = arm_of(first.run), arm_of(second.run)
    if arms[0] == arms[1]:
        return {}
    found: dict[str, set[UnitName]] = {}
    group = next((one.name for one in declared.groups if one.name in PREDICTED), None)
    for unit in units if group else ():
        name = unit_name(unit.split, unit.unit_id, declared)
        found.setdefault(unit.group(group or ""), set()).add(name)
    with_tool = max(first, second, key=lambda rows: ARMS.index(arm_of(rows.run)))
    looked = {
        unit_name(one.split, one.unit_id, declared)
        for one in with_tool.run.records()
        if _looks(one)
    }
    shared = {unit_name(unit.split, unit.unit_id, declared) for unit in units}
    if shared & looked:
        found[AT_ONCE] = shared - looked
    return {name: keys for name, keys in sorted(found.items()) if name and keys}


def facts(
    first: RunRows,
    second: RunRows,
    name: str,
    units: Sequence[ScoredUnit],
    declared: Declaration,
    differences: Mapping[str, Difference],
) -> Facts | None:
    """Return what two arms are compared by, next to their differences; None for runs of one arm.

    name: of the difference.
    units: those that both have.
    differences: of measures by name, under the average of the headline.
    """
    both = first, second
    arms = arm_of(first.run), arm_of(second.run)
    if arms[0] == arms[1]:
        return None
    main = declared.main_of_units.name
    shared = {unit_name(one.split, one.unit_id, declared) for one in units}
    right: list[dict[Key, bool]] = []
    for rows in both:
        right.append(
            {
                (unit_id, repeat): value > 0
                for repeat, unit in rows.trials
                if (unit_id := unit_name(unit.split, unit.unit_id, declared)) in shared
                and unit.invalid is None
                and (value := (unit.scores or {}).get(main)) is not None
            }
        )
    keys = right[0].keys() & right[1].keys()
    outcomes = [(right[0][key], right[1][key]) for key in keys]
    options = [settings_of(rows.run.manifest) for rows in both]
    return Facts(
        name,
        (
            outcomes.count((True, True)),
            outcomes.count((True, False)),
            outcomes.count((False, True)),
            outcomes.count((False, False)),
        ),
        (
            _of_arm(first, arms[0], right[0], keys, declared),
            _of_arm(second, arms[1], right[1], keys, declared),
        ),
        None if name.startswith(OTHERWISE) else _bracket(both, main, differences),
        all(
            one.get("protocol_option.turns", 0) == 0
            and one.get("protocol_option.pairs", "turn") == "turn"
            for one in options
        ),
    )


Key = tuple[UnitName, int]


def _of_arm(
    rows: RunRows, arm: str, right: Mapping[Key, bool], keys: Collection[Key], declared: Declaration
) -> OfArm:
    listed = {
        key: one
        for one in rows.run.records()
        if (key := (unit_name(one.split, one.unit_id, declared), one.repeat)) in keys
    }
    by_looks: dict[int | None, list[Key]] = {}
    for key, one in listed.items():
        out = one.prediction is not None and one.prediction.status is Status.OUT_OF_TURNS
        by_looks.setdefault(None if out else _looks(one), []).append(key)
    looks = [
        Looks(
            number,
            len(of),
            sum(right[key] for key in of) / len(of),
            _mean([one.usage.input + one.usage.output for key in of if (one := listed[key]).usage]),
        )
        for number, of in sorted(by_looks.items(), key=lambda item: (item[0] is None, item[0]))
    ]
    said = [(one, one.prediction) for one in listed.values() if one.prediction is not None]
    paired = [said for one, said in said if any(id.endswith(_PAIR) for id in one.calls)]
    begun = {one.calls[0] for one in listed.values() if one.calls}
    first = [call.reply.usage for call in rows.run.calls() if call.id in begun and call.reply.usage]
    return OfArm(
        arm,
        () if arm == ARMS[0] else tuple(looks),
        len(said),
        sum("extra" in prediction.parsed for _, prediction in said),
        len(paired),
        sum(
            (turn := one.by_rule.get("turn")) is not None and turn.operation != one.operation
            for one in paired
        ),
        sum(
            (prediction.operation, one.labels.get("operation")) == ("CLICK", "TYPE")
            and (one.scores or {}).get("element") == 1
            for one, prediction in said
        ),
        _mean([usage.input for usage in first]),
        _mean([usage.cached for usage in first]),
    )


def _bracket(
    runs: tuple[RunRows, RunRows], main: str, differences: Mapping[str, Difference]
) -> Bracket | None:
    rules = [
        settings_of(rows.run.manifest).get("protocol_option.acts")
        for rows in runs
        if arm_of(rows.run) != ARMS[0]
    ]
    if rules != ["next"] or not {main, f"{main}.turn"} <= differences.keys():
        return None
    turn, following = differences[f"{main}.turn"], differences[main]
    lows, highs = zip(
        *((one.low or 0.0, one.high or 0.0) for one in (turn, following)), strict=True
    )
    called: Literal["gain", "loss"] | None = None
    if min(lows) > 0:
        called = "gain"
    elif max(highs) < 0:
        called = "loss"
    return Bracket(turn, following, called)


def lines(of: Facts, declared: Declaration) -> Iterator[str]:
    """Yield what is said about two arms above the table of their differences."""
    first, second = of.arms
    both, only_first, only_second, neither = of.right
    yield (
        f"right in both: {both:,}, only {first.arm}: {only_first:,}, only {second.arm}: "
        f"{only_second:,}, in neither: {neither:,}"
    )
    if (bracket := of.bracket) is not None:
        yield f"{of.name} lies between {bracket}: {bracket.called or 'neither a gain nor a loss'}"
    if first.clicks or second.clicks:
        yield (
            f"clicks on the right field where a text is recorded: {first.clicks:,} of "
            f"{first.arm}, {second.clicks:,} of {second.arm}"
        )
    for one in of.arms:
        if one.pairs:
            yield (
                f"{one.arm} pressed a field alone, and one more reply was read, in {one.pairs:,} "
                f"of {counted(one.answers, declared.unit, declared.units)}: {one.typed:,} became "
                "another action"
            )
        if any(group.looks != 0 for group in one.looks):
            told = (
                f"{'out of turns' if group.looks is None else counted(group.looks, 'look')}: "
                f"{counted(group.units, declared.unit, declared.units)}, "
                f"{percent(group.right)} % right, {_tokens(group.tokens)} tokens each"
                for group in one.looks
            )
            yield f"{one.arm} by looks: {'; '.join(told)}"
            if one.arm == max(first.arm, second.arm, key=ARMS.index):
                yield (
                    f"`{AT_ONCE}`: the {declared.units} that {one.arm} decided without a look, as "
                    "it chose; a run with turns=0 gives a clean figure"
                )
        if one.extras:
            yield (
                f"{one.arm}: {percent(one.extras / one.answers)} % of the predictions came from "
                "functions beside the tool"
            )
    if first.first_input is not None and second.first_input is not None:
        inputs = (
            f"{one.arm} {_tokens(one.first_input)} ({_tokens(one.first_cached)} cached)"
            for one in of.arms
        )
        more = round(second.first_input - first.first_input)
        yield (
            f"input tokens of a first call: {', '.join(inputs)}; {more:+,} with the definition of "
            f"the tool of {second.arm}"
        )
    if not of.even and ARMS[1] in (first.arm, second.arm):
        yield (
            f"{ARMS[1]} − {ARMS[0]} and {ARMS[2]} − {ARMS[1]} split the difference fairly only "
            "with turns=0 and pairs=turn"
        )


def _looks(one: Unit[Any]) -> int:
    return sum(_LOOK in id for id in one.calls)


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _tokens(value: float | None) -> str:
    return "unknown" if value is None else f"{round(value):,}"
