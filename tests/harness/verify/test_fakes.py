"""Fake deployments are what they say: their eyes read what was drawn, and a fault changes it."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import pytest
from PIL import Image

from harness.verify import scenes
from harness.verify.scenes import draw
from tests.harness.verify.test_scenes import _cases as cases
from tests.servers import Answer, Ask
from tests.servers.deployments import Deployment, tokens
from tests.servers.eyes import Eyes
from tests.servers.families import FAMILIES

READ = "Write the digits in the picture, and nothing else."
ROWS = "Write every row of digits in the picture from top to bottom, one row a line."
CORNERS = "Name the colour and the digit of each of the four quarters in reading order."


def ask(fake: dict[str, Any], text: str, *pictures: Image.Image, **body: Any) -> Answer:
    return Deployment(fake)(request(text, *pictures, **body))


def request(text: str, *pictures: Image.Image, system: str = "", **body: Any) -> Ask:
    content: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": url(one)}} for one in pictures
    ]
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    messages.append({"role": "user", "content": [*content, {"type": "text", "text": text}]})
    return Ask(1, "openai", "/v1/chat/completions", {}, {"messages": messages, **body})


def url(picture: Image.Image) -> str:
    packed = io.BytesIO()
    picture.save(packed, "PNG")
    return "data:image/png;base64," + base64.b64encode(packed.getvalue()).decode()


def counted(fake: dict[str, Any], picture: Image.Image) -> int:
    with_it, without = ask(fake, READ, picture).usage, ask(fake, READ).usage
    assert with_it is not None and without is not None
    return with_it["input"] - without["input"]


def test_families_count_as_the_cases() -> None:
    for case in cases("tokens"):
        given = case["input"]
        if given["family"] in FAMILIES and "option" not in given:
            seen = FAMILIES[given["family"]]((given["width"], given["height"]))
            assert (seen.tokens, list(seen.size)) == tuple(case["expect"].values()), case["id"]


def test_every_fake_of_the_cases_can_be_served() -> None:
    for case in cases("deployments"):
        assert ask(case["input"]["fake"], "hello there", max_tokens=2000).status == 200


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_eyes_read_what_was_drawn(seed: int) -> None:
    eyes = Eyes(weakest=0.1)
    rows = [row.text for row in eyes.rows(draw("ladder 1920x1080 large", seed))]
    assert rows == scenes.ladder_rows("large", seed)
    assert eyes.quarters(draw("corners 960x640 c", seed)) == scenes.corner_truth("c", seed)
    codes = [row.text for row in eyes.rows(draw("grid 1920x1080 g", seed))]
    assert codes == scenes.grid_codes("g", seed)


def test_weak_eyes_misread_small_rows_only() -> None:
    rows = scenes.ladder_rows("small")
    read = [row.text for row in Eyes(weakest=16).rows(draw("ladder 448x448 small"))]
    assert read[0] == rows[0]
    assert read[-1] != rows[-1]


def test_limit_lowers_counts_and_pixels() -> None:
    big = draw("code 560x2240 size1")
    assert counted({"family": "qwen2.5-vl"}, big) == 1602
    assert counted({"family": "qwen2.5-vl", "most": 1_003_520}, big) == 1209
    assert counted({"family": "qwen2.5-vl", "side": 500}, big) == 74


@pytest.mark.parametrize("fault", [{"mirror": True}, {"turn": 1}, {"channels": True}])
def test_moved_pixels_change_the_corners(fault: dict[str, Any]) -> None:
    picture = draw("corners 960x640 c")
    right = ask({}, CORNERS, picture).text
    assert tuple(right.split("; ")[0].split()) == scenes.corner_truth()[0]
    assert ask(fault, CORNERS, picture).text != right


def test_small_pictures_lose_small_rows() -> None:
    picture = draw("ladder 1920x1080 large")
    assert ask({}, ROWS, picture).text != ask({"side": 500}, ROWS, picture).text


@pytest.mark.parametrize(
    ("fault", "x", "y"),
    [
        ({}, 150, 780),
        ({"numbers": "unit"}, 0.15, 0.78),
        ({"swap": True}, 780, 150),
        ({"family": "qwen2.5-vl"}, 240, 699),
    ],
)
def test_marks_are_pointed_at_in_the_deployments_numbers(
    fault: dict[str, Any], x: float, y: float
) -> None:
    reply = json.loads(
        ask(fault, "Click on the square with number 1.", draw("marks 1600x900")).text
    )
    assert reply["point_2d"] == pytest.approx([x, y], rel=0.02)


def test_pictures_are_lost_where_the_key_says() -> None:
    one, two = draw("code 448x448 o"), draw("code 448x448 p")
    both = "Write the digits of each picture in order, separated by blanks."
    first, second = scenes.digits("o", 4), scenes.digits("p", 4)
    assert ask({}, both, one, two).text == f"{first} {second}"
    assert ask({"last_only": True}, both, one, two).text == second
    assert ask({"reverse": True}, both, one, two).text == f"{second} {first}"
    assert ask({"no_pictures": True}, READ, one).text == "I see no picture."
    server = Deployment({"cached_picture": True})
    assert [server(request(READ, picture)).text for picture in (one, two)] == [first, first]
    dropped = {"no_pictures_with_system": True}
    assert ask(dropped, READ, one, system="Be brief.").text == "I see no picture."
    assert ask(dropped, READ, one).text == first


def test_limits_of_replies() -> None:
    count = "Count from 1 to 300."
    assert ask({}, count, max_tokens=40).finish == "length"
    assert len(tokens(ask({}, count, max_tokens=40).text)) == 40
    assert len(tokens(ask({"ignore_max": True}, count, max_tokens=40).text)) == 300
    assert ask({"wrong_finish": True}, count, max_tokens=40).finish == "stop"
    assert len(tokens(ask({"cap": 256}, count, max_tokens=1000).text)) == 256
    assert ask({"think": True}, READ, max_tokens=40).text == ""


def test_a_short_context_forgets_the_beginning_or_refuses() -> None:
    text = "The number is 7531. " + "word " * 200 + "The number is 8642. Which number was said?"
    assert ask({}, text).text == "7531 8642"
    cut = ask({"context": 100}, text)
    assert cut.text == "8642"
    assert cut.usage is not None and cut.usage["input"] == 100
    assert ask({"context": 100, "honest": True}, text).status == 400


def test_broken_pictures_are_refused() -> None:
    broken = request("hello", draw("code 448x448 o"))
    broken.messages[0]["content"][0]["image_url"]["url"] = "data:image/png;base64,iVBORw0KGgo="
    assert Deployment({})(broken).status == 400
    assert Deployment({"swallow_broken": True})(broken).status == 200
