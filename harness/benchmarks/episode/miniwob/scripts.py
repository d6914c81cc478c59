"""Scripted solutions of tasks that take clicks, and of forms: typing, choosing or ticking."""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Set

from harness.benchmarks.episode.miniwob.turn import (
    Doing,
    Element,
    EpisodeTurn,
    Script,
    click,
    enter,
    hover,
    in_turn,
    scroll,
)

MONTHS = tuple(datetime.date(2016, number, 1).strftime("%B") for number in range(1, 13))
_DATE = r"(\d+/\d+/\d+)"
_WIDGETS: Mapping[str, tuple[str, str]] = {
    "radio": ("input", "radio"),
    "checkbox": ("input", "checkbox"),
    "text": ("input", "input"),
    "textarea": ("textarea", ""),
    "button": ("button", ""),
}
_SHAPES = {"rect": "Rectangle", "circle": "Circle", "polygon": "Triangle"}
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


def dialog_button(turn: EpisodeTurn) -> Doing | None:
    """`click-dialog-2`: the cross is the button that stands highest."""
    name = turn.quoted[-1]
    if name != "x":
        return click(turn.named(name, "button"))
    return click(min(turn.all("button"), key=lambda one: one.middle[1]))


def focus_field(turn: EpisodeTurn) -> Doing | None:
    """`focus-text` and `focus-text-2`."""
    place = int(turn.said(r"the (\d)") or 1) - 1
    return click(sorted(turn.all("input"), key=lambda one: one.middle[1])[place])


def widget(turn: EpisodeTurn) -> Doing | None:
    """`click-widget`."""
    tag, kind = _WIDGETS[turn.quoted[-1]]
    return click(next(iter(turn.all(tag, words=kind)), None))


def tree(turn: EpisodeTurn) -> Doing | None:
    """`navigate-tree`: one folder after the other until the name shows.

    The content of an opened folder follows it, so the opened ones are always first.
    """
    found = turn.named(turn.quoted[-1], "span")
    return click(found or turn.all("span", words="folder")[turn.number])


def menu(turn: EpisodeTurn) -> Doing | None:
    """`click-menu`: a click on a menu within the menu would be a choice; it opens by a hover."""
    path = turn.said(r"Select (.*)").split(">")
    name = path[min(turn.number, len(path) - 1)]
    item = turn.named(name, "div")
    return click(item) if name == path[-1] else hover(item)


def grid_point(turn: EpisodeTurn) -> Doing | None:
    """`grid-coordinate`: five by five circles around the origin, evenly spaced."""
    across, down = map(int, turn.said(r"\(([-\d]+,[-\d]+)\)").split(","))
    circles = turn.all("circle")
    columns = sorted({round(one.middle[0]) for one in circles})
    rows = sorted({round(one.middle[1]) for one in circles})
    wanted = columns[across + 2], rows[2 - down]
    return click(next(one for one in circles if tuple(map(round, one.middle)) == wanted))


def shape(turn: EpisodeTurn) -> Doing | None:
    """`identify-shape`: shapes are known by their tags, letters and digits by their text."""
    for tag, name in _SHAPES.items():
        if turn.all(tag):
            return click(turn.named(name, "button"))
    sign = turn.all("tspan")[0].text
    return click(turn.named("Number" if sign.isdigit() else "Letter", "button"))


def picked(turn: EpisodeTurn, opener: Element | None) -> Doing | None:
    """Pick the date of the goal: the picker opens at the last month, and goes back."""
    month, day, _ = map(int, turn.said(_DATE).split("/"))
    shown = next((one.text for one in turn.all("span") if one.text in MONTHS), None)
    if shown is None:
        return click(opener)
    if shown != MONTHS[month - 1]:
        return click(next(one for one in turn.elements if one.text == "Prev"))
    return click(turn.named(str(day), "a"))


def date(turn: EpisodeTurn) -> Doing | None:
    """`choose-date` and those like it."""
    field, submit = turn.all("input")[0], turn.named("Submit", "button")
    return picked(turn, field if turn.number == 0 else submit)


def link(turn: EpisodeTurn) -> Doing | None:
    """`click-link`: links are `span` elements of a class."""
    links = turn.all("span", words="alink")
    return click(next((one for one in links if one.text == turn.quoted[-1]), None))


def _behind(tag: str) -> Script:
    """Return a script that opens one element of a tag after the other until the link shows."""
    return lambda turn: link(turn) or in_turn(turn, map(click, turn.all(tag)))


def _filled(doings: Callable[[EpisodeTurn], Iterable[Doing | None]]) -> Script:
    """Return a script that does one thing after the other, and then submits the form."""
    return lambda turn: in_turn(turn, (*doings(turn), _submit(turn)))


def _typed(values: Callable[[EpisodeTurn], Iterable[str]]) -> Script:
    """Return a script that types values into the fields from above, and then submits the form."""
    return _filled(lambda turn: map(enter, turn.all("input"), values(turn)))


def _moment(said: str, form: str, typed: str) -> Script:
    """Return a script that types a date or time of the goal in the form that its field takes."""
    return _typed(lambda turn: [datetime.datetime.strptime(turn.said(said), form).strftime(typed)])


def entries(turn: EpisodeTurn) -> list[Doing | None]:
    """`choose-list` and `click-scroll-list`, where several may be asked for."""
    names = turn.said(r"Select (.*) from the").split(", ")
    return [Doing("SELECT", turn.all("select")[0], {"value": name}) for name in names]


def boxes(turn: EpisodeTurn) -> list[Doing | None]:
    """`click-option` and the exact ones of `click-checkboxes`: labels with one of the names."""
    names = turn.said(r"Select (.*) and click").split(", ")
    return [click(one) for one in turn.all("label") if one.text in names]


def similar_boxes(turn: EpisodeTurn) -> list[Doing | None]:
    """`click-checkboxes-soft`: labels that mean the same as one of the words."""
    words = turn.said(r"similar to (.*) and click").lower().split(", ")
    wanted = {one for group in _SYNONYMS for one in group if group & {*words}} | {*words}
    return [click(one) for one in turn.all("label") if one.text.lower() in wanted]


def popup_login(turn: EpisodeTurn) -> Doing | None:
    """`login-user-popup`: a question may come up as a field is clicked."""
    if cancel := turn.named("Cancel", "button"):
        return click(cancel)
    for place, value in enumerate(turn.quoted):
        typed = turn.all("input")[place]
        if value.lower() not in typed.words:
            return enter(typed, value)
    return _submit(turn)


def completion(turn: EpisodeTurn) -> Doing | None:
    """`use-autocomplete`: an item of the list that opens, if the goal says its end."""
    start, *end = turn.quoted
    if turn.number == 0:
        return enter(turn.all("input")[0], start)
    items = [one for one in turn.all("div") if one.text.endswith(tuple(end))] if end else []
    return click(items[0]) if items and turn.number == 1 else _submit(turn)


def flight(turn: EpisodeTurn) -> Doing | None:
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
    if turn.said(_DATE) in fields[2].words:
        return click(turn.named("Search", "button"))
    return picked(turn, fields[2])


def _result(turn: EpisodeTurn) -> Doing | None:
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


def film(turn: EpisodeTurn) -> list[Doing | None]:
    """`multi-layouts` and `multi-orderings`: fields whose labels differ and change places."""
    fields = turn.all("input")
    return [enter(_labelled(turn, words, fields), turn.said(said)) for words, said in _FIELDS]


def search(turn: EpisodeTurn) -> Doing | None:
    """`search-engine`: results are three to a page."""
    place = int(turn.said(r"the (\d+)\w+ search")) - 1
    page, row = divmod(place, 3)
    links = turn.all("a", words="search-title")
    asked = (enter(turn.all("input")[0], turn.quoted[0]), click(turn.named("Search", "button")))
    turned = (click(turn.named(str(page + 1), "a")),) if page else ()
    return in_turn(turn, (*asked, *turned, click(links[row]) if links else None))


def guess(turn: EpisodeTurn) -> Doing | None:
    """`guess-number`: from the middle towards where the last answer points."""
    if turn.number % 2:
        return _submit(turn)
    told = next((one.text for one in turn.all("div") if one.text.startswith("The number is")), "")
    number = int("".join(filter(str.isdigit, told)) or 4)
    step = ("higher" in told) - ("lower" in told)
    return enter(turn.all("input")[0], str(number + step))


def _labelled(turn: EpisodeTurn, words: Set[str], fields: list[Element]) -> Element:
    """The field nearest to a short text with one of the words."""
    texts = ((one, one.text.rstrip(":").split()) for one in turn.elements)
    labels = [one for one, said in texts if words & set(said) and len(said) < 3]
    return turn.nearest(labels[-1], fields)


def _submit(turn: EpisodeTurn) -> Doing | None:
    """A click on the last button, whatever it is called, or on what stands last."""
    return click((turn.all("button") or turn.elements)[-1])


SCRIPTS: Mapping[str, Script] = {
    **dict.fromkeys(("choose-date", "choose-date-easy", "choose-date-medium"), date),
    **dict.fromkeys(("choose-list", "click-scroll-list"), _filled(entries)),
    **dict.fromkeys(
        ("click-option", *(f"click-checkboxes{one}" for one in ("", "-large", "-transfer"))),
        _filled(boxes),
    ),
    **dict.fromkeys(("click-tab-2", "click-tab-2-hard"), _behind("a")),
    # The only button of `click-dialog` is its cross.
    **dict.fromkeys(("click-test", "click-dialog"), lambda turn: click(turn.all("button")[0])),
    **dict.fromkeys(("enter-text", "enter-text-dynamic"), _typed(lambda turn: [turn.quoted[0]])),
    **dict.fromkeys(("focus-text", "focus-text-2"), focus_field),
    **dict.fromkeys(("multi-layouts", "multi-orderings"), _filled(film)),
    "book-flight": flight,
    "click-button": lambda turn: click(turn.named(turn.quoted[-1], "button")),
    # Where one button covers a part of the other is left to the page.
    "click-button-sequence": lambda turn: in_turn(
        turn, (click(turn.named(name, "button")) for name in ("ONE", "TWO"))
    ),
    "click-checkboxes-soft": _filled(similar_boxes),
    "click-collapsible": lambda turn: in_turn(
        turn, map(click, (*turn.all("h3"), turn.named("Submit", "button")))
    ),
    "click-collapsible-2": _behind("h3"),
    "click-dialog-2": dialog_button,
    "click-link": link,
    "click-menu": menu,
    # The middle opens it.
    "click-pie": lambda turn: click(turn.named(turn.quoted[-1] if turn.number else "+", "tspan")),
    "click-tab": lambda turn: click(turn.named(turn.said(r"Click on (Tab #\d)"), "a")),
    "click-test-2": lambda turn: click(turn.named("ONE", "button")),
    "click-widget": widget,
    "enter-date": _moment(_DATE, "%m/%d/%Y", "%Y-%m-%d"),
    "enter-password": _typed(lambda turn: [turn.quoted[0]] * 2),
    "enter-time": _moment(r"(\d+:\d+ [AP]M)", "%I:%M %p", "%H:%M"),
    "grid-coordinate": grid_point,
    "guess-number": guess,
    "identify-shape": shape,
    "login-user": _typed(lambda turn: turn.quoted),
    "login-user-popup": popup_login,
    "navigate-tree": tree,
    "search-engine": search,
    "use-autocomplete": completion,
    # Its field takes no keys, but text that is inserted.
    "use-spinner": _typed(lambda turn: [turn.said(r"Select (-?\d+)")]),
}
