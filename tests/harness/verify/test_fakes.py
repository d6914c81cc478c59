"""Fake deployments are what they say: their eyes read what was drawn, and a fault changes it."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.harness.verify import drawings
from tests.servers import Answer, Ask
from tests.servers.deployments import Deployment, tokens
from tests.servers.eyes import Eyes
from tests.servers.families import FAMILIES

READ = "Write the digits in the picture, and nothing else."
ROWS = "Write every row of digits in the picture from top to bottom, one row a line."
CORNERS = "Name the colour and the digit of each of the four quarters in reading order."


def cases(of: str) -> list[dict[str, Any]]:
    root = os.environ.get("VLM_EVAL_TEST_DATA")
    if not root:
        pytest.skip("VLM_EVAL_TEST_DATA is not set")
    lines = (Path(root) / "verify" / "cases.jsonl").read_text("utf-8").splitlines()
    return [case for case in map(json.loads, lines) if case["set"] == of]


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


def test_drawings_have_the_digests_of_the_cases() -> None:
    drawn = {
        "code 1000x620 size1 8652": drawings.code(1000, 620, "8652"),
        "grid 1920x1080 g": drawings.grid("g", 1),
        "marks 1600x900": drawings.marks(1600, 900),
        **{f"corners 960x640 c seed {n}": drawings.corners("c", n) for n in (1, 2, 3)},
    }
    for case in cases("pictures"):
        picture = drawn[case["input"]["what"]]
        data = f"{picture.width}x{picture.height}:".encode() + picture.tobytes()
        assert hashlib.sha256(data).hexdigest()[:16] == case["expect"]["sha256_16"], case["id"]


def test_digits_and_glyphs_of_the_cases() -> None:
    for case in cases("digits"):
        assert drawings.digits(**case["input"]) == case["expect"]
    for case in cases("glyphs"):
        assert drawings.glyph(**case["input"]).tolist() == case["expect"]


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
    rows = [drawings.digits(f"large/{h}", 6, seed) for h in drawings.HEIGHTS]
    assert [r.text for r in eyes.rows(drawings.ladder(1920, 1080, "large", seed))] == rows
    corners = zip(drawings.colours_of("c", seed), drawings.four_of("c", seed), strict=True)
    assert eyes.quarters(drawings.corners("c", seed)) == list(corners)
    codes = [drawings.digits(f"g/{r}{c}", 3, seed) for r in range(3) for c in range(4)]
    assert [r.text for r in eyes.rows(drawings.grid("g", seed))] == codes


def test_weak_eyes_misread_small_rows_only() -> None:
    picture = drawings.ladder(448, 448, "small", 1)
    rows = [drawings.digits(f"small/{h}", 6, 1) for h in drawings.HEIGHTS]
    read = [row.text for row in Eyes(weakest=16).rows(picture)]
    assert read[0] == rows[0]
    assert read[-1] != rows[-1]


def test_limit_lowers_counts_and_pixels() -> None:
    big = drawings.code(560, 2240, "8652")
    assert counted({"family": "qwen2.5-vl"}, big) == 1602
    assert counted({"family": "qwen2.5-vl", "most": 1_003_520}, big) == 1209
    assert counted({"family": "qwen2.5-vl", "side": 500}, big) == 74


@pytest.mark.parametrize("fault", [{"mirror": True}, {"turn": 1}, {"channels": True}])
def test_moved_pixels_change_the_corners(fault: dict[str, Any]) -> None:
    picture = drawings.corners("c", 1)
    right = ask({}, CORNERS, picture).text
    assert right.split("; ")[0].split() == [
        drawings.colours_of("c", 1)[0],
        drawings.four_of("c", 1)[0],
    ]
    assert ask(fault, CORNERS, picture).text != right


def test_small_pictures_lose_small_rows() -> None:
    picture = drawings.ladder(1920, 1080, "large", 1)
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
        ask(fault, "Click on the square with number 1.", drawings.marks(1600, 900)).text
    )
    assert reply["point_2d"] == pytest.approx([x, y], rel=0.02)


def test_pictures_are_lost_where_the_key_says() -> None:
    one, two = drawings.code(448, 448, "1234"), drawings.code(448, 448, "5678")
    both = "Write the digits of each picture in order, separated by blanks."
    assert ask({}, both, one, two).text == "1234 5678"
    assert ask({"last_only": True}, both, one, two).text == "5678"
    assert ask({"reverse": True}, both, one, two).text == "5678 1234"
    assert ask({"no_pictures": True}, READ, one).text == "I see no picture."
    server = Deployment({"cached_picture": True})
    assert [server(request(READ, picture)).text for picture in (one, two)] == ["1234", "1234"]
    dropped = {"no_pictures_with_system": True}
    assert ask(dropped, READ, one, system="Be brief.").text == "I see no picture."
    assert ask(dropped, READ, one).text == "1234"


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
    broken = request("hello", drawings.code(448, 448, "1234"))
    broken.messages[0]["content"][0]["image_url"]["url"] = "data:image/png;base64,iVBORw0KGgo="
    assert Deployment({})(broken).status == 400
    assert Deployment({"swallow_broken": True})(broken).status == 200
