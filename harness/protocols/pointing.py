"""Convert points between the numbers of a model and the pixels of a page.

The model's adapter, a prompt pack or the user declares the meaning of the numbers (pixels of the
sent picture, fractions, thousandths); it is never guessed from their size. A box counts by its
centre. The picture's recipe converts the point to pixels of the original.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, TypeVar

from adapters.contract import AdapterInfo
from adapters.conversation import Picture
from harness.errors import UserError
from harness.pictures import PicturePolicy, Recipe
from parsers.points import CONVENTIONS, Convention, Form, PointAnswer, from_pixels, to_pixels
from parsers.records import Status

T = TypeVar("T")
Point = tuple[float, float]

PLACE = "answer"
MEANINGS = {
    "absolute": "pixels of the picture",
    "unit": "0 to 1",
    "per-mille": "0 to 1000",
    "per-999": "0 to 999",
}


class _Located(NamedTuple):
    """The place of an answer, in pixels of the original picture.

    status: the answer's status, or `out_of_range` for a point outside of the picture.
    box: left, top, right and bottom, if the answer is a box inside the picture.
    """

    status: Status
    point: Point | None = None
    box: tuple[float, float, float, float] | None = None


def located(answer: PointAnswer, convention: Convention, picture: Picture) -> _Located:
    """Locate an answer on a picture."""
    if answer.point is None:
        return _Located(answer.status)
    point = on_page(answer.point, convention, picture)
    if point is None:
        return _Located(Status.OUT_OF_RANGE)
    if answer.box is None:
        return _Located(answer.status, point)
    first, last = (on_page(one, convention, picture) for one in (answer.box[:2], answer.box[2:]))
    if first is None or last is None:
        return _Located(answer.status, point)
    across, down = sorted((first[0], last[0])), sorted((first[1], last[1]))
    return _Located(answer.status, point, (across[0], down[0], across[1], down[1]))


def on_page(point: Point, convention: Convention, picture: Picture) -> Point | None:
    """Convert a model's numbers to a point of the original; None outside of the picture.

    Rounded to a millionth of a pixel, which keeps a point on a border there.
    """
    pixels = to_pixels(point, convention, (picture.width, picture.height))
    if pixels is None:
        return None
    x, y = Recipe.parse(picture.recipe).to_page(*pixels)
    return round(x, 6), round(y, 6)


def numbers_of(point: Point, convention: Convention, picture: Picture) -> Point:
    """Convert a point of the original to a model's numbers, rounded as models write them."""
    recipe = Recipe.parse(picture.recipe)
    return from_pixels(recipe.to_picture(*point), convention, (picture.width, picture.height))


def one_picture(pictures: Sequence[Picture], what: str) -> Picture:
    """Return the picture that `what` shows. Raises ValueError unless it is exactly one."""
    if len(pictures) != 1:
        raise ValueError(f"{what} shows {len(pictures)} pictures; a point needs exactly one")
    return pictures[0]


def check_pointing(
    name: str, convention: Convention | None, pictures: PicturePolicy, model: AdapterInfo
) -> None:
    """Raise `UserError` for several pictures, and for a model with undeclared numbers.

    `name`: the protocol's; `convention`: the meaning of the model's numbers, None if unknown.
    """
    if pictures.name == "tiles":
        raise UserError(
            "--image-policy tiles shows several pictures, and a point does not say on which of "
            f"them it lies; use full, viewport or candidates with '{name}'"
        )
    if convention is None and model.stand_in != "policy":
        *first, last = (f"{one} ({MEANINGS[one]})" for one in CONVENTIONS)
        raise UserError(
            f"it is not known what the coordinates of {model.name} mean: add "
            f"--protocol-option coordinates={', '.join(first)} or {last}"
        )


def by_longest_word(words: Collection[tuple[str, T]], *names: str) -> T | None:
    """Return the value of the longest word that occurs in a model's name; None without one.

    Of several names (the model's own, the adapter's) the first with a known word decides.

    >>> words = [("ui-tars", 1), ("ui-tars-1.5", 2), ("qwen", 3)]
    >>> by_longest_word(words, "vllm:UI_TARS-1.5-7B"), by_longest_word(words, "mine", "qwen-vl")
    (2, 3)
    """
    for name in names:
        plain = name.lower().replace("_", "-")
        found = [(len(word), thing) for word, thing in words if word in plain]
        if found:
            return max(found, key=lambda one: one[0])[1]
    return None


FAMILIES: Mapping[str, Form] = {
    "seeclick": "seeclick",
    "qwen-vl": "qwen-vl",
    "qwen2-vl": "qwen2-vl",
    "qwen2.5": "qwen2.5-vl",
    "qwen3": "qwen3-vl",
    "qwen3.": "qwen3.5-xml",
    "claude": "computer-use",
    "gpt-": "computer-use",
    "chatgpt": "computer-use",
    "gemini": "gemini",
    "ui-tars": "ui-tars",
    "seed-1.8": "ui-tars",
    "aguvis": "pyautogui",
    "scalecua": "pyautogui",
    "kimi-vl": "pyautogui",
    "kimi-k2": "point-text",
    "holo1": "click-call",
    "holo1.5": "computer-use",
    "holo2": "computer-use",
    "holo3": "computer-use",
    "uground": "point-text",
    "os-atlas": "box-text",
    "os-atlas-4b": "point-text",
    "os-atlas-base-4b": "point-text",
    "os-atlas-pro-4b": "point-text",
    "showui": "point-text",
    "gta1": "point-text",
    "ui-venus": "point-text",
    "gui-g2": "point-text",
    "internvl": "box-text",
    "glm-4.1v": "glm",
    "glm-4.5v": "glm",
    "glm-4.6v": "glm",
    "cogagent": "cogagent",
    "cogagent-18b": "point-text",
    "cogagent-chat": "point-text",
    "step-gui": "step",
    "gelab-zero": "step",
    "mai-ui": "mai",
    "jedi": "qwen2.5-vl",
    "gui-owl": "qwen3-vl",
}
"""Forms by a word in the model's name."""


def usual_form(*names: str) -> Form:
    """Return the form of pointing that a model was trained on; `plain` for unknown families.

    Of several names (the model's own, the adapter's) the first with a known family decides, and of
    the words in a name the longest.

    >>> usual_form("Qwen/Qwen2.5-VL-7B-Instruct"), usual_form("OS-Copilot/OS-Atlas-Base-4B")
    ('qwen2.5-vl', 'point-text')
    """
    return by_longest_word(FAMILIES.items(), *names) or "plain"
