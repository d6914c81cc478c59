"""Pictures of a page: select those to show to a model, and prepare them.

    screenshot = read_size(data)                         # reads the header only
    pictures = plan(policy, screenshot, boxes, rule)     # final sizes; nothing is decoded
    async with PictureStore() as store:
        store.add(screenshot.digest, data, step_id)
        encoded = await store.encoded(pictures[0])

Importing this package does not import an image library.
"""

from __future__ import annotations

from harness.pictures.planning import plan, zoomed
from harness.pictures.recipe import NAMES, Form, PicturePolicy, Recipe, show_answers
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
    "decode",
    "grey",
    "plan",
    "read_size",
    "show_answers",
    "stored_picture",
    "zoomed",
]
