"""Observations of recorded steps, under the names of BrowserGym for what means the same; spaces.

Gymnasium's `Text` refuses characters outside of a set, and its `Box` has one shape. Like all custom
spaces, those here need `shared_memory=False` in vector environments.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from harness.benchmarks.ready import Ready
from harness.candidates import everything
from harness.page import Box, Page
from harness.pictures import PictureError, decode
from harness.records import Choice, Row
from harness.views import StepView
from parsers.token_scores import count_tokens

Pixels = npt.NDArray[np.uint8]
T = TypeVar("T", covariant=True)

_CHARACTERS = np.array(list(string.printable))
_DAY_S = 86_400.0
_MOST_STEPS = 1_000_000
_LARGEST_SAMPLE = 8


class _Plain(spaces.Space[T]):
    """A space without parameters: all its instances are equal."""

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Unicode(_Plain[str]):
    """Texts of any length."""

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)

    def sample(self, mask: None = None, probability: None = None) -> str:
        """Draw a few ASCII characters."""
        length = int(self.np_random.integers(1, _LARGEST_SAMPLE + 1))
        return "".join(self.np_random.choice(_CHARACTERS, length))


class Image(_Plain[Pixels]):
    """RGB pictures, as arrays of height x width x 3 bytes."""

    def contains(self, x: Any) -> bool:
        return (
            isinstance(x, np.ndarray)
            and x.dtype == np.uint8
            and x.ndim == 3
            and x.shape[2] == 3
            and x.size > 0
        )

    def sample(self, mask: None = None, probability: None = None) -> Pixels:
        """Draw noise of a few pixels."""
        height, width = self.np_random.integers(1, _LARGEST_SAMPLE + 1, 2)
        return self.np_random.integers(0, 256, (height, width, 3), np.uint8)


class AnyDict(_Plain[dict[str, Any]]):
    """Mappings of any content."""

    def contains(self, x: Any) -> bool:
        return isinstance(x, dict)

    def sample(self, mask: None = None, probability: None = None) -> dict[str, Any]:
        """Return an empty mapping."""
        return {}


def observation_space() -> spaces.Dict:
    """Build the space of the observations of `harness.gym.observing.observe`."""
    texts, mappings = spaces.Sequence(Unicode()), spaces.Sequence(AnyDict())
    return spaces.Dict(
        {
            "goal": Unicode(),
            "goal_object": mappings,
            "chat_messages": mappings,
            "url": Unicode(),
            "open_pages_urls": texts,
            "open_pages_titles": texts,
            "active_page_index": spaces.Box(0, 255, (1,), np.int64),
            "screenshot": Image(),
            "has_screenshot": spaces.Discrete(2),
            "pruned_html": Unicode(),
            "cleaned_html": Unicode(),
            "candidates": mappings,
            "extra_element_properties": AnyDict(),
            "previous_actions": texts,
            "step_index": spaces.Discrete(_MOST_STEPS + 1),
            "last_action": Unicode(),
            "last_action_error": Unicode(),
            "elapsed_time": spaces.Box(0.0, _DAY_S, (1,), np.float64),
        }
    )


HTML_TOKENS = 400
"""Longest HTML of a candidate, in tokens; a cut is marked."""


def observe(
    row: Row,
    question: Ready[StepView],
    page: Page,
    *,
    instructions: Sequence[str],
    last_action: str = "",
    last_action_error: str = "",
) -> dict[str, Any]:
    """Build the observation of a step, a new one on every call.

    Args:
        row: the recorded step; the observation does not reveal its right element.
        question: the listed candidates.
        page: the page.
        instructions: the user's instructions so far, oldest first; the last is the goal.
        last_action: the text of the action before this observation.
        last_action_error: the reason why that action was not possible; "" if it was.

    Raises `DataError` if the screenshot does not decode.
    """
    url = f"offline://{row.split}/{row.parents['task']}/{row.position}"
    return {
        "goal": row.goal,
        "goal_object": ({"type": "text", "text": row.goal},),
        "chat_messages": tuple(
            {"role": "user", "timestamp": 0.0, "message": message} for message in instructions
        ),
        # Neither addresses nor titles are recorded.
        "url": url,
        "open_pages_urls": (url,),
        "open_pages_titles": (row.parents["website"],),
        "active_page_index": np.zeros(1, np.int64),
        "screenshot": screenshot_of(row),
        "has_screenshot": int(row.detail.screenshot is not None),
        "pruned_html": page.refined({c.id: c.id for c in question.view.choices}, style="xml"),
        "cleaned_html": row.detail.html,
        "candidates": tuple(_candidate(choice, page) for choice in question.view.choices),
        "extra_element_properties": dict(_properties(row, question, page)),
        "previous_actions": row.detail.history,
        "step_index": row.position,
        "last_action": last_action,
        "last_action_error": last_action_error,
        "elapsed_time": np.zeros(1, np.float64),
    }


def screenshot_of(row: Row) -> Pixels:
    """Read the recorded picture of the page; without one, a black pixel. Raises `DataError`."""
    if row.detail.screenshot is None:
        return np.zeros((1, 1, 3), np.uint8)
    try:
        picture = decode(row.detail.screenshot)
    except PictureError as error:
        raise PictureError(f"{row.source or row.unit_id}: {error}") from error
    pixels = np.frombuffer(picture.data, np.uint8)
    return pixels.reshape(picture.height, picture.width, 3).copy()


def _candidate(choice: Choice, page: Page) -> dict[str, Any]:
    return {
        "bid": choice.id,
        "letter": choice.letter,
        "tag": choice.tag,
        "text": choice.text,
        "html": page.compact(choice.id, max_tokens=HTML_TOKENS, count=count_tokens),
        "bbox": _corners(choice.box),
    }


def _properties(
    row: Row, question: Ready[StepView], page: Page
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Describe every candidate of the page, in document order."""
    known = {
        candidate.id: candidate for candidate in (*row.detail.negatives, *row.detail.positives)
    }
    listed = {choice.id for choice in question.view.choices}
    for node_id in everything(row, page).ids:
        candidate = known[node_id]
        seen = candidate.box is not None and candidate.box.is_visible
        yield (
            node_id,
            {
                "bbox": _corners(candidate.box),
                "visibility": float(seen),
                "clickable": candidate.attributes.get("is_clickable") == "true",
                "set_of_marks": seen and node_id in listed,
            },
        )


def _corners(box: Box | None) -> list[float] | None:
    """Return left, top, width and height in pixels of the screenshot."""
    return None if box is None else [box.x, box.y, box.width, box.height]
