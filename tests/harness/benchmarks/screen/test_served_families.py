"""Every family behind a local server: it answers as the family writes the recorded action."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.runs import open_run
from parsers.actions import Action
from parsers.points.spelling import MOST
from parsers.screen import Point, from_object
from parsers.screen.families import FAMILIES, Family
from parsers.screen.spelling import write_action
from tests.harness.benchmarks.grounding._files import png, write
from tests.harness.commands.tool import isolate
from tests.servers import WireServer
from tests.servers.answers import Answer, Ask
from tests.servers.pixels import PixelModel, Size

PHONE = (540, 1200)
GOLD: dict[str, dict[str, Any]] = {
    "tap the bell": {"type": "click", "at": [135, 300]},
    "see more": {"type": "scroll", "direction": "down"},
    "write tea": {"type": "type", "text": "green tea"},
}
NAMES = {"openai-computer": "gpt-5.4", "gemini-computer-use": "gemini-3-pro"}


@dataclass
class Speaker:
    """A model that knows the right action and writes it as its family does, in its numbers."""

    family: Family
    side: str
    seen: PixelModel = field(default_factory=PixelModel)
    pictures: list[Size] = field(default_factory=list)

    def __call__(self, ask: Ask) -> Answer:
        self.seen(ask)
        shown = self.seen.sent[-1]
        self.pictures.append(shown)
        text = json.dumps(ask.messages)
        (goal,) = (goal for goal in GOLD if goal in text)
        action = from_object(GOLD[goal], (1, 1))
        said = write_action(action, self.family, self.numbers, PHONE, side=self.side)  # type: ignore[arg-type]
        assert said is not None
        return Answer(said)

    def numbers(self, point: Point) -> Sequence[str]:
        """A place of the phone in the model's numbers: of the picture that came in."""
        most = MOST[self.family.coordinates]
        sides = self.pictures[-1] if most is None else (most, most)
        x, y = (one * top / side for one, top, side in zip(point, sides, PHONE, strict=True))
        return (f"{x:.4f}", f"{y:.4f}") if most == 1 else (str(round(x)), str(round(y)))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("phone")
    write(place / "screen.toml", 'name = "phone"\npoints = "px"\nscroll = "content"\n')
    lines = [
        {"image": "a.png", "goal": goal, "episode": goal, "action": action}
        for goal, action in GOLD.items()
    ]
    write(place / "steps.jsonl", "\n".join(map(json.dumps, lines)))
    write(place / "images" / "a.png", png(PHONE))
    return place


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
def test_a_served_family_is_understood(
    family: Family, data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    options: dict[str, Any] = {"family": family.name, "coordinates": family.coordinates}
    if family.scroll is None:
        options["scroll"] = "finger"
    speaker = Speaker(family, family.side("finger" if family.scroll is None else None, "content"))
    with WireServer(speaker) as server:
        run = harness.evaluate(
            f"openai:{NAMES.get(family.name, 'made-up-vl')}",
            base_url=server.base_url("openai"),
            benchmark="screen-steps",
            data=data,
            protocol_option=options,
            preflight=False,
            out=tmp_path / "run",
        )
    found = {record.goal: record for record in open_run(run.path).records()}
    assert {goal: (one.scores or {})["strict"] for goal, one in found.items()} == dict.fromkeys(
        GOLD, 1
    )
    prediction = found["tap the bell"].prediction
    assert prediction and isinstance(prediction.action, Action)
    assert prediction.point == pytest.approx((135, 300), abs=1.5)
