"""Nothing that reaches a model, an embedder or an environment depends on which candidate is right.

What was done before is another thing: a step's history holds recorded actions of earlier steps.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any, Literal

import pytest
from msgspec import structs

from adapters.conversation import Reply
from adapters.embedding import Embedded
from harness.benchmarks import Benchmark, Items, benchmark, open_steps
from harness.benchmarks.shows import Ready, Shows
from harness.benchmarks.step.listing import list_step
from harness.benchmarks.step.options import StepOptions
from harness.dialogue import Act, Call, Dialogue, Embed, Observation, Result, hold_turns
from harness.page import Candidate
from harness.pictures import PicturePolicy
from harness.protocols import PROTOCOLS, AskingProtocol, Needs, StepProtocol, open_protocol
from harness.rankers import open_ranks
from harness.records import Row
from harness.runs import Unit
from harness.settings import Settings
from harness.views import StepView
from parsers.records import Prediction, Status
from tests.units import changed

POOLED = [
    name
    for name in PROTOCOLS.names()
    if name != "seeact-two-rounds" and open_protocol(name).View is StepView
]


def swapped(row: Row) -> Row:
    """The same row, had another of its candidates been acted upon."""
    other = row.detail.negatives[len(row.detail.negatives) // 2]
    left = [c for c in row.detail.negatives if c.id != other.id]

    def right(candidate: Candidate, is_right: bool) -> Candidate:
        return structs.replace(candidate, original_target=is_right, top_level_target=is_right)

    return changed(
        row,
        positives=(right(other, True),),
        negatives=(*(right(c, False) for c in row.detail.positives), *left),
        operation="SELECT",
        value="something else",
    )


def told(row: Row, protocol: AskingProtocol) -> list[tuple[str, str]]:
    """Every call where nothing right is found: its place, and a digest of all that is sent."""
    needs = protocol.needs
    source = needs.sources[0]
    ranked = source == "ranker"
    options = StepOptions(candidates=source, top_k=20 if ranked else None)
    policy = PicturePolicy.parse("none" if needs.pictures == "none" else needs.picture_policy)
    ranks = open_ranks("lexical") if ranked else None
    shows = Shows(Settings(), options, protocol, policy, ranks=ranks)
    return sent_about(protocol, list_step(row, shows))


def sent_about(protocol: AskingProtocol, question: Ready[StepView]) -> list[tuple[str, str]]:
    """The calls of a question whose replies choose nothing, and of one whose replies choose B."""
    sent = []
    for reply in ("", "Answer: B.\nELEMENT: B\nACTION: CLICK"):
        seen: list[tuple[str, str]] = []

        def note(call: Call, reply: str = reply, seen: list[tuple[str, str]] = seen) -> Result:
            seen.append((call.place, call.digest()))
            if isinstance(call, Embed):
                return Embedded(tuple((float(len(text)),) for text in call.texts))
            return Observation({}) if isinstance(call, Act) else Reply(reply)

        dialogue = protocol.dialogue(StepView(question.view.step, question.view.choices))
        hold_turns(dialogue, lambda calls, note=note: list(map(note, calls)))  # type: ignore[misc]
        sent += seen
    return sent


def every_25th() -> list[Row]:
    rows = open_steps("sample", splits=["dev"]).rows()
    return [row for row in rows if row.invalid is None][::25]


@pytest.mark.parametrize("name", POOLED)
def test_the_same_is_asked_whichever_candidate_is_right(name: str) -> None:
    protocol = open_protocol(name)
    for row in every_25th():
        sent = told(row, protocol)
        assert sent == told(swapped(row), protocol)
        assert sent or name == "classify"


FAMILIES = ("sample-grounding", "sample-questions", "sample-screens")


def asked_about(source: Benchmark, unit: Unit[Any], whole: Items, shows: Shows) -> list[str]:
    """Digests of all calls about a unit where every reply is empty."""
    found = []
    (ready,) = source.ready(replace(whole, entries=(unit,)), whole, shows)

    def reply(call: Call) -> Result:
        found.append(call.digest())
        return Reply("")

    hold_turns(source.dialogue(ready.view, shows), lambda calls: list(map(reply, calls)))
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_is_asked_of_every_family_whatever_is_right(family: str) -> None:
    source = benchmark(family)
    whole = source.open()
    assert isinstance(whole, Items)
    compared = 0
    for name in PROTOCOLS.names():
        if not any(issubclass(source.View, one.View) for one in PROTOCOLS.all(name)):
            continue
        protocol = open_protocol(name, View=source.View)
        settings, pictures = Settings(benchmark=family), PicturePolicy("full")
        shows = Shows(settings, source.options, protocol, pictures)
        for unit, other in itertools.pairwise(whole.entries):
            swapped = replace(unit, detail=replace(unit.detail, gold=other.detail.gold))
            sent = asked_about(source, unit, whole, shows)
            assert sent and sent == asked_about(source, swapped, whole, shows)
            compared += unit.detail.gold != other.detail.gold
    assert compared > 10


@dataclass(frozen=True)
class Whispering(StepProtocol):
    """Embeds what could be chosen and clicks; with a `leak`, it lets on what is `right`."""

    right: str = ""
    leak: Literal["", "embed", "act"] = ""

    name = "whispering"
    needs = Needs(sources=("all",), pictures="none", picture_policy="none")

    def dialogue(self, view: StepView) -> Dialogue:
        choices = view.choices
        yield Embed(tuple(choice.text for choice in choices), "choices")
        yield Embed((self.right if self.leak == "embed" else "",), "goal")
        yield Act({"click": self.right if self.leak == "act" else "body"}, "click")
        return Prediction.of(Status.NONE)


@pytest.mark.parametrize("leak", ["", "embed", "act"])
def test_what_is_embedded_and_done_is_held_to_the_same(leak: Literal["", "embed", "act"]) -> None:
    def sent(row: Row) -> list[tuple[str, str]]:
        return told(row, Whispering(row.detail.positives[0].id, leak))

    same = [sent(row) == sent(swapped(row)) for row in every_25th()]
    assert all(same) if not leak else not any(same)
