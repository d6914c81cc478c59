"""What a run will take, computed from the real rows without asking the model.

Text is counted by cl100k times the adapter's factor, pictures by the provider's documented rule.
The reply of round 1, which round 2 sends back, is counted as 0, 250 and the limit of tokens; other
replies likewise. Prompt caches and the reply cache are left out: with them it is less.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from adapters import Reply
from harness.dialogue import Ask
from harness.evaluation.model import text_tokens, tokens_of
from harness.evaluation.plan import Plan
from harness.evaluation.prepare import Question
from harness.evaluation.run import wants_preflight

CASES = ("low", "expected", "high")
EXPECTED_REPLY = 250


@dataclass(slots=True)
class Case:
    """Tokens and dollars of one assumption about the length of replies."""

    input: int = 0
    output: int = 0
    cost: float | None = 0.0


@dataclass(slots=True)
class Estimate:
    """Counts over all rows. `exact` are counted, the cases are estimates."""

    steps: int = 0
    invalid: dict[str, int] = field(default_factory=dict)
    short: int = 0
    same_text: int = 0
    related: int = 0
    calls: int = 0
    pictures: int = 0
    picture_tokens: int | None = 0
    text_tokens: int = 0
    too_long: int = 0
    cases: dict[str, Case] = field(default_factory=lambda: {name: Case() for name in CASES})

    def plain(self) -> dict[str, Any]:
        from msgspec import to_builtins

        found: dict[str, Any] = to_builtins(self)
        return found


def estimate(plan: Plan) -> Estimate:
    """Go through the rows of a plan. Raises `DataError` for rows that cannot be read."""
    result = Estimate()
    repeats = plan.config.asking.repeats
    for question in questions(plan):
        record = question.record
        if record.invalid is not None:
            result.invalid[record.invalid] = result.invalid.get(record.invalid, 0) + 1
            continue
        result.steps += 1
        result.short += record.short
        result.same_text += record.same_text > 0
        result.related += record.related > 0
        for _ in range(repeats):
            _count(result, plan, question)
    return result


def questions(plan: Plan) -> Iterator[Question]:
    """The questions of a plan, one at a time."""
    preparer = plan.preparer()
    return (preparer.prepare(row) for row in plan.dataset.rows())


def _count(result: Estimate, plan: Plan, question: Question) -> None:
    info = plan.model.info
    replies = [0, 0, 0]
    dialogue = plan.protocol.dialogue(question.step, question.choices)
    asks = next(dialogue)
    number = 0
    try:
        while True:
            group = (asks,) if isinstance(asks, Ask) else asks
            for ask in group:
                result.calls += 1
                limit = ask.max_tokens or plan.config.asking.generation(number).max_tokens
                prompt = tokens_of(ask.conversation, info)
                lengths = (0, min(EXPECTED_REPLY, limit), limit)
                for name, earlier, length in zip(CASES, replies, lengths, strict=True):
                    _add(result.cases[name], prompt + earlier, length, plan)
                if info.context_tokens is not None and prompt > info.context_tokens:
                    result.too_long += 1
                _add_parts(result, ask, plan)
            replies = [old + new for old, new in zip(replies, lengths, strict=True)]
            number += 1
            answer = tuple(Reply("") for _ in group)
            asks = dialogue.send(answer[0] if isinstance(asks, Ask) else answer)
    except StopIteration:
        return
    finally:
        dialogue.close()


def _add(case: Case, prompt: int, reply: int, plan: Plan) -> None:
    from adapters import Usage

    case.input += prompt
    case.output += reply
    if plan.model.policy is not None:
        return
    cost = plan.model.sheet.price_of(plan.model.info, Usage(input=prompt, output=reply))
    case.cost = None if cost is None or case.cost is None else case.cost + cost


def _add_parts(result: Estimate, ask: Ask, plan: Plan) -> None:
    info = plan.model.info
    rule = info.image_rule
    for message in ask.conversation.messages:
        result.text_tokens += round(info.text_factor * text_tokens(message.text, info.text_tokens))
        for picture in message.pictures:
            result.pictures += 1
            tokens = rule.tokens(picture.width, picture.height) if rule else None
            if tokens is None or result.picture_tokens is None:
                result.picture_tokens = None
            else:
                result.picture_tokens += tokens


def lines(result: Estimate, plan: Plan) -> list[str]:
    """The estimate for a reader."""
    info = plan.model.info
    rows = f"{result.steps} valid steps"
    if result.invalid:
        reasons = ", ".join(f"{n} {reason}" for reason, n in sorted(result.invalid.items()))
        rows += f", {reasons} (not asked)"
    first = "; one more beforehand looks for mistakes" if wants_preflight(plan) else ""
    told = [f"rows:      {rows}", f"calls:     {result.calls} (counted{first})"]
    if result.picture_tokens is None:
        seen = "no rule for their tokens is known, so they are missing below"
    else:
        source = f" ({info.image_rule.source})" if info.image_rule else ""
        seen = f"{result.picture_tokens:,} tokens by the documented rule{source}"
    if result.pictures:
        told.append(f"pictures:  {result.pictures} sent (counted), {seen}")
    factor = f" times {info.text_factor:g}" if info.text_factor != 1 else ""
    told.append(f"text:      {result.text_tokens:,} tokens (cl100k{factor}; an estimate)")
    for name, case in result.cases.items():
        cost = "price unknown" if case.cost is None else f"${case.cost:,.2f}"
        told.append(f"{name + ':':<10} {case.input:,} in, {case.output:,} out, {cost}")
    told.append(
        f"           (replies of 0, {EXPECTED_REPLY} and the limit of tokens; "
        "prompt caching not counted)"
    )
    if result.too_long:
        told.append(f"{result.too_long} prompts are over the model's context and will not be sent")
    return told
