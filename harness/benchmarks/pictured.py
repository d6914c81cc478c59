"""Benchmarks whose units are one picture, shown whole because answers are places on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from harness.benchmarks.contract import Benchmark
from harness.benchmarks.ready import Ready
from harness.benchmarks.shows import Shows
from harness.errors import DataError, UserError
from harness.pictures import read_size
from harness.protocols import AskingProtocol
from harness.runs.records import Unit

if TYPE_CHECKING:
    from harness.settings import Settings


@dataclass(frozen=True)
class PictureBenchmark(Benchmark):
    """Base class of such benchmarks; the detail of a unit has the `size` of its picture."""

    pictures: ClassVar[bool] = True

    def completed(self, settings: Settings, protocol: AskingProtocol) -> dict[str, Any]:
        """Reject settings that cut the picture: a place needs all of it."""
        completed = super().completed(settings, protocol)
        policy = str(completed["image_policy"])
        if not policy.startswith("full"):
            raise UserError(
                f"--image-policy {policy}: a picture of {settings.benchmark} is shown whole (full)"
            )
        return completed

    def illustrated(self, unit: Unit[Any], data: Sequence[bytes], shows: Shows) -> Ready[Any]:
        """Raise `DataError` for a picture of another size than its row says."""
        width, height = unit.detail.size
        for size in map(read_size, data):
            if (size.width, size.height) != (width, height):
                raise DataError(
                    f"{unit.source or unit.unit_id}: its picture has {size.width} x {size.height} "
                    f"pixels, and its row says {width} x {height}: is the picture another one, or "
                    "made smaller?"
                )
        return super().illustrated(unit, data, shows)
