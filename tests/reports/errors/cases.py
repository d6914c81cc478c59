"""A page, its choices, and steps on it that fail in a given way.

The page: a form with a text field, two buttons side by side and a wrapped label, and far below it a
list of links.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.runs import CallRecord, StepUnit
from parsers import Gold, Prediction, Status, score
from parsers.records import Box, Choice, Operation
from tests.reports.runs import call, step
from tests.units import changed

PAGE = """
<html backend_node_id="1"><body backend_node_id="2">
  <form backend_node_id="10">
    <input backend_node_id="11" type="text" placeholder="Your town"/>
    <button backend_node_id="12"><span backend_node_id="13">
      <text backend_node_id="14">Save address</text></span></button>
    <button backend_node_id="15"><text backend_node_id="16">Clear everything</text></button>
  </form>
  <ul backend_node_id="20">
    <li backend_node_id="21"><a backend_node_id="22">Fares</a></li>
    <li backend_node_id="24"><p backend_node_id="25">Timetable</p></li>
    <li backend_node_id="26"><div backend_node_id="27" role="button">Print</div></li>
    <li backend_node_id="28"><a backend_node_id="29">Save
      address</a></li>
  </ul>
</body></html>
"""

TARGET = "12"
_LISTED = (
    ("10", "form", "<form id=0> <input text your town /> <button> <span>", (0, 0, 400, 200)),
    ("11", "input", "<input id=1 text your town />", (0, 0, 200, 30)),
    ("12", "button", "<button id=2> <span> Save address </span> </button>", (0, 100, 100, 30)),
    ("13", "span", "<span id=3> Save address </span>", (10, 105, 80, 20)),
    ("15", "button", "<button id=4> Clear everything </button>", (300, 100, 100, 30)),
    ("22", "a", "<a id=5> Fares </a>", (0, 900, 50, 20)),
    ("25", "p", "<p id=6> Timetable </p>", (0, 1000, 50, 20)),
    ("27", "div", "<div id=7 button> Print </div>", (0, 1100, 50, 20)),
    ("29", "a", "<a id=8> Save address </a>", (0, 1200, 50, 20)),
    ("31", "p", "<p id=9> Beside the button </p>", (0, 160, 50, 20)),
)
CHOICES = tuple(
    Choice(chr(65 + place), node, tag, text, Box(*box))
    for place, (node, tag, text, box) in enumerate(_LISTED)
)
BOX = (0.0, 100.0, 100.0, 30.0)


def record(
    element: str | None = TARGET,
    operation: Operation | None = "CLICK",
    value: str = "",
    *,
    status: Status = Status.ANSWERED,
    gold: tuple[Operation, str] = ("CLICK", ""),
    **more: Any,
) -> StepUnit:
    """A step whose target is the button to save, answered as given and scored by the rules."""
    said = Prediction.of(status, None, element, more.pop("point", None), operation, value)
    right = Gold(gold[0], gold[1], (TARGET,), (BOX,))
    values = {
        "choices": CHOICES,
        "gold": Gold(gold[0], gold[1], (TARGET,), (BOX,), TARGET),
        "prediction": said,
        "scores": score(said, right),
    }
    return step("A", 0, True, **{**values, **more})


def not_offered(made: StepUnit) -> StepUnit:
    """The step with its target taken from the list."""
    rest = tuple(choice for choice in made.detail.choices if choice.id != TARGET)
    return changed(made, choices=rest, gold=replace(made.detail.gold, shown=None))


def rounds(made: StepUnit, first: str) -> list[CallRecord]:
    """The calls of a step whose first reply is `first`."""
    one = call(made, first)
    return [one, replace(call(made, "ELEMENT: A"), id="second", place="round-2")]
