"""Finds a checkpoint's files, in a folder or on the hub, and identifies them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from adapters.contract import Fatal
from adapters.digests import digests
from adapters.hub import downloaded
from adapters.local.options import LocalOptions

SMALL = ("*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken")
_INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
_SINGLE = ("model.safetensors", "pytorch_model.bin")
QWEN_VL = "qwen"
"""The model type of the original Qwen-VL."""
_OTHERWISE = (
    "download config.json, the tokenizer's files, preprocessor_config.json, the chat template and "
    "all weight shards (*.safetensors and their index) elsewhere, and name their folder with "
    "--adapter-option model_path"
)


@dataclass(frozen=True)
class Checkpoint:
    """A folder with a checkpoint's files. `commit` is the hub's, None for a user's folder."""

    folder: Path
    commit: str | None
    config: Mapping[str, Any]

    @property
    def model_type(self) -> str:
        return str(self.config.get("model_type", ""))

    @property
    def architecture(self) -> str:
        """The class that its configuration names, or its model type."""
        named = self.config.get("architectures") or [self.model_type or "none that is named"]
        return str(named[0])

    @property
    def is_original_qwen_vl(self) -> bool:
        """True if it is Qwen-VL of 2023 (or SeeClick), which transformers does not know."""
        return is_qwen_vl(self.config)

    @property
    def dtype(self) -> str | None:
        """The data type that its configuration names."""
        dtype = self.config.get("dtype") or self.config.get("torch_dtype")
        return None if dtype is None else str(dtype)

    @property
    def weights(self) -> tuple[Path, ...]:
        """The files with its tensors, present or not. Raises `Fatal` if none is known."""
        named = self.weights_named
        if not named:
            raise Fatal(
                f"no weights in {self.folder}: expected {_SINGLE[0]}, or shards with {_INDEXES[0]}"
            )
        return named

    @property
    def weights_named(self) -> tuple[Path, ...]:
        """The same, but empty if none is known. Raises `Fatal` for an index that is not JSON."""
        for index in _INDEXES:
            path = self.folder / index
            if path.is_file():
                placed = _json(path).get("weight_map")
                names = placed.values() if isinstance(placed, dict) else ()
                return tuple(self.folder / name for name in sorted(set(map(str, names))))
        return tuple(path for name in _SINGLE if (path := self.folder / name).is_file())[:1]

    @property
    def indexed_bytes(self) -> int | None:
        """The bytes of all tensors as their index lists them, None without an index."""
        for index in _INDEXES:
            if (self.folder / index).is_file():
                about = _json(self.folder / index).get("metadata")
                size = about.get("total_size") if isinstance(about, dict) else None
                return int(size) if isinstance(size, int | float) else None
        return None

    @cached_property
    def identity(self) -> str:
        """The hub's commit, or the digest of a folder's content."""
        if self.commit is not None:
            return self.commit
        small = [path for pattern in SMALL for path in self.folder.glob(pattern)]
        return "sha256:" + digest_of(self.folder, [*small, *self.weights])


def is_qwen_vl(config: Mapping[str, object]) -> bool:
    """Return whether a parsed `config.json` is an original Qwen-VL's.

    Qwen, Qwen-VL and Qwen-Audio give the same `model_type` and `architectures`; only the part that
    sees or hears tells them apart.
    """
    return config.get("model_type") == QWEN_VL and isinstance(config.get("visual"), Mapping)


def locate(options: LocalOptions) -> Checkpoint:
    """Find a model's files but for its weights, downloading what is missing. Raises `Fatal`.

    A folder is used unchanged. From the hub come configuration and vocabulary, code only with
    `trust_remote_code`.
    """
    folder = folder_of(options.model, options.model_path, options.revision)
    if folder is not None:
        return Checkpoint(folder, None, _config(folder))
    wanted = SMALL + (("*.py",) if options.trust_remote_code else ())
    folder = downloaded(options.model, options.revision, wanted, _OTHERWISE)
    return Checkpoint(folder, folder.name, _config(folder))


def fetch_weights(options: LocalOptions, checkpoint: Checkpoint) -> None:
    """Download the weights of a checkpoint of the hub. Raises `Fatal`."""
    indexed = tuple(path.name for path in checkpoint.weights_named)
    for names in (indexed,) if indexed else (_SINGLE[:1], _SINGLE[1:]):
        downloaded(options.model, checkpoint.commit, names, _OTHERWISE)
        if checkpoint.weights_named:
            return


def folder_of(model: str, model_path: str | None, revision: str | None) -> Path | None:
    """Return the folder that a user means, None for a model of the hub.

    Raises `Fatal` for a folder that is not there, or one that is asked for at a revision.
    """
    folder = Path(model_path or model).expanduser()
    looks_like_path = model.startswith((".", "/", "~")) or model.count("/") > 1
    if not (model_path or folder.is_dir() or looks_like_path):
        return None
    if not folder.is_dir():
        raise Fatal(f"no such folder: {folder}")
    if revision is not None:
        raise Fatal("--adapter-option revision is for models of the hub; a folder has none")
    return folder


def _config(folder: Path) -> Mapping[str, Any]:
    path = folder / "config.json"
    if not path.is_file():
        raise Fatal(f"{folder} is not a checkpoint folder (no config.json)")
    return _json(path)


def _json(path: Path) -> Mapping[str, Any]:
    try:
        values: object = json.loads(path.read_bytes())
    except ValueError as error:
        raise Fatal(f"{path} is not valid JSON: {error}") from error
    if not isinstance(values, dict):
        raise Fatal(f"{path} is not a JSON object")
    return values


def digest_of(folder: Path, files: Sequence[Path]) -> str:
    """SHA-256 over the names and contents of files, in hexadecimal.

    Missing files count by their names.
    """
    known = digests(path for path in files if path.is_file())
    whole = hashlib.sha256()
    for path in sorted(set(files)):
        content_digest = known.get(path, "missing")
        whole.update(f"{path.relative_to(folder).as_posix()}\0{content_digest}\n".encode())
    return whole.hexdigest()
