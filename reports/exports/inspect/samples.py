"""A unit of a run as a sample of an inspect_ai log, with what the page of its kind shows of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from inspect_ai.log import EvalError, EvalSample
from inspect_ai.model import ModelOutput, ModelUsage
from inspect_ai.scorer import Score

from harness.runs import CallRecord, Spent, Unit
from harness.runs.live_steps import Sight
from harness.runs.places import without_places
from parsers import Declaration
from parsers.records import Scores
from reports.errors import SUCCESS, UnitError
from reports.exports.facts import public_text
from reports.exports.inspect.talk import Show, Talk, model_usage
from reports.view.parts import UnitPage, UnitPart, part_of

Calls = Sequence[CallRecord]

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""The viewer shows choices under these, in their order."""
UNREAD = ("parse_error", "no_element", "ambiguous", "out_of_range")
REASONS = {
    "answered": None,
    "empty": "no_response",
    **dict.fromkeys(UNREAD, "invalid_response_format"),
}
"""inspect_ai's words for how an answer ended, where it has one."""
NOTHING = "–"
"""Texts of empty lines of the page."""


@dataclass(frozen=True, slots=True)
class Sampler:
    """Makes samples of the units of one run.

    new_id: returns the id of a thing of the run, by what names it.
    model: the model under test, as inspect_ai names models.
    counted: the scores that count, by unit and repeat (`reports.exports.results.counted`).
    """

    new_id: Callable[..., str]
    model: str
    declared: Declaration
    counted: Mapping[tuple[str, int], Scores]
    page: UnitPage
    show: Show

    def sample(self, record: Unit[Any], calls: Calls, error: UnitError) -> EvalSample:
        """Return the sample of a unit, from the calls of its last trial and its error class."""
        if record.error is not None:
            record = replace(record, error=without_places(record.error))
            error = replace(error, detail=without_places(error.detail))
        part = part_of(self.page, record, calls)
        talk = Talk.of(record, calls, self.show, self.model)
        for place, message in enumerate(talk.messages):
            message.id = self.new_id(record.unit_id, record.repeat, place)
        seconds = sum(call.reply.latency_s for call in calls if not call.from_cache) or None
        usage = self._usage(record, calls)
        goals = (Sight.of(call.act.observation, {}).goal for call in calls if call.act)
        unfinished = record.error or "no outcome on record"
        failed = record.error is not None or not (record.settled or record.invalid is not None)
        return EvalSample(
            id=record.unit_id,
            epoch=record.repeat + 1,
            input=record.goal or next(filter(None, goals), record.unit_id),
            choices=_choices(part),
            target=_answer(part, 0) if len(part.heads) > 1 else "",
            messages=talk.messages,
            output=talk.output or ModelOutput(model=self.model),
            scores=self._scores(record, part, error),
            metadata=self._metadata(record, part, error),
            model_usage=totals({model: used} for _, model, used in usage),
            role_usage={role: used for role, _, used in usage if role},
            total_time=seconds,
            working_time=seconds,
            turn_count=talk.turns,
            uuid=self.new_id(record.unit_id, record.repeat),
            # inspect_ai needs a traceback, and there is none.
            error=EvalError(message=unfinished, traceback=unfinished, traceback_ansi=unfinished)
            if failed
            else None,
        )

    def _scores(
        self, record: Unit[Any], part: UnitPart, error: UnitError
    ) -> dict[str, Score] | None:
        """Return a score for each measure of units, the main one first; None without an outcome.

        Where a unit does not count, or a measure was not measured, the score has no value.
        """
        counted, said = self.counted.get(record.key), record.prediction
        if counted is None and record.invalid is None and record.scores is None:
            return None
        scores, status = counted or {}, str(said.status) if said else ""
        answer = _answer(part, -1) if said else None
        reason = record.invalid or REASONS.get(status, status) or None
        found: dict[str, Score] = {}
        main = self.declared.main_of_units
        for measure in sorted(self.declared.of_units, key=lambda one: one is not main):
            value = scores.get(measure.name)
            if said and measure.unmeasured in said.flags:
                value = None
            found[measure.name] = Score(
                value=float("nan") if value is None else value,
                answer=answer,
                reason=reason,
                explanation=self._explanation(record, error) if measure is main else None,
            )
        return found

    def _explanation(self, record: Unit[Any], error: UnitError) -> str:
        """Return the outcome and the facts about a unit."""
        said, found = record.prediction, str(error.error_class)
        counts = record.key in self.counted
        if record.invalid is not None:
            return f"{'counts as a failure' if counts else 'not counted'}: {record.invalid}"
        flags = f"flags: {', '.join(said.flags)}" if said and said.flags else ""
        lines = [str(said.status) if said else "", "" if counts else "not counted", flags]
        if found != SUCCESS:
            lines.append(found if error.detail in ("", *lines) else f"{found}: {error.detail}")
        return "\n".join(filter(None, lines))

    def _usage(self, record: Unit[Any], calls: Calls) -> list[tuple[str, str, ModelUsage]]:
        """Return role, model and usage; of the model under test, the role is ""."""
        answered = ((call.role, call.reply.model) for call in calls if call.reply.model)
        models = {role: public_text("model", model) for role, model in answered}
        models[""], used = self.model, []
        own = Spent(len(calls), record.usage, record.cost)
        for role, spent in (record.roles or {"": own}).items():
            if spent.usage is not None:
                tokens = model_usage(spent.usage)
                tokens.total_cost = spent.cost
                used.append((role, models.get(role, role), tokens))
        return used

    def _metadata(self, record: Unit[Any], part: UnitPart, error: UnitError) -> dict[str, Any]:
        """Return the facts about a unit without another place in a sample."""
        said = record.prediction
        declared = {measure.name for measure in self.declared.of_units}
        scores = (record.scores or {}).items()
        facts: dict[str, Any] = {
            listed.title.lower().replace(" ", "_"): [item.text for item in listed.items]
            for listed in part.lists
            if all(item.letter is None for item in listed.items)
        }
        facts |= {
            "split": record.split,
            **record.labels,
            **record.parents,
            "position": record.place,
            "status": str(said.status) if said else None,
            "flags": list(said.flags) if said else None,
            "error_class": str(error.error_class),
            "invalid": record.invalid,
            "cost": record.cost,
            "source": record.source.replace("\\", "/").rsplit("/", 1)[-1],
            "other_scores": {k: v for k, v in scores if k not in declared and v is not None},
            "detail": msgspec.to_builtins(part.raw),
        }
        return {name: one for name, one in facts.items() if one not in (None, "", [], {})}


def totals(used: Iterable[Mapping[str, ModelUsage]]) -> dict[str, ModelUsage]:
    """Return the sums of tokens, by model or role."""
    found: dict[str, ModelUsage] = {}
    for name, one in (item for usage in used for item in usage.items()):
        found[name] = found[name] + one if name in found else one
    return found


def _answer(part: UnitPart, place: int) -> str:
    """Return one side of the lines of the page: `element: B <button>`."""
    cells = ((line.name, line.cells[place]) for line in part.lines if line.cells)
    texts = ((name, f"{cell.text}{cell.code}".strip()) for name, cell in cells)
    return "\n".join(f"{name}: {text}" for name, text in texts if text not in ("", NOTHING))


def _choices(part: UnitPart) -> list[str] | None:
    """Return the choices, if they were listed under the viewer's letters."""
    for listed in part.lists:
        letters = "".join(item.letter or "-" for item in listed.items)
        if letters and LETTERS.startswith(letters):
            return [item.text for item in listed.items]
    return None
