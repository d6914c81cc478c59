"""Where a checkpoint's files are: in the user's folder, or fetched from the model hub."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from adapters.contract import Fatal
from adapters.hub import downloaded, hub_error
from adapters.local.checkpoint import QWEN_VL, digest_of, is_qwen_vl
from adapters.local.options import HUB, LocalOptions
from adapters.local.qwen_vl.tokenizer import FILE
from adapters.local.qwen_vl.weights import WANTED, shards


def foreign_kind(config: Mapping[str, object]) -> str | None:
    """Name a checkpoint's kind, with advice, unless it is an original Qwen-VL (None)."""
    if is_qwen_vl(config):
        return None
    kind = str(config.get("model_type") or "")
    listed = config.get("architectures")
    named = str(listed[0]) if isinstance(listed, list) and listed else ""
    if kind == QWEN_VL:
        if "audio" in config:
            return "Qwen-Audio, which takes sound and no pictures"
        return "a text-only Qwen (no vision tower in its configuration)"
    from adapters.local.families import QWEN

    if not kind and not named:
        return "of an unknown architecture (config.json has neither model_type nor architectures)"
    return f"{named or kind}; name it with --model {QWEN.get(kind, 'hf')}"


CHAT: Final = HUB["qwen-vl"]
SEECLICK: Final = HUB["seeclick"]
WEIGHTS: Final = {
    "safetensors": ["*.safetensors", "*.safetensors.index.json"],
    "bin": ["pytorch_model*.bin", "pytorch_model.bin.index.json"],
}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A folder with weights and `config.json`, its parsed configuration, its vocabulary.

    `source` is the hub id or folder that was asked for, `commit` the hub's commit if it came from
    there. `seeclick` says that it was fine-tuned to point (coordinates from 0 to 1).
    """

    folder: Path
    config: dict[str, Any]
    vocabulary: Path
    source: str
    commit: str | None
    seeclick: bool

    @property
    def identity(self) -> str:
        """The hub's commit, or the digest of a folder's content."""
        if self.commit is not None:
            return self.commit
        read = [self.folder / "config.json", self.vocabulary, *shards(self.folder)]
        return "sha256:" + digest_of(self.folder, read)


def find(options: LocalOptions) -> Checkpoint:
    """Return the files of the model that the options name; from the hub, all but the weights.

    Raises `Fatal` for missing files, or a checkpoint of another kind.
    """
    source = HUB.get(options.model, options.model)
    local = source.startswith((".", "/", "~")) or Path(source).is_dir()
    local_folder = options.model_path or (source if local else None)
    commit = None
    if local_folder:
        folder = Path(local_folder).expanduser()
        if not folder.is_dir():
            raise Fatal(f"{folder}: no such folder; it should hold {_needed(source)}")
        if options.revision is not None:
            raise Fatal("--revision is for models of the hub; a folder has none")
    else:
        folder = downloaded(source, options.revision, ["config.json", FILE], _otherwise(source))
        commit = folder.name
    config = _configuration(folder, source)
    if kind := foreign_kind(config):
        raise Fatal(f"{folder} is not an original Qwen-VL checkpoint: it is {kind}")
    names = (options.name, options.model, folder.name, str(config.get("_name_or_path", "")))
    seeclick = any("seeclick" in name.lower() for name in names)
    return Checkpoint(
        folder,
        config,
        _vocabulary(folder, bool(local_folder), seeclick),
        str(folder) if local_folder else source,
        commit,
        seeclick,
    )


def fetch_weights(checkpoint: Checkpoint) -> None:
    """Download the weights of a checkpoint of the hub. Raises `Fatal`."""
    if checkpoint.commit is not None:
        source, commit = checkpoint.source, checkpoint.commit
        downloaded(source, commit, WEIGHTS[_format(source, commit)], _otherwise(source))


def _format(repository: str, revision: str | None) -> str:
    """Return the weight format to download from a repository that may hold both."""
    from huggingface_hub import HfApi

    try:
        info = HfApi().model_info(repository, revision=revision, timeout=20)
    except Exception:
        return "bin"  # The download itself reports what is wrong, or finds them in its cache.
    names = [entry.rfilename for entry in info.siblings or ()]
    return "safetensors" if any(name.endswith(".safetensors") for name in names) else "bin"


def _vocabulary(folder: Path, local: bool, seeclick: bool) -> Path:
    path = folder / FILE
    if path.is_file():
        return path
    if local:
        why = " (SeeClick was published without one)" if seeclick else ""
        raise Fatal(f"{folder}: no {FILE}{why}; copy {FILE} of {CHAT} into this folder")
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(CHAT, FILE))
    except Exception as error:
        otherwise = f"put its {FILE} next to the other files and give --model-path FOLDER"
        raise Fatal(hub_error(error, CHAT, "model", None, otherwise)) from error


def _configuration(folder: Path, source: str) -> dict[str, Any]:
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise Fatal(f"{folder}: no config.json; wanted: {_needed(source)}") from None
    except (OSError, ValueError) as error:
        raise Fatal(f"{path}: not readable as JSON ({error})") from error
    if not isinstance(config, dict):
        raise Fatal(f"{path}: not a JSON object")
    return config


def _otherwise(source: str) -> str:
    return f"put {_needed(source)} into a folder and give --model-path FOLDER"


def _needed(source: str) -> str:
    vocabulary = f"{FILE} (that of {CHAT})" if source == SEECLICK else FILE
    return f"config.json, {vocabulary} and {WANTED}"
