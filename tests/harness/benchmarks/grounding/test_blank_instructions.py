"""Items without an instruction: asked about where the published files have them, always scored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.benchmarks.grounding import _files as files
from tests.harness.commands.tool import call, isolate

BLANK = "9bQOfLzvdu-0"
"""The item of the published file."""


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)


def as_published(place: Path, *blank: int) -> Path:
    """`refined` in its published size, in the layout of the authors' folder."""
    rows: list[dict[str, Any]] = [
        {
            "id": f"P{number % 251}-{number // 251}" if number else BLANK,
            "image_path": f"P{number % 251}.png",
            "image_size": list(files.SIZE),
            "instruction": "" if number in blank else f"open {number}",
            "GUI_types": ["Icon"],
            "box_type": "bbox" if number < 510 else "refusal",
            "box_coordinates": [10, 20, 30, 40] if number < 510 else [-1, -1, -1, -1],
        }
        for number in range(564)
    ]
    files.write(place / "OSWorld-G_refined.json", rows)
    files.write(place / "classification_result.json", {"classified": {}})
    for number in range(251):
        files.write(place / "images" / f"P{number}.png", files.png())
    return place


def test_the_published_file_opens_and_its_blank_item_is_asked_as_it_is(tmp_path: Path) -> None:
    data = as_published(tmp_path / "osworld-g", 0)
    told = f"1 item without an instruction ({BLANK}: ''), as published"
    on_set = ("--benchmark", "osworld-g", "--split", "refined", "--data", data)
    checked = call("data", "check", "osworld-g", "--data", data, "--split", "refined")
    assert checked.code == 0 and "564 items" in checked.out and told in checked.err
    Path("s.jsonl").write_text('{"default": true, "text": "(5, 5)"}', "utf-8")
    numbers = ("--protocol-option", "coordinates=absolute")
    run = call("run", "-m", "scripted:s.jsonl", *on_set, *numbers, "--limit", "3", "-o", "r")
    assert run.code == 0, run.err
    assert (run.out + run.err).count("without an instruction") == 1
    steps = [json.loads(line) for line in Path("r/steps.jsonl").read_text("utf-8").splitlines()]
    settled = {one["unit_id"]: one["scores"]["hit"] for one in steps}
    assert settled.pop(BLANK) == 0 and len(settled) == 2


def test_more_blank_items_are_not_asked_about_but_scored(tmp_path: Path) -> None:
    data = as_published(tmp_path / "osworld-g", 0, 7)
    on_set = ("--benchmark", "osworld-g", "--split", "refined", "--data", data)
    refused = call("run", "-m", "centre", *on_set, "-o", "r")
    assert refused.code == 2 and not Path("r").exists()
    assert refused.complaint.endswith(
        f": 2 items of osworld-g (the first is {BLANK}) have no instruction to ask about: complete "
        "the file, or leave them out"
    )
    said = [{"item": BLANK, "point": [12, 25]}, {"item": "P7-0", "point": [0, 0]}]
    Path("p.jsonl").write_text("\n".join(map(json.dumps, said)), "utf-8")
    scored = call("score", "--predictions", "p.jsonl", *on_set)
    assert scored.code == 0 and "2 predictions for 564 items" in scored.out
