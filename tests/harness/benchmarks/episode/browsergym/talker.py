"""A model that reads the accessibility tree that it is shown, and answers with action strings."""

from __future__ import annotations

import re

from adapters.contract import Request

_LINE = re.compile(r"^\t*\[(\w+)\] (\w+)(?: '((?:[^'\\]|\\.)*)')?", re.MULTILINE)
_HISTORY = re.compile(r"^\d+\. ", re.MULTILINE)
MODEL = f"scripted:{__name__}:answer"
GREETER = f"scripted:{__name__}:greet"
FIRST = ("noop(10)", "scroll(0, 50)", "keyboard_press('Tab')", "hover('{}')")
"""What it does before it begins."""


def answer(request: Request) -> str:
    """Fill in what stands in quotes, and press the button."""
    text = request.conversation.messages[-1].text
    goal, shown = text.split("The page as an accessibility tree")
    shown, told = shown.split("Actions taken so far:")
    elements = [(bid, role, name) for bid, role, name in _LINE.findall(shown)]
    button = next(bid for bid, role, name in elements if role == "button")
    field = next((bid for bid, role, _ in elements if role == "textbox"), None)
    done = len(_HISTORY.findall(told.split("An action is")[0]))
    if done < len(FIRST):
        return f"First a look. click('0') is not it.\n<action>{FIRST[done].format(button)}</action>"
    if field is not None and done == len(FIRST):
        wanted = goal.split('"')[1]
        return f'<action>fill("{field}", "{wanted}")</action>'
    return f"<action>\nclick({button!r})\n</action>"


def greet(request: Request) -> str:
    """Say something to the user, then press the button, then give up."""
    told = request.conversation.messages[-1].text.split("Actions taken so far:")[1]
    said = ("send_msg_to_user('42')", "click('12')", "report_infeasible('no more')")
    return f"<action>{said[len(_HISTORY.findall(told.split('An action is')[0]))]}</action>"
