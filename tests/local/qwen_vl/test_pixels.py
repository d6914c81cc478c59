"""Pictures come out as the models were trained with, whatever Pillow's version."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")

from PIL import Image

from adapters.local.qwen_vl.prompt import MEAN, STD, pixel_values, squeezed

Bytes = npt.NDArray[np.uint8]


def cubic(x: float) -> float:
    """Keys's kernel with a = -0.5, which Pillow calls bicubic."""
    x = abs(x)
    if x < 1:
        return (1.5 * x - 2.5) * x * x + 1
    return ((-0.5 * x + 2.5) * x - 4) * x + 2 if x < 2 else 0.0


def resampled(rows: Bytes, size: int) -> Bytes:
    """The first axis to `size`: weights in 22-bit fixed point, each pass rounded to 8 bits."""
    before = rows.shape[0]
    scale = before / size
    reach = 2 * max(scale, 1.0)
    out = np.empty((size, *rows.shape[1:]), np.uint8)
    for place in range(size):
        centre = (place + 0.5) * scale
        low = max(0, int(centre - reach + 0.5))
        high = min(before, int(centre + reach + 0.5))
        weights = [cubic((x + 0.5 - centre) / max(scale, 1.0)) for x in range(low, high)]
        total = sum(weights)
        fixed = [math.floor(w / total * 2**22 + 0.5) for w in weights]
        mixed = np.tensordot(np.array(fixed), rows[low:high].astype(np.int64), 1)
        out[place] = np.clip((mixed + 2**21) >> 22, 0, 255)
    return out


def width_first(image: Bytes, side: int) -> Bytes:
    across = resampled(image.swapaxes(0, 1), side).swapaxes(0, 1)
    return resampled(across, side)


def noise(width: int, height: int) -> Bytes:
    return np.random.default_rng(width).integers(0, 256, (height, width, 3), np.uint8)


@pytest.mark.parametrize(
    ("width", "height"), [(40, 700), (90, 400), (300, 60), (56, 56), (20, 31), (56, 500)]
)
def test_width_is_resampled_before_height(width: int, height: int) -> None:
    image = noise(width, height)
    assert np.array_equal(np.asarray(squeezed(Image.fromarray(image), 56)), width_first(image, 56))


def test_transparency_is_dropped_and_not_blended() -> None:
    image = np.dstack([noise(56, 56), np.zeros((56, 56), np.uint8)])
    assert np.array_equal(np.asarray(squeezed(Image.fromarray(image), 56)), image[..., :3])


def test_values_are_normalised_channel_by_channel() -> None:
    image = Image.new("RGB", (10, 30), (255, 0, 51))
    values = pixel_values([image, image], 14)
    assert tuple(values.shape) == (2, 3, 14, 14)
    for channel, raw in enumerate((1.0, 0.0, 0.2)):
        expected = (raw - MEAN[channel]) / STD[channel]
        assert np.abs(values[1, channel].numpy() - expected).max() < 1e-6
