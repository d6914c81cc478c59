"""The calls of a dialogue whose replies are empty, and what each of them takes.

Estimates stand on these: the model is not asked. Vectors are those of the lexical embedder,
whichever embedder the run has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adapters import Conversation, Embedded, ModelInfo, Reply, Usage
from adapters.conversation import Tier
from adapters.embedding import stand_in
from adapters.prices import PriceSheet
from harness.benchmarks.shows import Ready
from harness.dialogue import Act, Ask, Call, Embed, Observation, Result, hold_turns
from harness.engine import first_request
from harness.pictures import built_in_picture
from harness.planning.model import Model, tokens_of
from harness.planning.plan import Plan
from harness.planning.roles import EmbeddingRole

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

    def add(self, other: Case, times: float = 1) -> None:
        """Add another case so many times."""
        self.input += round(other.input * times)
        self.output += round(other.output * times)
        if self.cost is not None:
            self.cost = None if other.cost is None else self.cost + other.cost * times


@dataclass(frozen=True, slots=True)
class EstimatedCall:
    """A call of a dialogue with empty replies.

    prompt: its tokens if earlier replies were empty.
    info: who is asked.
    cases: what it takes in each case.
    turn: which turn of its dialogue it belongs to, from 0; calls of one turn are asked side by
        side. Turns that are on record do not count.
    """

    call: Ask | Embed
    prompt: int
    info: ModelInfo
    cases: Mapping[str, Case]
    turn: int = 0

    @property
    def role(self) -> str:
        return self.call.role

    @property
    def is_too_long(self) -> bool:
        context = self.info.context_tokens
        return isinstance(self.call, Ask) and context is not None and self.prompt > context


def estimated_calls(plan: Plan, question: Ready[Any]) -> list[EstimatedCall]:
    """Hold a dialogue with empty replies and return its calls."""
    # Tokens of the replies in a conversation, by its id(). It is kept so that the id stays its own.
    reply_tokens: dict[int, tuple[Conversation, tuple[int, ...]]] = {}
    calls: list[EstimatedCall] = []
    turns = 0

    def answer(ask: Ask) -> Reply:
        role = plan.roles.get(ask.role)
        model = role if isinstance(role, Model) else plan.model
        is_free, tier = model.policy is not None, model.settings.tier
        limit = ask.max_tokens or model.generation.max_tokens
        prompt = tokens_of(ask.conversation, model.info)
        most = tokens_of(ask.conversation, model.info, upper=True) if model.spends else prompt
        _, sent_back = reply_tokens.get(id(ask.conversation.earlier), (None, (0, 0, 0)))
        expected = min(EXPECTED_REPLY, limit)
        low, mean, high = sent_back
        cases = {
            "low": _usual(model.sheet, model.info, prompt + low, 0, tier, is_free),
            "expected": _usual(model.sheet, model.info, prompt + mean, expected, tier, is_free),
            "high": _at_most(model.sheet, model.info, most + high, limit, model.tiers, is_free),
        }
        calls.append(EstimatedCall(ask, prompt, model.info, cases, turns - 1))
        reply_tokens[id(ask.conversation)] = (
            ask.conversation,
            (low, mean + expected, high + model.upper_reply(limit)),
        )
        return ask.rehearsed or Reply("")

    def embed(call: Embed) -> Embedded:
        role = plan.roles.get(call.role)
        if isinstance(role, EmbeddingRole):
            tokens = role.tokens(call.texts)
            usual = _usual(role.sheet, role.info, tokens, 0, None, False)
            high = _at_most(role.sheet, role.info, role.upper_tokens(call.texts), 0)
            cases = {"low": usual, "expected": usual, "high": high}
            calls.append(EstimatedCall(call, tokens, role.info, cases, turns - 1))
        return stand_in(call.texts)

    def act(call: Act) -> Observation:
        assert question.glimpse is not None
        return question.glimpse

    def results(asked: tuple[Call, ...]) -> list[Result]:
        nonlocal turns
        turns += any(isinstance(call, Ask) for call in asked)
        given: list[Result] = []
        for call in asked:
            if isinstance(call, Ask):
                given.append(answer(call))
            else:
                given.append(embed(call) if isinstance(call, Embed) else act(call))
        return given

    hold_turns(plan.source.dialogue(question.view, plan.shows), results)
    return calls


def first_calls(plan: Plan) -> list[EstimatedCall] | None:
    """The calls of the first unit that is asked about, None if there is none."""
    # A task at a time: protocols that show earlier actions read all rows of the tasks they have.
    for group in plan.by_group():
        for question in group.ready_of(group.dataset):
            if question.unit.invalid is None:
                return estimated_calls(group, question)
    return None


def preflight_calls(plan: Plan) -> Iterator[Case]:
    """The most that each of the calls before the first step takes."""
    if plan.preflights:
        model = plan.model
        picture = built_in_picture() if plan.pictures.name != "none" else None
        request = first_request(picture, model.generation)
        tokens = tokens_of(request.conversation, model.info, upper=model.spends)
        is_free = model.policy is not None
        # The first call is made at once, also before batches.
        limit = request.generation.max_tokens
        tiers = () if model.settings.tier == "batch" else model.tiers
        yield _at_most(model.sheet, model.info, tokens, limit, tiers, is_free)
    for name in plan.preflighted_roles:
        role = plan.roles[name]
        if isinstance(role, Model):
            request = first_request(None, role.generation)
            tokens = tokens_of(request.conversation, role.info, upper=role.spends)
            yield _at_most(role.sheet, role.info, tokens, role.generation.max_tokens)
        else:
            yield _at_most(role.sheet, role.info, role.upper_tokens(("ready",)), 0)


def _usual(
    sheet: PriceSheet,
    info: ModelInfo,
    prompt: int,
    reply: int,
    tier: Tier | None,
    is_free: bool,
) -> Case:
    usage = Usage(input=prompt, output=reply)
    cost = sheet.price_of(info, usage, tier=tier or "")
    return Case(prompt, reply, 0.0 if is_free else cost)


def _at_most(
    sheet: PriceSheet,
    info: ModelInfo,
    prompt: int,
    reply: int,
    tiers: Sequence[Tier] = (),
    is_free: bool = False,
) -> Case:
    cost = sheet.upper_bound(info, prompt, reply, tiers=tiers)
    return Case(prompt, reply, 0.0 if is_free else cost)
