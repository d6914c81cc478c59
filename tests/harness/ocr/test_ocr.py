"""The policy that reads pictures: matching by hand, runs with given lines, and rapidocr itself."""

from __future__ import annotations

import asyncio
import io
import math
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

import harness
from adapters.contract import EncodedPicture, Fatal, PictureSource, PixelPicture
from adapters.conversation import Picture
from harness.errors import UserError
from harness.ocr.eyes import Eyes, TextLine
from harness.ocr.matching import answer, best, nearest_letter, option
from harness.ocr.policies import ReadsQuestions, ReadsScreens, ReadsSteps, ReadsTargets
from harness.policies import chance_for, policies_for, policy_named
from harness.views import PlaceView, QuestionView, ScreenView, StepView
from parsers.actions import Action
from parsers.question import Asked, text_of
from parsers.records import Status
from parsers.screen import Past, Task


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


def test_an_option_is_the_one_that_was_read() -> None:
    lines = column("Our stores", "Opening hours", "9 to 5")
    assert option("Which page is it?", ["Basket", "Opening hours", "Recipes"], lines) == 1


def test_the_letter_next_to_the_line_that_fits() -> None:
    lines = [line("A", 0, 0, 10), line("Search", 20, 0), line("B", 0, 200, 10)]
    lines.append(line("Basket", 20, 200))
    assert nearest_letter("the basket of the shop", lines, "ABCD") == "B"
    assert nearest_letter("the basket", [line("Basket")], "ABCD") == ""


def test_answers_stand_next_to_their_label() -> None:
    beside = [line("Price"), line("£12.50", 150), line("Size", 0, 40), line("Large", 150, 40)]
    assert answer("What is the price?", beside) == "£12.50"
    assert answer("What is the size?", beside) == "Large"
    assert answer("When does it open?", [line("Opens: 9:30")]) == "9:30"
    assert answer("What is below Delivery?", column("Delivery", "Tomorrow")) == "Tomorrow"
    assert answer("What is the heading?", [line("small"), line("Large", tall=40)]) == "Large"
    assert answer("How much is the insurance?", column("Delivery", "Tomorrow")) == ""
    assert answer("What?", ()) == ""


def test_a_grounding_item_is_the_middle_of_a_line() -> None:
    policy, lines = ReadsTargets(), [line("Basket", 100, 50)]
    found = policy.predict(PlaceView("x", "the basket"), CHANCE, None, lines)
    assert found.point == (150, 60)
    assert policy.predict(PlaceView("x", "the logo"), CHANCE, None, lines).status is Status.NONE


@pytest.mark.parametrize(
    ("sentence", "action"),
    [
        ("Scroll down to see more", Action("scroll", arguments={"direction": "down"})),
        # A finger that moves up shows what is below.
        ("Swipe up", Action("scroll", arguments={"direction": "down"})),
        ("Go back to the list", Action("back")),
        ("Type 'red mug' into the field", Action("type", arguments={"text": "red mug"})),
        ("Open the Clock app", Action("open_app", arguments={"text": "Clock"})),
        ("Tap on Stores", Action("click", point=(50, 50))),
    ],
)
def test_a_screen_step_does_what_its_sentence_says(sentence: str, action: Action) -> None:
    task = Task(goal="Look around", instruction=sentence, size=(412, 915))
    lines = column("Home", "Stores")
    assert ReadsScreens().predict(ScreenView("x", task), CHANCE, None, lines).action == action


def test_a_goal_is_followed_past_what_was_typed() -> None:
    typed = Past(Action("type", arguments={"text": "stores"}))
    task = Task(goal="Find stores near Oslo", size=(412, 915), before=(typed,))
    found = ReadsScreens().predict(ScreenView("x", task), CHANCE, None, column("Stores", "Oslo"))
    assert found.point == (50, 50)


def test_questions_by_letter_by_option_and_in_words() -> None:
    def said(asked: Asked, lines: Sequence[TextLine]) -> str | None:
        return text_of(ReadsQuestions().predict(QuestionView("x", asked), CHANCE, None, lines))

    lines = column("Opening hours", "9 to 5")
    named = Asked(prompt="?", question="Which?", options=("Basket", "Hours"), metric="choice")
    assert said(named, lines) == "B"
    lettered = Asked(prompt="?", question="the hours", options=("A", "B"), metric="choice")
    tags = [*lines, line("B", 110, 0, 10), line("A", 110, 400, 10)]
    assert said(lettered, tags) == "B"
    assert said(Asked(prompt="?", question="When are the opening hours?"), lines) == "9 to 5"
    lacking = Asked(prompt="?", question="How much is the insurance?", no_answer="not there")
    assert said(lacking, lines) == "not there"


def test_questions_about_boxes_and_tables() -> None:
    def said(asked: Asked, lines: Sequence[TextLine]) -> str | None:
        item = QuestionView("x", asked, (Picture("d", "stored", 1000, 500),))
        return text_of(ReadsQuestions().predict(item, CHANCE, None, lines))

    shop = [line("Home", 0, 0), line("Teapot", 500, 0), line("9 reviews", 500, 30)]
    shop += [line("£12.50", 500, 60), line("Basket", 800, 400)]
    inside = Asked(prompt="?", question="What does it say?", box="0.7, 0.7, 1, 1")
    assert said(inside, shop) == "Basket"
    boxes = ("[0.5, 0, 0.7, 0.1]", "[0.7, 0.7, 1, 1]")
    which = Asked(prompt="?", question="Which holds “Basket”?", options=boxes, metric="choice")
    assert said(which, shop) == "B"
    cost = Asked(prompt="?", question="What does “Teapot” cost?", metric="number", no_answer="no")
    assert said(cost, shop) == "£12.50"
    lacking = Asked(
        prompt="?", question="What does “Kettle” cost?", metric="number", no_answer="no"
    )
    assert said(lacking, shop) == "no"
    table = [line("Day"), line("Opens", 200), line("Closes", 400)]
    table += [line("Mon", 0, 40), line("8", 200, 40), line("17", 400, 40), line("9", 200, 80)]
    cell = Asked(prompt="?", question="What stands in the row “Mon” under “Closes”?")
    assert said(cell, table) == "17"


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
    for View in (StepView, PlaceView, QuestionView, ScreenView):
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
    monkeypatch.setattr("harness.ocr.eyes.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"policy 'ocr' needs rapidocr.*pip install.*\[ocr\]"):
        ReadsTargets().check(())
