"""Declare the settings of a leaf, in a file that imports nothing heavy.

    @dataclass(frozen=True, kw_only=True)
    class MoodSettings(LeafSettings):
        mood: str = setting("calm", "Mood of the question.", group="Question", about="question")

`harness.settings` gathers the classes of all leaves into one. A leaf reads its own settings, typed,
through its class: `MoodSettings.of(settings).mood`.
"""

from __future__ import annotations

from dataclasses import field
from functools import partial
from typing import Any, Self


def setting(default: Any, help: str, **facts: Any) -> Any:
    """Declare a setting as a field; `facts` are attributes of `harness.settings.Setting`."""
    return field(default=default, metadata={"help": help, **facts})


session_setting = partial(
    setting, group="Running", about="session", recorded="never", heading="never"
)
"""Declare a setting that changes neither results nor a run's identity."""


class LeafSettings:
    """Settings of one leaf."""

    @classmethod
    def of(cls, settings: object) -> Self:
        """Return a run's settings, typed as those of this leaf."""
        assert isinstance(settings, cls), f"{cls.__name__} is not among the settings of a run"
        return settings
