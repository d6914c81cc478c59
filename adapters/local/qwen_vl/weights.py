"""Loads published weights into a model that was built without any.

Parameters are assigned one by one from the shards, never initialised and never loaded through
`from_pretrained`, which reinitialises some of them afterwards. At the peak there is one
copy in memory, and one tensor more.
"""

from __future__ import annotations

import errno
import json
import pickle
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from adapters.contract import Fatal
from adapters.local.tensors import refuse_adapter_tensors

SAFETENSORS: Final = ("model.safetensors.index.json", "*.safetensors")
BINARIES: Final = ("pytorch_model.bin.index.json", "pytorch_model*.bin")
WANTED: Final = (
    "pytorch_model-*.bin (ten of them in Qwen-VL-Chat) with pytorch_model.bin.index.json, "
    "or *.safetensors"
)
SHOWN = 3
Shape = tuple[int, ...]


def shards(folder: Path) -> tuple[Path, ...]:
    """Return the files with a checkpoint's weights; safetensors if there are both. Raises
    `Fatal`."""
    for index, pattern in (SAFETENSORS, BINARIES):
        if (folder / index).is_file():
            return _listed(folder, index)
        if paths := sorted(folder.glob(pattern)):
            return tuple(paths)
    raise Fatal(f"{folder}: no weights; wanted: {WANTED}")


def load_weights(
    model: nn.Module, folder: Path, dtype: torch.dtype, place: Callable[[str], str]
) -> None:
    """Load the shards in `folder` into a model on the meta device.

    `place` says on which device a parameter goes. Names and shapes are compared both ways before
    anything is read. Raises `Fatal`, naming the first tensors and the number of those that differ.
    """
    files = shards(folder)
    stored: dict[str, Shape] = {}
    for path in files:
        stored |= {name: tuple(tensor.shape) for name, tensor in tensors(path, shapes_only=True)}
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    check(expected, stored, str(folder))
    state: dict[str, Tensor] = {}
    for path in files:
        for name, tensor in tensors(path):
            state[name] = tensor.to(device=place(name), dtype=dtype, copy=True)
    model.load_state_dict(state, strict=True, assign=True)
    model.requires_grad_(False)


def tensors(path: Path, *, shapes_only: bool = False) -> Iterator[tuple[str, Tensor]]:
    """Yield names and tensors of a shard, on the CPU and read when they are used.

    With `shapes_only`, on the meta device where the format allows it. Raises `Fatal` that names
    the shard when it is cut short or holds anything but tensors.
    """
    try:
        if path.suffix == ".safetensors":
            yield from _safetensors(path, shapes_only)
            return
        yield from _binary(path).items()
    except OSError as error:
        if error.errno == errno.EINVAL:  # Raised when a mapping passes the end of the file.
            raise Fatal(f"{path}: damaged or truncated; download this file again") from error
        raise Fatal(f"{path}: cannot be read ({error.strerror or error})") from error
    except (SafetensorError, RuntimeError, EOFError, ValueError) as error:
        raise Fatal(f"{path}: damaged or truncated; download this file again") from error
    except pickle.UnpicklingError as error:
        raise Fatal(f"{path}: damaged, or holds more than tensors; not loaded") from error


def check(expected: Mapping[str, Shape], stored: Mapping[str, Shape], where: str) -> None:
    """Raise `Fatal` unless names and shapes are the same."""
    missing = [name for name in expected if name not in stored]
    unexpected = [name for name in stored if name not in expected]
    refuse_adapter_tensors(where, unexpected)
    if len(missing) > len(expected) // 2 and unexpected:
        raise Fatal(
            f"{where}: the weights are of another architecture: {_some(unexpected)} "
            f"instead of {_some(missing)}"
        )
    wrong = [
        f"{name} is {list(stored[name])} instead of {list(shape)}"
        for name, shape in expected.items()
        if name in stored and stored[name] != shape
    ]
    faults = [
        f"{len(names):,} tensor{'s' if len(names) != 1 else ''} {what}: {_some(names)}"
        for names, what in (
            (missing, "missing"),
            (unexpected, "unexpected"),
            (wrong, "of a wrong shape"),
        )
        if names
    ]
    if faults:
        raise Fatal(f"{where}: {'; '.join(faults)}")


def _listed(folder: Path, index: str) -> tuple[Path, ...]:
    try:
        places = json.loads((folder / index).read_text("utf-8"))["weight_map"]
        names = sorted({str(name) for name in places.values()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Fatal(f"{folder / index}: no readable list of shards (weight_map)") from error
    if foreign := [name for name in names if Path(name).name != name]:
        raise Fatal(f"{folder / index}: names a file outside its folder: {foreign[0]}")
    if absent := [name for name in names if not (folder / name).is_file()]:
        raise Fatal(f"{folder}: {_some(absent)} of the {len(names)} shards in {index} not there")
    return tuple(folder / name for name in names)


def _safetensors(path: Path, shapes_only: bool) -> Iterator[tuple[str, Tensor]]:
    with safe_open(path, framework="pt", device="cpu") as shard:
        for name in shard.keys():  # noqa: SIM118 (no mapping, and not iterable itself)
            if shapes_only:
                yield name, torch.empty(shard.get_slice(name).get_shape(), device="meta")
            else:
                yield name, shard.get_tensor(name)


def _binary(path: Path) -> dict[str, Tensor]:
    try:
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except RuntimeError as error:
        if "mmap can only be used" not in str(error):
            raise
        # Saved before torch 1.6: no part of it can be read by itself.
        content = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(content, dict) or not all(isinstance(v, Tensor) for v in content.values()):
        raise pickle.UnpicklingError("not a mapping of names to tensors")
    return {str(name): tensor for name, tensor in content.items()}


def _some(names: list[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")
