"""Estimates of calls, tokens and cost, computed from the rows without asking the model.

Text is counted with cl100k times the adapter's factor, pictures by the provider's documented rule.
Replies, also those that a later round sends back, are counted as 0, 250 and the maximum number of
tokens. Where the number of calls depends on the replies, the calls of a dialogue with empty replies
are counted and scaled to the fewest, the mean and the most calls that the protocol declares. Prompt
caches and the reply cache are ignored; with them a run takes less.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from adapters import Conversation, Reply
from harness.dialogue import Ask, hold
from harness.evaluation.model import generation, text_tokens, tokens_of
from harness.evaluation.plan import Plan
from harness.evaluation.questions import Question
from harness.evaluation.run import wants_preflight

CASES = ("low", "expected", "high")
EXPECTED_REPLY = 250


@dataclass(slots=True)
class Case:
    """Tokens and cost under one assumption about the length of replies.

    input, output: tokens.
    cost: in US dollars; None if a price is unknown.
    """

    input: int = 0
    output: int = 0
    cost: float | None = 0.0


@dataclass(slots=True)
class Estimate:
    """Counts over all rows, and estimates for three lengths of replies.

    steps: valid steps.
    invalid: rows that are not asked about, by reason.
    short: steps with fewer distractors than wanted.
    same_text: steps with a distractor that reads like the positive.
    related: steps with a distractor around or inside the positive.
    not_offered: steps scored as zero without a call, since the ranker misses their positives.
    calls: calls of dialogues with empty replies.
    calls_at_least, calls_at_most: bounds, where the number depends on the replies.
    pictures, picture_tokens, text_tokens: sent in `calls`; tokens are None where no rule is known.
    too_long: prompts over the model's context.
    cases: by the names in `CASES`.
    """

    steps: int = 0
    invalid: dict[str, int] = field(default_factory=dict)
    short: int = 0
    same_text: int = 0
    related: int = 0
    not_offered: int = 0
    calls: int = 0
    calls_at_least: int = 0
    calls_at_most: int = 0
    pictures: int = 0
    picture_tokens: int | None = 0
    text_tokens: int = 0
    too_long: int = 0
    cases: dict[str, Case] = field(default_factory=lambda: {name: Case() for name in CASES})

    def plain(self) -> dict[str, Any]:
        from msgspec import to_builtins

        plain: dict[str, Any] = to_builtins(self)
        return plain


def estimate(plan: Plan) -> Estimate:
    """Estimate a run from all of its rows. Raises `DataError` for a row that cannot be read."""
    result = Estimate()
    asks_if_missed = plan.settings.missed == "ask"
    for question in plan.preparer().questions(plan.dataset):
        record = question.record
        if record.invalid is not None:
            result.invalid[record.invalid] = result.invalid.get(record.invalid, 0) + 1
            continue
        result.steps += 1
        result.short += record.short
        result.same_text += record.same_text > 0
        result.related += record.related > 0
        if question.missed and not asks_if_missed:
            result.not_offered += 1
            continue
        for _ in range(plan.settings.times):
            _count(result, plan, question)
    return result


def _count(result: Estimate, plan: Plan, question: Question) -> None:
    info = plan.model.info
    usual_limit = generation(plan.settings).max_tokens
    # Tokens of the replies in a conversation, by its id(). It is kept so that the id stays its own.
    reply_tokens: dict[int, tuple[Conversation, list[int]]] = {}
    cases = {name: Case() for name in CASES}
    calls = 0

    def answer(ask: Ask) -> Reply:
        nonlocal calls
        calls += 1
        limit = ask.max_tokens or usual_limit
        prompt = tokens_of(ask.conversation, info)
        lengths = (0, min(EXPECTED_REPLY, limit), limit)
        _, sent_back = reply_tokens.get(id(ask.conversation.earlier), (None, [0, 0, 0]))
        for name, earlier, length in zip(CASES, sent_back, lengths, strict=True):
            _add(cases[name], prompt + earlier, length, plan)
        grown = [old + new for old, new in zip(sent_back, lengths, strict=True)]
        reply_tokens[id(ask.conversation)] = ask.conversation, grown
        if info.context_tokens is not None and prompt > info.context_tokens:
            result.too_long += 1
        _add_parts(result, ask, plan)
        return Reply("")

    hold(plan.protocol.dialogue(question.step, question.choices), answer)
    least, most = plan.protocol.calls(len(question.choices))
    result.calls += calls
    result.calls_at_least += least
    result.calls_at_most += most
    for name, wanted in zip(CASES, (least, (least + most) / 2, most), strict=True):
        _join(result.cases[name], cases[name], wanted / calls if calls else 0.0)


def _join(total: Case, case: Case, factor: float) -> None:
    total.input += round(case.input * factor)
    total.output += round(case.output * factor)
    if total.cost is not None:
        total.cost = None if case.cost is None else total.cost + case.cost * factor


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
    """Return the estimate as lines for the user."""
    info = plan.model.info
    rows = f"{result.steps} valid steps"
    if result.invalid:
        reasons = ", ".join(f"{n} {reason}" for reason, n in sorted(result.invalid.items()))
        rows += f", {reasons} (not asked)"
    preflight = "; plus one preflight call" if wants_preflight(plan) else ""
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
        cost = "price unknown" if case.cost is None else f"${case.cost:,.2f}"
        text.append(f"{name + ':':<10} {case.input:,} in, {case.output:,} out, {cost}")
    text.append(
        f"           (replies of 0, {EXPECTED_REPLY} and the maximum number of tokens; "
        "prompt caching ignored)"
    )
    if result.too_long:
        text.append(f"{result.too_long} prompts exceed the model's context and will not be sent")
    return text
