"""The policy that reads pictures: matching by hand, runs with given lines, and rapidocr itself."""

from __future__ import annotations

import asyncio
import io
import math
from importlib.util import find_spec
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

import harness
from adapters.contract import EncodedPicture, Fatal, PictureSource, PixelPicture
from adapters.conversation import Picture
from harness.errors import UserError
from harness.ocr.policies import ReadsSteps, ReadsTargets, best
from harness.ocr.reading import Eyes, TextLine
from harness.policies import chance_for, policies_for, policy_named
from harness.views import PlaceView, StepView
from parsers.records import Status


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


CHANCE = chance_for(1, 0, "unit", "policy")


def line(
    text: str, left: float = 0, top: float = 0, width: float = 100, tall: float = 20
) -> TextLine:
    return TextLine(text, left, top, left + width, top + tall)


def column(*texts: str) -> tuple[TextLine, ...]:
    """Lines below each other."""
    return tuple(line(text, top=40 * number) for number, text in enumerate(texts))


@pytest.mark.parametrize(
    ("task", "texts", "right"),
    [
        ("Open the basket", ["Home", "Basket 2", "Stores"], "Basket 2"),
        # A word that few lines have counts more, and a long line less.
        ("Add the blue kettle", ["Blue mug", "Kettle", "All our blue mugs and jugs"], "Kettle"),
        ("Press 'Save'", ["Save your work before you leave", "Save"], "Save"),
        # Two words in a row beat the same words apart.
        ("Choose free delivery", ["Delivery is never free", "Free delivery"], "Free delivery"),
        ("Close it", ["Home", "Stores"], None),
        ("Open it", [], None),
    ],
)
def test_the_line_that_fits_a_task(task: str, texts: list[str], right: str | None) -> None:
    found = best(task, column(*texts))
    assert (found and found.text) == right


def test_what_an_action_dealt_with_comes_last() -> None:
    lines = column("Baking", "Rolling pins")
    task = "Find rolling pins in baking"
    assert best(task, lines, ["Rolling pins"]) == lines[0]


def test_a_grounding_item_is_the_middle_of_a_line() -> None:
    policy, lines = ReadsTargets(), [line("Basket", 100, 50)]
    found = policy.predict(PlaceView("x", "the basket"), CHANCE, None, lines)
    assert found.point == (150, 60)
    assert policy.predict(PlaceView("x", "the logo"), CHANCE, None, lines).status is Status.NONE


class Given(Eyes):
    """Reads the same lines on every picture, and remembers which pictures it was shown."""

    def __init__(self, *lines: TextLine) -> None:
        super().__init__()
        self.lines = lines
        self.bytes: list[int] = []

    def check(self) -> None:
        """Nothing is needed."""

    async def _reading(self, picture: Picture, source: PictureSource) -> tuple[TextLine, ...]:
        self.bytes.append(len((await source.encoded(picture)).data))
        return self.lines


def test_a_run_shows_the_policy_the_pictures_of_its_protocol(tmp_path: Path) -> None:
    eyes = Given(*column("Basket", "Search"))
    harness.evaluate(
        model=ReadsSteps(eyes=eyes), benchmark="sample", split="dev", limit=1, out=tmp_path / "a"
    )
    # Two rounds and one screenshot per step: each is prepared and read once.
    assert eyes.bytes and all(eyes.bytes)


def test_a_point_is_answered_without_the_texts_of_the_page(tmp_path: Path) -> None:
    eyes = Given(line("Baking", 450, 130, 80))
    done = harness.evaluate(
        model=ReadsSteps(eyes=eyes),
        benchmark="sample",
        protocol="coordinates",
        split="dev",
        limit=1,
        out=tmp_path / "a",
    )
    points = [unit.prediction.point for unit in done.records() if unit.prediction]
    # The form of the answer has whole thousandths.
    assert any(points)
    assert all(point is None or math.dist(point, (490, 140)) < 2 for point in points)


def test_a_call_without_a_picture_ends_the_run_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(Fatal, match="reads pictures, and this call shows none"):
        harness.evaluate(
            model=ReadsSteps(eyes=Given()),
            benchmark="sample",
            split="dev",
            limit=1,
            image_policy="none",
            out=tmp_path / "a",
        )


def test_every_view_with_pictures_has_the_policy() -> None:
    for View in (StepView, PlaceView):
        assert policy_named("ocr", View).View is View
        assert "ocr" in policies_for(View)


class Bytes:
    """Hands out one picture."""

    def __init__(self, data: bytes, size: tuple[int, int]) -> None:
        self.data, self.size = data, size

    async def encoded(self, picture: Picture) -> EncodedPicture:
        return EncodedPicture(self.data, "image/png", *self.size)

    async def pixels(self, picture: Picture) -> PixelPicture:
        raise NotImplementedError


def drawn(size: tuple[int, int], words: dict[str, tuple[int, int]]) -> bytes:
    image, out = Image.new("RGB", size, "white"), io.BytesIO()
    for text, place in words.items():
        ImageDraw.Draw(image).text(place, text, "black", ImageFont.load_default(28))
    image.save(out, "PNG")
    return out.getvalue()


@pytest.mark.skipif(find_spec("rapidocr") is None, reason="needs the extra [ocr]")
def test_rapidocr_reads_a_tall_picture_once_each_line() -> None:
    size = (640, 2_100)
    # The second line lies where two tiles share pixels.
    words = {"Rolling pins": (40, 60), "Opening hours": (200, 930), "Basket": (400, 2_000)}
    source, eyes = Bytes(drawn(size, words), size), Eyes()
    eyes.check()
    try:
        found = asyncio.run(eyes.look([Picture("d", "stored", *size)], source))
    finally:
        eyes.close()
    assert [one.text for one in found] == list(words)
    for one, (left, top) in zip(found, words.values(), strict=True):
        assert abs(one.left - left) < 12 and abs(one.top - top) < 16
        assert one.bottom - one.top < 60


def test_a_picture_that_was_read_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = (320, 120)
    source, picture = Bytes(drawn(size, {"Basket": (40, 40)}), size), Picture("d", "stored", *size)

    def read() -> list[str]:
        eyes = Eyes()
        try:
            return [line.text for line in asyncio.run(eyes.look([picture], source))]
        finally:
            eyes.close()

    assert read() == ["Basket"]
    (kept,) = tmp_path.rglob("*.json")
    kept.write_text('[["Kept", 1, 2, 3, 4]]')
    assert read() == ["Kept"]
    kept.write_text("[1")
    assert read() == ["Basket"]


def test_text_on_a_transparent_picture_is_read_as_on_white() -> None:
    size = (320, 120)
    image, out = Image.new("RGBA", size, (0, 0, 0, 0)), io.BytesIO()
    ImageDraw.Draw(image).text((40, 40), "Basket", (0, 0, 0, 255), ImageFont.load_default(28))
    image.save(out, "PNG")
    eyes = Eyes()
    try:
        source = Bytes(out.getvalue(), size)
        found = asyncio.run(eyes.look([Picture("d", "stored", *size)], source))
    finally:
        eyes.close()
    assert [one.text for one in found] == ["Basket"]


def test_a_missing_library_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.ocr.reading.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"policy 'ocr' needs rapidocr.*pip install.*\[ocr\]"):
        ReadsTargets().check(())
