"""Finds a checkpoint's files, in a folder or on the hub, and identifies and measures them.

A safetensors file begins with the length of a JSON header that lists every tensor's type, shape and
offset, so a truncated file is noticed before anything is loaded.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from math import prod
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

_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1}
_FLOATS = {"F64", "F32", "F16", "BF16"}
_QUANTIZED = {"4bit": 0.3, "8bit": 0.55}
"""Share of the size in 16 bits; embeddings and the vision tower's norms are not quantized."""
ON_CPU = 4 * 10**9
"""Larger weights, in bytes, run on a CPU only if the user names that device."""
UNKNOWN_RAM = 2**63
"""Free memory where the system does not report it."""


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
        """True if it is Qwen-VL of 2023 (or SeeClick), which transformers does not know.

        Qwen and Qwen-Audio give the same `model_type` and `architectures`; only the part that sees
        or hears tells them apart.
        """
        return self.model_type == QWEN_VL and isinstance(self.config.get("visual"), Mapping)

    @property
    def dtype(self) -> str | None:
        """The data type that its configuration names."""
        dtype = self.config.get("dtype") or self.config.get("torch_dtype")
        return None if dtype is None else str(dtype)

    @property
    def quantization(self) -> str | None:
        """The quantization that its weights were stored in."""
        config = self.config.get("quantization_config")
        return str(config.get("quant_method", "unnamed")) if isinstance(config, dict) else None

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
                names = sorted({*map(str, placed.values())} if isinstance(placed, dict) else ())
                if outside := [name for name in names if Path(name).name != name]:
                    raise Fatal(f"{path} names a file outside its folder: {outside[0]}")
                return tuple(self.folder / name for name in names)
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
        files = [*small, *self.weights, *adapter_files(self.folder)]
        return "sha256:" + digest_of(self.folder, files)


def locate(options: LocalOptions) -> Checkpoint:
    """Find a model's files but for its weights, downloading what is missing.

    Raises `Fatal`, also for an adapter that is not merged.

    A folder is used unchanged. From the hub come configuration and vocabulary, and no code.
    """
    folder = folder_of(options.model, options.model_path, options.revision)
    if folder is not None:
        refuse_adapters(folder)
        return Checkpoint(folder, None, _config(folder))
    folder = downloaded(options.model, options.revision, SMALL, _OTHERWISE)
    refuse_adapters(folder)
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


def check_files(checkpoint: Checkpoint) -> None:
    """Raise `Fatal` naming the shard that is missing, truncated or of another format."""
    for path in checkpoint.weights:
        if not path.is_file():
            raise Fatal(f"a shard of the checkpoint is missing: {path}")
        if path.suffix == ".safetensors":
            head(path)
        elif not zipfile.is_zipfile(path):
            raise Fatal(f"{path} is damaged or not a PyTorch file: download it again")


def head(path: Path) -> Mapping[str, Any]:
    """Return the header of a safetensors file, tensors by name. Raises `Fatal` for a damaged
    file."""
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            size = path.stat().st_size
            if length > size:
                raise ValueError("truncated header")
            tensors: dict[str, Any] = json.loads(file.read(length))
            tensors.pop("__metadata__", None)
            end = max((int(t["data_offsets"][1]) for t in tensors.values()), default=0)
    except (struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Fatal(f"{path} is damaged or not a safetensors file: download it again") from error
    if 8 + length + end != size:
        raise Fatal(
            f"{path} is damaged: {size} bytes instead of {8 + length + end}; download it again"
        )
    return tensors


def weight_bytes(checkpoint: Checkpoint, dtype: str, quantization: str | None) -> int | None:
    """Return the bytes of loaded weights, in a dtype of torch's (`auto`: as stored).

    Before they are downloaded, the size in their index; None without an index.
    """
    wanted = {"float32": 4, "float16": 2, "bfloat16": 2}.get(dtype)
    stored = 4 if "float32" in (checkpoint.dtype or "") else 2
    here = [path for path in checkpoint.weights_named if path.is_file()]
    if not here or len(here) < len(checkpoint.weights_named):
        whole = checkpoint.indexed_bytes
        if whole is None:
            return None
        return int(whole * (_QUANTIZED.get(quantization or "") or (wanted or stored) / stored))
    total = 0.0
    for path in here:
        if path.suffix == ".safetensors":
            total += sum(_bytes(tensor, wanted, quantization) for tensor in head(path).values())
        else:
            total += path.stat().st_size * (wanted or stored) / stored
    return int(total)


def _bytes(tensor: Mapping[str, Any], wanted: int | None, quantization: str | None) -> float:
    kind, count = str(tensor["dtype"]), int(prod(tensor["shape"]))
    if kind not in _FLOATS:
        return _BYTES.get(kind, 1) * count
    if quantization in _QUANTIZED:
        return 2 * count * _QUANTIZED[quantization]
    return (wanted or _BYTES[kind]) * count


def check_memory(needed: int, device: str, source: str, *, asked_for: bool) -> None:
    """Raise `Fatal` if `needed` bytes of weights do not fit on a device, or only on the CPU.

    Args:
        needed: bytes of the weights.
        device: torch's name of it.
        source: the folder or model whose weights they are.
        asked_for: whether the user named the device.
    """
    import torch

    kind = torch.device(device).type
    weights_need = f"its weights need {_gb(needed)}"
    if kind == "cuda":
        free, whole = torch.cuda.mem_get_info(device)
        if needed > free:
            raise Fatal(
                f"{source}: {weights_need} of GPU memory, and {device} has {_gb(free)} free of "
                f"{_gb(whole)}: try --adapter-option quantization=4bit, or device_map=auto over "
                "several GPUs"
            )
        return
    if kind != "cpu":
        return
    free = free_ram()
    if needed > ON_CPU and not asked_for:
        raise Fatal(
            f"{source}: no GPU was found, and {weights_need} of GPU memory (CPU: {_gb(free)} "
            "free); --adapter-option devices=cpu runs it on the CPU anyway, very slowly"
        )
    if needed > free:
        raise Fatal(f"{source}: {weights_need} of memory, and {_gb(free)} are free")


def free_ram() -> int:
    """Return the bytes of main memory that are free or can be freed, within the container's limit.

    Memory of cached files can be freed: after weights were read, that is most of it.
    """
    free = UNKNOWN_RAM
    lines = _lines(Path("/proc/meminfo"))
    for line in lines:
        if line.startswith("MemAvailable:"):
            free = int(line.split()[1]) * 1024
    group = Path("/sys/fs/cgroup")
    limit, used = (_lines(group / name) for name in ("memory.max", "memory.current"))
    if limit and used and limit[0].isdigit():
        # Of the used memory, cached files that were not read lately go first.
        in_use = int(used[0]) - _inactive_files(group)
        free = min(free, max(0, int(limit[0]) - in_use))
    return free


def _inactive_files(group: Path) -> int:
    for line in _lines(group / "memory.stat"):
        if line.startswith("inactive_file "):
            return int(line.split()[1])
    return 0


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _gb(count: int) -> str:
    return f"{count / 1e9:.1f} GB"


# An adapter (LoRA and its kin) that is not merged is not applied by anything here: replies would be
# the base model's. With peft installed, transformers would apply some of them and say nothing.
ADAPTERS = (
    "adapter_config.json",
    "adapter*.safetensors",
    "adapter*.bin",
    "non_lora_trainables.bin",
)
"""Files of adapters, as peft, MLX and trainers save them."""
_ADAPTER_TENSOR = re.compile(
    r"(^|\.)(lora_|hada_|lokr_|ia3_|vera_|oft_|boft_|base_layer\.|base_model\.model\.)"
)
_MERGE = "merge it into the weights (merge_and_unload of peft) and name that folder"


def adapter_files(folder: Path) -> list[Path]:
    """Return the files of adapters in a folder and below it."""
    return sorted({path for pattern in ADAPTERS for path in folder.rglob(pattern)})


def refuse_adapters(folder: Path) -> None:
    """Raise `Fatal` for a folder with an adapter, alone or next to a model."""
    found = next((path for path in adapter_files(folder) if path.parent == folder), None)
    if found is None:
        return
    if (folder / "config.json").is_file():
        raise Fatal(
            f"{folder} holds an adapter next to the model ({found.name}), which would not be "
            f"applied: {_MERGE}, or move it elsewhere to run the model without it"
        )
    base = ""
    with suppress(OSError, ValueError, AttributeError):
        named = json.loads((folder / ADAPTERS[0]).read_bytes()).get("base_model_name_or_path")
        base = f" of {named[:100]!r}" if isinstance(named, str) and named else ""
    raise Fatal(f"{folder} holds an adapter{base} and no model ({found.name}): {_MERGE}")


def refuse_adapter_tensors(where: object, names: Iterable[str]) -> None:
    """Raise `Fatal` if one of the tensors that a model does not take is an adapter's."""
    found = sorted(name for name in names if _ADAPTER_TENSOR.search(name))
    if found:
        raise Fatal(
            f"{where}: the weights hold an adapter ({len(found)} tensors, the first is "
            f"{found[0]}), which would not be applied: {_MERGE}"
        )


def check_report(
    where: object, architecture: str, report: Mapping[str, Any], spare: str = ""
) -> list[str]:
    """Return a line about tensors that were not used, if there are any.

    Args:
        where: the folder, or the model's name.
        architecture: the class that was loaded.
        report: transformers' `output_loading_info`.
        spare: part of the names of tensors that the caller does not need.

    Raises `Fatal` for tensors of an adapter, and for those that are missing or do not fit.
    """
    unused = sorted(map(str, report["unexpected_keys"]))
    refuse_adapter_tensors(where, unused)
    lacking = sorted(report["missing_keys"]) + sorted(map(str, report["mismatched_keys"]))
    lacking = [name for name in lacking if not (spare and spare in name)]
    if lacking:
        raise Fatal(
            f"{where} is not a complete {architecture}: tensors are missing "
            f"or have another shape ({len(lacking)}, the first is {lacking[0]})"
        )
    if not unused:
        return []
    return [
        f"{where}: {architecture} does not use all of its tensors ({len(unused)} are left over, "
        f"the first is {unused[0]})"
    ]


@contextmanager
def loading_reports() -> Iterator[list[tuple[str, Mapping[str, Any]]]]:
    """Yield the class and the report of every model that transformers loads within.

    For libraries that load models by themselves and keep no report.
    """
    from transformers import PreTrainedModel

    reports: list[tuple[str, Mapping[str, Any]]] = []
    original = PreTrainedModel.__dict__["from_pretrained"]

    def from_pretrained(cls: Any, *args: Any, **options: Any) -> Any:
        options["output_loading_info"] = True
        model, report = original.__func__(cls, *args, **options)
        reports.append((type(model).__name__, report))
        return model

    PreTrainedModel.from_pretrained = classmethod(from_pretrained)
    try:
        yield reports
    finally:
        PreTrainedModel.from_pretrained = original
