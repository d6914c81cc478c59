"""What each policy shows of a page, in numbers; nothing here decodes a picture."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.contract import ImageRule
from harness.errors import UserError
from harness.page import Box
from harness.pictures import (
    NAMES,
    PictureError,
    PicturePolicy,
    Recipe,
    Screenshot,
    draft_scale,
    plan,
    tiles,
    within_pixels,
    within_side,
)
from tests.harness.pictures.examples import GPT_4O, example, real_boxes

SEEACT = PicturePolicy("candidates")
PAGE = Screenshot("d" * 64, 1280, 7412)

sides = st.integers(1, 30_000)
boxes = st.builds(
    Box, st.floats(-50, 12_000), st.floats(-500, 25_000), st.floats(-10, 2000), st.floats(-10, 3000)
)
policies = st.builds(
    PicturePolicy,
    st.sampled_from(NAMES),
    pixels=st.integers(1, 10**7),
    tile_height=st.integers(200, 3000),
    tile_overlap=st.integers(0, 199),
    max_tiles=st.integers(1, 40),
    margin=st.integers(0, 2000),
)


def boxes_of(*recipes: str) -> list[tuple[int, int, int, int]]:
    return [Recipe.parse(text).box for text in recipes]


@pytest.mark.parametrize(
    ("page", "seen"),
    [((1280, 7412), (354, 2048)), ((1280, 2529), (768, 1517)), ((1280, 5808), (451, 2048))],
)
def test_the_rule_of_the_model_has_the_last_word(
    page: tuple[int, int], seen: tuple[int, int]
) -> None:
    policy = PicturePolicy("full", pixels=10**8)
    (picture,) = plan(policy, Screenshot("a", *page), rule=GPT_4O)
    assert (picture.width, picture.height) == seen


@pytest.mark.parametrize("name", ["full", "candidates"])
def test_no_side_is_above_eight_thousand_even_without_a_rule(name: str) -> None:
    policy = PicturePolicy.parse(f"{name}:pixels=1000000000")
    (picture,) = plan(policy, Screenshot("a", 1280, 20_000))
    assert (picture.width, picture.height) == (512, 8000)
    (wide,) = plan(policy, Screenshot("a", 11_800, 900))
    assert (wide.width, wide.height) == (8000, 610)


def test_a_model_that_sees_nothing_of_a_thread_like_page_is_an_error_with_its_digest() -> None:
    rule = ImageRule(lambda w, h: (0, h), lambda w, h: None)
    with pytest.raises(PictureError, match="dddddddddddd"):
        plan(SEEACT, PAGE, rule=rule)


def test_candidates_gives_the_crops_that_seeact_published() -> None:
    placed = real_boxes()
    expected = json.loads(example("expected.json").read_text())["batches"]
    for batch in expected:
        listed = [Box(*placed[id]) for id in batch["choice_ids"]]
        (picture,) = plan(SEEACT, PAGE, listed)
        assert [picture.width, picture.height] == batch["image_size"]


def test_candidates_is_clamped_to_the_page() -> None:
    (picture,) = plan(SEEACT, PAGE, [Box(0, 13.5, 10, 10), Box(0, 1000, 10, 505.3125)])
    assert boxes_of(picture.recipe) == [(0, 0, 1280, 2529)]
    (picture,) = plan(SEEACT, PAGE, [Box(0, 7000, 10, 300)])
    assert boxes_of(picture.recipe) == [(0, 5976, 1280, 7412)]


@pytest.mark.parametrize(
    "listed", [[], [None], [Box(-1, -1, -1, -1)], [Box(0, 50_000, 9, 9)], [Box(0, 1, 1, 1e999)]]
)
def test_candidates_without_a_usable_box_show_the_whole_page(listed: list[Box | None]) -> None:
    (picture,) = plan(SEEACT, PAGE, listed)
    assert boxes_of(picture.recipe) == [(0, 0, 1280, 7412)]


def test_an_unusable_box_does_not_widen_the_crop() -> None:
    (picture,) = plan(SEEACT, PAGE, [Box(0, 3000, 10, 10), Box(-1, -1, 0, 0), None])
    assert boxes_of(picture.recipe) == [(0, 1976, 1280, 4034)]


def test_viewport_is_the_top_window() -> None:
    policy = PicturePolicy("viewport")
    assert boxes_of(plan(policy, PAGE)[0].recipe) == [(0, 0, 1280, 720)]
    assert boxes_of(plan(policy, Screenshot("a", 800, 300))[0].recipe) == [(0, 0, 800, 300)]


def test_tiles_of_the_real_page() -> None:
    crops = boxes_of(*(p.recipe for p in plan(PicturePolicy("tiles"), PAGE)))
    assert [top for _, top, _, _ in crops] == [0, 1152, 2304, 3456, 4608, 5760, 6132]
    assert {bottom - top for _, top, _, bottom in crops} == {1280}


@given(policies, sides, sides)
def test_tiles_cover_the_page_from_top_to_bottom_with_overlap(
    policy: PicturePolicy, width: int, height: int
) -> None:
    crops = tiles(policy, width, height)
    assert crops[0][1] == 0 and crops[-1][3] == height
    assert len(crops) <= policy.max_tiles
    assert {(left, right) for left, _, right, _ in crops} == {(0, width)}
    assert len({bottom - top for _, top, _, bottom in crops}) == 1
    for (_, top, _, bottom), (_, next_top, _, next_bottom) in itertools.pairwise(crops):
        assert top < next_top <= bottom - policy.tile_overlap
        assert bottom < next_bottom


def test_the_oracle_shows_a_window_around_the_target_and_says_that_it_is_one() -> None:
    policy = PicturePolicy("oracle-target")
    assert policy.oracle and [n for n in NAMES if PicturePolicy(n).oracle] == ["oracle-target"]
    for y, top in ((3000, 2660), (5, 0), (90_000, 6692)):
        (picture,) = plan(policy, PAGE, target=Box(0, y, 9, 40))
        assert boxes_of(picture.recipe) == [(0, top, 1280, top + 720)]
    (picture,) = plan(policy, PAGE, target=None)
    assert boxes_of(picture.recipe) == [(0, 0, 1280, 720)]


@given(policies.filter(lambda p: not p.oracle), sides, sides, st.lists(boxes, max_size=5), boxes)
def test_no_policy_but_the_oracle_looks_at_the_target(
    policy: PicturePolicy, width: int, height: int, listed: list[Box], target: Box
) -> None:
    page = Screenshot("a", width, height)
    shown = plan(policy, page, listed)
    assert plan(policy, page, listed, target=target) == shown
    assert plan(policy, page, listed[::-1]) == shown  # nor at the order of the candidates
    if policy.name != "candidates":
        assert plan(policy, page) == shown


@given(policies, sides, sides, st.lists(boxes, max_size=5), st.none() | boxes)
def test_every_picture_is_a_part_of_the_page_and_within_the_limits(
    policy: PicturePolicy, width: int, height: int, listed: list[Box], target: Box | None
) -> None:
    for picture in plan(policy, Screenshot("a", width, height), listed, target=target):
        recipe = Recipe.parse(picture.recipe)
        assert recipe.policy == policy.name
        assert recipe.size == (picture.width, picture.height)
        assert recipe.box[2] <= width and recipe.box[3] <= height
        assert max(recipe.size) <= policy.max_side
        if policy.name == "full":
            assert picture.width * picture.height <= policy.pixels


@given(sides, sides, st.integers(1, 10**8))
def test_shrinking_never_enlarges(width: int, height: int, limit: int) -> None:
    for small in (within_pixels(width, height, limit), within_side(width, height, limit)):
        assert 1 <= small[0] <= width and 1 <= small[1] <= height


def test_the_draft_scale_leaves_something_to_the_resize() -> None:
    crop = (0, 0, 1280, 7412)
    sizes = {(1280, 7412): 1, (752, 4355): 1, (354, 2048): 2, (200, 1158): 4, (100, 579): 8}
    assert {size: draft_scale(crop, size) for size in sizes} == sizes
    (picture,) = plan(SEEACT, Screenshot("a", 1280, 7412, "png"), rule=GPT_4O)
    assert Recipe.parse(picture.recipe).draft == 1  # only JPEG can be decoded at a fraction


@given(policies)
def test_a_policy_is_read_back_from_its_text(policy: PicturePolicy) -> None:
    assert PicturePolicy.parse(policy.text) == policy
    assert PicturePolicy(**policy.plain()) == policy  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    ["crop", "", "full:budget=3", "full:pixels=many", "full:pixels=0", "full:pixels=-4",
     "full:encoder=gif", "full:quality=100", "tiles:tile_height=50,tile_overlap=50"],
)  # fmt: skip
def test_a_policy_that_makes_no_sense_is_the_users_error(text: str) -> None:
    with pytest.raises(UserError):
        PicturePolicy.parse(text)
