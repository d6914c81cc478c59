"""Spaces of observations and actions: any texts, pictures of any size, mappings.

Gymnasium's `Text` refuses characters outside of a set, and its `Box` has one shape. Like all custom
spaces, these need `shared_memory=False` in vector environments.
"""

from __future__ import annotations

import string
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

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
