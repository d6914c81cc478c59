"""Settings of a run that environments take, with the same meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from harness.errors import UserError, suggestion
from harness.gym.actions import ActionStrings
from harness.kinds.protocols import check_asks
from harness.kinds.step.kind import RecordedSteps
from harness.planning.resolve import refuse_without_effect
from harness.settings import SETTINGS, Settings, read_settings

Transition = Literal["teacher", "strict"]
OnInvalid = Literal["skip", "score_zero"]

_ELSEWHERE = frozenset(
    {
        # The player decides on prompts and the number of calls.
        *("protocol", "protocol_options", "prompts", "none", "history", "image_policy", "pixels"),
        *("first_of_many", "value_style", "repeats", "shuffles"),
        # And on the averages, except for `on_invalid`.
        *("invalid", "unattempted", "exclude_statuses"),
    }
)
TAKEN = tuple(
    name
    for name, setting in SETTINGS.items()
    if setting.group in ("Data", "Question", "Scoring") and name not in _ELSEWHERE
)
"""The settings that an environment takes."""


def completed(chosen: Mapping[str, object], *, zero: bool) -> Settings:
    """Complete the settings of an environment by their defaults.

    A click on a point counts for the smallest candidate under it, unless `point_rule` is given.
    `zero`: count steps without a right answer as failed.

    Raises `UserError` for settings that an environment does not take, or that exclude each other.
    """
    protocol = ActionStrings()
    try:
        read = read_settings({"point_rule": "smallest", **chosen})
    except ValueError as error:
        raise UserError(str(error)) from error
    if others := read.given.difference(TAKEN):
        raise UserError(f"{sorted(others)[0]} has no effect on an environment; leave it out")
    settings = RecordedSteps.given(replace(read, invalid="fail" if zero else "exclude"))
    check_asks(settings, protocol)
    refuse_without_effect(settings, RecordedSteps.lacks(settings, protocol, is_policy=True))
    return replace(settings, **RecordedSteps.completed(settings, protocol))


def check_one_of(name: str, value: object, known: Sequence[object]) -> None:
    """Raise `UserError` for an unknown value."""
    if value not in known:
        raise UserError(f"{name}={value!r}: {suggestion(str(value), map(str, known))}")
