"""The size and the part of a page that a model sees, and what a user is told of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

from PIL import Image

from adapters.open_models import qwen_exact
from harness.pictures import PicturePolicy, plan
from harness.pictures.source import Screenshot
from tests.harness.commands import tool
from tests.local.conftest import Checkpoint, Load
from tests.local.test_end_to_end import arguments

BUDGETS = (1280 * 2560, 12_845_056, 1280 * 2560)


@pytest.mark.parametrize(
    ("patch", "most", "column"), [(14, 12_845_056, 1), (16, 16_777_216, 2)], ids=["2.5", "3"]
)
def test_sizes_in_the_documentation_are_those_that_the_processor_makes(
    patch: int, most: int, column: int
) -> None:
    """Of a run's first picture: the run's own budget, then the model's limit."""
    from transformers import Qwen2VLImageProcessorPil

    lines = Path(__file__).parents[2].joinpath("docs/local-models.md").read_text().splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines]
    rows = rows[rows.index(["limits", "Qwen2.5-VL", "Qwen3-VL"]) + 2 :][:3]
    for limits, budget, limit in zip(rows, BUDGETS, (most, most, 1_638_400), strict=True):
        policy = PicturePolicy("full", pixels=budget)
        rule = qwen_exact(2 * patch, 4 * patch**2, limit)
        sent = plan(policy, Screenshot("d" * 64, 1280, 5429), rule=rule)[0]
        size = {"shortest_edge": 4 * patch**2, "longest_edge": limit}
        processor = Qwen2VLImageProcessorPil(size=size, patch_size=patch, merge_size=2)
        made = processor(Image.new("RGB", (sent.width, sent.height)), return_tensors="pt")
        _, tall, wide = made["image_grid_thw"][0].tolist()
        written = f"{wide * patch} x {tall * patch} ({tall * wide // 4:,} tokens)"
        assert limits[column] == written


@pytest.mark.parametrize(
    ("family", "share"), [("vipllava", 1280 / 5429), ("llava-next", 1.0), ("llava", 1.0)]
)
def test_a_centre_crop_is_known_by_what_it_leaves(load: Load, family: str, share: float) -> None:
    """LLaVA-NeXT has the setting, and sees everything in tiles; this LLaVA resizes to a square."""
    rule = load(family).family.image_rule
    assert rule is not None and rule.seen is not None
    assert rule.seen(1280, 5429) == pytest.approx(share, abs=0.001)
    assert rule.seen(500, 500) == 1.0


SAID = re.compile(
    r"^picture:  the first shows 1280 x \d+ pixels of a page, sent as (\d+) x (\d+) "
    r"\(\d+ tokens\); the model sees (all|\d+ %) of it$",
    re.MULTILINE,
)


@pytest.mark.parametrize(
    ("family", "policy", "warned"),
    [
        ("qwen2.5-vl", "full", False),
        ("llava-next", "full", False),
        ("vipllava", "full", True),
        ("vipllava", "tiles", False),
    ],
)
def test_what_a_model_sees_of_a_page_is_said_before_the_run(
    checkpoint: Checkpoint,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    family: str,
    policy: str,
    warned: bool,
) -> None:
    tool.isolate(monkeypatch, tmp_path)
    line = arguments(checkpoint(family), tmp_path / "run", "--image-policy", policy, "--dry-run")
    said = tool.call(*line).err
    found = SAID.search(said)
    assert found
    wide, tall, part = int(found[1]), int(found[2]), found[3]
    assert part == (f"{100 * wide / tall:.0f} %" if warned else "all")
    warning = f"warning:  the model's processor keeps the middle of a picture, {part} of this one, "
    assert (warning in said) is warned
