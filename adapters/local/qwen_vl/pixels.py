"""Pictures as input of the vision tower."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import torch
from PIL import Image
from torch import Tensor

# CLIP's, per channel of RGB in 0 to 1 (Radford et al. 2021).
MEAN: Final = (0.48145466, 0.4578275, 0.40821073)
STD: Final = (0.26862954, 0.26130258, 0.27577711)


def squeezed(image: Image.Image, side: int) -> Image.Image:
    """Resize the picture to `side` by `side` pixels, bicubic, at any aspect; alpha is dropped.

    Width first, then height, in two calls: Pillow 13 turned the order round for pictures that lose
    much more height than width, which changes most values of a tall screenshot by up to 19 of 255.
    The models were trained with the earlier order, and two calls give it with any version.
    """
    rgb = image.convert("RGB")
    across = rgb.resize((side, rgb.height), Image.Resampling.BICUBIC)
    return across.resize((side, side), Image.Resampling.BICUBIC)


def pixel_values(images: Sequence[Image.Image], side: int) -> Tensor:
    """[pictures, 3, side, side] in float32, normalised with CLIP's mean and deviation."""
    raw = np.stack([np.asarray(squeezed(image, side)) for image in images])
    values = torch.from_numpy(raw).permute(0, 3, 1, 2).contiguous().float().div_(255)
    mean, std = (torch.tensor(numbers).view(1, 3, 1, 1) for numbers in (MEAN, STD))
    return values.sub_(mean).div_(std)
