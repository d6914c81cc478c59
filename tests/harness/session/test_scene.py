"""What a protocol can look up: the page while a step is asked about, and its record afterwards."""

from __future__ import annotations

import pytest

from harness.benchmarks import open_steps
from harness.benchmarks.shows import Ready, Shows
from harness.benchmarks.step.listing import list_step
from harness.benchmarks.step.options import StepOptions
from harness.benchmarks.step.scene import PageScene, RecordedScene
from harness.candidates import page_of
from harness.pictures import PicturePolicy, Recipe, plan, read_size
from harness.protocols.contract import Needs
from harness.protocols.seeact import TwoRounds
from harness.records import Row
from harness.settings import Settings
from harness.views import StepView

CANDIDATES = PicturePolicy("candidates")


def asked(needs: Needs, policy: PicturePolicy = CANDIDATES) -> tuple[Row, Ready[StepView]]:
    rows = open_steps("sample", splits=["dev"]).rows()
    row = next(row for row in rows if row.invalid is None)
    protocol: TwoRounds = type("Needing", (TwoRounds,), {"needs": needs})()
    return row, list_step(row, Shows(Settings(), StepOptions(), protocol, policy))


def scene_of(question: Ready[StepView]) -> PageScene:
    assert isinstance(question.view.step.scene, PageScene)
    return question.view.step.scene


def test_a_listing_is_the_page_pruned_to_the_candidates_asked_for() -> None:
    row, question = asked(Needs(pictures="crops"))
    scene, page = scene_of(question), page_of(row)
    ids = [choice.id for choice in question.view.choices[:4]]
    for brackets in ("angle", "round"):
        whole = page.snippet(ids, brackets=brackets)
        found = scene.listing(ids, brackets=brackets)
        assert found.snippet == whole.text
        assert found.texts == tuple((c.id, c.text) for c in whole.choices)
        bare = scene.listing(ids, brackets=brackets, snippet=False)
        assert (bare.snippet, bare.texts) == ("", found.texts)


def test_crops_are_planned_for_the_candidates_asked_for_and_remembered() -> None:
    row, question = asked(Needs(pictures="crops"))
    scene = scene_of(question)
    assert question.view.step.pictures == ()
    assert row.detail.screenshot is not None
    size = read_size(row.detail.screenshot)
    for choices in (
        question.view.choices[:2],
        question.view.choices[2:4],
        question.view.choices[:2],
    ):
        boxes = [choice.box for choice in choices]
        expected = plan(CANDIDATES, size, boxes)
        assert scene.crop([choice.id for choice in choices]) == expected
    assert len(scene.shown) == 2
    assert {picture.digest for picture in scene.shown} == {question.unit.digests["screenshot"]}


def test_marks_are_part_of_the_picture_s_recipe() -> None:
    _, question = asked(Needs(pictures="crops"))
    scene = scene_of(question)
    boxed = [choice.id for choice in question.view.choices if choice.box and choice.box.is_visible][
        :3
    ]
    (plain,), (marked,) = scene.crop(boxed), scene.marked(boxed, ["A", "B", "C"])
    assert (plain.width, plain.height) == (marked.width, marked.height)
    assert [mark.letter for mark in Recipe.parse(marked.recipe).marks] == ["A", "B", "C"]
    assert Recipe.parse(plain.recipe).marks == ()
    with pytest.raises(ValueError, match="argument"):
        scene.marked(boxed, ["A"])


def test_a_record_lists_in_document_order_with_the_texts_of_the_whole_list() -> None:
    row, question = asked(Needs())
    recorded = question.unit.detail.choices
    assert recorded == question.view.choices
    scene = RecordedScene(recorded)
    ids = [choice.id for choice in question.view.choices[:5]]
    listing = scene.listing([*ids, ids[0]])
    assert [node for node, _ in listing.texts] == page_of(row).in_order(ids)
    assert dict(listing.texts) == {c.id: c.text for c in question.view.choices[:5]}
    assert listing.snippet == ""
    assert scene.crop(ids) == scene.marked(ids, ["A"] * 5) == ()
