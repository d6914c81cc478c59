"""Observations of recorded steps, under the names of BrowserGym for what means the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from harness.benchmarks.shows import Ready
from harness.page import Page
from harness.pictures import PictureError, decode
from harness.records import Row
from harness.views import StepView
from parsers.token_scores import count_tokens

OBSERVED = (
    *("goal", "chat_messages", "screenshot", "candidates", "pruned_html", "cleaned_html"),
    *("previous_actions", "step_index", "last_action", "last_action_error"),
)
"""The keys of an observation."""
HTML_TOKENS = 400
"""Longest HTML of a candidate, in tokens; a cut is marked."""


class Anything(spaces.Space[Any]):
    """Values of any size: gymnasium's own spaces want limits for texts and pictures."""

    def contains(self, x: Any) -> bool:
        return True

    def sample(self, mask: None = None, probability: None = None) -> str:
        """Return an action without effect."""
        return "noop()"

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Anything)

    def __hash__(self) -> int:
        return hash(Anything)


def observe(
    row: Row, question: Ready[StepView], page: Page, instructions: tuple[str, ...]
) -> dict[str, Any]:
    """Describe a step, with the user's `instructions` so far; nothing reveals the right element.

    Raises `DataError` if the screenshot does not decode.
    """
    candidates = [
        {
            "bid": one.id,
            "tag": one.tag,
            "text": one.text,
            "html": page.compact(one.id, max_tokens=HTML_TOKENS, count=count_tokens),
            "bbox": one.box and [one.box.x, one.box.y, one.box.width, one.box.height],
        }
        for one in question.view.choices
    ]
    return {
        "goal": row.goal,
        "chat_messages": tuple({"role": "user", "message": text} for text in instructions),
        "screenshot": screenshot_of(row),
        "candidates": tuple(candidates),
        "pruned_html": page.refined({one.id: one.id for one in question.view.choices}, style="xml"),
        "cleaned_html": row.detail.html,
        "previous_actions": row.detail.history,
        "step_index": row.position,
    }


def screenshot_of(row: Row) -> npt.NDArray[np.uint8] | None:
    """Return the recorded picture of the page, height x width x 3; None without one.

    Raises `DataError`.
    """
    if row.detail.screenshot is None:
        return None
    try:
        picture = decode(row.detail.screenshot)
    except PictureError as error:
        raise PictureError(f"{row.source or row.unit_id}: {error}") from error
    pixels = np.frombuffer(picture.data, np.uint8)
    return pixels.reshape(picture.height, picture.width, 3).copy()
