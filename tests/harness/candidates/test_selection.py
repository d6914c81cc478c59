from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.benchmarks import open_steps
from harness.candidates import (
    CandidateOptions,
    accepted,
    check_distractors,
    choose,
    page_of,
    render,
)
from harness.errors import DataError
from harness.page import Candidate, Page
from harness.records import Row
from tests.harness.benchmarks._files import page, row, shared_data, write
from tests.harness.candidates.prepared import prepare
from tests.units import changed
from tests.units import recorded as from_files

GOLDEN = {
    5: "8638 9981 9836 9207 8635 9391",
    20: "9434 8638 9981 9087 9836 9677 8948 9207 9551 9268 9951 10381 10460 9623 8635 9391 10386 "
    "10040 10382 9321 10235",
}


def candidate(node_id: str, **flags: bool) -> Candidate:
    original = flags.get("original", False)
    return Candidate(node_id, "button", None, original, flags.get("top_level", False), "{}")


def step(
    positives: tuple[Candidate, ...] = (candidate("b0", original=True),),
    negatives: int = 25,
    html: str | None = None,
) -> Row:
    """A row of buttons; negatives are b1, b2, ... that are not positives."""
    taken = {c.id for c in positives}
    others = (f"b{n}" for n in range(1, negatives + 1))
    return from_files(
        benchmark="made",
        split="test_task",
        task_id="task",
        action_uid="step",
        index=0,
        total_steps=1,
        website="shop",
        domain="Shopping",
        subdomain="General",
        task="Press it",
        html=html or page(),
        positives=positives,
        negatives=tuple(candidate(i) for i in others if i not in taken),
    )


@pytest.fixture(scope="module")
def recorded() -> Row:
    path = shared_data("seeact-example/multimodal_mind2web_row.parquet")
    return next(open_steps("multimodal-mind2web", data=path).rows())


@pytest.mark.parametrize("count", [5, 20])
def test_the_recorded_row_gives_the_published_set(recorded: Row, count: int) -> None:
    assert " ".join(choose(recorded, distractors=count).ids) == GOLDEN[count]
    prepared = prepare(recorded, Page.parse(recorded.detail.html), distractors=count)
    assert " ".join(choice.id for choice in prepared.choices) == GOLDEN[count]
    assert prepared.chosen.shown == "8635"
    by_id = {choice.id: choice for choice in prepared.choices}
    assert by_id["8635"].letter == {5: "E", 20: "O"}[count]
    assert by_id["8635"].box == recorded.detail.positives[0].box
    assert by_id["8635"].text.endswith("submit search> Search </button>")
    assert prepared.facts.related == 1  # the root of the page is among the negatives


def test_the_compact_form_shows_the_same_elements(recorded: Row) -> None:
    parsed = Page.parse(recorded.detail.html)
    compact = prepare(recorded, parsed, distractors=5, form="bnid", choice_tokens=50)
    assert " ".join(choice.id for choice in compact.choices) == GOLDEN[5]
    assert all(f" bnid={choice.id}" in choice.text for choice in compact.choices)
    whole = prepare(recorded, parsed, distractors=5, form="bnid", choice_tokens=None)
    assert len(whole.choices[0].text) > 10_000 > len(compact.choices[0].text)


@settings(max_examples=50)
@given(
    st.integers(0, 30), st.integers(0, 30), st.integers(0, 2**63), st.randoms(use_true_random=False)
)
def test_sets_are_nested_and_independent_of_stored_order(
    small: int, large: int, seed: int, random: object
) -> None:
    few, many = sorted((small, large))
    one = step((candidate("b3"), candidate("b5")))
    stored = list(one.detail.negatives)
    random.shuffle(stored)  # type: ignore[attr-defined]
    other = changed(one, negatives=tuple(stored), positives=one.detail.positives[::-1])
    inner = choose(one, seed=seed, distractors=few)
    outer = choose(other, seed=seed, distractors=many)
    assert inner.shown == outer.shown
    assert set(inner.ids) <= set(outer.ids)
    # What both lists hold stands in the same order in both.
    assert [i for i in outer.ids if i in inner.ids] == list(inner.ids)
    assert len(inner.ids) == 1 + min(few, 23)
    assert outer.short == (many > 23)


def test_no_positive_is_ever_a_negative() -> None:
    many = (candidate("b1", original=True), candidate("b2"), candidate("b3"))
    one = changed(step(many), negatives=(*many, *(candidate(f"b{n}") for n in range(4, 9))))
    for options in (CandidateOptions(), CandidateOptions(positives="original")):
        chosen = choose(one, options=options)
        assert len({c.id for c in many} & set(chosen.ids)) == 1


def test_a_row_without_a_positive_shows_negatives_only() -> None:
    chosen = choose(step(()), distractors=20)
    assert (len(chosen.ids), chosen.shown, chosen.lost) == (20, None, False)


def test_which_positives_count_and_which_is_shown() -> None:
    ids = [f"b{n}" for n in range(1, 11)]
    several = tuple(candidate(i, original=i == "b4", top_level=i in ("b6", "b7")) for i in ids)
    one = step(several)
    assert [c.id for c in accepted(one, CandidateOptions(positives="original"))] == ["b4"]
    shown = {
        how: choose(one, options=CandidateOptions(shown=how)).shown
        for how in ("seeded", "original", "top-level")
    }
    assert shown["original"] == "b4"
    assert shown["top-level"] in ("b6", "b7")
    assert {choose(one, seed=seed).shown for seed in range(99)} == set(ids)
    assert choose(one, options=CandidateOptions(positives="original")).shown == "b4"
    plain = step(tuple(candidate(i) for i in ids))
    assert choose(plain, options=CandidateOptions(shown="original")).shown == choose(plain).shown
    assert choose(plain, options=CandidateOptions(shown="top-level")).shown == choose(plain).shown


def test_a_row_can_be_restricted_to_the_positives_that_count() -> None:
    only = CandidateOptions(positives="original")
    both = candidate("b1"), candidate("b2", original=True)
    assert accepted(step(both), CandidateOptions()) == both
    assert accepted(step(both), only) == both[1:]
    assert choose(step(both), options=only).shown == "b2"


def test_a_broken_page_names_its_row() -> None:
    with pytest.raises(DataError, match="file, row 3: column 'cleaned_html': "):
        page_of(changed(step(), html="<html><p></html>", source="file, row 3"))


def test_further_shuffles_keep_the_set() -> None:
    orders = {choose(step(), options=CandidateOptions(order=n)).ids for n in range(5)}
    assert len(orders) == 5
    assert len({frozenset(ids) for ids in orders}) == 1


def test_candidates_that_are_not_on_the_page_are_left_out_and_told() -> None:
    one = step((candidate("gone"), candidate("b3")), negatives=40)
    chosen = choose(one, Page.parse(one.detail.html), distractors=40)
    assert chosen.shown == "b3"
    assert set(chosen.absent) == {"gone", *(f"b{n}" for n in range(30, 41))}
    assert chosen.negatives == 28
    lost = step((candidate("gone"),))
    assert choose(lost, Page.parse(lost.detail.html)).lost
    text = changed(step(), negatives=(candidate("x1"), candidate("b2")))
    assert choose(text, Page.parse(text.detail.html)).absent == ("x1",)


def test_related_negatives_can_be_left_out() -> None:
    one = changed(step(), negatives=(candidate("root"), candidate("body"), candidate("b2")))
    parsed = Page.parse(one.detail.html)
    assert prepare(one, parsed).facts.related == 2
    without = prepare(one, parsed, options=CandidateOptions(exclude_related=True))
    assert sorted(without.chosen.ids) == ["b0", "b2"]
    assert without.facts.related == 0
    assert without.facts.short
    with pytest.raises(ValueError, match="needs the page"):
        choose(one, options=CandidateOptions(exclude_related=True))


def test_negatives_that_read_like_the_positive_are_counted_and_can_be_left_out() -> None:
    html = page().replace("Button 7<", "Button 0<").replace("Button 9<", "Button 0<")
    one = step(html=html)
    for form in ("mindact", "bnid"):
        found = prepare(one, Page.parse(html), distractors=29, form=form)
        assert found.facts.same_text == 2
    without = CandidateOptions(exclude_same_text=True)
    found = prepare(one, Page.parse(html), distractors=29, options=without)
    assert found.facts.same_text == 0
    assert {"b7", "b9"}.isdisjoint(found.chosen.ids)


def test_letters_may_start_elsewhere() -> None:
    one = step(negatives=2)
    chosen = choose(one)
    choices = render(one, Page.parse(one.detail.html), chosen, letters=["B", "C", "D"])
    assert [choice.letter for choice in choices] == ["B", "C", "D"]


def test_a_row_with_too_few_negatives_is_marked() -> None:
    one = step(negatives=5)
    parsed = Page.parse(one.detail.html)
    assert prepare(one, parsed).facts.short
    assert not prepare(one, parsed, distractors=5).facts.short


def test_a_number_that_no_row_can_fill_is_an_error(tmp_path: Path) -> None:
    few, more = row(index=0, negatives=["b5"]), row(index=1, negatives=["b5", "b6"])
    path = write(tmp_path / "test_task.parquet", [few, more])
    dataset = open_steps("multimodal-mind2web", data=path)
    check_distractors(dataset.negatives(), 2)
    with pytest.raises(DataError, match=r"no row has 3 negative candidates \(the most"):
        check_distractors(dataset.negatives(), 3)
