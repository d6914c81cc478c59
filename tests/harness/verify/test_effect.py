"""What a deployment does to a score, from annotations: the worked cases, and a set made here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adapters.picture_tokens import FAMILIES, Rule
from harness.benchmarks import open_benchmark
from harness.errors import UserError
from harness.verify.effect import ceiling, effect_of, exposure, misread, targets_of
from harness.verify.report import effect_in_words
from harness.verify.sizes import shrunk
from parsers.grounding import GroundingDetail, Target
from tests.harness.benchmarks._files import shared_data
from tests.harness.commands.tool import call, isolate
from tests.harness.verify.test_deployments import NAMES, verified
from tests.harness.verify.test_scenes import _cases
from tests.servers import WireServer
from tests.servers.deployments import Deployment

QWEN = FAMILIES["qwen2.5-vl"]
assert QWEN.limited is not None
LIMITS: dict[str, Rule] = {
    "as published": QWEN.rule,
    "max_pixels 1605632": QWEN.limited(1_605_632),
    "max_pixels 1003520": QWEN.limited(1_003_520),
    "longest side 1024": shrunk(QWEN.rule, 1024),
    "gemma4, 280": FAMILIES["gemma4"].rule,
    "claude-4.6": FAMILIES["claude-4.6"].rule,
}
BOXES = [
    GroundingDetail(asked="a", gold=Target("box", (0, 0, 30, 10)), size=(100, 100)),
    GroundingDetail(asked="b", gold=Target("box", (60, 80, 80, 100)), size=(100, 100)),
]
WIDE = [GroundingDetail(asked="a", gold=Target("box", (900, 900, 940, 920)), size=(3840, 2160))]


def _targets(name: str) -> list[GroundingDetail]:
    data = shared_data("grounding")
    folder = data / "screenspot-v2-converted" if name == "screenspot-v2" else data
    return targets_of(name, open_benchmark(name, data=folder))


def test_exposure_of_the_cases() -> None:
    for case in _cases("exposure"):
        name, limit = case["input"]["benchmark"], case["input"]["limit"]
        rule = next(rule for words, rule in LIMITS.items() if limit.endswith(words))
        targets = _targets(name)
        found = {"items": len(targets), **exposure(targets, rule)}
        assert {key: found[key] for key in case["expect"]} == case["expect"], case["id"]


def test_ceilings_of_the_cases() -> None:
    for case in _cases("ceiling"):
        fault, qwen = case["input"]["fault"], QWEN.rule
        pointer = {
            "server max_pixels 1003520": misread(
                "absolute", "absolute", seen=LIMITS["max_pixels 1003520"], assumed=qwen
            ),
            "longest side 1024": misread(
                "absolute", "absolute", seen=LIMITS["longest side 1024"], assumed=qwen
            ),
            "thousandths read as pixels": misread("per-mille", "absolute", assumed=qwen),
            "pixels read as thousandths": misread("absolute", "per-mille", seen=qwen),
            "x and y swapped": misread("per-mille", "per-mille", swapped=True),
            "shifted down by 1 %": lambda point, size: (point[0], point[1] + 0.01 * size[1]),
        }
        made = next(one for words, one in pointer.items() if fault.startswith(words))
        found = ceiling(_targets(case["input"]["benchmark"]), made)
        assert found == case["expect"]["score"], case["id"]


def test_targets_are_measured_by_their_shorter_side_as_seen() -> None:
    assert exposure(BOXES, lambda w, h: QWEN.rule(w, h)._replace(size=(100, 50)), 6.0) == {
        "median_px": 10.0,
        "under_9_px": 50.0,
        "under_14_px": 100.0,
        "under_reading_px": 50.0,
    }


@pytest.mark.parametrize("unit", ["unit", "percent", "per-mille", "per-999", "absolute"])
def test_numbers_read_as_they_are_meant_hit_everything_and_swapped_ones_do_not(unit: str) -> None:
    assert ceiling(BOXES, misread(unit, unit)) == 100.0
    assert ceiling(BOXES, misread(unit, unit, swapped=True)) == 0.0


def test_what_cannot_be_pointed_at_is_left_out_and_a_set_of_such_is_refused() -> None:
    steps = open_benchmark("sample")
    with pytest.raises(UserError, match="no places to point at"):
        targets_of("sample", steps)
    opened = open_benchmark("sample-grounding")
    assert all(one.gold.point for one in targets_of("sample-grounding", opened))


@pytest.mark.parametrize(
    ("fake", "family", "score"),
    [
        ({}, "qwen3-vl", 100.0),
        ({"family": "qwen2.5-vl", "most": 1_003_520}, "qwen2.5-vl", 0.0),
        ({"swap": True}, "qwen3-vl", 0.0),
        ({"numbers": "unit"}, "qwen3-vl", 0.0),
        ({"offset": 36}, "qwen3-vl", 0.0),
        ({"points": False}, "qwen3-vl", None),
    ],
)
def test_a_fault_shows_in_the_ceiling(
    fake: dict[str, object], family: str, score: float | None
) -> None:
    done = verified(fake, family, quick="offset" not in fake)
    found = effect_of("mine", WIDE, done.probe.declared, done.judge.checks())
    assert found["ceiling"] == score
    said = "is not known" if score is None else f"would score {score} on mine"
    assert said in effect_in_words(found)


def test_the_command_says_what_the_deployment_does_to_the_benchmark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    fake = Deployment({"family": "qwen2.5-vl", "side": 500}, "[{x}, {y}]")
    with WireServer(fake) as server:
        words = ["verify", NAMES["qwen2.5-vl"], "--base-url", server.base_url("openai"), "--quick"]
        done = call(*words, "--benchmark", "sample-grounding", "--output", "record.json")
        assert call(*words, "--benchmark", "sample").code == 2
    assert "on sample-grounding" in done.out
    assert "seen with under 14 px" in " ".join(done.out.split())
    effect = json.loads(Path("record.json").read_text("utf-8"))["effect"]
    assert effect["benchmark"] == "sample-grounding"
    assert effect["ceiling"] is not None
    assert effect["ceiling"] < 100
