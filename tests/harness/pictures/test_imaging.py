"""Pixels and bytes of a recipe, prepared in this process."""

from __future__ import annotations

import io
import math
import warnings
from dataclasses import replace

import pytest
from PIL import Image, ImageChops, ImageOps, ImageStat

from adapters.contract import ImageRule
from harness.page import Box
from harness.pictures import PicturePolicy, Recipe, imaging, plan, read_size
from harness.pictures.imaging import pixels, prepare
from tests.harness.pictures.examples import GPT_4O, encoded_page, real_page

SEEACT = PicturePolicy("candidates")
NO_BUDGET = PicturePolicy("full", pixels=10**9)


def recipe_for(
    data: bytes, policy: PicturePolicy = NO_BUDGET, rule: ImageRule | None = None
) -> Recipe:
    return Recipe.parse(plan(policy, read_size(data), rule=rule)[0].recipe)


def decoded(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def encoded(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def likeness(one: Image.Image, other: Image.Image) -> float:
    """Peak signal-to-noise ratio in decibels; above 40 nobody sees a difference."""
    stat = ImageStat.Stat(ImageChops.difference(one, other))
    mean = sum(stat.sum2) / sum(stat.count)
    return math.inf if mean == 0 else 10 * math.log10(255**2 / mean)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize(
    "policy", ["full:pixels=90000", "full:pixels=90000,encoder=png", "viewport"]
)
def test_same_source_and_recipe_same_bytes_of_the_size_planned(kind: str, policy: str) -> None:
    data = encoded_page(kind=kind)
    recipe = recipe_for(data, PicturePolicy.parse(policy))
    once, media_type = prepare(data, recipe)
    assert prepare(data, recipe) == (once, media_type)
    assert media_type == f"image/{recipe.encoder}"
    picture = decoded(once)
    assert picture.size == recipe.size and picture.mode == "RGB"


def test_png_carries_the_very_pixels() -> None:
    data = encoded_page()
    recipe = recipe_for(data, PicturePolicy("viewport", encoder="png"))
    picture = decoded(prepare(data, recipe)[0])
    assert picture.tobytes() == pixels(data, recipe).tobytes()
    assert picture.tobytes() == decoded(data).crop(recipe.box).tobytes()


def test_candidates_are_cut_where_they_are() -> None:
    image = Image.new("RGB", (50, 4000), "white")
    image.paste((255, 0, 0), (0, 2000, 50, 2100))
    data = encoded(image)
    policy = PicturePolicy("candidates", margin=10)
    (picture,) = plan(policy, read_size(data), [Box(0, 2000, 50, 100)])
    shown = pixels(data, Recipe.parse(picture.recipe))
    assert shown.size == (50, 120)
    assert shown.getpixel((5, 9)) == (255, 255, 255)
    assert shown.getpixel((5, 10)) == (255, 0, 0)
    assert shown.getpixel((5, 109)) == (255, 0, 0)
    assert shown.getpixel((5, 110)) == (255, 255, 255)


def test_a_draft_decode_looks_like_a_full_one() -> None:
    data = real_page()
    drafted = recipe_for(data, rule=GPT_4O)
    assert drafted.draft == 2 and drafted.size == (354, 2048)
    plain = Recipe.parse(drafted.text.replace("draft=2", "draft=1"))
    assert likeness(pixels(data, drafted), pixels(data, plain)) > 44


def test_a_draft_of_odd_sides_keeps_its_place() -> None:
    data = encoded_page(width=641, height=2003)
    policy = PicturePolicy("candidates", margin=0, max_side=300)
    (picture,) = plan(policy, read_size(data), [Box(0, 333, 9, 1001)])
    drafted = Recipe.parse(picture.recipe)
    assert drafted.draft == 2
    plain = Recipe.parse(drafted.text.replace("draft=2", "draft=1"))
    assert likeness(pixels(data, drafted), pixels(data, plain)) > 30


@pytest.mark.parametrize(
    ("image", "colour"),
    [
        (Image.new("RGBA", (9, 9), (255, 0, 0, 0)), (255, 255, 255)),
        (Image.new("RGBA", (9, 9), (0, 0, 0, 128)), (127, 127, 127)),
        (Image.new("LA", (9, 9), (0, 0)), (255, 255, 255)),
        (Image.new("L", (9, 9), 77), (77, 77, 77)),
        (Image.new("1", (9, 9), 1), (255, 255, 255)),
        (Image.new("I;16", (9, 9), 257 * 99), (99, 99, 99)),
        (Image.new("RGB", (9, 9), (1, 2, 3)).convert("P"), None),
    ],
)
def test_every_kind_of_pixel_becomes_rgb_on_white(
    image: Image.Image, colour: tuple[int, int, int] | None
) -> None:
    data = encoded(image)
    shown = pixels(data, recipe_for(data))
    assert shown.mode == "RGB"
    if colour is not None:
        assert shown.getpixel((4, 4)) == colour
    prepare(data, recipe_for(data))


def test_an_alpha_channel_that_hides_nothing_changes_no_pixel() -> None:
    shades = [(r, g, (7 * r + g) % 256, 255) for r in range(256) for g in range(256)]
    image = Image.new("RGBA", (256, 256))
    image.putdata(shades)
    data = encoded(image)
    on_white = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    assert pixels(data, recipe_for(data)).tobytes() == on_white.convert("RGB").tobytes()
    image.putpixel((3, 3), (0, 0, 0, 0))
    assert pixels(data := encoded(image), recipe_for(data)).getpixel((3, 3)) == (255, 255, 255)


def test_a_colour_that_stands_for_transparency_becomes_white() -> None:
    data = encoded(Image.new("P", (9, 9), 0), transparency=0)
    assert pixels(data, recipe_for(data)).getpixel((4, 4)) == (255, 255, 255)
    data = encoded(Image.new("RGB", (9, 9), (5, 6, 7)), transparency=(5, 6, 7))
    assert pixels(data, recipe_for(data)).getpixel((4, 4)) == (255, 255, 255)


def test_cmyk_becomes_rgb() -> None:
    data = encoded(Image.new("CMYK", (16, 16), (0, 255, 255, 0)), "JPEG")
    red, green, blue = pixels(data, recipe_for(data)).getpixel((4, 4))  # type: ignore[misc]
    assert red > 240 and green < 15 and blue < 15


def test_nothing_but_the_picture_is_sent() -> None:
    image = Image.new("RGB", (64, 64))
    data = encoded(image, "JPEG", comment=b"who took it", icc_profile=b"x" * 99)
    sent, _ = prepare(data, recipe_for(data))
    assert b"who took it" not in sent and b"ICC_PROFILE" not in sent


def test_the_quality_goes_down_until_the_picture_fits() -> None:
    data = encoded_page()
    free = prepare(data, recipe_for(data))[0]
    tight = ImageRule(lambda w, h: (w, h), lambda w, h: None, max_bytes=len(free) * 2 // 3)
    less = prepare(data, recipe_for(data, rule=tight))[0]
    assert len(less) <= len(free) * 2 // 3
    hopeless = ImageRule(lambda w, h: (w, h), lambda w, h: None, max_bytes=900)
    with pytest.raises(ValueError, match="more than 900"):
        prepare(data, recipe_for(data, rule=hopeless))


def test_a_page_above_the_librarys_bomb_threshold_gives_no_warning() -> None:
    data = encoded(Image.new("L", (10_000, 9_000), 200), "JPEG", quality=90)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = pixels(data, recipe_for(data, PicturePolicy("full", pixels=100_000)))
    assert shown.getpixel((5, 5)) == (200, 200, 200)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_a_truncated_picture_does_not_decode(kind: str) -> None:
    data = encoded_page(kind=kind)
    with pytest.raises(ValueError, match="does not decode"):
        prepare(data[: len(data) // 2], recipe_for(data))


def test_a_recipe_of_another_page_is_refused() -> None:
    small, large = encoded_page(height=300), encoded_page(height=900)
    with pytest.raises(ValueError, match="crops to"):
        pixels(small, recipe_for(large))
    drafted = recipe_for(large, PicturePolicy("full", pixels=900))
    assert drafted.draft > 1
    with pytest.raises(ValueError, match="cannot be decoded at"):
        pixels(encoded_page(height=900, kind="PNG"), drafted)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("orientation", [*range(10), 300])
@pytest.mark.parametrize("scale", [1, 2])
def test_a_picture_is_turned_as_its_exif_data_say(kind: str, orientation: int, scale: int) -> None:
    """Against Pillow's own turning; boxes and sizes are those of the picture as it is shown."""
    page = Image.new("RGB", (640, 320), "white")
    page.paste((200, 0, 0), (0, 0, 160, 80))
    page.paste((0, 0, 200), (480, 240, 640, 320))
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encoded(page, kind, exif=exif, quality=95)
    shown = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")
    assert (read_size(data).width, read_size(data).height) == shown.size
    recipe = recipe_for(data)
    if scale > 1:
        half = (shown.width // 2, shown.height // 2)
        recipe = replace(recipe, size=half, draft=2 if kind == "JPEG" else 1)
        shown = shown.resize(half)
    made = pixels(data, recipe)
    assert made.size == shown.size
    assert likeness(made, shown) > 25
    assert imaging.decoded(data).size == (read_size(data).width, read_size(data).height)


def test_broken_exif_data_turn_nothing() -> None:
    page = Image.new("RGB", (64, 32), "white")
    for exif in (b"Exif\0\0", b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0MM\0*\0\0\0\x08\xff\xff"):
        data = encoded(page, "JPEG", exif=exif)
        assert (read_size(data).width, read_size(data).height) == (64, 32)
        assert pixels(data, recipe_for(data)).size == (64, 32)
