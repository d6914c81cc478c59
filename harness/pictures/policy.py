"""Picture policies: the part of a page that a model sees, and its size.

| name            | what is sent                                                             |
|-----------------|--------------------------------------------------------------------------|
| `full`          | the whole page, scaled down to a budget of pixels                        |
| `viewport`      | the window at the top of the page, without scrolling                     |
| `tiles`         | the page cut from top to bottom into overlapping windows                 |
| `candidates`    | SeeAct: full width, from above the highest candidate to below the lowest |
| `none`          | nothing                                                                  |
| `oracle-target` | a window around the right answer, for upper bounds only                  |
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, cast, get_args

from harness.errors import UserError
from harness.pictures.recipe import Encoder

PolicyName = Literal["full", "viewport", "tiles", "candidates", "none", "oracle-target"]
NAMES: tuple[PolicyName, ...] = get_args(PolicyName)


@dataclass(frozen=True, slots=True)
class PicturePolicy:
    """One way to show a page. All lengths are in pixels of the screenshot."""

    name: PolicyName = "full"
    pixels: int = 1280 * 2560
    """Budget of `full`. With the default, a page of 1280 x 2560 is sent unscaled and one of 7,400
    rows at 0.59 of its size (16-pixel text is then 9 pixels tall); a picture costs under 4,000
    tokens for models that count 32-pixel patches, like OpenAI's of 2026."""
    viewport_width: int = 1280
    """Width of the window of `viewport`."""
    viewport_height: int = 720
    """Height of the window of `viewport` and `oracle-target`."""
    tile_height: int = 1280
    """Height of a tile."""
    tile_overlap: int = 128
    """Rows that a tile shares with the next one."""
    max_tiles: int = 100
    """If a page would need more tiles, they get taller; providers accept about 100 pictures."""
    margin: int = 1024
    """Margin that SeeAct adds above and below the candidates."""
    max_side: int = 8000
    """Longest side of any picture. Some providers reject longer ones; it applies to every model,
    because tables compare models under one policy."""
    encoder: Encoder = "jpeg"
    quality: int = 90
    """Quality of JPEG, 1 to 95."""

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise UserError(f"unknown picture policy '{self.name}' (one of: {', '.join(NAMES)})")
        if self.encoder not in get_args(Encoder):
            raise UserError(f"unknown picture encoder '{self.encoder}' (jpeg or png)")
        for setting, least in _LEAST.items():
            if getattr(self, setting) < least:
                raise UserError(f"picture policy: {setting} must be at least {least}")
        if self.tile_overlap >= self.tile_height:
            raise UserError("picture policy: tile_overlap must be smaller than tile_height")
        if self.quality > 95:
            raise UserError("picture policy: quality is 1 to 95")

    @property
    def oracle(self) -> bool:
        """True if the pictures depend on the right answer; results must say so."""
        return show_answers(self.name)

    @classmethod
    def parse(cls, text: str) -> PicturePolicy:
        """Read `NAME` or `NAME:setting=value,...` (`tiles:tile_height=1000,tile_overlap=200`).

        Raises `UserError` for an unknown name, an unknown setting or a bad value.
        """
        name, _, rest = text.partition(":")
        settings: dict[str, int | str] = {}
        for pair in filter(None, rest.split(",")):
            key, _, value = (part.strip() for part in pair.partition("="))
            if key not in _SETTINGS:
                raise UserError(
                    f"picture policy: no setting '{key}' (one of: {', '.join(_SETTINGS)})"
                )
            if key == "encoder":
                settings[key] = value
            elif value.isascii() and value.isdigit():
                settings[key] = int(value)
            else:
                raise UserError(f"picture policy: {key} must be a whole number, not '{value}'")
        return cls(cast(PolicyName, name.strip()), **settings)  # type: ignore[arg-type]

    def plain(self) -> dict[str, int | str]:
        """Return the name and all settings, for the manifest of a run."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def text(self) -> str:
        """The name and the settings that differ from their defaults; `parse` reads it back."""
        changed = [f"{f}={v}" for f in _SETTINGS if (v := getattr(self, f)) != _DEFAULTS[f]]
        return f"{self.name}:{','.join(changed)}" if changed else self.name


def show_answers(text: str) -> bool:
    """Return True if the policy written as `text` shows pictures that depend on the right answer.

    >>> show_answers("oracle-target:margin=200"), show_answers("full")
    (True, False)
    """
    return text.startswith("oracle-")


_DEFAULTS = {f.name: f.default for f in fields(PicturePolicy)}
_SETTINGS = tuple(name for name in _DEFAULTS if name != "name")
_LEAST = {
    "pixels": 1,
    "viewport_width": 1,
    "viewport_height": 1,
    "tile_height": 1,
    "tile_overlap": 0,
    "max_tiles": 1,
    "margin": 0,
    "max_side": 1,
    "quality": 1,
}
