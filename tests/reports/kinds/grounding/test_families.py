"""Models of different families on the same items: each asked in its own way, and all ranked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import harness
from adapters import PictureSource, Reply, Request
from harness.runs import open_run
from tests.harness.commands.tool import call, isolate
from tests.test_entry_points import Echo


class Pointer(Echo):
    """A model of some family that answers a point."""

    def __init__(self, model: str, says: str) -> None:
        super().__init__(model)
        known: Any = {"takes_pictures": True, "coordinates": "per-mille"}
        self.info = replace(self.info, name=model, **known)
        self.says = says

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        return Reply(self.says)


def run(model: str, says: str, out: str, **options: str) -> None:
    harness.evaluate(
        Pointer(model, says),
        benchmark="sample-grounding",
        split="dev",
        limit=8,
        out=out,
        preflight=False,
        protocol_option=options,
    )


def test_what_belongs_to_a_model_stands_against_no_ranking(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    run("UI-TARS-7B", "(500,500)", "tars")
    run("InternVL3-8B", "<box>[[0, 0, 1000, 1000]]</box>", "intern")
    run("OS-Atlas-Base-4B", "[[500,500]]", "declared", form="plain")
    run("UGround-V1-7B", "(500, 500)", "zoomed", zoom="crop")
    forms = [
        open_run(name).manifest.config["protocol_option"]["form"] for name in ("tars", "intern")
    ]
    assert forms == ["ui-tars", "box-text"]
    assert "not ranked" not in call("report", "tars", "intern").out
    assert "Hit" in call("compare", "tars", "intern").out
    assert call("run", "-m", "centre", "-b", "sample-grounding", "--split", "dev", "--limit", "8",
                "-o", "centre").code == 0  # fmt: skip
    assert "not ranked" not in call("report", "tars", "centre").out
    # What a user chose is a way to ask, and so is a second look.
    told = call("report", "tars", "declared").out
    assert "not ranked: the runs were not measured alike, but differ in" in told
    assert "protocol_option.form" in " ".join(told.split())
    assert "protocol_option.zoom" in " ".join(call("report", "tars", "zoomed").out.split())
    assert "--vary" in call("compare", "tars", "zoomed").complaint
