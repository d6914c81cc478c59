"""Reports on episodes: live pages and agents that take turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.runs import CallRecord, Run, Unit
from harness.runs.live_steps import LiveStep, steps_taken
from parsers import Declaration
from parsers.actions import Action
from parsers.live import IDLE, LIMIT, STOPPED
from parsers.records import ENVIRONMENT_ERROR
from reports.errors import FAILED, SUCCESS, UNSETTLED, ClassInfo, UnitError, UnitErrors, short
from reports.frames.units import Getter, KindColumns, unit_column
from reports.keys import UNKNOWN, Group, Key, banded
from reports.kind import KindReports
from reports.settings import Setting
from reports.view.parts import (
    LONGEST,
    ComparedCell,
    ComparedLine,
    DrawnBox,
    Frame,
    UnitPage,
    UnitPart,
)

if TYPE_CHECKING:
    from reports.frames.rows import RunRows


class End(NamedTuple):
    """Return the end of an episode; None if it is not recorded.

    how: one of the ends in `parsers.live`, or the page's own words.
    steps: how many it took.
    reward: as the environment gave it.
    """

    how: str
    steps: int | None
    reward: float | None


def ended(record: Unit[Any]) -> End | None:
    """Return the end of an episode; None without a final outcome that counts."""
    said = record.prediction
    if said is None or not record.settled or record.invalid is not None:
        return None
    how, steps, reward = (said.parsed.get(name) for name in ("end", "steps", "reward"))
    return End(
        how if isinstance(how, str) and how else str(said.status),
        steps if isinstance(steps, int) and not isinstance(steps, bool) else None,
        float(reward) if isinstance(reward, int | float) and not isinstance(reward, bool) else None,
    )


def _of_end(name: str) -> Getter:
    def get(record: Unit[Any]) -> object:
        end = ended(record)
        return None if end is None else getattr(end, name)

    return get


EPISODE_COLUMNS = KindColumns(
    outcome=(
        unit_column("reward", "float64", "as the environment gave it", _of_end("reward")),
        unit_column("steps", "Int64", "steps taken until the end", _of_end("steps")),
        unit_column("end", "category", "how it ended, in the page's words", _of_end("how")),
    ),
)


NO_ACTION, EARLY, CIRCLES, LIMITED = "no_action", "stopped_early", "in_circles", "step_limit"
ALIKE = 3
"""Equal actions at the end of an episode that are a circle."""

_ENVIRONMENT = ClassInfo(
    ENVIRONMENT_ERROR,
    "environment failed",
    "not counted",
    "its page or its browser failed twice; the model did not fail",
)
_WRONG = (
    ClassInfo(NO_ACTION, "no action", "no answer", "replies in a row named no action"),
    ClassInfo(
        EARLY, "stopped too early", "wrong", "the model said that it is done, and it was not"
    ),
    ClassInfo(
        CIRCLES,
        "the same action again",
        "wrong",
        f"no step was left, and the last {ALIKE} actions were the same one",
    ),
    ClassInfo(LIMITED, "no step left", "wrong", "the task was not done within its steps"),
    ClassInfo(
        FAILED, "wrong action", "wrong", "the page ended the episode; the detail is what it said"
    ),
)


class EpisodeErrors(UnitErrors):
    """The general classes, with failures classified by the end of the episode."""

    wrong = _WRONG

    def classes(self, declared: Declaration) -> tuple[ClassInfo, ...]:
        return (_ENVIRONMENT, *super().classes(declared))

    def refined(self, run: Run, record: Unit[Any], found: UnitError) -> UnitError:
        """Return the class of an episode, from its line and, where no step was left, its calls."""
        if record.invalid == ENVIRONMENT_ERROR:
            return replace(found, error_class=ENVIRONMENT_ERROR, detail=short(record.error or ""))
        end = ended(record)
        if end is None or found.error_class in (SUCCESS, UNSETTLED):
            return found
        reward = "" if end.reward is None else f"reward {end.reward:g}"
        said = record.prediction
        if end.how == IDLE or (end.how == LIMIT and said and said.action is None):
            return replace(found, error_class=NO_ACTION, detail=str(said.status) if said else "")
        if end.how == STOPPED:
            return replace(found, error_class=EARLY, detail=reward)
        if end.how == LIMIT:
            in_circles = _in_circles(run, record)
            return replace(found, error_class=CIRCLES if in_circles else LIMITED, detail=reward)
        if found.error_class != FAILED:
            return found
        return replace(found, detail=short(f"{end.how}{f', {reward}' if reward else ''}"))


def _in_circles(run: Run, record: Unit[Any]) -> bool:
    """Return True if the last actions were the same one."""
    done = [step.done for step in steps_taken(run.calls_of(record.unit_id, record.repeat))]
    last = [one.action for one in done if one is not None][-ALIKE:]
    return len(last) == ALIKE and all(one == last[0] for one in last)


MOST = 6
"""Maximum number of ends that are listed one by one; pages may use any words for theirs."""


def episode_facts(rows: RunRows) -> Mapping[str, str]:
    """Count the ends of episodes, and return their mean number of steps."""
    known = rows.frame.dropna(subset=["end"])
    counts = Counter(known["end"].astype("str"))
    if not counts:
        return {}
    ends = [f"{name} {count:,}" for name, count in sorted(counts.items(), key=_often)]
    rest = sum(count for _, count in sorted(counts.items(), key=_often)[MOST:])
    ends = [*ends[:MOST], *([f"others {rest:,}"] if rest else [])]
    facts = {"ended": ", ".join(ends)}
    steps = known["steps"].dropna()
    if len(steps):
        facts["steps per episode"] = f"{mean(map(int, steps)):.2f}"
    return facts


def episode_keys(run: Run, values: Mapping[str, Setting]) -> dict[str, str]:
    """Return the step limits of episodes, for comparisons with published results."""
    limit = values.get("max_steps")
    return {"max_steps": "the task's" if limit is None else str(limit)}


def _often(one: tuple[str, int]) -> tuple[int, str]:
    return -one[1], one[0]


LENGTHS = (1, 2, 3, 4, 5, 6, 8, 11, 21)


def _ends(rows: RunRows) -> list[Group]:
    ends = rows.frame["end"].astype("object")
    return [(0.0, str(end)) if end == end and end else (1.0, UNKNOWN) for end in ends]


EPISODE_GROUPS = {
    "steps": Key("steps that an episode took", banded("steps", LENGTHS)),
    "end": Key("how an episode ended", _ends),
}


TAG = 24
"""Longest text next to a mark, in characters."""


class EpisodePage(UnitPage):
    """Episodes step by step."""

    same = "ended in the same way"
    searched = "goal, end, id"

    def answer(self, record: Unit[Any]) -> str | None:
        """Return the number of steps of an episode, and its end."""
        end = ended(record)
        if end is None:
            return None
        steps = "" if end.steps is None else f"{end.steps} step{'s' * (end.steps != 1)}: "
        return f"{steps}{end.how}"[:LONGEST]

    def part(self, record: Unit[Any], calls: Sequence[CallRecord]) -> UnitPart:
        """Return the result of an episode, its task as recorded, and its steps."""
        lines, strip = list(_lines(record)), _strip(record, calls)
        return UnitPart(heads=("episode",), lines=lines, raw=record.detail, strip=strip)


def _strip(record: Unit[Any], calls: Sequence[CallRecord]) -> list[Frame]:
    """Return a frame for every step, and one for the end."""
    steps = steps_taken(calls)
    last, goal = len(steps) - 1, record.goal
    frames = []
    for place, step in enumerate(steps):
        frame = _frame(str(place + 1) if place < last else "end", step)
        frames.append(frame._replace(goal=step.seen.goal if step.seen.goal != goal else ""))
        goal = step.seen.goal
    if record.invalid == ENVIRONMENT_ERROR and frames:
        # Its last action is on record nowhere, as nothing came back.
        where = max(0, last - 1)
        reason = f"the environment failed: {record.error or 'unknown'}"
        frames[where] = frames[where]._replace(after=reason, failed=True)
    return frames


def _lines(record: Unit[Any]) -> Iterator[ComparedLine]:
    end = ended(record)
    if end is None:
        return
    yield ComparedLine("end", (ComparedCell(end.how),))
    yield ComparedLine("steps", (ComparedCell("–" if end.steps is None else str(end.steps)),))
    yield ComparedLine("reward", (ComparedCell("–" if end.reward is None else f"{end.reward:g}"),))


def _frame(head: str, step: LiveStep) -> Frame:
    if head == "end":
        return Frame(head, "", step.seen.screenshot, step.seen.size, after=step.seen.outcome)
    shown = Frame(head, "", step.seen.screenshot, step.seen.size, said=step.said)
    if step.done is None:
        return shown._replace(after="no action", failed=True)
    done, action, after = step.done, step.done.action, step.after
    # Characters that are shown as their codes would make a mark wider than its picture.
    tag = "".join(one if one.isprintable() else "�" for one in done.short[: TAG + 1])
    tag = tag if len(tag) <= TAG else tag[: TAG - 1] + "…"
    return shown._replace(
        boxes=[DrawnBox("chosen", done.box, tag)] if done.box and not action.point else [],
        point=action.point,
        mark=tag if action.point else "",
        to=_dragged_to(action),
        action=done.told,
        after="" if after is None or after.ended else after.outcome,
        failed=bool(after and after.error),
    )


def _dragged_to(action: Action) -> tuple[float, float] | None:
    x, y = action.arguments.get("to_x"), action.arguments.get("to_y")
    return (x, y) if isinstance(x, int | float) and isinstance(y, int | float) else None


EPISODE_REPORTS = KindReports(
    errors=EpisodeErrors(),
    page=EpisodePage(),
    columns=EPISODE_COLUMNS,
    groups=EPISODE_GROUPS,
    facts=episode_facts,
    published_keys=episode_keys,
    status_note="An episode that ended has the status 'answered', with any reward.",
)
