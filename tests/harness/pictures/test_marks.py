"""Letters on pictures: where they lie, how they are spelled in the recipe, and that they show."""

from __future__ import annotations

import io
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from harness.page import Box
from harness.pictures import PicturePolicy, Recipe, plan, read_size
from harness.pictures import imaging as work
from harness.pictures import recipe as recipes
from harness.pictures.marks import Area, place, tag_width
from parsers import letter
from tests.harness.pictures.examples import encoded_page, real_page, real_row

sides = st.floats(-200, 2200, allow_nan=False)
boxes = st.builds(Box, sides, sides, st.floats(-5, 900), st.floats(-5, 600))


def tag_area(mark: recipes.Mark) -> Area:
    """Where a mark's tag lies in the picture."""
    x, y = mark.tag
    return (x, y, x + tag_width(mark.letter), y + recipes.TAG_HEIGHT)


def lettered(wanted: list[Box]) -> list[tuple[str, Box]]:
    return [(letter(i), box) for i, box in enumerate(wanted)]


def apart(marks: tuple[recipes.Mark, ...]) -> bool:
    return all(
        a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        for a, b in combinations(map(tag_area, marks), 2)
    )


@given(st.lists(boxes, max_size=26))
def test_tags_lie_inside_and_never_on_each_other(wanted: list[Box]) -> None:
    marks = place(lettered(wanted), (0, 100, 1280, 1600), (640, 750))
    assert apart(marks)
    for mark in marks:
        left, top, right, bottom = tag_area(mark)
        assert min(left, top) >= 0 and right <= 640 and bottom <= 750


@given(boxes, st.integers(2, 26))
def test_coinciding_boxes_have_their_letters_side_by_side(box: Box, count: int) -> None:
    marks = place(lettered([box] * count), (0, 0, 1280, 2200), (1280, 2200))
    assert len(marks) in (0, count)
    assert apart(marks)


def test_a_box_alone_has_its_letter_at_the_bottom_left() -> None:
    (mark,) = place([("A", Box(100, 200, 50, 30))], (0, 0, 1280, 800), (1280, 800))
    assert mark == recipes.Mark("A", (100, 200, 150, 230), (100, 233))


def test_a_letter_makes_way_for_the_next_entry_of_a_narrow_list() -> None:
    menu = [Box(100, 200 + 22 * i, 60, 20) for i in range(3)]
    first, second, last = place(lettered(menu), (0, 0, 1280, 800), (1280, 800))
    assert first.tag[0] < 100 and second.tag[0] < 100, "beside the list, not on the next entry"
    assert last.tag == (100, 267)


def test_what_has_no_area_in_the_crop_is_not_marked() -> None:
    wanted = [Box(0, 0, 10, 10), Box(5, 500, 0, 5), Box(-50, 500, 40, 9), Box(9, 500, 0.2, 9)]
    marks = place(lettered(wanted), (0, 400, 1280, 900), (1280, 500))
    assert [mark.letter for mark in marks] == ["D"]


@given(st.lists(boxes, max_size=8))
def test_a_recipe_with_marks_is_read_back(wanted: list[Box]) -> None:
    (picture,) = plan(PicturePolicy("full"), read_size(encoded_page()), letters=lettered(wanted))
    recipe = Recipe.parse(picture.recipe)
    assert recipe.text == picture.recipe
    assert ("marks" in picture.recipe) == bool(recipe.marks)


@pytest.mark.parametrize(
    "marks", ["", "A:1,1,2,2", "a:1,1,2,2:0,0", "A:1,1,2,2:0,0/", "A:01,1,2,2:0,0"]
)
def test_marks_of_another_form_are_refused(marks: str) -> None:
    (picture,) = plan(PicturePolicy("full"), read_size(encoded_page()))
    with pytest.raises(ValueError):
        Recipe.parse(f"{picture.recipe};marks={marks}")


def flat(colour: tuple[int, int, int]) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (400, 300), colour).save(out, "PNG")
    return out.getvalue()


def test_a_letter_is_white_on_black_and_twelve_pixels_tall() -> None:
    data = flat((220, 20, 60))
    (picture,) = plan(
        PicturePolicy("full", encoder="png"),
        read_size(data),
        letters=[("W", Box(100, 100, 80, 40))],
    )
    tag = work.pixels(data, Recipe.parse(picture.recipe)).crop((100, 143, 122, 163))
    assert {(0, 0, 0), (255, 255, 255)} <= {colour for _, colour in tag.getcolors() or []}
    inner = tag.crop((1, 1, 21, 19)).convert("L")
    rows = [y for y in range(18) if max(inner.crop((0, y, 20, y + 1)).tobytes()) > 200]
    assert rows[-1] - rows[0] + 1 >= 12 and rows[0] >= 1 and rows[-1] <= 16


def test_the_lines_around_the_whole_picture_are_drawn_along_its_edges() -> None:
    white, black = (255, 255, 255), (0, 0, 0)
    data = flat(black)
    whole = read_size(data)
    (picture,) = plan(
        PicturePolicy("full", encoder="png"),
        whole,
        letters=[("A", Box(0, 0, whole.width, whole.height))],
    )
    image = work.pixels(data, Recipe.parse(picture.recipe))
    inwards = [white, work._LINE, work._LINE, black]
    x, y = whole.width // 2, whole.height // 2
    assert [image.getpixel((away, y)) for away in range(4)] == inwards
    assert [image.getpixel((x, away)) for away in range(4)] == inwards
    assert [image.getpixel((whole.width - 1 - away, y)) for away in range(4)] == inwards
    assert [image.getpixel((x, whole.height - 1 - away)) for away in range(4)] == inwards


def test_letters_keep_their_size_on_a_shrunk_page() -> None:
    data = encoded_page(1280, 6000)
    letters = [("A", Box(300, 3000, 200, 100))]
    (small,) = plan(PicturePolicy("full", pixels=400_000), read_size(data), letters=letters)
    recipe = Recipe.parse(small.recipe)
    image = work.pixels(data, recipe)
    left, top, right, bottom = tag_area(recipe.marks[0])
    assert (right - left, bottom - top) == (22, 20)
    assert image.getpixel((left + 1, top + 1)) == (0, 0, 0)


def test_the_program_and_the_plan_agree_on_the_size_of_a_tag() -> None:
    assert (work._CELLS, work._TAG_HEIGHT, work._PADDING) == (
        recipes.CELLS,
        recipes.TAG_HEIGHT,
        recipes.TAG_PADDING,
    )


def test_the_recorded_page_can_be_marked() -> None:
    from harness.page import decode_candidates

    row, data = real_row(), real_page()
    found = decode_candidates([*row["pos_candidates"], *row["neg_candidates"]])
    seen = [c.box for c in found if c.box is not None and c.box.is_visible][:100]
    (picture,) = plan(PicturePolicy("candidates"), read_size(data), seen, letters=lettered(seen))
    marks = Recipe.parse(picture.recipe).marks
    assert len(marks) > 70, "some lie beside the page"
    assert apart(marks)
