"""A benchmark of a made-up kind: run, resumed, scored, reported, compared and shown as a page.

Nothing outside this file knows of signs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

import harness
from adapters import Conversation, PictureSource, Reply, Request, user
from adapters.contract import Fatal
from adapters.registry import Entry
from harness.benchmarks import BENCHMARKS, Benchmark
from harness.benchmarks.items import Items
from harness.dialogue import Ask, Dialogue
from harness.protocols import PROTOCOLS, AskingProtocol
from harness.records import Item
from harness.runs import KINDS
from parsers import Declaration, Level, Measure, Prediction, Status
from parsers.actions import Action, ActionKind, ActionSpace, Argument
from tests.harness.commands.tool import call, isolate
from tests.test_entry_points import Echo

STOP, FIFTY = Action("stop"), Action("limit", arguments={"speed": 50})
SIGNS = {"a": ("Ulm", "a red octagon", STOP), "b": ("Ulm", "50 in a red ring", FIFTY)}
SIGNS["c"] = ("Bonn", "50 on a white board", FIFTY)
SPACE = (ActionKind("stop"), ActionKind("limit", (Argument("speed", "number"),)))


@dataclass(frozen=True)
class SignDetail:
    asked: str
    gold: Action


def is_named(prediction: Prediction, detail: SignDetail) -> float:
    return float(prediction.action is not None and prediction.action.name == detail.gold.name)


def speed_share(prediction: Prediction, detail: SignDetail) -> float | None:
    if not detail.gold.arguments:
        return None
    said = prediction.action.arguments.get("speed") if prediction.action else None
    return min(said, 50) / 50 if isinstance(said, int) else 0.0


DECLARED = Declaration(
    (Measure("named", "Named", main=True), Measure("speed", "Speed", binary=False)),
    levels=(Level("town"),),
    kind="sign",
    actions=ActionSpace("signs", SPACE),
)


@dataclass(frozen=True)
class RoadSigns(Benchmark):
    name: str = "road-signs"
    declared: Declaration = DECLARED
    protocol = "read-the-sign"
    scorers: ClassVar = {"named": is_named, "speed": speed_share}

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        return Items.of(
            self.unit(key, SignDetail(text, gold), parents={"town": town}, goal=text)
            for key, (town, text, gold) in SIGNS.items()
        )


@dataclass(frozen=True)
class ReadTheSign(AskingProtocol):
    name = "read-the-sign"
    kind = "sign"
    places = ("read",)

    def dialogue(self, item: Item[str]) -> Dialogue:
        reply = yield Ask(Conversation((user(f"What does {item.content} say?"),)), "read")
        assert isinstance(reply, Reply)
        name, *rest = reply.text.split()
        action = Action(name, arguments={"speed": int(rest[0])} if rest else {})
        return Prediction(Status.ANSWERED, action)

    def spell(self, item: Item[str], prediction: Prediction) -> Mapping[str, str]:
        said = prediction.action
        return {"read": f"{said.name} {said.arguments.get('speed', '')}" if said else ""}


class Driver(Echo):
    """A model that says `limit 40`, and stops working at one of its calls."""

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
    added = {"road-signs": (BENCHMARKS, RoadSigns), "sign": (KINDS, SignDetail)}
    for name, (registry, thing) in {**added, "read-the-sign": (PROTOCOLS, ReadTheSign)}.items():
        monkeypatch.setitem(registry._entries, name, Entry(name, thing))
    run = {"benchmark": "road-signs", "out": "driver", "progress": "off", "preflight": False}
    asleep, awake = Driver(2), Driver()
    with pytest.raises(Fatal, match="asleep"):
        harness.evaluate(asleep, **run, concurrency=1)
    done = harness.evaluate(awake, **run)
    assert done.complete and len(asleep.asked) == len(awake.asked) == 2
    named, speed = [1.0, 0.0, 1.0], [0.8, None, 0.8]  # Bonn is before Ulm
    scores = [{"named": n, "speed": s} for n, s in zip(named, speed, strict=True)]
    assert [record.scores for record in done.records()] == scores
    scored = call("score", "driver").out
    assert "micro, 3 signs" in scored and "clusters: for new towns" in scored
    assert "0 of 3 predictions read differently" in scored
