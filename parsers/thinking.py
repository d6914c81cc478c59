"""Find the thoughts of a reply: between tags, or in their own channels."""

from __future__ import annotations

import re
from typing import NamedTuple

# The `other` tags may hold the answer itself.
_THOUGHT = re.compile(
    r"<(?P<close>/?)(?:(?:\w{1,9}[:_])?think(?:ing)?"
    r"|(?P<other>thoughts?|reasoning|analysis|scratchpad|reflection|inner_monologue))>"
    r"|\u25c1(?P<kimi>/?)think\u25b7|\[(?P<magistral>/?)THINK\]"
    r"|<\|(?:begin|(?P<sky>end))_of_thought\|>|<\|channel>thought\b|(?P<gemma><channel\|>)",
    re.IGNORECASE,
)
_THOUGHTS = re.compile("think|thought|reasoning|analysis|scratchpad|reflection|inner_mono", re.I)
# The channels of gpt-oss, with their tokens and without.
_TURN = r"(?:<\|start\|>assistant)?<\|channel\|>"
_ANALYSIS = re.compile(
    rf"{_TURN}analysis<\|message\|>(.*?)(?:<\|end\|>|(?=<\|start\|>|<\|channel\|>)|(\Z))", re.DOTALL
)
_CHANNEL = re.compile(rf"{_TURN}[^<>\n]{{1,80}}(?:<\|constrain\|>[^<>\n]{{1,40}})?<\|message\|>")
_BARE_CHANNEL = re.compile(r"\s*+analysis(?![a-z:*])")
_BARE_FINAL = "assistantfinal"


def without_thinking(text: str) -> str:
    """Remove what is between tags of thinking.

    An opening tag counts at the start of a line; if it is not closed, all that follows is thinking.
    A closing tag without an opening one (some chat templates write the opening tag themselves) ends
    thinking that began with the text; it counts at the start or end of its line and only if
    something follows: a typed value may contain the tag.

    >>> without_thinking("<think>ELEMENT: C</think>ELEMENT: H")
    'ELEMENT: H'
    """
    return outside_thinking(text).said


def ends_in_thought(text: str) -> bool:
    """Return True if a thought of the reply is never closed."""
    return outside_thinking(text).cut


class Outside(NamedTuple):
    """A text without its thinking, whether it ends in the middle of a thought, and the last thought
    that may hold the answer if nothing else does."""

    said: str
    cut: bool = False
    thought: str = ""


def outside_thinking(text: str) -> Outside:
    if _BARE_CHANNEL.match(text) and (_BARE_FINAL in text or text.lstrip()[8:9].isupper()):
        thought, final, said = text.rpartition(_BARE_FINAL)
        thought = thought or said
        return Outside(said if final else "", not final, thought.lstrip()[len("analysis") :])
    if "<|channel|>" in text:
        found = [match.group(1, 2) for match in _ANALYSIS.finditer(text)]
        said = _CHANNEL.sub("\n", _ANALYSIS.sub("\n", text))
        thought, end = found[-1] if found else ("", None)
        return Outside(said, end is not None, thought)
    if not _THOUGHTS.search(text):
        return Outside(text)
    kept: list[str] = []
    position = 0
    opened: re.Match[str] | None = None
    thought = ""
    end = len(text.rstrip())
    for tag in _THOUGHT.finditer(text):
        if not any(tag.group("close", "kimi", "magistral", "sky", "gemma")):
            if opened is None and _starts_line(text, tag.start(), position):
                opened = tag
                kept.append(text[position : tag.start()])
        elif opened is not None and (opened["other"] or "").lower() == (tag["other"] or "").lower():
            thought = text[opened.end() : tag.start()] if opened["other"] else ""
            opened, position = None, tag.end()
        elif (not tag["other"] or opened is None) and (
            tag.end() < end
            and (_starts_line(text, tag.start(), position) or _ends_line(text, tag.end()))
        ):
            opened, kept, position = None, [], tag.end()
    if opened is None:
        kept.append(text[position:])
    return Outside("".join(kept), opened is not None, thought)


def _starts_line(text: str, place: int, floor: int) -> bool:
    # Looking back a bounded distance keeps this linear; no tag is indented by more.
    floor = max(floor, place - 80)
    start = text.rfind("\n", floor, place) + 1
    return (start > 0 or floor + 80 > place) and not text[max(start, floor) : place].strip()


def _ends_line(text: str, place: int) -> bool:
    return not text[place : place + 80].partition("\n")[0].strip()
