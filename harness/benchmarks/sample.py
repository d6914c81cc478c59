"""The benchmarks that ship with the package: tasks on made-up sites in the columns of
Multimodal-Mind2Web, and conversations on the same sites in the JSON of MT-Mind2Web."""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adapters.digests import cache_folder, write_cached
from harness.benchmarks.files import DataFile, check_splits
from harness.benchmarks.mind2web import Mind2WebLayout, open_files
from harness.benchmarks.mt_mind2web import Conversations, open_conversations
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

        found = _shipped(self, splits, data, files(), "multimodal-mind2web")
        return open_files(self.name, Mind2WebLayout(), found, {"origin": "package"})


@dataclass(frozen=True)
class ConversationSample(Conversations):
    """Conversations on the same sites; scores do not measure a model's ability either."""

    name: str = "mt-sample"
    splits: tuple[str, ...] = ("dev", "test")
    default_splits: tuple[str, ...] = ("test",)
    description: str = "conversations on made-up sites, shipped with the package"
    guarded: bool = False

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> StepDataset:
        """See `Benchmark.open`; `data` is refused."""
        from harness.sample import conversation_files, screenshot_files

        packed = _shipped(self, splits, data, conversation_files(), "mt-mind2web")
        pictures = _shipped(self, splits, data, screenshot_files(), "mt-mind2web")
        shards = [_unpacked(file) for file in packed]
        return open_conversations(self.name, shards, pictures, {"origin": "package"})


def _shipped(
    benchmark: StepBenchmark,
    splits: Sequence[str] | None,
    data: Path | None,
    paths: Mapping[str, Path],
    instead: str,
) -> list[DataFile]:
    """The shipped files of the splits. Raises `DataError`, also for data of the user's own."""
    if data is not None:
        raise DataError(
            f"{benchmark.name} ships with the package; to read {data}, use --benchmark {instead}"
        )
    check_splits(splits, benchmark.splits, benchmark.name)
    wanted = [(split, paths[split]) for split in splits or benchmark.default_splits]
    for _, path in wanted:
        if not path.exists():
            raise DataError(f"the sample is missing from this installation ({path})")
    return [DataFile(path, split, path.name, path.stat().st_size) for split, path in wanted]


def _unpacked(file: DataFile) -> DataFile:
    """The file without its compression, in the user's cache folder: turns are looked up in it."""
    content = lzma.decompress(file.path.read_bytes())
    name = file.name.removesuffix(".xz")
    try:
        path = cache_folder() / "samples" / f"{hashlib.sha256(content).hexdigest()}-{name}"
        if not path.exists() or path.read_bytes() != content:
            write_cached(path, content)
        return DataFile(path, file.split, name, path.stat().st_size)
    except (OSError, RuntimeError) as error:
        raise DataError(
            f"{file.path.name} of the sample cannot be unpacked into the cache folder: {error}; "
            "set XDG_CACHE_HOME to a folder that can be written"
        ) from error


BENCHMARK = Sample()
CONVERSATIONS = ConversationSample()
