"""Scripted solutions of tasks with typing, choosing or ticking."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Set

from harness.kinds.episode.miniwob.oracles.turn import (
    Doing,
    Element,
    Script,
    Turn,
    click,
    enter,
    in_turn,
)

_FIELDS = (
    ({"Genre"}, r"for (\w+) movies"),
    ({"Director"}, r"by (\w+)"),
    ({"Year", "Released"}, r"year (\d+)"),
)
"""A word of the label of each field of a film, and what the goal says of it."""


def text(turn: Turn) -> Doing | None:
    """`enter-text` and `enter-text-dynamic`."""
    return in_turn(turn, (enter(turn.all("input")[0], turn.quoted[0]), _submit(turn)))


def password(turn: Turn) -> Doing | None:
    """`enter-password`: twice the same."""
    typed = (enter(field, turn.quoted[0]) for field in turn.all("input"))
    return in_turn(turn, (*typed, _submit(turn)))


def login(turn: Turn) -> Doing | None:
    """`login-user`."""
    typed = map(enter, turn.all("input"), turn.quoted)
    return in_turn(turn, (*typed, _submit(turn)))


def date(turn: Turn) -> Doing | None:
    """`enter-date`: a field for dates takes them as 2016-02-28."""
    told = datetime.datetime.strptime(turn.said(r"(\d+/\d+/\d+)"), "%m/%d/%Y")
    return in_turn(turn, (enter(turn.all("input")[0], told.date().isoformat()), _submit(turn)))


def time(turn: Turn) -> Doing | None:
    """`enter-time`: a field for times takes them as 17:05."""
    told = datetime.datetime.strptime(turn.said(r"(\d+:\d+ [AP]M)"), "%I:%M %p")
    return in_turn(turn, (enter(turn.all("input")[0], f"{told:%H:%M}"), _submit(turn)))


def list_entry(turn: Turn) -> Doing | None:
    """`choose-list` and `click-scroll-list`, where several may be asked for."""
    names = turn.said(r"Select (.*) from the").split(", ")
    chosen = (Doing("SELECT", turn.all("select")[0], name) for name in names)
    return in_turn(turn, (*chosen, _submit(turn)))


def boxes(turn: Turn) -> Doing | None:
    """`click-option` and the exact ones of `click-checkboxes`: labels with one of the names."""
    names = turn.said(r"Select (.*) and click").split(", ")
    ticked = (click(one) for one in turn.all("label") if one.text in names)
    return in_turn(turn, (*ticked, _submit(turn)))


def film(turn: Turn) -> Doing | None:
    """`multi-layouts` and `multi-orderings`: fields whose labels differ and change places."""
    fields = turn.all("input")
    typed = [enter(_labelled(turn, words, fields), turn.said(said)) for words, said in _FIELDS]
    return in_turn(turn, (*typed, _submit(turn)))


def search(turn: Turn) -> Doing | None:
    """`search-engine`: results are three to a page."""
    place = int(turn.said(r"the (\d+)\w+ search")) - 1
    page, row = divmod(place, 3)
    links = turn.all("a", words="search-title")
    asked = (enter(turn.all("input")[0], turn.quoted[0]), click(turn.named("Search", "button")))
    turned = (click(turn.named(str(page + 1), "a")),) if page else ()
    return in_turn(turn, (*asked, *turned, click(links[row]) if links else None))


def guess(turn: Turn) -> Doing | None:
    """`guess-number`: from the middle towards where the last answer points."""
    if turn.number % 2:
        return _submit(turn)
    told = next((one.text for one in turn.all("div") if one.text.startswith("The number is")), "")
    number = int("".join(filter(str.isdigit, told)) or 4)
    step = ("higher" in told) - ("lower" in told)
    return enter(turn.all("input")[0], str(number + step))


def _labelled(turn: Turn, words: Set[str], fields: list[Element]) -> Element:
    """The field nearest to a short text with one of the words."""
    texts = ((one, one.text.rstrip(":").split()) for one in turn.elements)
    labels = [one for one, said in texts if words & set(said) and len(said) < 3]
    return turn.nearest(labels[-1], fields)


def _submit(turn: Turn) -> Doing | None:
    """A click on the last button, whatever it is called, or on what stands last."""
    return click((turn.all("button") or turn.elements)[-1])


SCRIPTS: Mapping[str, Script] = {
    "choose-list": list_entry,
    "click-checkboxes": boxes,
    "click-checkboxes-transfer": boxes,
    "click-option": boxes,
    "click-scroll-list": list_entry,
    "enter-date": date,
    "enter-password": password,
    "enter-text": text,
    "enter-text-dynamic": text,
    "enter-time": time,
    "guess-number": guess,
    "login-user": login,
    "multi-layouts": film,
    "multi-orderings": film,
    "search-engine": search,
}
