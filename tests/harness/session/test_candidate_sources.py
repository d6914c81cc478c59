"""Where candidates come from: a seeded draw, the first of a ranker, or everything on the page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.benchmarks import open_steps
from harness.benchmarks.shows import Ready, Shows
from harness.benchmarks.step.listing import list_step
from harness.benchmarks.step.options import StepOptions
from harness.candidates import page_of
from harness.errors import DataError
from harness.page import Page
from harness.pictures import PicturePolicy
from harness.protocols.contract import Needs, StepProtocol
from harness.protocols.seeact import TwoRounds
from harness.rankers import RANKERS, check_covered, open_ranks
from harness.records import Row
from harness.settings import Settings
from harness.views import StepView
from parsers.records import Status
from tests.harness.commands.tool import (
    ONE_TASK,
    TEXT_ONLY,
    benchmark_options,
    call,
    macro,
    steps,
    summary,
)
from tests.numbers import row

RANKED = benchmark_options("candidates=ranker")


def rows() -> list[Row]:
    return list(open_steps("sample", splits=["dev"]).rows())


@dataclass(frozen=True)
class Fixed:
    """Positives at a place of their own, among negatives in the order of the row."""

    place: int = 0
    lost: tuple[str, ...] = ()
    name: str = "fixed"
    digest: str = "0" * 64
    beside: tuple[str, ...] = ()

    def of(self, row: Row, page: Page) -> Sequence[str]:
        negatives = [c.id for c in row.detail.negatives]
        positives = [c.id for c in row.detail.positives]
        return [*self.beside, *negatives[: self.place], *positives, *negatives[self.place :]]

    def missing(self, step_ids: Iterable[str]) -> Sequence[str]:
        return [step for step in step_ids if step in self.lost]


def prepared(
    row: Row, protocol: StepProtocol | None = None, ranks: Fixed | None = None, **choosing: object
) -> Ready[StepView]:
    protocol = protocol or TwoRounds()
    chosen = StepOptions(**choosing)  # type: ignore[arg-type]
    none = PicturePolicy("none")
    texts = protocol.needs.texts
    shows = Shows(Settings(), chosen, protocol, none, blind=texts, ranks=ranks)
    return list_step(row, shows)


def ranked(row: Row, place: int, top_k: int, **more: object) -> Ready[StepView]:
    return prepared(row, None, Fixed(place, **more), candidates="ranker", top_k=top_k)  # type: ignore[arg-type]


def test_the_first_of_a_ranker_are_offered_in_its_order() -> None:
    row = next(row for row in rows() if row.invalid is None)
    question = ranked(row, place=3, top_k=10)
    wanted = list(Fixed(3).of(row, page_of(row)))[:10]
    assert [choice.id for choice in question.view.choices] == wanted
    assert [choice.rank for choice in question.view.choices] == list(range(10))
    assert question.unit.detail.gold.shown == row.detail.positives[0].id
    assert question.known is None


def test_texts_and_places_are_those_of_the_page_with_all_of_them() -> None:
    row = next(row for row in rows() if row.invalid is None)
    question = ranked(row, place=3, top_k=10)
    page = page_of(row)
    in_document = page.choices([choice.id for choice in question.view.choices])
    assert {c.id: c.text for c in question.view.choices} == {c.id: c.text for c in in_document}
    by_place = sorted(question.view.choices, key=lambda choice: choice.place or 0)
    assert [choice.id for choice in by_place] == [choice.id for choice in in_document]


def test_candidates_that_the_page_does_not_have_are_passed_over_and_others_take_their_place() -> (
    None
):
    row = next(row for row in rows() if row.invalid is None)
    question = ranked(row, place=0, top_k=5, beside=("no-such-node", row.detail.negatives[7].id))
    wanted = [row.detail.negatives[7].id, *(c.id for c in row.detail.positives)]
    assert [choice.id for choice in question.view.choices][: len(wanted)] == wanted
    assert len(question.view.choices) == 5


def test_a_positive_beyond_the_first_makes_a_valid_step_that_is_missed() -> None:
    row = next(row for row in rows() if row.invalid is None)
    inside, outside = ranked(row, place=4, top_k=5), ranked(row, place=5, top_k=5)
    assert (inside.unit.invalid, inside.known) == (None, None)
    assert outside.unit.invalid is None
    assert outside.known is not None and outside.known.status is Status.NOT_OFFERED
    assert outside.unit.detail.gold.shown is None
    detail = outside.unit.detail
    assert not any(detail.accepts(choice) for choice in detail.choices)


def test_a_row_without_a_positive_stays_invalid_under_a_ranker() -> None:
    row = next(row for row in rows() if row.invalid == "no_positive")
    question = ranked(row, place=0, top_k=5)
    assert (question.unit.invalid, question.known) == ("no_positive", None)
    assert len(question.view.choices) == 5


def test_everything_is_offered_in_document_order() -> None:
    row = next(row for row in rows() if row.invalid is None)
    question = prepared(row, candidates="all")
    page = page_of(row)
    ids = {c.id for c in (*row.detail.positives, *row.detail.negatives) if c.id in page}
    assert [choice.id for choice in question.view.choices] == page.in_order(ids)
    assert [choice.place for choice in question.view.choices] == list(range(len(ids)))
    assert {choice.rank for choice in question.view.choices} == {None}
    assert question.unit.detail.related == question.unit.detail.same_text == 0


class Describing(TwoRounds):
    """A protocol that reads what elements say of themselves, and no texts."""

    needs = Needs(texts=False, descriptions=True, scene=False)


def test_descriptions_are_there_for_protocols_that_need_them_and_texts_only_where_read() -> None:
    row = next(row for row in rows() if row.invalid is None)
    protocol = Describing()
    question = prepared(row, protocol, candidates="all")
    page = page_of(row)
    for choice in question.view.choices:
        facts = page.role_of(choice.id)
        assert choice.text == ""
        assert choice.description is not None
        assert choice.description.labels == facts.labels
        assert choice.description.text == " ".join(page.text_of(choice.id).split()[:50])
    recorded = question.unit.detail.choices[-1].description
    assert recorded is not None and question.view.choices[-1].description is not None
    assert recorded.text == question.view.choices[-1].description.text
    assert prepared(row).view.choices[0].description is None


@pytest.fixture
def third(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rankers that have the positive in third place; two of them are the same by their digest."""
    monkeypatch.setattr(RANKERS, "_entries", dict(RANKERS._entries))
    RANKERS.add("third-place", lambda argument: Fixed(2))
    RANKERS.add("elsewhere", lambda argument: Fixed(2))
    RANKERS.add("others", lambda argument: Fixed(2, digest="1" * 64))


@pytest.mark.usefixtures("third")
def test_a_missed_step_is_zero_unasked_or_asked_all_the_same() -> None:
    asked = (*ONE_TASK, *TEXT_ONLY, *RANKED, "--ranker", "third-place")
    for rule in ("zero", "ask"):
        line = ("--model", "oracle", *asked, *benchmark_options("top_k=2", f"missed={rule}"))
        called = call(*line, "--out", rule, "--details")
        assert called.code == 0
        valid = [step for step in steps(rule) if step["invalid"] is None]
        told = f"positive not among the top 2: {len(valid)} of {len(valid)} steps"
        assert told in called.out.splitlines()
        assert summary(rule)["rows"]["not_offered"] == len(valid)
        assert row(summary(rule), "success")["ceiling"] == 0.0
    zero = [step for step in steps("zero") if step["invalid"] is None]
    assert not any(step["asked"] for step in zero)
    assert {step["prediction"]["status"] for step in zero} == {"not_offered"}
    assert macro(zero, lambda step: step["scores"]["operation_f1.mind2web"]) == 0.0
    ask = [step for step in steps("ask") if step["invalid"] is None]
    assert all(step["asked"] for step in ask)
    assert {step["prediction"]["status"] for step in ask} == {"none"}
    assert macro(ask, lambda step: step["scores"]["operation_f1.mind2web"]) == 1.0
    whole = call(
        "--model", "oracle", *asked, "--benchmark-option", "top_k=3", "--details", "--out", "whole"
    )
    assert "positive not among the top 3: 0 of" in whole.out
    assert row(summary("whole"), "success")["number"] == 1.0


@pytest.mark.usefixtures("third")
def test_scoring_again_leaves_missed_steps_as_they_are() -> None:
    asked = (*ONE_TASK, *TEXT_ONLY, *RANKED, "--ranker", "third-place")
    line = ("--model", "lexical", *asked, *benchmark_options("top_k=2"))
    assert call(*line, "--out", "a").code == 0
    again = call("score", "a", "--json=full")
    assert json.loads(again.out) == {"directory": "a", **summary("a")}


@pytest.mark.usefixtures("third")
def test_a_run_is_bound_to_the_ranks_and_not_to_where_they_lie() -> None:
    asked = (*ONE_TASK, *TEXT_ONLY, *RANKED, "--ranker", "third-place")
    line = ("--model", "oracle", *asked, "--out", "a")
    assert call(*line).code == 0
    manifest = json.loads(Path("a/manifest.json").read_text())["config"]
    options = manifest["benchmark_option"]
    assert (options["ranker"], manifest["ranker_sha256"]) == ("fixed", "0" * 64)
    assert (options["candidates"], options["top_k"]) == ("ranker", 50)
    assert manifest["candidates_told"].endswith(", by fixed")
    elsewhere = call(*["elsewhere" if part == "third-place" else part for part in line])
    assert elsewhere.code == 0
    others = call(*["others" if part == "third-place" else part for part in line])
    assert others.code == 2
    assert "ranker_sha256" in others.err


def test_steps_without_ranks_are_listed_before_anything_is_asked() -> None:
    ids = [f"task_{number}" for number in range(14)]
    check_covered(Fixed(), ids)
    with pytest.raises(DataError) as caught:
        check_covered(Fixed(lost=tuple(ids[:12])), ids)
    said = str(caught.value)
    some = ", ".join(ids[:10])
    assert f"fixed has no ranks for 12 of 14 selected steps: {some} and 2 more" in said


def test_a_ranker_s_name_or_a_file() -> None:
    assert open_ranks("lexical").name == "lexical"
    called = call("--model", "oracle", *ONE_TASK, *RANKED, "--ranker", "lexicall")
    assert called.code == 2
    assert "did you mean 'lexical'?" in called.complaint
