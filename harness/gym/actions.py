"""Actions of players: strings as the protocol `action-strings` reads them."""

from __future__ import annotations

import json
from dataclasses import replace

from harness.benchmarks.step.predictions import under
from harness.page import Page
from harness.protocols import Needs
from harness.protocols.action_strings import ON_RECORDED_PAGES, ActionStrings
from harness.records import Row
from parsers import browsergym
from parsers.actions import ActionSpace
from parsers.browsergym import HIGH_LEVEL, STOPS
from parsers.records import Prediction, Status
from parsers.settling import settled


class Played(ActionStrings):
    """Action strings without a question, which is the caller's."""

    @property
    def needs(self) -> Needs:
        return Needs(pictures="none", picture_policy="none", point=True)


def read_action(
    text: str, row: Row, page: Page, space: ActionSpace | None
) -> tuple[Prediction, str, bool]:
    """Read an action on a step's page into the `space` of its benchmark. No text raises.

    Returns the prediction, why it cannot be done ("" if it can), and whether it ends the episode.
    """
    parsed = browsergym.read(browsergym.answer_in(text), HIGH_LEVEL)
    action, quoted = parsed.action, json.dumps(text[:60], ensure_ascii=False)
    if action is not None and action.element is not None and action.element not in page:
        left = replace(action, element=None)
        parsed = replace(parsed, status=Status.OUT_OF_RANGE, action=left)
    found = settled(parsed, space, HIGH_LEVEL, ON_RECORDED_PAGES)
    if found.status is Status.ANSWERED and found.element is None and found.point is not None:
        found = replace(found, under=under(row, page, found.point))
    error = {
        Status.OUT_OF_RANGE: "not on this page",
        Status.AMBIGUOUS: "several different calls, and only one can be done",
    }.get(parsed.status, "" if action else 'write one call, such as click("12")')
    if action and not error and action.name not in {*ON_RECORDED_PAGES, "noop", *STOPS}:
        error = "not an action on recorded pages"
    elif action and not error:
        takes = HIGH_LEVEL[action.name]
        nowhere = takes.places and action.element is None and action.point is None
        if nowhere or {"wrong_argument", "missing_argument"} & set(found.flags):
            error = f"{action.name} takes ({', '.join(one.name for one in takes.arguments)})"
    stops = action is not None and action.name in STOPS
    return found, f"{error}: {quoted}" if error else "", stops
