"""The devices that a local model runs on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from adapters.contract import Fatal
from adapters.local.options import LocalOptions

if TYPE_CHECKING:
    import torch


def devices_of(options: LocalOptions) -> tuple[str, ...]:
    """Torch's device for every worker: those that the user named, else every GPU, else the CPU.

    A model that is spread by a device map has one worker. Raises `Fatal` for an unknown device.
    """
    import torch

    if options.device_map is not None:
        if options.devices is not None:
            raise Fatal("--device-map spreads one model over all GPUs: leave --devices out")
        if not torch.cuda.is_available():
            raise Fatal("--device-map spreads a model over GPUs, and torch sees none here")
        return ("cuda:0",)
    names = options.devices or _all()
    for name in names:
        _check(name)
    return tuple(names)


def visible(devices: Sequence[str]) -> dict[str, str]:
    """Return variables that show a child these GPUs only; none for other devices."""
    numbers = [int(name.partition(":")[2] or 0) for name in devices if name.startswith("cuda")]
    seen = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = [name.strip() for name in seen.split(",")] if seen else None
    chosen = ",".join(names[number] if names else str(number) for number in numbers)
    return {"CUDA_VISIBLE_DEVICES": chosen} if numbers else {}


def full_precision(dtype: torch.dtype) -> None:
    """For a model in float32, turn TF32 off: CUDA's libraries would round its numbers to 10 bits.

    cuDNN, which prepares pictures' patches, does so unless told otherwise.
    """
    import torch

    if dtype == torch.float32:
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_tf32 = False


def _all() -> tuple[str, ...]:
    import torch

    if torch.cuda.is_available():
        return tuple(f"cuda:{number}" for number in range(torch.cuda.device_count()))
    return ("mps",) if torch.backends.mps.is_available() else ("cpu",)


def _check(name: str) -> None:
    import torch

    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise Fatal(f"unknown device '{name}' (examples: cuda:0, cpu, mps)") from error
    if device.type == "cuda":
        count = torch.cuda.device_count()
        if (device.index or 0) >= count:
            raise Fatal(f"no device '{name}': torch sees {count or 'no'} GPUs here")
    elif device.type == "mps" and not torch.backends.mps.is_available():
        raise Fatal(f"no device '{name}' on this machine")
    elif device.type not in ("cpu", "mps", "xpu", "npu"):
        raise Fatal(f"unsupported device '{name}' (examples: cuda:0, cpu, mps)")
