"""Steps of conversations on the page: turns in their order, and what was asked for before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.sample.trajectories import load_conversations
from tests.harness.commands.tool import call, isolate
from tests.reports.view.pages import page

(PAN,) = (found for found in load_conversations() if found.name == "sisters-pan")


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("conversations")
    with pytest.MonkeyPatch.context() as patched:
        isolate(patched, root)
        asked = ("-b", "mt-sample", "--split", "dev", "--limit", "1", "--ranker", "lexical")
        run = ("run", "-m", "oracle", *asked, "--protocol", "mt-mindact", "-o", "run")
        assert call(*run, "--progress", "off").code == 0
    page([root / "run"], root / "page")
    return root / "page" / "data"


def _arguments(path: Path, function: str) -> Any:
    """The arguments of a call in a script."""
    text = path.read_text("ascii")
    start = text.index(f"{function}(") + len(function) + 1
    return json.loads(f"[{text[start : text.rindex(');')]}]")


def test_turns_follow_each_other_as_in_their_conversation(sample: Path) -> None:
    (listed,) = _arguments(sample / "steps.js", "VLM.load")
    assert [goal for _, goal in listed["tasks"]] == [turn.goal for turn in PAN.turns]
    assert len(listed["steps"]) == sum(len(turn.actions) for turn in PAN.turns)


def test_a_step_tells_the_turns_before_with_what_was_done(sample: Path) -> None:
    def earlier(number: int) -> list[str]:
        *_, detail = _arguments(sample / f"step-{number}.js", "VLM.add")
        return [
            item[0]
            for title, items, *_ in detail["lists"]
            if title.startswith("Earlier")
            for item in items
        ]

    assert earlier(0) == []
    told = earlier(len(PAN.turns[0].actions) + len(PAN.turns[1].actions))
    assert [text.split("”")[0] for text in told] == [f"“{turn.goal}" for turn in PAN.turns[:2]]
    assert told[1].endswith("[button]  Add to basket -> CLICK")
    assert "[combobox]  Colour -> SELECT: Quince yellow; " in told[1]
