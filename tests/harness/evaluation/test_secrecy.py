"""Nothing that a protocol asks depends on which of the candidates is right."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.conversation import Reply
from harness.benchmarks import open_steps
from harness.dialogue import Ask, hold
from harness.evaluation.questions import Preparer
from harness.page import Candidate
from harness.pictures import PicturePolicy
from harness.protocols import PROTOCOLS, of_steps, open_protocol
from harness.rankers import open_ranks
from harness.records import Row
from harness.settings import Settings

POOLED = [name for name in PROTOCOLS.names() if name != "seeact-two-rounds"]


def swapped(row: Row) -> Row:
    """The same row, had another of its candidates been acted upon."""
    other = row.negatives[len(row.negatives) // 2]
    left = [c for c in row.negatives if c.id != other.id]

    def right(candidate: Candidate, is_right: bool) -> Candidate:
        return replace(candidate, original_target=is_right, top_level_target=is_right)

    return replace(
        row,
        positives=(right(other, True),),
        negatives=(*(right(c, False) for c in row.positives), *left),
        operation="SELECT",
        value="something else",
    )


def asked(row: Row, name: str) -> list[tuple[str, str]]:
    """Every call of a model that finds nothing right: its place, and a digest of all it is sent."""
    protocol = of_steps(open_protocol(name))
    needs = protocol.needs
    source = needs.sources[0]
    ranked = source == "ranker"
    choosing = Settings(candidates=source, top_k=20 if ranked else None)
    policy = PicturePolicy.parse("none" if needs.pictures == "none" else needs.picture_policy)
    ranks = open_ranks("lexical") if ranked else None
    question = Preparer(choosing, protocol, policy, ranks=ranks).prepare(row)
    sent = []
    for reply in ("", "Answer: B.\nELEMENT: B\nACTION: CLICK"):
        seen: list[tuple[str, str]] = []

        def note(ask: Ask, reply: str = reply, seen: list[tuple[str, str]] = seen) -> Reply:
            seen.append((ask.place, ask.conversation.digest()))
            return Reply(reply)

        hold(protocol.dialogue(question.step, question.choices), note)
        sent += seen
    return sent


@pytest.mark.parametrize("name", POOLED)
def test_the_same_is_asked_whichever_candidate_is_right(name: str) -> None:
    rows = [row for row in open_steps("sample", splits=["dev"]).rows() if row.invalid is None]
    for row in rows[::25]:
        told = asked(row, name)
        assert told == asked(swapped(row), name)
        assert told or name == "classify"
