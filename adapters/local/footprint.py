"""The memory that a checkpoint's weights need, read from the headers of its files.

A safetensors file begins with the length of a JSON header that lists every tensor's type, shape and
offset, so a truncated file is noticed before anything is loaded.
"""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

from adapters.contract import Fatal
from adapters.local.checkpoint import Checkpoint

_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1}
_FLOATS = {"F64", "F32", "F16", "BF16"}
_QUANTIZED = {"4bit": 0.3, "8bit": 0.55}
"""Share of the size in 16 bits; embeddings and the vision tower's norms are not quantized."""
ON_CPU = 4 * 10**9
"""Larger weights, in bytes, run on a CPU only if the user names that device."""
UNKNOWN_RAM = 2**63
"""Free memory where the system does not report it."""


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


def check_memory(needed: int, device: str, source: str, advice: str, *, asked_for: bool) -> None:
    """Raise `Fatal` if `needed` bytes of weights do not fit on a device, or only on the CPU.

    Args:
        needed: bytes of the weights.
        device: torch's name of it.
        source: the folder or model whose weights they are.
        advice: what to do where a GPU is too small.
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
                f"{_gb(whole)}: {advice}"
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
