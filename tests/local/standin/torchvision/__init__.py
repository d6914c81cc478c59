"""Stands in for torchvision, of which no build fits torch's CPU build from PyPI.

It has what image processors of transformers call, in torch's own words; pixels differ in the last
digits from those of the real one.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import Enum
from types import ModuleType
from typing import Any

import numpy
import torch
from torch.nn import functional

__version__ = "0.30.0"


class InterpolationMode(Enum):
    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


def pil_to_tensor(image: Any) -> torch.Tensor:
    pixels = numpy.array(image)
    return torch.from_numpy(pixels if pixels.ndim == 3 else pixels[:, :, None]).permute(2, 0, 1)


def to_dtype(image: torch.Tensor, dtype: torch.dtype, scale: bool = False) -> torch.Tensor:
    if not scale or image.dtype == dtype:
        return image.to(dtype)
    if dtype.is_floating_point:
        return image.to(dtype) / 255
    return (image * 255).round().clamp(0, 255).to(dtype)


def grayscale_to_rgb(image: torch.Tensor) -> torch.Tensor:
    return image if image.shape[-3] == 3 else image.repeat_interleave(3, dim=-3)


def resize(
    image: torch.Tensor,
    size: Sequence[int],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool = True,
) -> torch.Tensor:
    flat = image.reshape(-1, *image.shape[-3:]).float()
    smooth = interpolation in (InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)
    made = functional.interpolate(
        flat,
        tuple(size),
        mode=interpolation.value,
        antialias=antialias and smooth,
        **({"align_corners": False} if smooth else {}),
    )
    if not image.dtype.is_floating_point:
        made = made.round().clamp(0, 255)
    return made.to(image.dtype).reshape(*image.shape[:-2], *size)


def pad(
    image: torch.Tensor, padding: Sequence[int], fill: Any = 0, padding_mode: str = "constant"
) -> torch.Tensor:
    fill = fill if isinstance(fill, int | float) else fill[0]
    left, top, right, bottom = padding if len(padding) == 4 else (*padding, *padding)
    return functional.pad(image, [left, right, top, bottom], mode=padding_mode, value=float(fill))


def crop(image: torch.Tensor, top: int, left: int, height: int, width: int) -> torch.Tensor:
    return image[..., top : top + height, left : left + width]


def normalize(
    image: torch.Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False
) -> torch.Tensor:
    shape = (-1, 1, 1)
    return (image - torch.as_tensor(mean).view(shape)) / torch.as_tensor(std).view(shape)


def _module(name: str, *values: Any) -> ModuleType:
    module = ModuleType(f"{__name__}.{name}")
    module.__path__ = []
    for value in values:
        setattr(module, value.__name__, value)
    sys.modules[module.__name__] = module
    return module


_FUNCTIONS = (pil_to_tensor, to_dtype, grayscale_to_rgb, resize, pad, crop, normalize)
io = _module("io")
ops = _module("ops")
transforms = _module("transforms", InterpolationMode)
transforms.functional = _module("transforms.functional", InterpolationMode, *_FUNCTIONS)  # type: ignore[attr-defined]
transforms.v2 = _module("transforms.v2", InterpolationMode)  # type: ignore[attr-defined]
transforms.v2.functional = _module("transforms.v2.functional", InterpolationMode, *_FUNCTIONS)
