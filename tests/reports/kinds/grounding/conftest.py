"""A benchmark of five items, and models that answer with what a test says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import harness
from adapters import PictureSource, Reply, Request
from adapters.registry import Entry
from harness.benchmarks import BENCHMARKS, Items
from parsers.declaration import Declaration, Level
from tests.grounding import DECLARED, TARGETS, Screens
from tests.harness.commands.tool import isolate
from tests.test_entry_points import Echo

Made = Callable[..., Path]

APPLICATIONS = replace(
    DECLARED,
    levels=(Level("picture", shared=True), Level("application", shared=True)),
    clusters=("application", "picture"),
    shared=True,
)


@dataclass(frozen=True)
class InApplications(Screens):
    """The same items, two applications as clusters, and two ways to ask as splits."""

    name: str = "screens-of-applications"
    declared: Declaration = APPLICATIONS

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        found = super().open()
        split = (splits or ("original",))[0]
        units = [
            replace(unit, split=split, parents={**unit.parents, "application": unit.unit_id[0]})
            for unit in found.entries
        ]
        return Items.of(units, pictures=found.pictures)


class Pointer(Echo):
    """A model that answers an instruction with a text, and thinks aloud if it is told to."""

    def __init__(self, replies: Mapping[str, str], thought: str = "") -> None:
        super().__init__("pointer")
        self.replies, self.thought = replies, thought

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        question = request.conversation.messages[-1].text
        asked = next(asked for _, asked, _ in TARGETS.values() if asked in question)
        return Reply(self.replies[asked], reasoning=self.thought)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Made:
    """Runs of a model with these replies by instruction; a plain point is written as x, y."""
    isolate(monkeypatch, tmp_path)
    for one in (Screens, InApplications):
        monkeypatch.setitem(BENCHMARKS._entries, one.name, Entry("", one))

    def run(name: str, replies: Mapping[str, str], **settings: Any) -> Path:
        texts = {
            asked: f"ELEMENT: {replies[item]}" if replies[item][:1].isdigit() else replies[item]
            for item, (_, asked, _) in TARGETS.items()
        }
        options = {"coordinates": "absolute", **settings.pop("options", {})}
        model = Pointer(texts, settings.pop("thought", ""))
        usual = {"benchmark": "screens", "preflight": False, "concurrency": 1, "cache": False}
        harness.evaluate(
            model, out=str(tmp_path / name), protocol_option=options, **{**usual, **settings}
        )
        return tmp_path / name

    return run
