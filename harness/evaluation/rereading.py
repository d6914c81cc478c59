"""Going on with a run whose replies were read by an older edition of the reading rules.

Its settled steps are read anew before anything is sent. Those that come out as before, which the
record alone can tell, are left as they are. The others are asked again from the data, up to the
first question that is not on record: the conversations on record must be the very ones that the
dialogue now holds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adapters import Usage
from harness.dialogue import Call, Dialogue, Result, hold_turns
from harness.evaluation.rescoring import (
    Calls,
    NotOnRecord,
    StepKey,
    check_questions,
    is_read,
    reread,
)
from harness.evaluation.scoring import scorer_of
from harness.evaluation.units import Question
from harness.protocols import AskingProtocol, held
from harness.runs import (
    CallRecord,
    RecordedCalls,
    Revision,
    Run,
    RunError,
    Setup,
    UnitRecord,
    check_same,
    manifest_before,
    name_of,
    open_run,
    roles_of,
    sizes_of,
    tiers_of,
)
from harness.settings import Settings
from parsers import READING
from parsers.records import Prediction

ERROR = "read anew: newer reading rules ask something that is not on record"
"""Why a step that was settled is asked again."""


@dataclass(frozen=True)
class Rereading:
    """What reading a run anew changes.

    revision: the changes on disk.
    edition: that of the rules by which the run was read.
    changed: number of settled steps whose prediction is another one now.
    asked: calls on record of the steps that are asked again, by place.
    """

    revision: Revision
    edition: int
    changed: int
    asked: Mapping[StepKey, Calls]

    @property
    def counts(self) -> dict[str, int]:
        """What came of it, for the session's record."""
        read = self.revision.reread
        return {"steps": read, "changed": self.changed, "asked": len(self.asked)}


def rereading(
    path: Path,
    setup: Callable[[], Setup],
    settings: Settings,
    protocol: AskingProtocol,
    questions: Callable[[Collection[str]], Iterator[Question]],
) -> Rereading | None:
    """What an older run at `path` needs before it goes on; None if nothing.

    `setup` finds out what is to be run, `questions` makes the questions of some steps, by their
    ids. Raises `RunError` for a run that cannot be continued, `DataError` for a row that is gone.
    """
    manifest = manifest_before(path)
    if manifest is None or manifest.reading == READING:
        return None
    if manifest.reading > READING:
        raise RunError(
            f"{path} was read by edition {manifest.reading} of the reading rules, and this version "
            f"of vlm-eval knows {READING}: install a newer one"
        )
    check_same(path, manifest, setup())
    sizes, run = sizes_of(path), open_run(path)
    calls = RecordedCalls(run.calls())
    records = {(record.unit_id, record.repeat): record for record in run.records()}
    unused: set[str] = set()

    def shuffle(key: StepKey) -> int:
        return key[1] if settings.shuffles > 1 else 0

    doubtful = calls.keys() - records.keys()
    for key, record in records.items():
        of_step = calls.of(key)
        if not record.settled:
            doubtful |= {key} & calls.keys()
        elif is_read(record):
            if _reads_as_before(protocol, run, record, of_step, shuffle(key)):
                unused |= _own(of_step) - set(record.calls)
            else:
                doubtful.add(key)
    score = scorer_of(settings, manifest.declaration)
    lines: list[UnitRecord[Any]] = []
    asked: dict[StepKey, Calls] = {}
    changed = 0
    for key, question in _of_dialogues(questions, doubtful):
        of_step = calls.of(key)
        question = question.shuffled(shuffle(key))
        dialogue = held(protocol, question.asked, run.manifest.declaration.actions)
        prediction, used = _held(dialogue, run, key[1], of_step)
        unused |= _own(of_step) - {call.id for call in used}
        old = records.get(key)
        if old is None or not old.settled:
            continue
        if prediction is None:
            asked[key] = {call.place: call for call in used}
            lines.append(replace(old, settled=False, error=ERROR, prediction=None, scores=None))
            continue
        changed += prediction != old.prediction
        scores = score(prediction, old.detail)
        lines.append(
            replace(old, prediction=prediction, scores=scores, **_sums(used, calls.paid(key, used)))
        )
    count = sum(map(is_read, records.values()))
    revision = Revision(READING, count, tuple(lines), frozenset(unused), sizes)
    return Rereading(revision, manifest.reading, changed, asked)


def _reads_as_before(
    protocol: AskingProtocol, run: Run, record: UnitRecord[Any], calls: Calls, shuffle: int
) -> bool:
    try:
        prediction, used = reread(protocol, run, record, calls, shuffle)
        check_questions(protocol, run, record, calls, shuffle, prediction)
    except NotOnRecord:
        return False
    return (prediction, used) == (record.prediction, record.calls)


def _of_dialogues(
    questions: Callable[[Collection[str]], Iterator[Question]], keys: Collection[StepKey]
) -> Iterator[tuple[StepKey, Question]]:
    """The questions of some dialogues, in the order of the rows."""
    for question in questions({step_id for step_id, _ in keys}) if keys else ():
        for key in sorted(key for key in keys if key[0] == question.unit_id):
            yield key, question


def _own(calls: Calls) -> set[str]:
    """The ids of a dialogue's own calls; shared ones are others' as well."""
    return {call.id for call in calls.values() if not call.asked_by}


def _held(
    dialogue: Dialogue, run: Run, repeat: int, calls: Calls
) -> tuple[Prediction | None, list[CallRecord]]:
    """Hold a dialogue as far as the calls on record go.

    Returns its prediction, None if it asks something else, and the calls that it used.
    """
    used: list[CallRecord] = []

    def answer(asks: tuple[Call, ...]) -> list[Result]:
        named = [(ask, name_of(ask, repeat)) for ask in asks]
        found = [(ask, calls[name]) for ask, name in named if name in calls]
        fitting = [call for ask, call in found if call.conversation == ask.digest()]
        used.extend(fitting)
        if len(fitting) < len(asks):
            raise NotOnRecord("a question of this dialogue is not on record")
        return list(map(run.result_of, fitting))

    try:
        return hold_turns(dialogue, answer), used
    except NotOnRecord:
        return None, used


def _sums(used: Sequence[CallRecord], paid: Sequence[CallRecord]) -> dict[str, Any]:
    """What a step's line says of its calls, and of those that were made for it."""
    usages = [call.reply.usage for call in paid if call.reply.usage]
    costs = [call.cost for call in paid if call.cost is not None]
    return {
        "calls": tuple(call.id for call in used),
        "usage": sum(usages, Usage()) if usages else None,
        "cost": sum(costs) if costs else None,
        "roles": roles_of(paid),
        "tiers": tiers_of(paid),
    }
