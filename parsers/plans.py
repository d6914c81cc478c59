"""Choose among several answers in one reply: the first of a plan, or the last correction.

A model that was asked for the next action may write several answers. Answers in a row, or joined by
words of sequence ("then", "Step 2:"), are a plan, and its first action is the next one. Any other
text between two answers makes the earlier one a draft, and the later one counts.

Patterns take one alternative per character or word: reading takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Protocol, Self, TypeVar

from parsers.reply_text import ReplyText


class Between(IntEnum):
    """Relation of two answers, by the text between them."""

    PLAN = 0
    """Nothing, marks, numbers or words of sequence: two steps of a plan."""
    DRAFT = 1
    """Any other text: the earlier answer is a draft."""
    CORRECTION = 2
    """Words that take the earlier answer back."""


_CORRECTION = re.compile(
    r"\b(?:actually|oops|whoops|hmm+|nope|typo|instead|rather|better|sorry|apolog\w+"
    r"|wrong|incorrect\w*|mist(?:ak|ook)\w*|misread|correct(?:ion|ed|ing)"
    r"|(?:correct|fix|change)\s(?:that|this|it|my)|revis(?:ed?|ing|ion)|reconsider\w*"
    r"|re-?(?:think|examin|evaluat|check|read)\w*|try\sagain|hold\son"
    r"|(?:not|\w{2,6}n['\u2019]t)\s(?:\w{1,9}\s)?(?:it|right|correct|the\s(?:right|correct))"
    r"|the\s(?:right|correct)\s\w{1,9}\s?(?::|(?:is|was|should|would)\b)"
    r"|(?:second|further|closer)\s(?:thought|reflection|inspection|look)s?|on\sreflection"
    r"|chang\w+\smy\s(?:mind|answer)|i\smeant|should\s(?:be|read|have\sbeen)|my\s(?:bad|error)"
    r"|(?:scratch|strike|forget|ignore|disregard)\s(?:that|this|the)|never\s?mind"
    r"|(?:final|updated)\s(?:answer|choice|decision)|final(?=\W{0,9}$)|(?:edit|updated?)(?=\s?:)"
    r"|no(?=\s{0,3}[,.!:;\u2026\u2013\u2014-])(?!\.\s{0,2}\d)"
    r"|wait(?!\s{1,3}(?:for|until|till|times?|to|a)\b))(?!\w)",
    re.IGNORECASE,
)
_TAGS = re.compile(r"```\w*|</?\|?\w{1,30}\|?>")
_COUNT = "one|two|three|four|five|six|seven|eight|nine|ten"
_THING = "actions?|parts?|blocks?|moves?"
_ORDER = (
    r"steps?|next|then|after(?:wards?)?|thereafter|finally|last(?:ly)?|later|subsequent(?:ly)?"
    r"|follow(?:ing|ed)|once|and|also|plus|now|continue|proceed"
    r"|(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)(?:ly)?"
    rf"|(?:{_THING})\s(?:{_COUNT})|another\s(?:{_THING})"
    r"|i{2,3}|iv|vi{0,3}|ix|x|\d{1,3}(?:st|nd|rd|th)?"
)
_FILLER = (
    r"a|an|the|that|this|it|here|is|are|has|have|been|was|will|would|can|must|needs?|we|i|you|user"
    r"|to|of|in|on|up|for|with|by|from|as|my|our|your|done|complete|completed|finished|page|menu"
    rf"|loads?|loaded|opens?|opened|appears?|appeared|task|{_THING}|{_COUNT}"
)
_WORD_ENDS = r"(?![^\W\d_])"
_ORDERED = re.compile(rf"(?<![^\W_])(?:{_ORDER}){_WORD_ENDS}", re.IGNORECASE)
# Crosses count as words: a model puts them next to a wrong answer.
_LEAD = re.compile(
    rf"(?:[^\w?!\u274c\u2717\u2718]|_|(?:{_ORDER}|{_FILLER}){_WORD_ENDS})*+", re.IGNORECASE
)
_ACTS = re.compile(
    r"(?:click|tap|press|hit|typ|enter|input|fill|writ|select|choos|pick|search|submit|open|set"
    r"|confirm|hover|scroll|go\b|navigat)",
    re.IGNORECASE,
)
_NUMBERED_STEP = re.compile(r"(?:step|action)\W{0,3}\d", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_ENOUGH = 400


def between(text: str) -> Between:
    """Classify two answers by the text between them.

    >>> [between(text).name for text in ("\\n---\\n", "Step 2: type the city", "Wait, no.", "So:")]
    ['PLAN', 'PLAN', 'CORRECTION', 'DRAFT']
    """
    if _CORRECTION.search(text):
        return Between.CORRECTION
    plain = _TAGS.sub(" ", text)
    if _LEAD.fullmatch(plain) and (_ORDERED.search(plain) or not _LETTER.search(plain)):
        return Between.PLAN
    # Words of sequence right before the later answer, whatever was said about the earlier one.
    heading = plain.rstrip("\n #*_`>-").rpartition("\n")[2]
    return Between.PLAN if _announces_step(heading) else Between.DRAFT


def _announces_step(line: str) -> bool:
    """Return True if a line begins with words of sequence and goes on with an action, if at all."""
    if len(line) > _ENOUGH or not _LETTER.search(line):
        return False
    lead = _LEAD.match(line).end()  # type: ignore[union-attr]
    if not _ORDERED.search(line, 0, lead):
        return False
    return (
        lead == len(line)
        or _ACTS.match(line, lead) is not None
        or _NUMBERED_STEP.search(line, 0, lead) is not None
    )


class _Part(Protocol):
    """An answer, or a part of one, with its span in the reply."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...

    @property
    def call(self) -> bool:
        """True if it is a call: of several with other words between, the first is the next
        action."""
        ...

    def corrected(self, later: Self) -> Self:
        """This answer with what `later` says otherwise."""
        ...


P = TypeVar("P", bound=_Part)


def choose_answer(
    parts: Sequence[P], reply: ReplyText, complete: Callable[[P], bool], *, last: bool = False
) -> tuple[P | None, set[str]]:
    """Return the answer that counts, None if there is none, with flags (`multiple`, `truncated`).

    Args:
        parts: answers and parts of answers, in order of appearance.
        reply: where they were read. If it was cut off, an answer that it takes back or goes on to
            replace does not count, because the correction is missing.
        complete: whether a part is an answer by itself. One that is not changes the answer before
            it if words of correction stand between, and is passed over otherwise.
        last: True if plans are impossible and the last of several answers counts.
    """
    flags = {*reply.flags, *(("truncated",) if reply.cut else ())}
    plan: list[P] = []
    gap = Between.PLAN
    end = 0
    for part in parts:
        if plan:
            gap = max(gap, between(reply.shadow[end : part.start]))
        end = max(end, part.end)
        if complete(part):
            if plan:
                flags.add("multiple")
            if gap is Between.CORRECTION or (gap is Between.DRAFT and not part.call):
                plan.clear()
            plan.append(part)
            gap = Between.PLAN
        elif plan and gap is Between.CORRECTION and not reply.cut:
            plan[-1] = plan[-1].corrected(part)
            flags.add("multiple")
            gap = Between.PLAN
    calls = bool(plan) and plan[0].call
    taken_back = (
        gap is Between.CORRECTION
        or (gap is Between.DRAFT and not calls)
        or _CORRECTION.search(reply.shadow, end)
    )
    if reply.cut and taken_back:
        plan.clear()
    return (plan[-1 if last and not calls else 0] if plan else None), flags
