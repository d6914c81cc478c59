"""The units of a run as lines of Every Eval Ever: `instance_level_eval.schema.json`.

A line belongs to one aggregate result: the main measure of units, in its first average, under the
run's own rule for rows without a right answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.runs import CallRecord, Run, Unit
from harness.runs.live_steps import Done, Sight
from parsers import Status
from reports.exports.eee.aggregate import SCHEMA, evaluation_name, result_id
from reports.exports.facts import (
    answered,
    by_conversation,
    goal_of,
    in_order,
    offered,
    right_answer,
    text_of,
    without_places,
)
from reports.exports.results import Result, counted, results_of
from reports.frames.rows import RunRows, run_rows
from reports.view.parts import Part, part_of
from reports.view.points import page_of


def write_samples(run: Run, record: Mapping[str, Any], path: Path) -> tuple[int, str]:
    """Write a line per unit and repeat that counts; the number of lines, and the file's SHA-256.

    Raises `RunError` if the run cannot be read.
    """
    digest, rows = hashlib.sha256(), 0
    with path.open("wb") as file:
        for line in _lines(run, record):
            # ASCII, as texts of models may hold what some readers take for the end of a line.
            data = json.dumps(line, allow_nan=False).encode() + b"\n"
            file.write(data)
            digest.update(data)
            rows += 1
    return rows, digest.hexdigest()


def _lines(run: Run, record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    (rows,) = run_rows(run)
    scores = counted(rows)
    results = {
        one.split: one
        for one in results_of(run)
        if one.value is not None and _is_of_lines(one, rows)
    }
    page = page_of(run)
    for unit in run.records():
        result = results.get(unit.split)
        name = result and result.measure.score(rows.rules.variant)
        score = scores.get(unit.key, {}).get(name) if name else None
        if score is None or result is None:
            continue
        calls = in_order(unit, run.calls_of(unit.unit_id, unit.repeat))
        yield {
            "schema_version": SCHEMA,
            "evaluation_id": record["evaluation_id"],
            "model_id": record["model_info"]["id"],
            "evaluation_name": evaluation_name(run, result),
            "evaluation_result_id": result_id(run, result),
            **_sample(unit, calls, part_of(page, unit), score, run.manifest.reading),
        }


def _is_of_lines(result: Result, rows: RunRows) -> bool:
    """Return True if lines belong to a result."""
    declared = rows.declared
    main = declared.main_of_units
    measure = main if main in declared.in_tables else declared.in_tables[0]
    return result.measure is measure and result.headline and result.first


def _sample(
    unit: Unit[Any], calls: Sequence[CallRecord], part: Part, score: float, reading: int
) -> dict[str, Any]:
    right, talk = right_answer(part), Talk.of(calls)
    acts = sum(call.act is not None for call in calls)
    single = len(calls) == 1 and calls[0].is_ask and len(talk.replies) == 1
    raw = goal_of(unit, calls)
    shown = {"choices": choices} if (choices := offered(part)) else {}
    prompt = "\n\n".join(str(one["content"]) for one in talk.messages[:-1])
    reply = talk.messages[talk.replies[-1]] if talk.replies else {}
    seconds = sum(call.reply.latency_s for call in calls if not call.from_cache)
    return {
        "sample_id": unit.unit_id,
        "sample_hash": hashlib.sha256(f"{raw}{right}".encode()).hexdigest(),
        "interaction_type": "single_turn" if single else "agentic" if acts else "multi_turn",
        "input": {
            "raw": raw,
            **({"formatted": prompt} if single else {}),
            "reference": [right] if right else [],
            **shown,
        },
        "output": {
            "raw": [reply["content"]],
            "reasoning_trace": [trace] if (trace := reply.get("reasoning_trace")) else None,
        }
        if single
        else None,
        "messages": None if single else talk.messages,
        "answer_attribution": list(_answers(unit, part, talk, reading, single=single)),
        "evaluation": {
            "score": score,
            "is_correct": score >= 1,
            "num_turns": len(talk.replies) or None,
            **({"tool_calls_count": acts} if acts else {}),
        },
        "token_usage": _usage(unit),
        "performance": {"latency_ms": round(1000 * seconds, 3)} if seconds else None,
        "error": _error(unit),
        "metadata": _metadata(unit),
    }


@dataclass(slots=True)
class Talk:
    """The messages of a unit's calls: every conversation whole, one after the other.

    replies: places of the replies of the model under test.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    replies: list[int] = field(default_factory=list)
    _answered: dict[str, str] = field(default_factory=dict)
    """The replies by the conversation that they end."""

    @classmethod
    def of(cls, calls: Sequence[CallRecord]) -> Talk:
        """Return the messages of calls in their order."""
        talk = cls()
        for call in by_conversation(calls):
            (talk._ask if call.act is None else talk._act)(call)
        return talk

    def _add(self, role: str, content: str, **more: Any) -> None:
        known = {name: value for name, value in more.items() if value}
        message = {"turn_idx": len(self.messages), "role": role, "content": content, **known}
        self.messages.append(message)

    def _ask(self, call: CallRecord) -> None:
        """Add the messages of a call and its reply, with the name of its role."""
        messages, answer = call.exchange
        before = self._answered.get(call.earlier or "")
        of_role = f"{call.role}:" if call.role else ""
        for place, message in enumerate(messages):
            text = text_of(message.parts)
            if place == 0 and message.role == "assistant" and text == before:
                continue  # The reply that the conversation goes on from is there already.
            self._add(f"{of_role}{message.role}", text)
        if call.is_ask and not call.role:
            self.replies.append(len(self.messages))
        self._add(f"{of_role}assistant", answer, reasoning_trace=call.reply.reasoning)
        self._answered[call.conversation] = answer

    def _act(self, call: CallRecord) -> None:
        """Add an action as a tool call of the reply before it, and what was seen after it."""
        assert call.act is not None
        done, seen = Done.of(call.act.action), Sight.of(call.act.observation, call.act.blobs)
        text = seen.told or call.exchange[1]
        if done is None:
            self._add("user", text)
            return
        last = self.messages[-1] if self.messages else {}
        if last.get("role") != "assistant" or "tool_calls" in last:
            self._add("assistant", "")
        action = done.action
        values = {"element": action.element, "point": action.point, **action.arguments}
        arguments = {name: str(value) for name, value in values.items() if value is not None}
        tool = {"id": call.id, "name": action.name, "arguments": arguments}
        self.messages[-1]["tool_calls"] = [tool]
        self._add("tool", text, tool_call_id=[call.id])


def _answers(
    unit: Unit[Any], part: Part, talk: Talk, reading: int, *, single: bool
) -> Iterator[dict[str, Any]]:
    """Where the answer was read from."""
    said = unit.prediction
    if said is None or not talk.replies:
        return
    place = talk.replies[-1]
    yield {
        "turn_idx": 0 if single else place,
        "source": "output.raw" if single else f"messages[{place}].content",
        "extracted_value": answered(part) or str(said.action or said.letter or said.status),
        "extraction_method": f"vlm-eval reading rules, edition {reading}",
        "is_terminal": True,
    }


def _usage(unit: Unit[Any]) -> dict[str, int] | None:
    """Tokens as billed; cached ones are among the input, as ours are."""
    used = unit.usage
    if used is None:
        return None
    return {
        "input_tokens": used.input,
        "output_tokens": used.output,
        "total_tokens": used.input + used.output,
        "input_tokens_cache_read": used.cached,
        "input_tokens_cache_write": used.cache_write,
        "reasoning_tokens": used.reasoning,
    }


def _error(unit: Unit[Any]) -> str | None:
    """Return the reason for a missing answer."""
    status = unit.prediction.status if unit.prediction else Status.ANSWERED
    if unit.error is not None:
        return without_places(unit.error)
    return unit.invalid or (None if status is Status.ANSWERED else str(status))


def _metadata(unit: Unit[Any]) -> dict[str, str]:
    said = unit.prediction
    facts: dict[str, Any] = {
        "split": unit.split,
        **unit.parents,
        **unit.labels,
        "position": unit.place,
        "repeat": unit.repeat,
        "status": said and said.status,
        "flags": said and " ".join(said.flags),
        "letter": said and said.letter,
        "invalid": unit.invalid,
        "cost_usd": unit.cost,
    }
    return {name: str(value) for name, value in facts.items() if value not in (None, "")}
