"""The settings of a run that an environment takes, with the same meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from harness.environments.actions import ActionStrings
from harness.errors import UserError, suggestion
from harness.evaluation.recorded import RecordedSteps
from harness.evaluation.resolve import refuse_without_effect
from harness.evaluation.units import check_asks
from harness.settings import SETTINGS, Settings, read_settings

Transition = Literal["teacher", "strict"]
OnInvalid = Literal["skip", "score_zero"]

_ELSEWHERE = frozenset(
    {
        # What a model is shown and how often it is asked is up to whoever plays.
        *("protocol", "protocol_options", "prompts", "none", "history", "image_policy", "pixels"),
        *("eager", "first_of_many", "value_style", "repeats", "shuffles"),
        # How scores are averaged, too, but for `on_invalid`.
        *("invalid", "unattempted", "exclude_statuses"),
    }
)
TAKEN = tuple(
    name
    for name, setting in SETTINGS.items()
    if setting.group in ("Data", "Question", "Scoring") and name not in _ELSEWHERE
)
"""The settings that an environment takes."""


def completed(given: Mapping[str, object], *, zero: bool) -> Settings:
    """The settings of an environment, with what was left open.

    A click on a point is one on the smallest candidate under it, unless `point_rule` was given.
    `zero` says whether steps without a right answer count as failed.

    Raises `UserError` for settings that an environment does not take, or that do not go together.
    """
    protocol = ActionStrings()
    try:
        read = read_settings({"point_rule": "smallest", **given})
    except ValueError as error:
        raise UserError(str(error)) from error
    if others := read.given.difference(TAKEN):
        raise UserError(f"{sorted(others)[0]} has no effect on an environment; leave it out")
    settings = RecordedSteps.given(replace(read, invalid="fail" if zero else "exclude"))
    check_asks(settings, protocol)
    refuse_without_effect(settings, RecordedSteps.lacks(settings, protocol, is_policy=True))
    return replace(settings, **RecordedSteps.completed(settings, protocol))


def check_one_of(name: str, value: object, known: Sequence[object]) -> None:
    """Raise `UserError` for a value that is not among those known."""
    if value not in known:
        raise UserError(f"{name}={value!r}: {suggestion(str(value), map(str, known))}")
