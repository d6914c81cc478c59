"""Conversations on the sample's sites, in the JSON of MT-Mind2Web."""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from adapters.digests import cache_folder, write_cached
from harness.benchmarks.files import DataFile
from harness.benchmarks.recorded import StepDataset
from harness.benchmarks.sample import shipped
from harness.errors import DataError
from harness.kinds.conversation.mt_mind2web import Conversations, open_conversations


@dataclass(frozen=True)
class ConversationSample(Conversations):
    """Conversations on the same sites; scores do not measure a model's ability either."""

    name: str = "mt-sample"
    splits: tuple[str, ...] = ("dev", "test")
    default_splits: tuple[str, ...] = ("test",)
    description: str = "conversations on made-up sites, shipped with the package"
    guarded = False

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> StepDataset:
        """Refuse `data`."""
        from harness.sample import conversation_files, screenshot_files

        packed = shipped(self, splits, data, conversation_files(), "mt-mind2web")
        pictures = shipped(self, splits, data, screenshot_files(), "mt-mind2web")
        shards = [_unpacked(file) for file in packed]
        return open_conversations(self.name, shards, pictures, {"origin": "package"})


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


BENCHMARK = ConversationSample()
