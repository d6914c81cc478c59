"""A unit of a run as a sample of an inspect_ai log.

The page of its kind (`UnitPage.part`) adds the data of the kind: the lines
that hold what was answered against what is right, and the lists of choices and earlier actions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from inspect_ai.log import EvalError, EvalSample
from inspect_ai.model import ModelOutput, ModelUsage
from inspect_ai.scorer import Score

from adapters.inspect import Show, model_usage, score_reason
from harness.runs import CallRecord, Spent, Unit
from parsers import Declaration
from parsers.records import Scores
from reports.errors import SUCCESS, UnitError
from reports.exports.facts import answered, goal_of, public_text, right_answer, without_places
from reports.exports.inspect.pictures import id_of
from reports.exports.inspect.talk import Talk
from reports.view.parts import Part, UnitPage, part_of

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""The viewer shows choices under these, in their order."""


@dataclass(frozen=True, slots=True)
class Sampler:
    """Makes samples of the units of one run.

    run_id: part of every id.
    model: the model under test, as inspect_ai names models.
    roles: the models of other roles, likewise, if known.
    declared: what the benchmark declares.
    variant: of the measure that has several, the one of the run's headline.
    counted: the scores that count, by unit and repeat (`reports.exports.results.counted`).
    page: what the page shows of units of this kind.
    show: maps pictures to message content.
    """

    run_id: str
    model: str
    roles: Mapping[str, str]
    declared: Declaration
    variant: str
    counted: Mapping[tuple[str, int], Scores]
    page: UnitPage
    show: Show

    def sample(
        self, record: Unit[Any], calls: Sequence[CallRecord], error: UnitError
    ) -> EvalSample:
        """Return the sample of a unit; `calls` are those of its last trial, `error` is its
        class."""
        if record.error is not None:
            record = replace(record, error=without_places(record.error))
            error = replace(error, detail=without_places(error.detail))
        part, talk = part_of(self.page, record), Talk.of(record, calls, self.show, self.model)
        for place, message in enumerate(talk.messages):
            message.id = id_of(self.run_id, record.unit_id, record.repeat, place)
        seconds = sum(call.reply.latency_s for call in calls if not call.from_cache)
        usage = self._usage(record, calls)
        return EvalSample(
            id=record.unit_id,
            epoch=record.repeat + 1,
            input=goal_of(record, calls) or record.unit_id,
            choices=_choices(part),
            target=right_answer(part),
            messages=talk.messages,
            output=talk.output or ModelOutput(model=self.model),
            scores=self._scores(record, part, error),
            metadata=self._metadata(record, calls, part, error),
            model_usage=_by_model(usage),
            role_usage={role: used for role, _, used in usage if role},
            total_time=seconds or None,
            working_time=seconds or None,
            turn_count=talk.turns,
            uuid=id_of(self.run_id, record.unit_id, record.repeat),
            error=_error(record),
        )

    def _scores(self, record: Unit[Any], part: Part, error: UnitError) -> dict[str, Score] | None:
        """Return a score for each measure of units, the main one first; None without an outcome.

        Where a unit does not count, or a measure was not measured, the score has no value.
        """
        scores = self.counted.get(record.key)
        if scores is None and record.invalid is None and record.scores is None:
            return None
        said, scores = record.prediction, scores or {}
        known: dict[str, Any] = {
            "answer": answered(part) if said else None,
            "reason": record.invalid or (score_reason(str(said.status)) if said else None),
        }
        found: dict[str, Score] = {}
        main = self.declared.main_of_units
        for measure in sorted(self.declared.of_units, key=lambda one: one is not main):
            value = scores.get(measure.score(self.variant))
            if said and measure.unmeasured in said.flags:
                value = None
            known["explanation"] = self._explanation(record, error) if measure is main else None
            others = {name: scores.get(name) for name in measure.scores if measure.variants}
            metadata = {name: one for name, one in others.items() if one is not None} or None
            found[measure.name] = (
                Score.unscored(**known)
                if value is None
                else Score(value=value, metadata=metadata, **known)
            )
        return found

    def _explanation(self, record: Unit[Any], error: UnitError) -> str:
        """Return the outcome and the facts about a unit."""
        if record.invalid is not None:
            how = "counts as a failure" if record.key in self.counted else "not counted"
            return f"{how}: {record.invalid}"
        said, found = record.prediction, str(error.error_class)
        lines = [str(said.status)] if said else []
        if record.key not in self.counted:
            lines.append("not counted")
        if said and said.flags:
            lines.append(f"flags: {', '.join(said.flags)}")
        if found != SUCCESS:
            lines.append(found if error.detail in ("", *lines) else f"{found}: {error.detail}")
        return "\n".join(lines)

    def _usage(
        self, record: Unit[Any], calls: Sequence[CallRecord]
    ) -> list[tuple[str, str, ModelUsage]]:
        """Role, model and usage; of the model under test, the role is ""."""
        own = Spent(len(calls), record.usage, record.cost)
        named = {
            call.role: public_text("model", call.reply.model) for call in calls if call.reply.model
        }
        models = {**self.roles, **named, "": self.model}
        used = []
        for role, spent in (record.roles or {"": own}).items():
            if spent.usage is not None:
                tokens = model_usage(spent.usage)
                tokens.total_cost = spent.cost
                used.append((role, models.get(role, role), tokens))
        return used

    def _metadata(
        self, record: Unit[Any], calls: Sequence[CallRecord], part: Part, error: UnitError
    ) -> dict[str, Any]:
        """Return the facts about a unit without another place in a sample."""
        said = record.prediction
        declared = {name for measure in self.declared.of_units for name in measure.scores}
        scores = (record.scores or {}).items()
        facts: dict[str, Any] = {
            "split": record.split,
            **record.labels,
            **record.parents,
            "position": record.place,
            "status": str(said.status) if said else None,
            "flags": list(said.flags) if said else None,
            "action": str(said.action) if said and said.action else None,
            "letter": said.letter if said else None,
            "error_class": str(error.error_class),
            "error_detail": error.detail,
            "invalid": record.invalid,
            "asked": record.asked,
            "trial": record.trial or None,
            "calls": len(calls),
            "cost": record.cost,
            "tiers": dict(record.tiers),
            "prompt_tokens": record.prompt_tokens,
            "source": record.source.replace("\\", "/").rsplit("/", 1)[-1],
            "other_scores": {k: v for k, v in scores if k not in declared and v is not None},
            "detail": msgspec.to_builtins(part.raw),
        }
        lists = {
            listed.title.lower().replace(" ", "_"): [item.text for item in listed.items]
            for listed in part.lists
            if all(item.letter is None for item in listed.items)
        }
        return {
            name: one for name, one in {**lists, **facts}.items() if one not in (None, "", [], {})
        }


def _by_model(usage: Sequence[tuple[str, str, ModelUsage]]) -> dict[str, ModelUsage]:
    found: dict[str, ModelUsage] = {}
    for _, model, used in usage:
        found[model] = found[model] + used if model in found else used
    return found


def _choices(part: Part) -> list[str] | None:
    """Return the choices, if they were listed under the letters that the viewer puts before
    them."""
    for listed in part.lists:
        letters = "".join(item.letter or "-" for item in listed.items)
        if letters and LETTERS.startswith(letters):
            return [item.text for item in listed.items]
    return None


def _error(record: Unit[Any]) -> EvalError | None:
    """Return the reason for a missing outcome; inspect_ai needs a traceback, which is empty."""
    if record.error is None and (record.settled or record.invalid is not None):
        return None
    message = record.error or "no outcome on record"
    return EvalError(message=message, traceback=message, traceback_ansi=message)
