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

from adapters import Reply, Usage
from harness.dialogue import Call, Dialogue, hold_turns
from harness.evaluation.questions import Question
from harness.evaluation.rescoring import (
    Calls,
    NotOnRecord,
    StepKey,
    calls_by_step,
    check_questions,
    is_read,
    reread,
)
from harness.evaluation.summary import scoring_rules
from harness.protocols.contract import AskingProtocol
from harness.runs import (
    CallRecord,
    Revision,
    RunError,
    Setup,
    StepRecord,
    check_same,
    manifest_before,
    open_run,
    sizes_of,
)
from harness.settings import Settings
from parsers import READING, score
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
    calls = calls_by_step(run)
    records = {(record.unit_id, record.repeat): record for record in run.records()}
    unused: set[str] = set()

    def shuffle(key: StepKey) -> int:
        return key[1] if settings.shuffles > 1 else 0

    doubtful = calls.keys() - records.keys()
    for key, record in records.items():
        of_step = calls.get(key, {})
        if not record.settled:
            doubtful |= {key} & calls.keys()
        elif is_read(record):
            if _reads_as_before(protocol, record, of_step, shuffle(key)):
                unused |= {call.id for call in of_step.values()} - set(record.calls)
            else:
                doubtful.add(key)
    rules = scoring_rules(settings)
    lines: list[StepRecord] = []
    asked: dict[StepKey, Calls] = {}
    changed = 0
    for key, question in _of_dialogues(questions, doubtful):
        step, of_step = replace(question.step, shuffle=shuffle(key)), calls.get(key, {})
        prediction, used = _held(protocol.dialogue(step, question.choices), of_step)
        unused |= {call.id for call in of_step.values()} - {call.id for call in used}
        old = records.get(key)
        if old is None or not old.settled:
            continue
        if prediction is None:
            asked[key] = {call.place: call for call in used}
            lines.append(replace(old, settled=False, error=ERROR, prediction=None, scores=None))
            continue
        changed += prediction != old.prediction
        scores = score(prediction, old.detail.gold, rules)
        lines.append(replace(old, prediction=prediction, scores=scores, **_sums(used)))
    count = sum(map(is_read, records.values()))
    revision = Revision(READING, count, tuple(lines), frozenset(unused), sizes)
    return Rereading(revision, manifest.reading, changed, asked)


def _reads_as_before(
    protocol: AskingProtocol, record: StepRecord, calls: Calls, shuffle: int
) -> bool:
    try:
        prediction, used = reread(protocol, record, calls, shuffle)
        check_questions(protocol, record, calls, shuffle, prediction)
    except NotOnRecord:
        return False
    return (prediction, used) == (record.prediction, record.calls)


def _of_dialogues(
    questions: Callable[[Collection[str]], Iterator[Question]], keys: Collection[StepKey]
) -> Iterator[tuple[StepKey, Question]]:
    """The questions of some dialogues, in the order of the rows."""
    for question in questions({step_id for step_id, _ in keys}) if keys else ():
        for key in sorted(key for key in keys if key[0] == question.step.step_id):
            yield key, question


def _held(dialogue: Dialogue, calls: Calls) -> tuple[Prediction | None, list[CallRecord]]:
    """Hold a dialogue as far as the calls on record go.

    Returns its prediction, None if it asks something else, and the calls that it used.
    """
    used: list[CallRecord] = []

    def answer(asks: tuple[Call, ...]) -> list[Reply]:
        found = [(ask, calls[ask.place]) for ask in asks if ask.place in calls]
        fitting = [call for ask, call in found if call.conversation == ask.digest()]
        used.extend(fitting)
        if len(fitting) < len(asks):
            raise NotOnRecord("a question of this dialogue is not on record")
        return [call.reply for call in fitting]

    try:
        return hold_turns(dialogue, answer), used
    except NotOnRecord:
        return None, used


def _sums(used: Sequence[CallRecord]) -> dict[str, Any]:
    """What a step's line says of its calls."""
    usages = [call.reply.usage for call in used if call.reply.usage]
    costs = [call.cost for call in used if call.cost is not None]
    return {
        "calls": tuple(call.id for call in used),
        "usage": sum(usages, Usage()) if usages else None,
        "cost": sum(costs) if costs else None,
    }
