"""Steps on a phone as a kind of one's own: pictures, actions, predictions files, error classes."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from PIL import Image

import harness
from adapters import Conversation, Reply, Request, user
from adapters.options import Count
from harness.benchmarks import BENCHMARKS, Benchmark, Items
from harness.benchmarks.options import Options
from harness.dialogue import Ask, Dialogue
from harness.options import setting
from harness.protocols import PROTOCOLS, AskingProtocol, Needs
from harness.protocols.pointing import located, numbers_of
from harness.views import ItemView
from parsers import Declaration, Level, Measure, Prediction, Status
from parsers.actions import Action, ActionKind, ActionSpace, Argument
from parsers.points import PointAnswer
from tests.extensions.made_up import known
from tests.harness.commands.tool import call, isolate

WIDTH, HEIGHT = 800, 1600
Box = tuple[float, float, float, float]
SCREENS = (
    ("open", "Open the mail", "tap", (100.0, 100.0, 200.0, 200.0), ""),
    ("write", "Write hello", "type", None, "hello"),
    ("send", "Send it", "tap", (700.0, 1500.0, 780.0, 1580.0), ""),
)
"""Left, top, right and bottom of what is to be tapped, in pixels of the screen."""


@dataclass(frozen=True)
class PhoneDetail:
    asked: str
    gold: Action
    box: Box | None = None


def is_done(said: Prediction, detail: PhoneDetail) -> float:
    if said.action is None or said.action.name != detail.gold.name:
        return 0.0
    if detail.box is None:
        return float(said.action.arguments == detail.gold.arguments)
    return float(distance(said, detail) == 0)


def distance(said: Prediction, detail: PhoneDetail) -> float | None:
    if said.point is None or detail.box is None:
        return None
    (x, y), (left, top, right, bottom) = said.point, detail.box
    return max(left - x, 0, x - right) + max(top - y, 0, y - bottom)


def wrong_kind(said: Prediction, detail: PhoneDetail) -> float:
    return float(said.action is not None and said.action.name != detail.gold.name)


DECLARED = Declaration(
    measures=(
        Measure("done", "Done", "the right action", main=True),
        Measure("distance", "px", "pixels to the target", averages=("quartiles",)),
        Measure("wrong_kind", "Wrong kind", "another kind of action", averages=()),
    ),
    levels=(Level("app"),),
    kind="phone-step",
    unit="tap-or-type",
    units="taps-and-types",
    actions=ActionSpace(
        "phone",
        (
            ActionKind("tap", (Argument("point", "point"),)),
            ActionKind("type", (Argument("text", "text"),)),
        ),
    ),
    labels=("fat finger", "wrong screen"),
    errors=("wrong_kind",),
)


class PhoneView(ItemView[str]):
    """A screen of the phone."""


@dataclass(frozen=True, kw_only=True)
class PhoneOptions(Options):
    scale: Count = setting(1, "How many pixels a screen has for one.", group="Data")


@dataclass(frozen=True)
class Phone(Benchmark):
    name: str = "phone"
    declared: Declaration = DECLARED
    View = PhoneView
    Detail = PhoneDetail
    protocol = "ask-the-phone"
    pictures = True
    Options = PhoneOptions
    scorers: ClassVar = {"done": is_done, "distance": distance, "wrong_kind": wrong_kind}

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        return Items.of([self._step(*one) for one in SCREENS], pictures=self._screen)

    def _step(self, name: str, goal: str, kind: str, box: Box | None, text: str) -> Any:
        grown = None
        if box is not None:
            left, top, right, bottom = (self.options.scale * place for place in box)
            grown = left, top, right, bottom
        middle = grown and ((grown[0] + grown[2]) / 2, (grown[1] + grown[3]) / 2)
        gold = Action(kind, point=middle, arguments={"text": text} if text else {})
        return self.unit(name, PhoneDetail(goal, gold, grown), parents={"app": "mail"}, goal=goal)

    def _screen(self, unit: object) -> Sequence[bytes]:
        file, scale = io.BytesIO(), self.options.scale
        Image.new("RGB", (WIDTH * scale, HEIGHT * scale), "white").save(file, "PNG")
        return [file.getvalue()]


@dataclass(frozen=True)
class AskThePhone(AskingProtocol):
    """One call per screen; places are in thousandths of the picture that is sent."""

    name = "ask-the-phone"
    View = PhoneView
    places = ("act",)
    needs = Needs(sees=True, point=True, picture_policy="full:pixels=320000")

    def dialogue(self, view: PhoneView) -> Dialogue:
        (picture,) = view.pictures
        question = Conversation((user(picture, f"{view.content}: tap X Y, or type TEXT"),))
        reply = yield Ask(question, "act")
        assert isinstance(reply, Reply)
        name, _, rest = reply.text.strip().partition(" ")
        if name == "type":
            return Prediction(Status.ANSWERED, Action("type", arguments={"text": rest}))
        numbers = [float(number) for number in re.findall(r"\d+\.?\d*", rest)]
        if name != "tap" or len(numbers) != 2:
            return Prediction(Status.PARSE_ERROR)
        answer = PointAnswer(Status.ANSWERED, (numbers[0], numbers[1]))
        place = located(answer, "per-mille", picture)
        return Prediction(place.status, place.point and Action("tap", point=place.point))

    def write(self, view: PhoneView, said: Prediction) -> Mapping[str, str]:
        action = said.action
        if action is None:
            return {"act": "?"}
        if action.point is None:
            return {"act": f"type {action.arguments['text']}"}
        x, y = numbers_of(action.point, "per-mille", view.pictures[0])
        return {"act": f"tap {x} {y}"}


@pytest.fixture(autouse=True)
def phone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)
    known(monkeypatch, BENCHMARKS, "phone", Phone)
    known(monkeypatch, PROTOCOLS, "ask-the-phone", AskThePhone)


def rows(run: str) -> dict[str, dict[Any, Any]]:
    """The frame of a run as rows by unit."""
    return {row["tap-or-type_id"]: row for row in harness.open_run(run).steps().to_dict("records")}


def thumb(request: Request) -> str:
    """Tap the middle of the first icon, whatever is asked."""
    (picture,) = request.conversation.pictures
    assert (picture.width, picture.height) == (400, 800)  # 320,000 pixels
    return "tap 187.5 93.75"


THUMB = "scripted:tests.extensions.test_phone_steps:thumb"


@pytest.mark.parametrize("scale", [1, 2])
def test_a_point_on_the_sent_picture_gets_to_the_original(scale: int) -> None:
    given = ("--benchmark-option", f"scale={scale}", "-o", "run")
    assert call("run", "-m", THUMB, "-b", "phone", *given).code == 0
    frame = rows("run")
    at = frame["open"]
    assert (at["action"], at["point_x"], at["point_y"]) == ("tap", 150.0 * scale, 150.0 * scale)
    assert at["done"] and at["distance"] == 0 and frame["send"]["distance"] > 1000 * scale
    assert not any(isinstance(row["arguments"], str) for row in frame.values())
    manifest = json.loads(Path("run/manifest.json").read_text())
    assert manifest["config"]["benchmark_option"]["scale"] == scale
    assert "0 of 3 predictions read differently" in call("score", "run").out
    other = call("run", "-m", THUMB, "-b", "phone", "--benchmark-option", "scale=3", "-o", "run")
    assert other.code == 2 and "benchmark_option" in other.err


def test_the_right_answers_survive_spelling_and_reading() -> None:
    ran = call("run", "-m", "oracle", "-b", "phone", "-o", "run")
    assert ran.code == 0 and "3 taps-and-types" in ran.err and "taps-or-types" not in ran.err
    frame = rows("run")
    assert all(row["done"] for row in frame.values())
    assert json.loads(frame["write"]["arguments"]) == {"text": "hello"}


def test_failures_have_declared_classes_and_labels() -> None:
    call("run", "-m", THUMB, "-b", "phone", "-o", "run")
    printed = call("errors", "run").out
    assert re.search(r"wrong kind +1\b", printed) and re.search(r"failed +1\b", printed)
    assert call("view", "run", "-o", "page").code == 0
    page = "".join(path.read_text("utf-8") for path in Path("page").rglob("*.js"))
    assert "fat finger" in page and "hallucination" not in page


def test_predictions_of_another_program_are_scored() -> None:
    lines = [
        {"unit": "open", "action": {"name": "tap", "point": [150, 150]}},
        {"unit": "write", "action": {"name": "type", "arguments": {"text": "hello"}}},
        {"unit": "send"},
    ]
    Path("theirs.jsonl").write_text("\n".join(map(json.dumps, lines)))
    scored = call("score", "--predictions", "theirs.jsonl", "-b", "phone")
    assert scored.code == 0 and "66.7" in scored.out and "3 taps-and-types" in scored.out
    Path("theirs.jsonl").write_text('{"unit": "open", "action": {"name": "tab"}}')
    told = call("score", "--predictions", "theirs.jsonl", "-b", "phone")
    assert "line 1: unknown action 'tab'; did you mean 'tap'?" in told.complaint


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--image-policy", "none"), "'ask-the-phone' cannot be asked without pictures"),
        (
            ("--benchmark-option", "size=3"),
            "size: phone has no such option",
        ),
        (("--benchmark-option", "scale=big"), "--benchmark-option scale=big: "),
        (
            ("-b", "sample", "--benchmark-option", "scale=1"),
            "scale: sample has no such option",
        ),
    ],
)
def test_mistakes_are_a_line(words: tuple[str, ...], said: str) -> None:
    words = words if "-b" in words else ("-b", "phone", *words)
    told = call("run", "-m", "oracle", *words)
    assert told.code == 2 and said in told.complaint
