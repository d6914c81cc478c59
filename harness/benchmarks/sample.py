"""The sample that ships with the package: tasks on made-up sites, with Mind2Web's columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.benchmarks.mind2web import Mind2WebLayout, open_files
from harness.benchmarks.recorded import StepDataset
from harness.benchmarks.step.benchmark import StepBenchmark
from harness.data_files import DataFile, check_splits
from harness.errors import DataError


@dataclass(frozen=True)
class Sample(StepBenchmark):
    """Tasks on made-up sites; needs no network, and its scores do not measure a model's ability."""

    name: str = "sample"
    splits: tuple[str, ...] = ("dev", "test")
    default_splits: tuple[str, ...] = ("test",)
    guarded = False

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> StepDataset:
        """Refuse `data`."""
        from harness.sample import files

        found = shipped(self, splits, data, files(), "multimodal-mind2web")
        return open_files(self.name, Mind2WebLayout(), found, {"origin": "package"})


def refuse_data(name: str, data: Path | None, instead: str = "") -> None:
    """Raise `DataError` for a user's data where a benchmark has only its own."""
    if data is not None:
        raise DataError(
            f"{name} ships with the package; to read {data}, name its --benchmark{instead}"
        )


def shipped(
    benchmark: StepBenchmark,
    splits: Sequence[str] | None,
    data: Path | None,
    paths: Mapping[str, Path],
    instead: str,
) -> list[DataFile]:
    """Return the shipped files of the splits. Raises `DataError`, also for a user's data."""
    refuse_data(benchmark.name, data, f" ({instead}, say)")
    check_splits(splits, benchmark.splits, benchmark.name)
    wanted = [(split, paths[split]) for split in splits or benchmark.default_splits]
    for _, path in wanted:
        if not path.exists():
            raise DataError(f"the sample is missing from this installation ({path})")
    return [DataFile(path, split, path.name, path.stat().st_size) for split, path in wanted]


BENCHMARK = Sample()
