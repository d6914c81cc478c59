"""Protocols that answer by mark, by description and by point, as whole runs on the sample."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from adapters.contract import Request
from harness.pictures import Recipe
from parsers import in_box
from tests.harness.commands.tool import ONE_TASK, call, calls, steps

ASKED = (*ONE_TASK, "--no-cache")
MARKS = (*ASKED, "--protocol", "seeact-annotation", "--ranker", "lexical")
WORDS = (*ASKED, "--protocol", "seeact-attributes")
POINTS = (*ASKED, "--protocol", "coordinates")
SEECLICK = (*POINTS, "--protocol-option", "form=seeclick")
PER_MILLE = (*POINTS, "--protocol-option", "coordinates=per-mille")


def by_chance(request: Request) -> str:
    """Some answer in everybody's form, always the same to the same question."""
    drawn = hashlib.sha256(request.conversation.digest().encode()).digest()
    if request.place == "answer":
        return f"ELEMENT: {drawn[0] * 4}, {drawn[1] * 2}\nACTION: CLICK\nVALUE: None"
    if request.place == "attributes":
        text = ("Home", "Search", "Contact", "nowhere to be found at all")[drawn[0] % 4]
        return f"ELEMENT: it\nELEMENT TYPE: LINK\nELEMENT TEXT: {text}\nACTION: CLICK\nVALUE: None"
    return f"ELEMENT: {('NA', 'A', 'C')[drawn[0] % 3]}\nACTION: CLICK\nVALUE: None"


def script(name: str) -> str:
    return f"scripted:{__name__}:{name}"


def test_what_the_matcher_costs_is_told_beside_what_the_model_got_wrong() -> None:
    told = call("--model", "oracle", *WORDS, "--details", "--out", "o")
    assert told.code == 0
    valid = [s for s in steps("o") if s["asked"]]
    for step in valid:
        flags = step["prediction"]["flags"]
        assert "matched-exactly" in flags
        assert step["scores"]["element"] or "matcher-tie" in flags
    line = next(line for line in told.out.splitlines() if line.startswith("descriptions"))
    assert line.startswith(f"descriptions matched: {len(valid)} exactly, 0 approximately (")


def test_the_pictures_that_were_shown_are_on_record_with_their_letters() -> None:
    assert call("--model", script("by_chance"), *MARKS, "--out", "r").code == 0
    shown = [
        part
        for line in calls("r")
        for message in line["messages"]
        for part in message["parts"]
        if isinstance(part, dict)
    ]
    assert shown
    for picture in shown:
        marks = Recipe.parse(picture["recipe"]).marks
        assert 1 <= len(marks) <= 17
        assert [mark.letter for mark in marks] == sorted(mark.letter for mark in marks)


def test_a_point_is_scored_in_both_ways() -> None:
    told = call("--model", script("by_chance"), *PER_MILLE, "--details", "--out", "r")
    assert told.code == 0
    found = [s for s in steps("r") if s["asked"] and s["prediction"]["point"]]
    assert found
    for step in found:
        point, gold = step["prediction"]["point"], step["gold"]
        inside = any(in_box(tuple(point), tuple(box)) for box in gold["boxes"] if box)
        assert step["scores"]["element"] == step["scores"]["element_in_box"] == inside
        under = step["prediction"]["under"] in gold["elements"]
        assert step["scores"]["element_under"] == under
    assert f"points: {len(found)}, of which" in told.out
    smallest = call("score", "r", "--benchmark-option", "point_rule=smallest", "--json=full")
    assert json.loads(smallest.out)["scoring"]["point_rule"] == "smallest"


def test_seeclicks_history_is_where_the_task_acted_before_whatever_is_selected() -> None:
    asked = (*SEECLICK, "--protocol-option", "coordinates=unit", "--model", script("by_chance"))
    assert call(*asked, "--out", "whole").code == 0
    told = {line["unit_id"]: line["messages"][0]["parts"][-1] for line in calls("whole")}
    lines = {s["index"]: s for s in steps("whole")}
    places = {}
    for index, line in lines.items():
        ids, boxes = line["gold"]["elements"], line["gold"]["boxes"]
        box = dict(zip(ids, boxes, strict=True)).get(line["gold"]["original"])
        if box and line["page_size"]:
            width, height = line["page_size"]
            x, y = (box[0] + box[2] / 2) / width, (box[1] + box[3] / 2) / height
            places[index] = f"({x:.2f},{y:.2f})"
    last = max(index for index, line in lines.items() if line["asked"])
    before = [places[index] for index in sorted(places) if index < last][-4:]
    text = told[lines[last]["step_id"]]
    assert len(before) >= 2
    assert re.findall(r"\(0\.\d\d,\d\.\d\d\)", text) == before
    assert text.count("Step") == len(before)
    alone = lines[last]["step_id"]
    assert call(*asked, "--only", f"step_id={alone}", "--out", "alone").code == 0
    assert [line["messages"][0]["parts"][-1] for line in calls("alone")] == [text]


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ((*POINTS, "--model", "scripted:{script}"), "coordinates=absolute (pixels"),
        ((*POINTS, "--model", "oracle", "--image-policy", "tiles"), "full, viewport or candidates"),
        ((*POINTS, "--model", "oracle", "--image-policy", "none"), "without pictures"),
        (
            (*POINTS, "--model", "oracle", "--benchmark-option", "candidates=snapshot"),
            "takes all only",
        ),
        ((*POINTS, "--model", "oracle", "--protocol-option", "form=no"), "qwen-vl, qwen2-vl"),
        ((*MARKS, "--model", "oracle", "--image-policy", "none"), "without pictures"),
        ((*WORDS, "--model", "oracle", "--image-policy", "none"), "without pictures"),
        ((*MARKS, "--model", "oracle", "--protocol-option", "batch_size=0"), "expected 1 to 100"),
    ],
)
def test_mistakes_are_told_in_one_line(asked: tuple[str, ...], complaint: str) -> None:
    found = call(*(arg.format(script=script("by_chance")[9:]) for arg in asked), "--out", "r")
    assert found.code == 2
    assert complaint in found.complaint
    assert not Path("r").exists()
