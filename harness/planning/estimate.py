"""Estimates of calls, tokens and cost, computed from the rows without asking the model.

Text is counted with cl100k times the adapter's factor, pictures by the provider's documented rule.
Replies, also those that a later round sends back, are counted as 0, 250 and the maximum number of
tokens. Where the number of calls depends on the replies, the calls of a dialogue with empty replies
are counted and scaled to the fewest and the mean number of calls that the protocol declares; the
highest estimate has the dearest call as often as it may come. A dialogue that grows as the model
looks around (`Ask.rehearsed`) is counted at its longest, and the first so many of its calls. Prompt
caches and the reply cache are ignored; with them a run takes less.

The highest cost is a bound: it adds up what the cost limit of a run sets aside for its calls, so
that a run with this limit is never ended by it, retries of lost calls apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from adapters import AdapterInfo, ModelInfo
from harness.benchmarks import benchmark
from harness.benchmarks.contract import calls_about
from harness.benchmarks.shows import Ready
from harness.dialogue import Ask
from harness.planning.estimated_calls import (
    CASES,
    EXPECTED_REPLY,
    Case,
    EstimatedCall,
    estimated_calls,
    preflight_calls,
)
from harness.planning.model import DEAREST_PICTURE, text_tokens
from harness.planning.plan import Plan


def _cases() -> dict[str, Case]:
    return {name: Case() for name in CASES}


@dataclass(slots=True)
class RoleEstimate:
    """The part of one role in an estimate; fields as there."""

    calls_at_least: int = 0
    calls_at_most: int = 0
    cases: dict[str, Case] = field(default_factory=_cases)


@dataclass(slots=True)
class CostEstimate:
    """Counts over all rows, and estimates for three lengths of replies.

    steps: valid units.
    invalid: units that are not asked about, by reason.
    not_offered: units scored without a call, such as those whose positives a ranker misses.
    calls: calls of dialogues with empty replies.
    calls_at_least, calls_at_most: bounds, where the number depends on the replies.
    pictures, picture_tokens, text_tokens: sent in `calls`; tokens are None where no rule is known.
    too_long: prompts over the model's context.
    cases: by the names in `CASES`; the highest cost includes the preflight calls.
    roles: the parts of the other models that the protocol asks.
    """

    steps: int = 0
    invalid: dict[str, int] = field(default_factory=dict)
    not_offered: int = 0
    calls: int = 0
    calls_at_least: int = 0
    calls_at_most: int = 0
    pictures: int = 0
    picture_tokens: int | None = 0
    text_tokens: int = 0
    too_long: int = 0
    cases: dict[str, Case] = field(default_factory=_cases)
    roles: dict[str, RoleEstimate] = field(default_factory=dict)


def estimate(plan: Plan) -> CostEstimate:
    """Estimate a run from all of its rows but those that it takes over.

    Raises `DataError` for a row that cannot be read.
    """
    result = CostEstimate()
    counted_once: set[str] = set()
    for question in plan.ready_of(plan.left):
        record = question.unit
        if record.invalid is not None:
            result.invalid[record.invalid] = result.invalid.get(record.invalid, 0) + 1
            continue
        result.steps += 1
        if question.known is not None:
            result.not_offered += 1
            continue
        for repeat in range(plan.settings.times):
            key = record.unit_id, repeat
            if key not in plan.taken:
                calls = estimated_calls(plan, question)
                new = [call for call in calls if _first_of_its_parent(call, repeat, counted_once)]
                _count(result, plan, question, new)
    for case in preflight_calls(plan):
        # Its tokens are those of no step.
        result.cases["high"].add(Case(cost=case.cost))
    return result


def _first_of_its_parent(call: EstimatedCall, repeat: int, counted_once: set[str]) -> bool:
    """Return whether a call was not counted yet with another unit that shares it."""
    if not call.call.shared:
        return True
    key = f"{call.call.shared}/{repeat}/{call.call.name}"
    is_new = key not in counted_once
    counted_once.add(key)
    return is_new


def _count(
    result: CostEstimate, plan: Plan, question: Ready[Any], calls: Sequence[EstimatedCall]
) -> None:
    result.calls += len(calls)
    for call in calls:
        result.too_long += call.is_too_long
        if isinstance(call.call, Ask):
            _add_parts(result, call.call, call.info)
    for role in dict.fromkeys(("", *(call.role for call in calls))):
        made = [call for call in calls if call.role == role]
        of_role = RoleEstimate(len(made), len(made))
        if not role:
            of_role = RoleEstimate(*calls_about(plan.source, question.view.count, plan.shows))
        _add_cases(of_role, made)
        result.calls_at_least += of_role.calls_at_least
        result.calls_at_most += of_role.calls_at_most
        for name, case in of_role.cases.items():
            result.cases[name].add(case)
        if role and made:
            total = result.roles.setdefault(role, RoleEstimate())
            total.calls_at_least += of_role.calls_at_least
            total.calls_at_most += of_role.calls_at_most
            for name, case in of_role.cases.items():
                total.cases[name].add(case)


def _add_cases(result: RoleEstimate, calls: Sequence[EstimatedCall]) -> None:
    """Add what calls take, scaled to the numbers of calls that there may be."""
    least, most = result.calls_at_least, result.calls_at_most
    grows = any(isinstance(one.call, Ask) and one.call.rehearsed for one in calls)
    for name, wanted in (("low", least), ("expected", (least + most) / 2)):
        for number, call in enumerate(calls):
            # Where each call has what all before it had, the first so many are made.
            times = min(1, max(0, wanted - number)) if grows else wanted / len(calls)
            result.cases[name].add(call.cases[name], times)
    for call in calls:
        result.cases["high"].add(call.cases["high"])
    if calls:
        dearest = max((call.cases["high"] for call in calls), key=lambda case: case.cost or 0.0)
        result.cases["high"].add(dearest, max(0, most - len(calls)))


def _add_parts(result: CostEstimate, ask: Ask, info: ModelInfo) -> None:
    rule = info.image_rule if isinstance(info, AdapterInfo) else None
    for message in ask.conversation.messages:
        result.text_tokens += round(info.text_factor * text_tokens(message.text, info.text_tokens))
        for picture in message.pictures:
            result.pictures += 1
            tokens = rule.tokens(picture.width, picture.height) if rule else None
            if tokens is None or result.picture_tokens is None:
                result.picture_tokens = None
            else:
                result.picture_tokens += tokens


def lines(result: CostEstimate, plan: Plan) -> list[str]:
    """Return the estimate as lines for the user."""
    info = plan.model.info
    rows = f"{result.steps} valid {benchmark(plan.settings.benchmark).declared.units}"
    if result.invalid:
        reasons = ", ".join(f"{n} {reason}" for reason, n in sorted(result.invalid.items()))
        rows += f", {reasons} (not asked)"
    first = plan.preflights + len(plan.preflighted_roles)
    preflight = f"; plus {'one' if first == 1 else first} preflight call" if first else ""
    preflight += "s" if first > 1 else ""
    if result.not_offered:
        rows += (
            f", {result.not_offered} whose positives the ranker misses (scored as zero, not asked)"
        )
    number = str(result.calls_at_most)
    if result.calls_at_least < result.calls_at_most:
        number = f"{result.calls_at_least} to {result.calls_at_most}, depending on the replies"
    text = [f"rows:      {rows}", f"calls:     {number} (counted{preflight})"]
    if result.picture_tokens is None:
        seen = "no rule for their tokens is known, so they are not included below"
        if plan.model.spends:
            seen += f" but for the highest cost ({DEAREST_PICTURE:,} each)"
    else:
        source = f" ({info.image_rule.source})" if info.image_rule else ""
        seen = f"{result.picture_tokens:,} tokens by the documented rule{source}"
    if result.pictures:
        least = result.calls_at_least < result.calls_at_most
        sent = f"{result.pictures} sent" + (f" in {result.calls} calls" if least else "")
        text.append(f"pictures:  {sent} (counted), {seen}")
    factor = f" times {info.text_factor:g}" if info.text_factor != 1 else ""
    text.append(f"text:      {result.text_tokens:,} tokens (cl100k{factor}; an estimate)")
    for name, case in result.cases.items():
        cost = _money(case.cost, plan)
        text.append(f"{name + ':':<10} {case.input:,} in, {case.output:,} out, {cost}")
    for role, part in result.roles.items():
        number = str(part.calls_at_most)
        if part.calls_at_least < part.calls_at_most:
            number = f"{part.calls_at_least} to {part.calls_at_most}"
        high = part.cases["high"]
        cost = _money(high.cost, plan, "at most ")
        who = plan.roles[role].info.name if role in plan.roles else info.name
        text.append(f"of these:  {role} ({who}): {number} calls, {high.input:,} in, {cost}")
    before, price = plan.verification
    if before:
        text.append(f"verify:    {before} calls and {_money(price, plan)} at most, before these")
    text.append(
        f"           (replies of 0, {EXPECTED_REPLY} and the maximum number of tokens; "
        "prompt caching ignored)"
    )
    if result.too_long:
        text.append(f"{result.too_long} prompts exceed the model's context and will not be sent")
    return text


def _money(cost: float | None, plan: Plan, before: str = "") -> str:
    """Return a cost in words; a model without a bill is not priced."""
    if cost is None:
        return "price unknown"
    if not plan.spends and plan.model.policy is None:
        return "not priced"
    return f"{before}${cost:,.2f}"
