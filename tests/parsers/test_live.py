"""The action space of live pages."""

from __future__ import annotations

import pytest

from parsers.actions import Action
from parsers.live import LIVE_ACTIONS
from parsers.mind2web import MIND2WEB_ACTIONS
from parsers.records import Prediction, Status
from parsers.settling import settled


def test_whoever_answers_with_mind2web_can_act() -> None:
    for kind in MIND2WEB_ACTIONS.actions:
        assert set(kind.values) <= set(LIVE_ACTIONS[kind.name].values)
        assert [one.kind for one in kind.places] == [
            one.kind for one in LIVE_ACTIONS[kind.name].places
        ]


@pytest.mark.parametrize(
    ("action", "status"),
    [
        (Action("CLICK", "4"), Status.ANSWERED),
        (Action("CLICK", point=(3, 4)), Status.ANSWERED),
        (Action("CLICK"), Status.NO_ELEMENT),
        (Action("ENTER"), Status.ANSWERED),
        (Action("SCROLL", arguments={"direction": "down"}), Status.ANSWERED),
        (Action("STOP"), Status.ANSWERED),
        (Action("DRAG", "4", arguments={"to_x": 3, "to_y": 4.5}), Status.ANSWERED),
        (Action("EVALUATE", arguments={"script": "1"}), Status.PARSE_ERROR),
    ],
)
def test_what_is_an_action(action: Action, status: Status) -> None:
    assert settled(Prediction(Status.ANSWERED, action), LIVE_ACTIONS).status is status
