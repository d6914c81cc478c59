"""Pictures of a page: select those to show to a model, and prepare them.

    screenshot = read_size(data)                         # reads the header only
    pictures = plan(policy, screenshot, boxes, rule)     # final sizes; nothing is decoded
    async with PictureStore() as store:
        store.add(screenshot.digest, data, step_id)
        encoded = await store.encoded(pictures[0])

Importing this package does not import an image library.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from adapters.contract import ImageRule
from adapters.conversation import Picture
from harness.pictures.recipe import (
    NAMES,
    Crop,
    Draft,
    Form,
    Mark,
    PicturePolicy,
    Recipe,
    libraries,
    show_answers,
)
from harness.pictures.source import (
    MAX_PIXELS,
    PictureError,
    Screenshot,
    built_in_picture,
    check_picture,
    decode,
    grey,
    read_size,
    stored_picture,
)
from harness.pictures.store import PictureStats, PictureStore

if TYPE_CHECKING:
    from harness.page import Box

__all__ = [
    "MAX_PIXELS",
    "NAMES",
    "Form",
    "PictureError",
    "PicturePolicy",
    "PictureStats",
    "PictureStore",
    "Recipe",
    "Screenshot",
    "built_in_picture",
    "check_picture",
    "cropped",
    "decode",
    "grey",
    "plan",
    "read_size",
    "show_answers",
    "stored_picture",
    "zoomed",
]


# Least factor by which the resize must still scale down after a draft decode. From 1.4 on, the
# difference from a full decode (44.7 dB or better on a real page) is below the loss at quality 90.
_DRAFT_RESERVE = 1.4


def plan(
    policy: PicturePolicy,
    screenshot: Screenshot,
    boxes: Sequence[Box | None] = (),
    rule: ImageRule | None = None,
    target: Box | None = None,
    letters: Sequence[tuple[str, Box]] = (),
) -> tuple[Picture, ...]:
    """Plan the pictures that a policy shows of a screenshot, from top to bottom.

    Args:
        policy: the part of the page to show, and its size.
        screenshot: the page.
        boxes: boxes of the candidates in this question, in page pixels; used by the policy
            `candidates` alone.
        rule: the model's limits, applied last to keep the provider from scaling the picture
            down further.
        target: box of the right answer; used by oracle policies alone.
        letters: letters to draw on elements, with their boxes, on every picture that shows them.

    Returns:
        References with final sizes.

    Raises:
        PictureError: the model's limits leave nothing of a picture.
    """
    return tuple(
        _picture(policy, screenshot, crop, rule, letters)
        for crop in _crops(policy, screenshot.width, screenshot.height, boxes, target)
    )


def _crops(
    policy: PicturePolicy, width: int, height: int, boxes: Sequence[Box | None], target: Box | None
) -> tuple[Crop, ...]:
    match policy.name:
        case "none":
            return ()
        case "full":
            return (whole(width, height),)
        case "viewport":
            return (viewport(policy, width, height),)
        case "tiles":
            return tiles(policy, width, height)
        case "candidates":
            return (around_candidates(policy, width, height, boxes),)
        case "oracle-target":
            return (around_target(policy, width, height, target),)


def _marks(
    letters: Sequence[tuple[str, Box]], crop: Crop, size: tuple[int, int]
) -> tuple[Mark, ...]:
    from harness.pictures.marks import place

    return place(letters, crop, size)


def _picture(
    policy: PicturePolicy,
    screenshot: Screenshot,
    crop: Crop,
    rule: ImageRule | None,
    letters: Sequence[tuple[str, Box]],
) -> Picture:
    left, top, right, bottom = crop
    natural = (right - left, bottom - top)
    size = _final_size(policy, natural, rule)
    if min(size) < 1:
        raise PictureError(
            f"screenshot {screenshot.digest[:12]}: {natural[0]}x{natural[1]} pixels are too narrow "
            "for the model's limits"
        )
    pillow, libjpeg = libraries()
    recipe = Recipe(
        policy=policy.name,
        box=crop,
        size=size,
        filter="none" if size == natural else "lanczos",
        draft=draft_scale(crop, size) if screenshot.format == "jpeg" else 1,
        encoder=policy.encoder,
        quality=policy.quality if policy.encoder == "jpeg" else 0,
        max_bytes=(rule.max_bytes or 0) if rule else 0,
        pillow=pillow,
        libjpeg=libjpeg,
        marks=_marks(letters, crop, size) if letters else (),
    )
    return Picture(screenshot.digest, recipe.text, *size)


def cropped(picture: Picture, box: tuple[float, float, float, float]) -> Picture:
    """Cut a part out of a picture's original, in the largest size that fits the picture's own.

    box: left, top, right and bottom in pixels of the original, within it.

    >>> whole = plan(PicturePolicy(), Screenshot("d" * 64, 1920, 1080))[0]
    >>> part = cropped(whole, (100.0, 100.0, 200.4, 200.4))
    >>> Recipe.parse(part.recipe).box, (part.width, part.height)
    ((100, 100, 200, 200), (1080, 1080))
    """
    recipe = Recipe.parse(picture.recipe)
    left, top, right, bottom = box
    scale = min(picture.width / (right - left), picture.height / (bottom - top))
    size = tuple(
        max(1, min(most, round(side * scale)))
        for side, most in ((right - left, picture.width), (bottom - top, picture.height))
    )
    first = min(round(left), recipe.box[2] - 1)
    upper = min(round(top), recipe.box[3] - 1)
    crop = first, upper, max(round(right), first + 1), max(round(bottom), upper + 1)
    part = replace(
        recipe,
        box=crop,
        size=(size[0], size[1]),
        filter="none" if size == (crop[2] - first, crop[3] - upper) else "lanczos",
        draft=min(recipe.draft, draft_scale(crop, (size[0], size[1]))),
    )
    return replace(picture, recipe=part.text, width=size[0], height=size[1])


def zoomed(picture: Picture, point: tuple[float, float], share: float) -> Picture:
    """Enlarge a window around a point of a picture to the picture's size.

    The window has the `share` of the width and height, and lies inside. The result has the size of
    the picture, which already satisfies the model's rule.

    >>> whole = plan(PicturePolicy(), Screenshot("d" * 64, 1920, 1080))[0]
    >>> window = zoomed(whole, (1900.0, 500.0), 0.5)
    >>> Recipe.parse(window.recipe).box, (window.width, window.height)
    ((960, 230, 1920, 770), (1920, 1080))
    """
    recipe = Recipe.parse(picture.recipe)
    left, top, right, bottom = recipe.box
    across, down = (max(1, round(share * side)) for side in (right - left, bottom - top))
    first = min(max(round(point[0] - across / 2), left), right - across)
    upper = min(max(round(point[1] - down / 2), top), bottom - down)
    crop = first, upper, first + across, upper + down
    window = replace(
        recipe,
        box=crop,
        filter="none" if recipe.size == (across, down) else "lanczos",
        # A picture that was decoded whole may be no JPEG.
        draft=min(recipe.draft, draft_scale(crop, recipe.size)),
    )
    return replace(picture, recipe=window.text)


def _final_size(
    policy: PicturePolicy, size: tuple[int, int], rule: ImageRule | None
) -> tuple[int, int]:
    if policy.name == "full":
        size = within_pixels(*size, policy.pixels)
    size = within_side(*size, policy.max_side)
    if rule is None:
        return size
    if rule.max_side is not None:
        size = within_side(*size, rule.max_side)
    return rule.fit(*size)


def whole(width: int, height: int) -> Crop:
    """Return the whole page."""
    return (0, 0, width, height)


def viewport(policy: PicturePolicy, width: int, height: int) -> Crop:
    """Return the window at the top left of the page, or all of a smaller page."""
    return (0, 0, min(width, policy.viewport_width), min(height, policy.viewport_height))


def tiles(policy: PicturePolicy, width: int, height: int) -> tuple[Crop, ...]:
    """Cover the page with windows of equal height, from top to bottom.

    Neighbours overlap by `tile_overlap` rows. The last window ends at the bottom of the page and so
    overlaps more, because a thin strip at the end would violate the aspect limits of some models.
    """
    overlap = policy.tile_overlap
    # Every tile after the first brings `tall - overlap` new rows.
    least = math.ceil((height + (policy.max_tiles - 1) * overlap) / policy.max_tiles)
    tall = max(policy.tile_height, least)
    if height <= tall:
        return (whole(width, height),)
    step = tall - overlap
    count = math.ceil((height - overlap) / step)
    tops = [*(i * step for i in range(count - 1)), height - tall]
    return tuple((0, top, width, top + tall) for top in tops)


def around_candidates(
    policy: PicturePolicy, width: int, height: int, boxes: Sequence[Box | None]
) -> Crop:
    """Return SeeAct's crop: full width, from the highest to the lowest candidate with a margin.

    Candidates without a visible box are ignored; rows of the data set contain negative and empty
    boxes. If none is left, or all lie outside the picture, the page is not cropped.
    """
    seen = [box for box in boxes if box is not None and _visible(box)]
    if not seen:
        return whole(width, height)
    # Rounded to the nearest row, ties to even, like the crops that SeeAct published.
    top = max(0, round(min(box.y for box in seen) - policy.margin))
    bottom = min(height, round(max(box.y + box.height for box in seen) + policy.margin))
    return (0, top, width, bottom) if top < bottom else whole(width, height)


def around_target(policy: PicturePolicy, width: int, height: int, target: Box | None) -> Crop:
    """Return a window of the viewport's height around the target, or at the top without one."""
    tall = min(height, policy.viewport_height)
    if target is None or not _visible(target):
        return (0, 0, width, tall)
    top = round(target.y + target.height / 2 - tall / 2)
    top = max(0, min(top, height - tall))
    return (0, top, width, top + tall)


def _visible(box: Box) -> bool:
    return box.is_visible and all(map(math.isfinite, (box.y, box.y + box.height)))


def within_pixels(width: int, height: int, pixels: int) -> tuple[int, int]:
    """Scale a size down to at most `pixels`, keeping its aspect; unchanged if it fits.

    >>> within_pixels(1280, 7412, 1280 * 2560)
    (752, 4355)
    """
    if width * height <= pixels:
        return width, height
    scale = math.sqrt(pixels / (width * height))
    # Rounding down keeps the product within the budget; a line one pixel wide is shortened.
    small, large = sorted((max(1, int(width * scale)), max(1, int(height * scale))))
    large = min(large, max(1, pixels // small))
    return (small, large) if width <= height else (large, small)


def within_side(width: int, height: int, side: int) -> tuple[int, int]:
    """Scale a size down, keeping its aspect, until no side exceeds `side`; unchanged if it fits.

    >>> within_side(1280, 20000, 8000)
    (512, 8000)
    """
    longest = max(width, height)
    if longest <= side:
        return width, height
    return max(1, round(width * side / longest)), max(1, round(height * side / longest))


def draft_scale(crop: Crop, size: tuple[int, int]) -> Draft:
    """Return the n of the smallest scale 1/n at which a JPEG can be decoded without visible loss.

    A JPEG decoder can skip the finest detail of every 8 x 8 block and output the picture at a half,
    a quarter or an eighth of its size, which takes less time and memory. The scale is part of the
    recipe, because the pixels differ slightly from those of a full decode.

    >>> draft_scale((0, 0, 1280, 7412), (354, 2048)), draft_scale((0, 0, 1280, 7412), (752, 4355))
    (2, 1)
    """
    left, top, right, bottom = crop
    ratio = min((right - left) / size[0], (bottom - top) / size[1])
    for scale in (8, 4, 2):
        if ratio >= scale * _DRAFT_RESERVE:
            return scale
    return 1
