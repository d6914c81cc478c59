"""Places parameters on devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from adapters.contract import Fatal

if TYPE_CHECKING:
    from adapters.local.qwen_vl.model import QwenVL

MAPS = ("auto", "balanced", "sequential")
Plan = Mapping[str, Any]
"""Parts of the model by name, and the GPU (by number) or device that each goes to, as accelerate
writes it."""


def value_count(model: torch.nn.Module) -> int:
    """Count the parameters of a model."""
    return sum(tensor.numel() for tensor in model.state_dict().values())


def spread(model: QwenVL, device_map: str, dtype: torch.dtype) -> Plan:
    """Assign layers to GPUs. Raises `Fatal` if there are no GPUs or too small ones."""
    from accelerate import infer_auto_device_map
    from accelerate.utils import get_balanced_memory

    if device_map not in MAPS:
        raise Fatal(f"--device-map {device_map}: choose from {', '.join(MAPS)}")
    if not torch.cuda.is_available():
        raise Fatal("--device-map spreads layers over GPUs, and there is none here")
    whole = list(model._no_split_modules)
    memory = None
    if device_map != "sequential":
        memory = get_balanced_memory(model, dtype=dtype, no_split_module_classes=whole)
    plan: Plan = infer_auto_device_map(model, memory, no_split_module_classes=whole, dtype=dtype)
    if left := [name for name, where in plan.items() if where in ("cpu", "disk")]:
        raise Fatal(
            f"the model needs {value_count(model) * dtype.itemsize / 1e9:.1f} GB and does not fit "
            f"on the GPUs: {left[0]} and {len(left) - 1} more parts are left over"
        )
    return plan


def place_in(plan: Plan, name: str) -> str:
    """Return the device of a parameter: that of the smallest part it belongs to.

    >>> place_in({"transformer": 0, "transformer.h.7": 1}, "transformer.h.7.ln_1.weight")
    'cuda:1'
    """
    part = name
    while part and part not in plan:
        part = part.rpartition(".")[0]
    where = plan.get(part, 0)
    return f"cuda:{where}" if isinstance(where, int) else str(where)


def dispatch(model: QwenVL, plan: Plan) -> None:
    """Let every part move its inputs to its own device."""
    from accelerate import dispatch_model

    dispatch_model(model, dict(plan), skip_keys=list(model._skip_keys_device_placement))
    model.hf_device_map = dict(plan)
