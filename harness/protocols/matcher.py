"""From a description to the element it means: SeeAct's grounding by attributes.

The paper (Zheng et al. 2024, section 3.2) has the model write an element's type and text and finds
the element by a heuristic search that was not released. Ours:

1. Texts are compared lower-cased, without the characters . : / ' " , and with single blanks. An
   element is compared by its visible text and by each attribute that names it to a visitor (alt,
   label, title, placeholder, value, ...), whichever is nearer.
2. Candidates are those of the type told: BUTTON, TEXTBOX, SELECTBOX or LINK by tag, role and input
   type, any other word by tag or role. Where none of these comes near, all elements are candidates.
3. An equal text beats a similar one. Similarity is the share of words in common (Dice's coefficient
   over multisets), and must reach one half.
4. Of equally near ones the highest on the page counts, then the one furthest left, then document
   order; elements without a visible box come last.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.records import Choice
from parsers.records import Description

TYPES = ("BUTTON", "TEXTBOX", "SELECTBOX", "LINK")
MATCHING, TIE = ("matched-exactly", "matched-nearly", "matcher-none"), "matcher-tie"
"""Flags on predictions that were matched."""
NEAR = 0.5
"""The least similarity of a match."""

_DROPPED = str.maketrans(dict.fromkeys(".:/'\",", ""))
_BY_ROLE = {
    "button": "BUTTON",
    "link": "LINK",
    "textbox": "TEXTBOX",
    "searchbox": "TEXTBOX",
    "combobox": "SELECTBOX",
    "listbox": "SELECTBOX",
}
_BY_TAG = {
    "button": "BUTTON",
    "summary": "BUTTON",
    "a": "LINK",
    "textarea": "TEXTBOX",
    "select": "SELECTBOX",
}
_PRESSED = frozenset({"submit", "button", "image", "reset", "checkbox", "radio"})
_SAID = {
    "INPUT": "TEXTBOX",
    "TEXT": "TEXTBOX",
    "INPUT FIELD": "TEXTBOX",
    "TEXT FIELD": "TEXTBOX",
    "TEXT BOX": "TEXTBOX",
    "SEARCH BOX": "TEXTBOX",
    "SELECT": "SELECTBOX",
    "SELECT BOX": "SELECTBOX",
    "DROPDOWN": "SELECTBOX",
    "DROP DOWN": "SELECTBOX",
    "HYPERLINK": "LINK",
}


@dataclass(frozen=True, slots=True)
class Match:
    """The element that a description came to; `choice` is None where none was near.

    `exact` says that its text is equal and its type the one told, `tied` that another is as near
    and only its position decided.
    """

    choice: Choice | None
    exact: bool = False
    tied: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        """How the match came about, for the prediction's flags."""
        exact, near, none = MATCHING
        if self.choice is None:
            return (none,)
        how = exact if self.exact else near
        return (how, TIE) if self.tied else (how,)


def normal(text: str) -> str:
    """A text as it is compared.

    >>> normal("Sign in / Register:")
    'sign in register'
    """
    return " ".join(text.translate(_DROPPED).lower().split())


def types_of(choice: Choice) -> tuple[str, ...]:
    """The types that an element may be told as, the usual one first; () for containers and text."""
    about = choice.description or Description()
    by_role = _BY_ROLE.get(about.role.strip().lower())
    tag = choice.tag.lower()
    by_tag = _BY_TAG.get(tag)
    if tag == "input":
        by_tag = "BUTTON" if about.type.strip().lower() in _PRESSED else "TEXTBOX"
    return tuple(dict.fromkeys(kind for kind in (by_role, by_tag) if kind))


def texts_of(choice: Choice) -> tuple[str, ...]:
    """The texts that an element may be told by, normalised, the visible one first."""
    about = choice.description or Description()
    found = (normal(text) for text in (about.text, *about.labels))
    return tuple(dict.fromkeys(text for text in found if text))


def told_of(choice: Choice) -> tuple[str, str]:
    """Type and text of an element as a model that reads it off the page would write them."""
    about = choice.description or Description()
    said = (text for text in (about.text, *about.labels) if normal(text))
    return next(iter(types_of(choice)), choice.tag.upper()), next(said, "")


def match(choices: Sequence[Choice], kind: str, text: str) -> Match:
    """The element among `choices` that has this type and text, as models write them."""
    wanted = _said(kind)
    of_kind = [choice for choice in choices if wanted and _is(choice, wanted)]
    said = normal(text)
    return _nearest(of_kind, said, True) or _nearest(choices, said, False) or Match(None)


def match_notes(flags: Mapping[str, int]) -> list[str]:
    """How many predictions were matched in which way, as a line beside a result."""
    exact, near, none = (flags.get(how, 0) for how in MATCHING)
    if not (exact or near or none):
        return []
    return [
        f"matched with an element: {exact} exactly, {near} nearly ({flags.get(TIE, 0)} of both by "
        f"position among equals), {none} with none"
    ]


def _said(kind: str) -> str:
    said = " ".join(kind.upper().replace("_", " ").replace("-", " ").split())
    return _SAID.get(said, said)


def _is(choice: Choice, kind: str) -> bool:
    if kind in TYPES:
        return kind in types_of(choice)
    role = choice.description.role if choice.description else ""
    return kind in (choice.tag.upper(), role.strip().upper())


def _nearest(choices: Sequence[Choice], said: str, right_kind: bool) -> Match | None:
    words = Counter(said.split())
    scored = [(_similarity(said, words, choice), choice) for choice in choices]
    best = max((score for score, _ in scored), default=0.0)
    if best < NEAR or (not said and not right_kind):
        return None
    tied = [choice for score, choice in scored if score == best]
    first = min(enumerate(tied), key=lambda pair: (*_position(pair[1]), pair[0]))[1]
    return Match(first, exact=right_kind and best > 1.0, tied=len(tied) > 1)


def _similarity(said: str, words: Counter[str], choice: Choice) -> float:
    """2 for an equal text, else the share of words in common; nothing equals nothing."""
    own = texts_of(choice)
    if said in own or (not said and not own):
        return 2.0
    best = 0.0
    for text in own:
        theirs = Counter(text.split())
        shared = (words & theirs).total()
        best = max(best, 2 * shared / (words.total() + theirs.total()))
    return best


def _position(choice: Choice) -> tuple[float, float, float]:
    box = choice.box
    place = math.inf if choice.place is None else choice.place
    if box is None or not box.is_visible:
        return (math.inf, math.inf, place)
    return (box.y, box.x, place)
