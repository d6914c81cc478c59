"""Scripted solutions of tasks with typing, choosing or ticking."""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Mapping, Set

from harness.kinds.episode.miniwob.oracles.clicks import MONTHS
from harness.kinds.episode.miniwob.oracles.turn import (
    Doing,
    Element,
    Script,
    Turn,
    click,
    enter,
    hover,
    in_turn,
    scroll,
)

_FIELDS = (
    ({"Genre"}, r"for (\w+) movies"),
    ({"Director"}, r"by (\w+)"),
    ({"Year", "Released"}, r"year (\d+)"),
)
"""A word of the label of each field of a film, and what the goal says of it."""
_SCREENS, _SCREEN = 6, 150
"""Screens of a list of flights, and pixels of each."""
_SYNONYMS = tuple(
    frozenset(group.split())
    for group in (
        "actual authentic genuine real true",
        "adore cherish favor like love",
        "afraid fearful frightened panicked scared terrified",
        "aged ancient archaic elderly old",
        "amusing comical funny hilarious humorous laughable",
        "angry annoyed furious irritated mad",
        "answer reaction reply response",
        "appetizing delectable delicious savory tasty",
        "assassinate kill murder slay",
        "auto automobile automobiles car cars vehicle vehicles",
        "begin commence initiate launch start",
        "big enormous gigantic huge immense large",
        "bold brave courageous fearless",
        "bunnies bunny hare rabbit rabbits",
        "calm mild peaceful quiet serene still",
        "camouflage conceal hide mask",
        "carve chop cut slice",
        "cease end finish halt quit stop",
        "cheerful delighted gleeful glad happy joyful",
        "chubby fat fleshy obese plump",
        "corrupt depraved evil immoral sinful wicked",
        "crimson red ruby scarlet vermillion",
        "despise detest dislike hate loathe",
        "dull dumb foolish stupid unwise",
        "erroneous false incorrect mistaken wrong",
        "fire fires flame flames",
        "home homes house houses",
        "keep maintain preserve retain sustain",
        "little mini minute petite small tiny",
        "miserable sad sorrowful tragic unhappy",
        "odd peculiar strange unusual weird",
        "pig pork swine",
        "television televisions tv tvs",
    )
)
"""Words that mean about the same."""


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
    chosen = (Doing("SELECT", turn.all("select")[0], {"value": name}) for name in names)
    return in_turn(turn, (*chosen, _submit(turn)))


def boxes(turn: Turn) -> Doing | None:
    """`click-option` and the exact ones of `click-checkboxes`: labels with one of the names."""
    names = turn.said(r"Select (.*) and click").split(", ")
    ticked = (click(one) for one in turn.all("label") if one.text in names)
    return in_turn(turn, (*ticked, _submit(turn)))


def similar_boxes(turn: Turn) -> Doing | None:
    """`click-checkboxes-soft`: labels that mean the same as one of the words."""
    words = turn.said(r"similar to (.*) and click").lower().split(", ")
    wanted = {one for group in _SYNONYMS for one in group if group & {*words}} | {*words}
    ticked = (click(one) for one in turn.all("label") if one.text.lower() in wanted)
    return in_turn(turn, (*ticked, _submit(turn)))


def popup_login(turn: Turn) -> Doing | None:
    """`login-user-popup`: a question may come up as a field is clicked."""
    if cancel := turn.named("Cancel", "button"):
        return click(cancel)
    for place, value in enumerate(turn.quoted):
        typed = turn.all("input")[place]
        if value.lower() not in typed.words:
            return enter(typed, value)
    return _submit(turn)


def completion(turn: Turn) -> Doing | None:
    """`use-autocomplete`: an item of the list that opens, if the goal says its end."""
    start, *end = turn.quoted
    if turn.number == 0:
        return enter(turn.all("input")[0], start)
    items = [one for one in turn.all("div") if one.text.endswith(tuple(end))] if end else []
    return click(items[0]) if items and turn.number == 1 else _submit(turn)


def spinner(turn: Turn) -> Doing | None:
    """`use-spinner`: its field takes no keys, but text that is inserted."""
    number = turn.said(r"Select (-?\d+)")
    return in_turn(turn, (enter(turn.all("input")[0], number), _submit(turn)))


def flight(turn: Turn) -> Doing | None:
    """`book-flight`: its results are read one after the other, each best one so far by a hover."""
    fields = turn.all("input")
    if not fields:
        return _result(turn)
    for place, side in enumerate((r"from: (.*?) to:", r"to: (.*?) on ")):
        name = turn.said(side)
        typed = f"({name})" if name.isupper() else f"{name} ("
        if not turn.done(f"TYPE: {typed}"):
            return enter(fields[place], typed)
        if fitting := [one for one in turn.all("div") if typed in one.text]:
            return click(fitting[0])
    month, day, _ = map(int, turn.said(r"(\d+/\d+/\d+)").split("/"))
    if turn.said(r"(\d+/\d+/\d+)") in fields[2].words:
        return click(turn.named("Search", "button"))
    shown = next((one.text for one in turn.all("span") if one.text in MONTHS), None)
    if shown is None:
        return click(fields[2])
    if shown != MONTHS[month - 1]:
        return click(next(one for one in turn.elements if one.text == "Prev"))
    return click(turn.named(str(day), "a"))


def _result(turn: Turn) -> Doing | None:
    """The next action on a list of flights, of which about one can be seen at a time."""
    prices = "cheapest" in turn.goal
    values = turn.all("button", words="flight-price") if prices else turn.all(words="time-duration")
    best = min((_worth(one) for one in turn.history if one.endswith("-> HOVER")), default=None)
    better = [one for one in values if best is None or _worth(one.text) < best]
    if better:
        return hover(min(better, key=lambda one: _worth(one.text)))
    if turn.done("SCROLL_BY") < _SCREENS:
        return scroll(_SCREEN)
    found = next((one for one in values if _worth(one.text) == best), None)
    if found is None:
        return scroll(-_SCREEN)
    if prices:
        return click(found)
    buttons = turn.all("button", words="flight-price")
    below = [one for one in buttons if one.middle[1] > found.middle[1]]
    return click(below[0]) if below else scroll(_SCREEN // 2)


def _worth(text: str) -> int:
    """The price in dollars, or the duration in minutes."""
    if found := re.search(r"(\d+)h (\d+)m", text):
        return 60 * int(found[1]) + int(found[2])
    found = re.search(r"\$(\d+)", text)
    return int(found[1]) if found else sys.maxsize


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
    "book-flight": flight,
    "choose-list": list_entry,
    "click-checkboxes": boxes,
    "click-checkboxes-large": boxes,
    "click-checkboxes-soft": similar_boxes,
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
    "login-user-popup": popup_login,
    "multi-layouts": film,
    "multi-orderings": film,
    "search-engine": search,
    "use-autocomplete": completion,
    "use-spinner": spinner,
}
