"""The sample benchmark that ships with the package, in the columns of Multimodal-Mind2Web."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.benchmarks.files import DataFile, check_splits
from harness.benchmarks.mind2web import Mind2WebLayout, open_files
from harness.benchmarks.recorded import StepBenchmark, StepDataset
from harness.errors import DataError


@dataclass(frozen=True)
class Sample(StepBenchmark):
    """Tasks on made-up sites; needs no network, and its scores do not measure a model's ability."""

    name: str = "sample"
    splits: tuple[str, ...] = ("dev", "test")
    default_splits: tuple[str, ...] = ("test",)
    description: str = "a few tasks on made-up sites, shipped with the package"
    guarded: bool = False

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> StepDataset:
        """See `Benchmark.open`; `data` is refused."""
        from harness.sample import files

        if data is not None:
            raise DataError(
                f"the sample ships with the package; to read {data}, "
                "use --benchmark multimodal-mind2web"
            )
        check_splits(splits, self.splits, self.name)
        paths = files()
        wanted = [(split, Path(paths[split])) for split in splits or self.default_splits]
        for _, path in wanted:
            if not path.exists():
                raise DataError(f"the sample is missing from this installation ({path})")
        shipped = [DataFile(path, split, path.name, path.stat().st_size) for split, path in wanted]
        return open_files(self.name, Mind2WebLayout(), shipped, {"origin": "package"})


BENCHMARK = Sample()
