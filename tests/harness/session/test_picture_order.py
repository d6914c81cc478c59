"""Where the picture of a message stands: one option of all protocols that show pictures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.commands.tool import ONE_TASK, call, calls, isolate

RANKED = (*ONE_TASK, "--ranker", "lexical", "--benchmark-option", "top_k=8")
CONVERSATION = ("-b", "mt-sample", "--split", "dev", "--limit", "1", "--ranker", "lexical")
TEXT_FIRST = ("--protocol-option", "order=text-first")


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)
    Path("s.jsonl").write_text('{"default": true, "text": "ELEMENT: A"}', "utf-8")


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("seeact-two-rounds", ONE_TASK),
        ("seeact-choice", RANKED),
        ("seeact-annotation", RANKED),
        ("seeact-attributes", ONE_TASK),
        ("coordinates", (*ONE_TASK, "--protocol-option", "coordinates=absolute")),
        ("action-strings", ONE_TASK),
        ("mt-mindact", (*CONVERSATION, "--image-policy", "full", "--benchmark-option", "top_k=5")),
    ],
)
def test_text_comes_before_the_picture_on_demand(name: str, asked: tuple[str, ...]) -> None:
    model = ("-m", "scripted:s.jsonl", "--protocol", name, *asked, "--no-cache")
    told: dict[str, str] = {}
    for order, option in (("picture-first", ()), ("text-first", TEXT_FIRST)):
        assert call("run", *model, *option, "-o", order).code == 0
        shown = [
            [isinstance(part, str) for part in message["parts"]]
            for one in calls(order)
            for message in one["messages"]
            if not all(isinstance(part, str) for part in message["parts"])
        ]
        assert shown
        assert all(texts == sorted(texts, reverse=order == "text-first") for texts in shown)
        config = json.loads(Path(order, "manifest.json").read_text("utf-8"))["config"]
        assert config["protocol_option"]["order"] == order
        told[order] = config["candidates_told"]
    # The published rows of SeeAct say so of their candidates.
    assert told["text-first"].replace(", text first", "") == told["picture-first"]
    assert told["text-first"] != told["picture-first"]


def test_grounding_with_its_picture_moved_is_not_beside_rows_of_the_family_s_own_prompt() -> None:
    from harness.runs import open_run
    from reports.kinds.grounding import grounding_keys

    on_set = ("-b", "sample-grounding", "--limit", "1", "-m", "scripted:s.jsonl")
    own = ("--protocol-option", "pack=ui-tars", "--protocol-option", "coordinates=absolute")
    found = {}
    for order, option in (("usual", ()), ("moved", TEXT_FIRST)):
        assert call("run", *on_set, *own, *option, "-o", order).code == 0
        found[order] = grounding_keys(open_run(Path(order)), {})["prompt"]
    assert found == {"usual": "own", "moved": "own, text-first"}
