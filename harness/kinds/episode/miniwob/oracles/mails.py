"""Scripted solutions of tasks in a mailbox, whose goals are said in many ways."""

from __future__ import annotations

import re
from collections.abc import Mapping

from harness.kinds.episode.miniwob.oracles.turn import (
    Doing,
    Element,
    Script,
    Turn,
    click,
    enter,
    scroll,
)

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
"""How goals name the sender of a mail, the surest way first."""
_TO = (
    rf".*\b(?:to|in) {_NAME}",
    rf"^{_NAME} (?:must|needs|wants|is waiting)",
    rf"(?:[Ss]end|[Ff]o?r?ward|[Gg]ive|[Ll]et|sure|want|[Ee]mail|put) {_NAME}(?!\w*'s e-?mail)",
)
"""How goals name the one who is to get it."""


def mail(turn: Turn) -> Doing | None:
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


def _answer(turn: Turn, goal: str, button: str) -> Doing | None:
    """Open the mail, press a button below it, fill in a field, and press the upper right icon."""
    fields = turn.all("textarea" if button == "Reply" else "input")
    if not fields:
        return click(turn.named(button, "div") or _sender(turn, goal)) or scroll(_SCREEN)
    if turn.done("TYPE"):
        return click(max(turn.all("span"), key=lambda one: one.middle[0] - one.middle[1]))
    reply = _plain(turn.goal).partition('"')[2].rpartition('"')[0]
    return enter(fields[0], reply or _named(goal, _TO))


def _sender(turn: Turn, goal: str) -> Element | None:
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


SCRIPTS: Mapping[str, Script] = dict.fromkeys(
    ("email-inbox", "email-inbox-forward-nl", "email-inbox-forward-nl-turk", "email-inbox-nl-turk"),
    mail,
)
