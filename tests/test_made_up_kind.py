"""A made-up benchmark from its run to the page; nothing outside this file knows of road signs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import harness
from adapters import Conversation, Fatal, PictureSource, Reply, Request, user
from adapters.registry import Entry
from harness.benchmarks import BENCHMARKS, Benchmark, Items
from harness.dialogue import Ask, Dialogue
from harness.protocols import PROTOCOLS, AskingProtocol
from harness.views import ItemView
from parsers import Declaration, Level, Measure, Prediction, Status
from parsers.actions import Action, ActionKind, ActionSpace, Argument
from tests.harness.commands.tool import call, isolate
from tests.test_entry_points import Echo

SPACE = (ActionKind("stop"), ActionKind("limit", (Argument("speed", "number"),)))
FIFTY = Action("limit", arguments={"speed": 50})
SIGNS = (("Bonn", "a 50", FIFTY), ("Ulm", "an octagon", Action("stop")), ("Ulm", "a ring", FIFTY))


@dataclass(frozen=True)
class SignDetail:
    asked: str
    gold: Action


def is_named(prediction: Prediction, detail: SignDetail) -> float:
    return float(prediction.action is not None and prediction.action.name == detail.gold.name)


def speed_share(prediction: Prediction, detail: SignDetail) -> float | None:
    said = prediction.action.arguments.get("speed") if prediction.action else None
    share = min(said, 50) / 50 if isinstance(said, int) else 0.0
    return share if detail.gold.arguments else None


class SignView(ItemView[str]):
    """A road sign in words."""


DECLARED = Declaration(
    (Measure("named", "Named", main=True), Measure("speed", "Speed")),
    levels=(Level("town"),),
    kind="sign",
    actions=ActionSpace("signs", SPACE),
)


@dataclass(frozen=True)
class RoadSigns(Benchmark):
    name: str = "road-signs"
    declared: Declaration = DECLARED
    View = SignView
    Detail = SignDetail
    protocol = "read-the-sign"
    scorers: ClassVar = {"named": is_named, "speed": speed_share}

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        return Items.of(
            self.unit(f"sign-{number}", SignDetail(text, gold), parents={"town": town})
            for number, (town, text, gold) in enumerate(SIGNS)
        )


@dataclass(frozen=True)
class ReadTheSign(AskingProtocol):
    name = "read-the-sign"
    View = SignView
    places = ("read",)

    def dialogue(self, view: SignView) -> Dialogue:
        reply = yield Ask(Conversation((user(f"What does {view.content} say?"),)), "read")
        assert isinstance(reply, Reply)
        name, *rest = reply.text.split()
        speed = {"speed": int(rest[0])} if rest else {}
        return Prediction(Status.ANSWERED, Action(name, arguments=speed))

    def write(self, view: SignView, said: Prediction) -> Mapping[str, str]:
        action = said.action
        return {"read": f"{action.name} {action.arguments.get('speed', '')}" if action else ""}


class Driver(Echo):
    def __init__(self, last: int = 0) -> None:
        super().__init__("driver")
        self.last, self.asked = last, list[str]()

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        self.asked.append(request.conversation.messages[-1].text)
        if len(self.asked) == self.last:
            raise Fatal("the driver is asleep")
        return Reply("limit 40")


def test_it_goes_from_a_run_to_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)
    known: list[Any] = [(BENCHMARKS, RoadSigns), (PROTOCOLS, ReadTheSign)]
    for registry, thing in known:
        monkeypatch.setitem(registry._entries, thing.name, Entry("", thing))
    run: harness.RunOptions = {
        "benchmark": "road-signs",
        "out": "driver",
        "preflight": False,
        "concurrency": 1,
    }
    asleep, awake = Driver(2), Driver()
    with pytest.raises(Fatal, match="asleep"):
        harness.evaluate(asleep, **run)
    done = harness.evaluate(awake, **run)
    assert done.complete and len(asleep.asked) == len(awake.asked) == 2
    scores = ({"named": 1.0, "speed": 0.8}, {"named": 0.0, "speed": None})
    assert [record.scores for record in done.records()] == [*scores, scores[0]]
    assert "0 of 3 predictions read differently" in call("score", "driver").out
    assert call("run", "-m", "oracle", "-b", "road-signs", "-o", "oracle").code == 0
    report = call("report", "driver", "oracle").out
    assert re.search(r"test +2 +3 +75\.0 .* 80\.0", report) and "towns as" in report
    compared = call("compare", "driver", "oracle").out
    assert re.search(r"Named micro +66\.7 +100\.0 +\+33\.3", compared) and "Speed macro" in compared
    assert call("view", "driver", "oracle", "-o", "page").code == 0
    page = Path("page/index.html").read_text("utf-8"), Path("page/data/steps.js").read_text("utf-8")
    assert "road-signs" in page[0] and "Named" in page[0] and "sign-2" in page[1]
