"""A device's memory: whether it ran out, and what is free."""

from __future__ import annotations

import gc

import torch

from adapters.local.checkpoint import UNKNOWN_RAM, free_ram

OUT_OF_MEMORY = (
    "out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "can't allocate memory",
    "CUDNN_STATUS_ALLOC_FAILED",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that memory ran out; libraries have their own messages."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(part in str(error) for part in OUT_OF_MEMORY)


def give_back(device: str) -> None:
    """Return unused memory to the device."""
    gc.collect()
    if torch.device(device).type == "cuda":
        torch.cuda.empty_cache()


def free_bytes(device: str) -> int:
    """Return the bytes that can still be allocated: on a GPU by this process, on the CPU by any
    process."""
    if torch.device(device).type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(free + cached)
    free = free_ram()
    return free if free < UNKNOWN_RAM else 4 * 2**30
