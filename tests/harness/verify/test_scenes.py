"""The pictures of verify follow from seed and name alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image, ImageStat

from harness.verify import scenes
from tests.harness.benchmarks._files import shared_data


def _cases(kind: str) -> Iterator[dict[str, Any]]:
    with shared_data("verify/cases.jsonl").open(encoding="utf-8") as lines:
        yield from (case for line in lines if (case := json.loads(line))["set"] == kind)


def _draw(what: str) -> Image.Image:
    """Draw what a case names, such as "corners 960x640 c seed 2"."""
    named, _, seed = what.partition(" seed ")
    return scenes.draw(" ".join(named.split()[:3]), int(seed or 1))


def test_pictures_have_the_published_pixels() -> None:
    for case in _cases("pictures"):
        image = _draw(case["input"]["what"])
        assert list(image.size) == case["expect"]["size"]
        assert scenes.picture_digest(image) == case["expect"]["sha256_16"], case["id"]


def test_glyphs_have_the_published_levels() -> None:
    for case in _cases("glyphs"):
        assert scenes.glyph(case["input"]["digit"], case["input"]["height"]) == case["expect"]


def test_digits_follow_from_name_and_seed() -> None:
    for case in _cases("digits"):
        assert scenes.digits(**case["input"]) == case["expect"], case["id"]


@pytest.mark.parametrize("seed", [1, 2, 9])
def test_the_same_seed_gives_the_same_bytes(seed: int) -> None:
    def drawn(seed: int) -> list[str]:
        images = [
            scenes.draw("code 448x448 size0", seed),
            scenes.draw("ladder 448x448 small", seed),
            scenes.draw("noisy 112x112 n", seed),
        ]
        return [scenes.picture_digest(image) for image in images]

    assert drawn(seed) == drawn(seed)
    assert not set(drawn(seed)) & set(drawn(seed + 1))


def test_corners_show_four_colours_and_digits_that_no_turn_makes_equal() -> None:
    for seed in range(1, 30):
        truth = scenes.corner_truth(seed=seed)
        assert {color for color, _ in truth} == set(scenes.COLORS)
        assert len({digit for _, digit in truth} & set("13478")) == 4


def test_marks_asked_again_are_drawn_in_their_places() -> None:
    for width, height in scenes.MARKS:
        for mirrored in (False, True):
            image = scenes.draw(f"marks {width}x{height} {'mirrored' * mirrored}".strip())
            side = max(36, min(width, height) // 18)
            for x, y in scenes.mark_places(width, height, mirrored):
                corner = (x - side // 2, y - side // 2)
                assert image.getpixel(corner) == (24, 64, 150)
                assert image.getpixel((corner[0] - 1, corner[1])) == (236, 236, 236)


def test_noise_is_weak_and_keeps_the_size() -> None:
    plain, loud = scenes.draw("code 112x112 n"), scenes.draw("noisy 112x112 n")
    assert loud.size == plain.size
    assert max(abs(a - b) for a, b in zip(plain.tobytes(), loud.tobytes(), strict=True)) <= 8
    assert all(sd > 0 for sd in ImageStat.Stat(loud.crop((0, 0, 20, 20))).stddev)
