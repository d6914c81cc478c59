"""The text of a recipe, and points carried between a picture and the page."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.pictures import Recipe

RECIPE = Recipe(
    policy="full",
    box=(0, 0, 1280, 7412),
    size=(354, 2048),
    filter="lanczos",
    draft=2,
    encoder="jpeg",
    quality=90,
    max_bytes=0,
    pillow="13.0.0",
    libjpeg="turbo-3.2.0",
)
TEXT = (
    "v1;policy=full;box=0,0,1280,7412;size=354x2048;filter=lanczos;draft=2;encoder=jpeg"
    ";quality=90;max_bytes=0;pillow=13.0.0;libjpeg=turbo-3.2.0"
)

whole = st.integers(0, 10**6)
versions = st.from_regex(r"[0-9A-Za-z.+-]+", fullmatch=True).filter(str.isascii)
recipes = st.builds(
    lambda box, grow, encoder, quality, **rest: Recipe(
        box=(*box, box[0] + grow[0], box[1] + grow[1]),
        encoder=encoder,
        quality=quality if encoder == "jpeg" else 0,
        **rest,
    ),
    box=st.tuples(whole, whole),
    grow=st.tuples(st.integers(1, 10**5), st.integers(1, 10**5)),
    policy=st.sampled_from(["full", "oracle-target", "mine"]),
    size=st.tuples(st.integers(1, 10**5), st.integers(1, 10**5)),
    filter=st.sampled_from(["none", "lanczos"]),
    draft=st.sampled_from([1, 2, 4, 8]),
    encoder=st.sampled_from(["jpeg", "png"]),
    quality=st.integers(1, 95),
    max_bytes=whole,
    pillow=versions,
    libjpeg=versions,
)


def test_the_text_names_everything() -> None:
    assert RECIPE.text == TEXT
    unmarked = (field for field in dataclasses.fields(Recipe) if field.name != "marks")
    assert all(field.name in TEXT for field in unmarked)


@given(recipes)
def test_a_recipe_is_read_back_from_its_text(recipe: Recipe) -> None:
    assert Recipe.parse(recipe.text) == recipe


@pytest.mark.parametrize(
    "text",
    [
        "",
        TEXT + "\n",
        TEXT.replace("v1", "v2"),
        TEXT.replace("size=354", "size=0354"),
        TEXT.replace("size=354", "size=0"),
        TEXT.replace("draft=2", "draft=3"),
        TEXT.replace("box=0,0", "box=1280,0"),
        TEXT.replace("lanczos", "nearest"),
        TEXT.replace(";draft=2", ""),
        TEXT.replace("354x", "٣٥٤x"),
    ],
)
def test_anything_but_a_canonical_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Recipe.parse(text)


@given(recipes, st.floats(0, 1), st.floats(0, 1))
def test_a_point_goes_to_the_page_and_back(recipe: Recipe, across: float, down: float) -> None:
    x, y = across * recipe.size[0], down * recipe.size[1]
    page = recipe.to_page(x, y)
    assert recipe.box[0] <= page[0] <= recipe.box[2] * (1 + 1e-9)
    assert recipe.to_picture(*page) == pytest.approx((x, y), rel=1e-6, abs=1e-4)


def test_points_of_a_crop() -> None:
    crop = dataclasses.replace(RECIPE, box=(0, 1000, 1280, 2000), size=(640, 500))
    assert crop.to_page(320, 250) == (640, 1500)
    assert crop.to_picture(0, 900) == (0, -50)
