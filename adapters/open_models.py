"""Facts of open models by name: the sizes of their pictures, and their coordinates.

They apply behind a server and on this machine alike. Read in November 2026 from the models'
repositories, papers and evaluation code; the pixel limits are those of the published checkpoint, or
narrower where the authors' own code sets them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil, floor, sqrt

from adapters.contract import Coordinates, ImageRule


@dataclass(frozen=True, slots=True)
class Pixels:
    """Qwen's `smart_resize`, which many models have taken over."""

    factor: int
    """The sides of a picture seen are multiples of it."""
    least: int
    """Fewest pixels of a picture seen."""
    most: int
    """Most pixels of a picture seen."""


@dataclass(frozen=True, slots=True)
class OpenModel:
    """A family of open models."""

    coordinates: Coordinates | None
    """Units of their coordinates; None if publications contradict each other."""
    pixels: Pixels | None = None
    """Their resizing; None: by another rule."""
    special_tokens: bool = False
    """True if they mark places by special tokens, which a reply must keep."""

    @property
    def exact(self) -> bool:
        """True if pictures are sent in the very size that the model sees.

        One that answers in pixels means those of the picture after its own resizing, so nothing may
        be left to resize. Where it is open what numbers mean, they may be pixels.
        """
        return self.pixels is not None and self.coordinates in (None, "absolute")

    @property
    def controls(self) -> re.Pattern[str] | None:
        """What its tokenizer reads as a control token; None if that is not known here."""
        return None if self.pixels is None else _OF_QWEN

    def image_rule(self) -> ImageRule | None:
        """Return the rule to resize pictures before sending; None if the model's is unknown.

        Where the size does not matter they are only shrunk to the limit.
        """
        if self.pixels is None:
            return None
        make = qwen_exact if self.exact else qwen
        return make(self.pixels.factor, self.pixels.least, self.pixels.most)


_OF_QWEN = re.compile(r"<\|\w+\|>|</?(?:tool_call|tool_response|think)>")
"""Control tokens of Qwen's tokenizer. The models that have its resizing were made from Qwen's."""
_QWEN2 = Pixels(28, 3_136, 12_845_056)
_QWEN3 = Pixels(32, 65_536, 16_777_216)

OPEN_MODELS: dict[str, OpenModel] = {
    "qwen-vl-chat": OpenModel("per-mille"),
    "qwen2-vl": OpenModel("per-mille", _QWEN2),
    "qwen2.5-vl": OpenModel("absolute", _QWEN2),
    "qwen3-vl": OpenModel("per-mille", _QWEN3),
    # From 3.5 on there is one family for text and pictures.
    "qwen3.": OpenModel("per-mille", _QWEN3),
    "seeclick": OpenModel("unit"),
    "cogagent": OpenModel("per-mille"),
    "os-atlas": OpenModel("per-mille"),
    "os-atlas-7b": OpenModel("per-mille", _QWEN2, special_tokens=True),
    "os-atlas-base-7b": OpenModel("per-mille", _QWEN2, special_tokens=True),
    "os-atlas-pro-7b": OpenModel("per-mille", _QWEN2, special_tokens=True),
    "uground-v1": OpenModel("per-mille", _QWEN2),
    "showui": OpenModel("unit", Pixels(28, 256 * 28**2, 1344 * 28**2)),
    "aguvis": OpenModel("unit", _QWEN2),
    "ui-tars": OpenModel("per-mille", _QWEN2),
    "ui-tars-1.5": OpenModel("absolute", Pixels(28, 100 * 28**2, _QWEN2.most), special_tokens=True),
    # The model is said to answer in thousandths, its public parser reads pixels.
    "ui-tars-2": OpenModel(None),
    "ui-tars-2b": OpenModel("per-mille", _QWEN2),
    "jedi": OpenModel("absolute", _QWEN2),
    "gta1": OpenModel("absolute", Pixels(28, 3_136, 4096 * 2160)),
    "holo1": OpenModel("absolute", Pixels(28, 4 * 28**2, 1280 * 28**2)),
    "holo1.5": OpenModel("absolute", Pixels(28, 3_136, 3_686_400)),
    "holo2": OpenModel("per-mille", _QWEN3),
    "holo3": OpenModel("per-mille", _QWEN3),
    "mai-ui": OpenModel("per-mille", _QWEN3),
    # Of the first UI-Venus and of GUI-G2, tables say thousandths and examples show pixels.
    "ui-venus": OpenModel(None, _QWEN2),
    "ui-venus-1.5": OpenModel("per-mille", _QWEN3),
    "ui-venus-2": OpenModel("per-mille", _QWEN3),
    "gui-g2": OpenModel(None, _QWEN2),
    # The first GUI-Owl was made from Qwen2.5-VL, and its convention is not published as clearly.
    "gui-owl": OpenModel(None, _QWEN2),
    "gui-owl-1.5": OpenModel("per-mille", Pixels(32, 200_704, 10_035_200)),
    "gelab-zero": OpenModel("per-999"),
    "step-gui": OpenModel("per-999"),
    "glm-4.1v": OpenModel("per-mille"),
    "glm-4.5v": OpenModel("per-mille"),
    "internvl2": OpenModel("per-mille"),
    "internvl3": OpenModel("per-mille"),
    "kimi-vl": OpenModel("unit"),
    # Thousandths in one evaluation, 0 to 1 in published traces.
    "kimi-k2.5": OpenModel(None),
}
"""By the beginning of a model's name without its organisation; the longest that fits counts."""


def open_model(name: str) -> OpenModel | None:
    """Return the facts of a named model (a hub id, a folder); None if it is unknown.

    >>> known = open_model("ByteDance-Seed/UI-TARS-1.5-7B")
    >>> known.coordinates, open_model("UI-TARS-7B-DPO").coordinates
    ('absolute', 'per-mille')
    """
    plain = name.lower().rstrip("/").rpartition("/")[2].replace("qwen25", "qwen2.5")
    key = longest(OPEN_MODELS, plain)
    return None if key is None else OPEN_MODELS[key]


def longest(names: Iterable[str], model: str) -> str | None:
    """Return the longest of the names that a model's name begins with."""
    return max((name for name in names if model.startswith(name)), key=len, default=None)


_QWEN = "Qwen-VL smart_resize with the published checkpoints' pixel limits, 2026-11"


def qwen_size(width: int, height: int, factor: int, least: int, most: int) -> tuple[int, int]:
    """Qwen's `smart_resize`: sides in multiples of `factor`, pixels from `least` to `most`."""
    w, h = (round(side / factor) * factor for side in (width, height))
    if w * h > most:
        shrink = sqrt(width * height / most)
        w, h = (max(factor, floor(s / shrink / factor) * factor) for s in (width, height))
    elif w * h < least:
        grow = sqrt(least / (width * height))
        w, h = (ceil(side * grow / factor) * factor for side in (width, height))
    return max(factor, w), max(factor, h)


def qwen(factor: int, least: int, most: int) -> ImageRule:
    """Qwen2-VL and later: sides rounded to multiples of `factor`, pixels within limits.

    `fit` leaves the rounding to the model: it only shrinks to the pixel limit.
    """
    return pixels(most, qwen_exact(factor, least, most).tokens, _QWEN)


def qwen_exact(factor: int, least: int, most: int) -> ImageRule:
    """Return the same where the limits are known to be the processor's own: `fit` gives the size it
    uses.

    So a picture is resized once, and a point in the picture sent is a point in the one seen.
    """

    def fit(width: int, height: int) -> tuple[int, int]:
        return qwen_size(width, height, factor, least, most)

    def tokens(width: int, height: int) -> int:
        w, h = fit(width, height)
        return (w // factor) * (h // factor)

    return ImageRule(fit, tokens, source=_QWEN)


def pixels(
    most: int | None,
    tokens: Callable[[int, int], int | None] = lambda width, height: None,
    source: str = "the pixel limit that was asked for",
) -> ImageRule:
    """At most this many pixels, aspect ratio kept, for models that resize by an unknown rule.

    `tokens` counts the tokens of a picture of a width and a height, where that is known.
    """

    def fit(width: int, height: int) -> tuple[int, int]:
        scale = min(1.0, sqrt(most / (width * height))) if most else 1.0
        return max(1, floor(width * scale)), max(1, floor(height * scale))

    return ImageRule(fit, tokens, source=source)
