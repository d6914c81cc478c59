"""The scripted solutions as a policy, asked turn by turn, with those of posts, mails and pictures.

They see what an agent is shown: goal, elements and their boxes. They look at no variable of a page,
and never at the right answer.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from harness.benchmarks.episode.miniwob.scripts import SCRIPTS as FORMS
from harness.benchmarks.episode.miniwob.turn import (
    Doing,
    Element,
    EpisodeTurn,
    Script,
    click,
    enter,
    scroll,
)
from harness.errors import UserError
from harness.runs.records import Unit
from harness.views import LiveView, StepView
from parsers.actions import Action
from parsers.records import Prediction, Status

_MENU = {
    "Share via DM": "share",
    "Copy link to Tweet": "copy",
    "Embed Tweet": "embed",
    "Mute": "menu-user",
    "Block": "block-user",
    "Report": "report",
}


def one_post(turn: EpisodeTurn) -> Doing | None:
    """`social-media`: a button of a post, or an entry of the menu behind its last one."""
    user, button = turn.said(r"the user (\S+),"), turn.quoted[-1]
    if button in _MENU:
        if entry := next(iter(turn.all("li", words=_MENU[button])), None):
            return click(entry)
        if turn.done("CLICK"):
            return scroll(_SCREEN // 2)
    name = "more" if button in _MENU else button.lower()
    return click(next(_buttons(turn, user, name), None)) or scroll(_SCREEN)


def all_posts(turn: EpisodeTurn) -> Doing | None:
    """`social-media-all` and `social-media-some`: the posts of a user from above, then Submit."""
    user, button = turn.said(r"by (\S+) and"), turn.quoted[0].lower()
    wanted = int(turn.said(r"on (\d+) post") or 100)
    done = turn.done("CLICK")
    if done < wanted:
        for one in _buttons(turn, user, button):
            if "active" not in one.words:
                return click(one)
    return click(turn.named("Submit", "button")) or scroll(_SCREEN)


def _buttons(turn: EpisodeTurn, user: str, name: str) -> Iterator[Element]:
    """The buttons of a name below posts of a user, as far as both can be seen."""
    author = ""
    for one in turn.elements:
        if "username" in one.words:
            author = one.text
        elif name in one.words and author == user:
            yield one


POSTS: Mapping[str, Script] = {
    "social-media": one_post,
    "social-media-all": all_posts,
    "social-media-some": all_posts,
}


_COLOURS: Mapping[str, tuple[int, int, int]] = {
    "red": (255, 0, 0),
    "blue": (0, 0, 255),
    "green": (0, 128, 0),
    "olive": (128, 128, 0),
    "lime": (0, 255, 0),
    "black": (0, 0, 0),
    "white": (255, 255, 255),
    "grey": (128, 128, 128),
    "purple": (128, 0, 128),
    "orange": (255, 165, 0),
    "yellow": (255, 255, 0),
    "cyan": (0, 255, 255),
    "aqua": (0, 255, 255),
    "pink": (255, 192, 203),
    "magenta": (255, 0, 255),
}
_CHANNELS = ("red", "green", "blue")
_FORMS = {"circle": "circle", "rect": "rectangle", "polygon": "triangle"}
_LARGE = 15
"""Height of large shapes, in pixels of the page: they have at least 20, small ones at most 11."""


def colour(turn: EpisodeTurn) -> Doing | None:
    """`click-color`."""
    wanted = _COLOURS[turn.said(r"the (\w+) colored")]
    return click(next(one for one in turn.all("div") if one.colour == wanted))


def shades(turn: EpisodeTurn) -> Doing | None:
    """`click-shades`: a shade of a colour has most of that one."""
    channel = _CHANNELS.index(turn.said(r"shades of (\w+)"))
    for one in turn.all("span"):
        if one.colour and one.colour[channel] == max(one.colour) and "selected" not in one.words:
            return click(one)
    return click(turn.named("Submit", "button"))


def shape(turn: EpisodeTurn) -> Doing | None:
    """`click-shape`."""
    wanted = turn.said(r"Click on a (.*)")
    return click(next(one for one in _shapes(turn) if _is(one, wanted)))


def count(turn: EpisodeTurn) -> Doing | None:
    """`count-shape`."""
    wanted = turn.said(r"How many (.*)s are there")
    number = sum(_is(one, wanted) for one in _shapes(turn))
    return click(turn.named(str(number), "button"))


def _shapes(turn: EpisodeTurn) -> list[Element]:
    return turn.all("tspan", *_FORMS)


def _is(shape: Element, description: str) -> bool:
    """Return whether a shape fits a description, such as `small red letter` or `large 7`."""
    *facts, kind = description.split()
    size = re.search(r"(\d+)x(\d+)", " ".join(shape.words))
    is_large = size is not None and int(size[2]) > _LARGE
    fits = all(
        is_large == (fact == "large")
        if fact in ("large", "small")
        else shape.colour == _COLOURS[fact]
        for fact in facts
    )
    if shape.tag == "tspan":
        kinds = {shape.text, "digit" if shape.text.isdigit() else "letter"}
    else:
        kinds = {_FORMS[shape.tag], "shape"}
    return fits and kind in {"item", *kinds}


PICTURES: Mapping[str, Script] = {
    "click-color": colour,
    "click-shades": shades,
    "click-shape": shape,
    "count-shape": count,
}


_SCREEN, _LINE = 150, 30
"""Pixels to scroll by to the next mails, and by a line."""
_DELETES = r"delete|remove|rid of|trash|throw|recycling|want .* in my|anymore|out of my"
_MARKS = r"(?:mark|marked|star|flag|tag|label)\b|imp\w*nt|importance|classify"
_FIRST = r"(?:(?:Dee|Jo|La|Miof|Zsa) )?"
_NAME = rf"({_FIRST}[A-Z][\w-]+)"
_FROM = (
    rf"(?:from|or by|by) (?!Tuesday){_NAME}",
    rf"({_FIRST}[A-Z][\w-]+?)(?:'s|s) (?:\w+ )?(?:[Ee]-?mail|message)",
    rf"{_NAME} (?:sent|wrote|wants his or her|email and)",
    rf"(?:the|Ask) {_NAME}",
)
"""Patterns of goals for the sender of a mail, the surest way first."""
_TO = (
    rf".*\b(?:to|in) {_NAME}",
    rf"^{_NAME} (?:must|needs|wants|is waiting)",
    rf"(?:[Ss]end|[Ff]o?r?ward|[Gg]ive|[Ll]et|sure|want|[Ee]mail|put) {_NAME}(?!\w*'s e-?mail)",
)
"""Patterns of goals for the receiver of a mail."""


def mail(turn: EpisodeTurn) -> Doing | None:
    """`email-inbox` and those like it: one mail is deleted, marked, answered or forwarded."""
    goal = re.sub(r'"[^"]*"', '"', _plain(turn.goal))
    if '"' in goal:
        return _answer(turn, goal, "Reply")
    for pattern, button in ((_DELETES, "trash"), (_MARKS, "star")):
        if re.search(rf"\b(?:{pattern})", goal, re.IGNORECASE):
            sender = _sender(turn, goal)
            icons = turn.all("span", words=button) if sender else []
            beside = [
                one for one in icons if sender and abs(one.middle[1] - sender.middle[1]) < _LINE
            ]
            return click(next(iter(beside), None)) or scroll(_SCREEN if sender is None else _LINE)
    return _answer(turn, goal, "Forward")


def _answer(turn: EpisodeTurn, goal: str, button: str) -> Doing | None:
    """Open the mail, press a button below it, fill in a field, and press the upper right icon."""
    fields = turn.all("textarea" if button == "Reply" else "input")
    if not fields:
        return click(turn.named(button, "div") or _sender(turn, goal)) or scroll(_SCREEN)
    if turn.done("TYPE"):
        return click(max(turn.all("span"), key=lambda one: one.middle[0] - one.middle[1]))
    reply = _plain(turn.goal).partition('"')[2].rpartition('"')[0]
    return enter(fields[0], reply or _named(goal, _TO))


def _sender(turn: EpisodeTurn, goal: str) -> Element | None:
    """The name above the mail that the goal is about, if it can be seen."""
    senders = turn.all("div", words="email-sender")
    if name := _named(goal, _FROM):
        return next((one for one in senders if one.text == name), None)
    return next((one for one in senders if re.search(rf"\b{one.text}\b", goal)), None)


def _plain(goal: str) -> str:
    """The goal without its misprints: doubled quotes, a missing blank."""
    return re.sub(r'"\s*"', '"', goal).replace("Answer", "Answer ")


def _named(goal: str, patterns: tuple[str, ...]) -> str:
    found = (re.search(pattern, goal) for pattern in patterns)
    return next((one[1] for one in found if one), "")


MAILS: Mapping[str, Script] = dict.fromkeys(
    ("email-inbox", "email-inbox-forward-nl", "email-inbox-forward-nl-turk", "email-inbox-nl-turk"),
    mail,
)


Board = tuple[str, ...]
"""The nine fields from the upper left: `x`, `o`, or `` for a free one."""

_LINES = (
    *((row, row + 1, row + 2) for row in (0, 3, 6)),
    *((column, column + 3, column + 6) for column in (0, 1, 2)),
    (0, 4, 8),
    (2, 4, 6),
)
_AT_RANDOM = 0.55
"""Share of the page's moves that are drawn from the free fields."""


def move(turn: EpisodeTurn) -> Doing | None:
    """`tic-tac-toe`: the field from which most games are won; not every game can be."""
    fields = turn.all("span")
    board = tuple(
        next((mark for mark in "xo" if f"mark-{mark}" in one.words), "") for one in fields
    )
    return click(fields[max(_free(board), key=lambda field: _won(_with(board, field, "x")))])


@cache
def _won(board: Board) -> float:
    """The chance that X wins a game with O to move."""
    if _has_line(board, "x"):
        return 1.0
    free = tuple(_free(board))
    if not free:
        return 0.0
    urgent = [*_closing(board, "o"), *_closing(board, "x")][:1] or free
    drawn, chosen = (
        sum(_answered(_with(board, field, "o")) for field in among) / len(among)
        for among in (free, urgent)
    )
    return _AT_RANDOM * drawn + (1 - _AT_RANDOM) * chosen


def _answered(board: Board) -> float:
    """The chance that X wins a game with X to move."""
    if _has_line(board, "o"):
        return 0.0
    return max((_won(_with(board, field, "x")) for field in _free(board)), default=0.0)


def _closing(board: Board, mark: str) -> Iterator[int]:
    """The fields that complete a line of a mark."""
    return (one for one in _free(board) if _has_line(_with(board, one, mark), mark))


def _free(board: Board) -> Iterator[int]:
    return (number for number, mark in enumerate(board) if not mark)


def _with(board: Board, field: int, mark: str) -> Board:
    return (*board[:field], mark, *board[field + 1 :])


def _has_line(board: Board, mark: str) -> bool:
    return any(all(board[field] == mark for field in line) for line in _LINES)


SCRIPTS: Mapping[str, Script] = {**FORMS, **MAILS, **PICTURES, **POSTS, "tic-tac-toe": move}
"""The solutions by task."""


@dataclass(frozen=True, slots=True)
class Scripted:
    """The scripted solution of the task; it knows which task that is, and nothing else."""

    name: str = "oracle"
    needs_gold: bool = True

    View = LiveView

    def check(self, units: Sequence[Unit[Any]]) -> None:
        """Raise `UserError` if a task has no solution here."""
        tasks = dict.fromkeys(unit.parents["task"] for unit in units)
        without = [task for task in tasks if task not in SCRIPTS]
        if without:
            some = ", ".join(without[:3]) + (", ..." if len(without) > 3 else "")
            raise UserError(
                f"oracle: no scripted solution of {some} ({len(without)} of {len(tasks)} tasks); "
                "choose tasks that have one with --only task=NAME (docs/episodes.md lists them)"
            )

    def predict(self, view: StepView, chance: random.Random, secret: Any) -> Prediction:
        """The next action; none where the page gives no way on. The secret names the task."""
        step, choices = view.step, view.choices
        turn = EpisodeTurn.of(step, choices)
        script = SCRIPTS.get(secret.gold["task"])
        try:
            doing = script(turn) if script else None
        except (LookupError, StopIteration, ValueError):  # The page lacks what it looks for.
            doing = None
        if doing is None:
            return Prediction(Status.NONE)
        if doing.element is None:
            return Prediction(Status.ANSWERED, Action(doing.action, arguments=doing.arguments))
        letter = next((one.letter for one in choices if one.id == doing.element.id), None)
        place = turn.point_of(doing.element)
        action = Action(doing.action, doing.element.id, place, doing.arguments)
        return Prediction(Status.ANSWERED, action, letter=letter)


ORACLE = Scripted()
