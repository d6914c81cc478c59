"""Scripted solutions of tasks that only take clicks."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from harness.kinds.episode.miniwob.oracles.turn import (
    Doing,
    Element,
    Script,
    Turn,
    click,
    hover,
    in_turn,
)

MONTHS = tuple(datetime.date(2016, number, 1).strftime("%B") for number in range(1, 13))
_WIDGETS: Mapping[str, tuple[str, str]] = {
    "radio": ("input", "radio"),
    "checkbox": ("input", "checkbox"),
    "text": ("input", "input"),
    "textarea": ("textarea", ""),
    "button": ("button", ""),
}
_SHAPES = {"rect": "Rectangle", "circle": "Circle", "polygon": "Triangle"}


def only_button(turn: Turn) -> Doing | None:
    """`click-test`: there is nothing else."""
    return click(turn.all("button")[0])


def button_one(turn: Turn) -> Doing | None:
    """`click-test-2`."""
    return click(turn.named("ONE", "button"))


def one_then_two(turn: Turn) -> Doing | None:
    """`click-button-sequence`. Where one button covers a part of the other is left to the page."""
    return in_turn(turn, (click(turn.named(name, "button")) for name in ("ONE", "TWO")))


def quoted_button(turn: Turn) -> Doing | None:
    """`click-button`."""
    return click(turn.named(turn.quoted[-1], "button"))


def quoted_link(turn: Turn) -> Doing | None:
    """`click-link`: links are `span` elements of a class."""
    return click(_link(turn))


def close_dialog(turn: Turn) -> Doing | None:
    """`click-dialog`: the only button is the cross."""
    return only_button(turn)


def dialog_button(turn: Turn) -> Doing | None:
    """`click-dialog-2`: the cross is the button that stands highest."""
    name = turn.quoted[-1]
    if name != "x":
        return click(turn.named(name, "button"))
    return click(min(turn.all("button"), key=lambda one: one.middle[1]))


def focus_field(turn: Turn) -> Doing | None:
    """`focus-text` and `focus-text-2`."""
    place = int(turn.said(r"the (\d)") or 1) - 1
    return click(sorted(turn.all("input"), key=lambda one: one.middle[1])[place])


def widget(turn: Turn) -> Doing | None:
    """`click-widget`."""
    tag, kind = _WIDGETS[turn.quoted[-1]]
    return click(next(iter(turn.all(tag, words=kind)), None))


def tab(turn: Turn) -> Doing | None:
    """`click-tab`."""
    return click(turn.named(turn.said(r"Click on (Tab #\d)"), "a"))


def tab_with_link(turn: Turn) -> Doing | None:
    """`click-tab-2` and those like it: one tab after the other until the link shows."""
    return click(_link(turn)) or in_turn(turn, map(click, turn.all("a")))


def expand_then_submit(turn: Turn) -> Doing | None:
    """`click-collapsible`."""
    return in_turn(turn, map(click, (*turn.all("h3"), turn.named("Submit", "button"))))


def section_with_link(turn: Turn) -> Doing | None:
    """`click-collapsible-2`: one section after the other until the link shows."""
    return click(_link(turn)) or in_turn(turn, map(click, turn.all("h3")))


def tree(turn: Turn) -> Doing | None:
    """`navigate-tree`: one folder after the other until the name shows.

    The content of an opened folder follows it, so the opened ones are always first.
    """
    found = turn.named(turn.quoted[-1], "span")
    return click(found or turn.all("span", words="folder")[turn.number])


def menu(turn: Turn) -> Doing | None:
    """`click-menu`: a click on a menu within the menu would be a choice; it opens by a hover."""
    path = turn.said(r"Select (.*)").split(">")
    name = path[min(turn.number, len(path) - 1)]
    item = turn.named(name, "div")
    return click(item) if name == path[-1] else hover(item)


def pie(turn: Turn) -> Doing | None:
    """`click-pie`: the middle opens it."""
    return click(turn.named("+" if turn.number == 0 else turn.quoted[-1], "tspan"))


def grid_point(turn: Turn) -> Doing | None:
    """`grid-coordinate`: five by five circles around the origin, evenly spaced."""
    across, down = map(int, turn.said(r"\(([-\d]+,[-\d]+)\)").split(","))
    circles = turn.all("circle")
    columns = sorted({round(one.middle[0]) for one in circles})
    rows = sorted({round(one.middle[1]) for one in circles})
    wanted = columns[across + 2], rows[2 - down]
    return click(next(one for one in circles if tuple(map(round, one.middle)) == wanted))


def shape(turn: Turn) -> Doing | None:
    """`identify-shape`: shapes are known by their tags, letters and digits by their text."""
    for tag, name in _SHAPES.items():
        if turn.all(tag):
            return click(turn.named(name, "button"))
    sign = turn.all("tspan")[0].text
    return click(turn.named("Number" if sign.isdigit() else "Letter", "button"))


def date(turn: Turn) -> Doing | None:
    """`choose-date` and those like it: the picker opens at the last month, and goes back."""
    month, day, _ = map(int, turn.said(r"(\d+/\d+/\d+)").split("/"))
    shown = next((one.text for one in turn.all("span") if one.text in MONTHS), None)
    field, submit = turn.all("input")[0], turn.named("Submit", "button")
    if shown is None:
        return click(field if turn.number == 0 else submit)
    if shown != MONTHS[month - 1]:
        return click(next(one for one in turn.elements if one.text == "Prev"))
    return click(turn.named(str(day), "a"))


def _link(turn: Turn) -> Element | None:
    links = turn.all("span", words="alink")
    return next((one for one in links if one.text == turn.quoted[-1]), None)


SCRIPTS: Mapping[str, Script] = {
    "choose-date": date,
    "choose-date-easy": date,
    "choose-date-medium": date,
    "click-button": quoted_button,
    "click-button-sequence": one_then_two,
    "click-collapsible": expand_then_submit,
    "click-collapsible-2": section_with_link,
    "click-dialog": close_dialog,
    "click-dialog-2": dialog_button,
    "click-link": quoted_link,
    "click-menu": menu,
    "click-pie": pie,
    "click-tab": tab,
    "click-tab-2": tab_with_link,
    "click-tab-2-hard": tab_with_link,
    "click-test": only_button,
    "click-test-2": button_one,
    "click-widget": widget,
    "focus-text": focus_field,
    "focus-text-2": focus_field,
    "grid-coordinate": grid_point,
    "identify-shape": shape,
    "navigate-tree": tree,
}
