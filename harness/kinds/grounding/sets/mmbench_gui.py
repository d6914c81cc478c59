"""MMBench-GUI L2 (Wang et al. 2025): six systems, basic and advanced instructions.

354 of its rows are from ScreenSpot-v2, so results on both are never pooled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.folders import Folder, decoded
from harness.kinds.grounding.sets.boxes import declaration
from harness.kinds.grounding.sets.opening import GroundingSet, Row, Rows
from parsers.declaration import Declaration, Group

DECLARED = declaration(
    groups=(
        Group("grounding_type", "basic or advanced instructions"),
        Group("platform", "the operating system, or the web"),
        Group("data_type", "whether the target is text or an icon"),
    ),
    cells=("grounding_type",),
    headline="cells",
)


class Stored(msgspec.Struct, frozen=True):
    """A row: a box as `xyxy-unit`, written with -1 for 0."""

    image_path: str
    platform: str
    instruction: str
    bbox: tuple[float, float, float, float]
    data_type: str
    grounding_type: str
    image_size: tuple[int, int] | None = None


@dataclass(frozen=True)
class MMBenchGUI(GroundingSet):
    """3,594 instructions for 1,296 pictures."""

    name: str = "mmbench-gui-l2"
    description: str = "MMBench-GUI L2 (Wang et al. 2025): six systems, 3,594 places"
    splits: tuple[str, ...] = ("test",)
    default_splits: tuple[str, ...] = ("test",)
    sizes: tuple[SplitSize, ...] = (SplitSize("test", 1296, 3594),)
    declared: Declaration = DECLARED
    repo: str = "OpenGVLab/MMBench-GUI"
    revision: str | None = "e27757e3910e0d5995b811f916b509b4e34a4690"
    files: tuple[str, ...] = ("L2_annotations.json", "MMBench-GUI-OfflineImages.zip")
    folders: tuple[str, ...] = ("offline_images", "MMBench-GUI-OfflineImages.zip")
    cell_labels: tuple[str, ...] = ("grounding_type",)
    cells: Mapping[tuple[str, ...], int] = field(
        default_factory=lambda: {("basic",): 1787, ("advanced",): 1807}
    )
    caveats: tuple[str, ...] = ("354 of the published rows are of ScreenSpot-v2: never pool both",)

    def rows(self, folder: Folder, split: str) -> Rows:
        files = folder.files("L2_annotations.json", f"the rows of {self.name}")
        rows = [
            Row(
                where=f"{files[0].name}, row {number + 1}",
                unit_id=f"l2_{number}",
                picture=f"{one.platform}/{one.image_path}",
                instruction=one.instruction,
                box=[0.0 if edge == -1 else edge for edge in one.bbox],
                size=one.image_size,
                labels={
                    "grounding_type": one.grounding_type,
                    "platform": one.platform.removeprefix("os_"),
                    "data_type": one.data_type,
                },
            )
            for number, one in enumerate(decoded(files[0].path, list[Stored]))
        ]
        return Rows(rows, "xyxy-unit", files)


BENCHMARK = MMBenchGUI(published="2025")
