"""Every family of models that point, from the question to the score: a server that answers as it
does, and the oracle in its form and numbers."""

from __future__ import annotations

import base64
import io
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import harness
from harness.benchmarks import open_benchmark
from harness.pictures import PicturePolicy, plan, read_size
from harness.views import PlaceView
from parsers.grounding import GroundingDetail
from parsers.records import Status
from tests.families import FAMILIES, Family
from tests.harness.commands.tool import isolate
from tests.servers import Answer, Ask, WireServer
from tests.servers.pixels import smart_resize

ITEMS = ("bea6f727-1", "413c3f30-2", "86c072e6-2", "584332c1-1")
UNITS = tuple(f"copperquince-{item}" for item in ITEMS)
SIZE = (1280, 720)
Known = tuple[PlaceView, GroundingDetail]


@cache
def sample() -> dict[str, Known]:
    """The items of the sample's dev split with their pictures, shown unscaled."""
    data: Any = open_benchmark("sample-grounding", splits=["dev"])
    screenshots = {}
    for unit in data.entries:
        name = unit.parents["picture"]
        if name not in screenshots:
            screenshots[name] = plan(PicturePolicy(), read_size(data.pictures(unit)[0]))
    return {
        unit.unit_id: (
            PlaceView(unit.unit_id, unit.detail.asked, screenshots[unit.parents["picture"]]),
            unit.detail,
        )
        for unit in data.entries
    }


class Server:
    """A model of a family that knows where everything is."""

    def __init__(self, family: Family) -> None:
        self.family = family
        self.orders: list[list[str]] = []

    def __call__(self, ask: Ask) -> Answer:
        parts = ask.messages[-1]["content"]
        self.orders.append([part["type"] for part in parts])
        (url,) = (part["image_url"]["url"] for part in parts if part["type"] == "image_url")
        picture = base64.b64decode(url.partition("base64,")[2])
        known = [d for item, d in (sample()[unit] for unit in UNITS) if item.content in ask.text]
        (detail,) = known
        if detail.gold.kind == "absent":
            return Answer("The element does not exist.")
        left, top, right, bottom = detail.gold.bounds
        box = left / SIZE[0], top / SIZE[1], right / SIZE[0], bottom / SIZE[1]
        size = Image.open(io.BytesIO(picture)).size
        if self.family.numbers == "absolute" and not self.family.declared:
            # As vLLM resizes every picture, whatever its size: pixels are those that it made.
            size = smart_resize(size, 28, 3136, 12_845_056)
        return Answer(self.family.says(box, size))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.model)
def test_what_a_family_answers_is_scored(
    family: Family, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    server = Server(family)
    options = {"coordinates": family.numbers} if family.declared else {}
    with WireServer(server) as wire:
        done = harness.evaluate(
            f"openai:{family.model}",
            benchmark="sample-grounding",
            split="dev",
            only=[f"step_id={unit}" for unit in UNITS],
            base_url=wire.base_url("openai"),
            protocol_option=options,
            out="run",
            preflight=False,
            cache=False,
        )
    records = {record.unit_id: record for record in done.records()}
    assert {name: (r.scores or {}).get("hit") for name, r in records.items()} == dict.fromkeys(
        UNITS, 1.0
    )
    statuses = [record.prediction.status for record in records.values() if record.prediction]
    assert sorted(statuses) == [*[Status.ANSWERED] * 3, Status.NONE]
    first = "text" if family.pack in ("mai-ui", "showui") else "image_url"
    assert {order[0] for order in server.orders} == {first}
