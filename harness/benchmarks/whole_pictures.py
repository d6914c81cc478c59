"""Kinds whose units are one picture, always shown whole because answers are places on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from adapters.contract import ImageRule
from harness.benchmarks import actions_of
from harness.benchmarks.opening import as_oracle, open_with
from harness.benchmarks.scoring import Records, Scorer, UnitKey, key_of
from harness.benchmarks.unit_kind import Question, UnitKind
from harness.errors import DataError, UserError
from harness.pictures import read_size
from harness.protocols import AskingProtocol
from harness.runs import Unit
from harness.settings import Settings
from parsers.records import Scores


class WholePictures(UnitKind):
    """Base class of such kinds; the detail of a unit has the `size` of its picture."""

    @classmethod
    def completed(cls, settings: Settings, protocol: AskingProtocol) -> dict[str, Any]:
        """Reject settings that cut the picture: a place needs all of it."""
        completed = super().completed(settings, protocol)
        policy = str(completed["image_policy"])
        if not policy.startswith("full"):
            raise UserError(
                f"--image-policy {policy}: a picture of {settings.benchmark} is shown whole (full)"
            )
        return completed

    def _question(self, unit: Unit[Any], data: Sequence[bytes], rule: ImageRule | None) -> Question:
        width, height = unit.detail.size
        for size in map(read_size, data):
            if (size.width, size.height) != (width, height):
                raise DataError(
                    f"{unit.source or unit.unit_id}: its picture has {size.width} x {size.height} "
                    f"pixels, and its row says {width} x {height}: is the picture another one, or "
                    "made smaller?"
                )
        return super()._question(unit, data, rule)


def oracle_scores(
    records: Records, settings: Settings, score: Scorer
) -> dict[UnitKey, Scores] | None:
    """Return the scores of the oracle as the protocol reads it; None where it cannot be asked."""
    if any(record.invalid is None and not record.pictures for record in records):
        return None
    try:
        protocol = open_with(replace(settings, prompts=None))
    except UserError:
        return None
    space = actions_of(settings.benchmark)
    found: dict[UnitKey, Scores] = {}
    for record in records:
        if key_of(record) in found or record.invalid is not None:
            continue
        try:
            prediction = as_oracle(protocol, UnitKind.of_record(record), space)
            found[key_of(record)] = score(prediction, record.detail)
        except Exception:
            # A protocol of a plugin may need more than the record; a table is still printed.
            return None
    return found
