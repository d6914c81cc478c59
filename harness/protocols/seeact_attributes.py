"""SeeAct's grounding by attributes (Zheng et al. 2024, section 3.2).

The model describes the next action on the whole page, then writes five lines about the element. No
choices are listed: the description is matched with all candidates of the page (`matcher`). Flags on
each prediction separate errors of the matcher from errors of the model. A run of the policy
`oracle`, which writes the right element's own attributes, measures the matcher's share alone.

Match a described element with the page: SeeAct's grounding by attributes.

The paper (Zheng et al. 2024, section 3.2) has the model write an element's type and text and finds
the element by a heuristic search that was not released. Ours:

1. Texts are compared lower-cased, without the characters . : / ' " , and with single blanks. An
   element is compared by its visible text and by each attribute that names it to a visitor (alt,
   label, title, placeholder, value, ...), whichever is nearer.
2. Candidates are the elements of the described type: BUTTON, TEXTBOX, SELECTBOX or LINK by tag,
   role and input type, any other word by tag or role. If none of them is similar, all elements are
   candidates.
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
from functools import partial

from adapters.conversation import Message, Order, Reply, user
from harness.dialogue import Dialogue
from harness.protocols.contract import Needs
from harness.protocols.seeact import (
    ROUND_NEEDS,
    ROUND_TEXTS,
    described_first,
    first_messages,
)
from harness.protocols.texts import MEMORY, PromptedProtocol, Schema
from harness.records import Choice, Step
from harness.views import StepView
from parsers.attributes import read_attributes, write_attributes
from parsers.records import Description, Prediction, Status

TYPES = ("BUTTON", "TEXTBOX", "SELECTBOX", "LINK")
MATCHING, TIE = ("matched-exactly", "matched-nearly", "matcher-none"), "matcher-tie"
"""Flags of predictions whose element was matched."""
NEAR = 0.5
"""Least similarity that counts as a match."""

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
_SYNONYMS = {
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
    """The element that a description was matched with."""

    choice: Choice | None
    """None if no element is similar enough."""
    exact: bool = False
    """True if its text equals the description's, and its type as well."""
    tied: bool = False
    """True if another element is as similar, and position decided."""

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags that say how the match was made."""
        exact, near, none = MATCHING
        if self.choice is None:
            return (none,)
        how = exact if self.exact else near
        return (how, TIE) if self.tied else (how,)


def normal(text: str) -> str:
    """Normalise a text for comparison.

    >>> normal("Sign in / Register:")
    'sign in register'
    """
    return " ".join(text.translate(_DROPPED).lower().split())


def types_of(choice: Choice) -> tuple[str, ...]:
    """Types that describe an element, by role first, then by tag; () for containers and text."""
    about = choice.description or Description()
    by_role = _BY_ROLE.get(about.role.strip().lower())
    tag = choice.tag.lower()
    by_tag = _BY_TAG.get(tag)
    if tag == "input":
        by_tag = "BUTTON" if about.type.strip().lower() in _PRESSED else "TEXTBOX"
    return tuple(dict.fromkeys(kind for kind in (by_role, by_tag) if kind))


def texts_of(choice: Choice) -> tuple[str, ...]:
    """Texts that describe an element, normalised, the visible one first."""
    about = choice.description or Description()
    found = (normal(text) for text in (about.text, *about.labels))
    return tuple(dict.fromkeys(text for text in found if text))


def described_as(choice: Choice) -> tuple[str, str]:
    """Type and text that a model would write for an element it sees on the page."""
    about = choice.description or Description()
    texts = (text for text in (about.text, *about.labels) if normal(text))
    return next(iter(types_of(choice)), choice.tag.upper()), next(texts, "")


def match(choices: Sequence[Choice], kind: str, text: str) -> Match:
    """Return the element among `choices` that a model means by this type and text."""
    wanted = _type(kind)
    of_kind = [choice for choice in choices if wanted and _is(choice, wanted)]
    plain = normal(text)
    return _nearest(of_kind, plain, True) or _nearest(choices, plain, False) or Match(None)


def match_notes(flags: Mapping[str, int]) -> list[str]:
    """Return a line with the number of predictions matched in each way, if any were."""
    exact, near, none = (flags.get(how, 0) for how in MATCHING)
    if not (exact or near or none):
        return []
    return [
        f"descriptions matched: {exact} exactly, {near} approximately ({flags.get(TIE, 0)} of "
        f"these were ties, decided by position), {none} with no element"
    ]


def _type(kind: str) -> str:
    word = " ".join(kind.upper().replace("_", " ").replace("-", " ").split())
    return _SYNONYMS.get(word, word)


def _is(choice: Choice, kind: str) -> bool:
    if kind in TYPES:
        return kind in types_of(choice)
    role = choice.description.role if choice.description else ""
    return kind in (choice.tag.upper(), role.strip().upper())


def _nearest(choices: Sequence[Choice], text: str, right_kind: bool) -> Match | None:
    words = Counter(text.split())
    scored = [(_similarity(text, words, choice), choice) for choice in choices]
    best = max((score for score, _ in scored), default=0.0)
    if best < NEAR or (not text and not right_kind):
        return None
    tied = [choice for score, choice in scored if score == best]
    first = min(enumerate(tied), key=lambda pair: (*_position(pair[1]), pair[0]))[1]
    return Match(first, exact=right_kind and best > 1.0, tied=len(tied) > 1)


def _similarity(described: str, words: Counter[str], choice: Choice) -> float:
    """2 for an equal text (two empty ones are equal), otherwise the share of common words."""
    texts = texts_of(choice)
    if described in texts or (not described and not texts):
        return 2.0
    best = 0.0
    for text in texts:
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


SCHEMA = Schema(
    file="seeact_attributes.toml",
    allowed={**ROUND_TEXTS, "second": frozenset()},
    needed=ROUND_NEEDS,
    further=frozenset(MEMORY),
)
FIRST, SECOND = "describe", "attributes"


@dataclass(frozen=True)
class SeeActAttributes(PromptedProtocol):
    """Describe the next action, then its element, which is matched with the page."""

    history: int | str | None = None
    """The earlier steps shown (`History`); None: all actions."""
    max_tokens: tuple[int, ...] = ()
    """Token limits of the replies by round, the last one for all later rounds."""
    order: Order = "picture-first"
    """Where the picture stands."""

    name = "seeact-attributes"
    paper = "Zheng et al. 2024 (SeeAct), element attributes"
    way = "by attributes"
    places = (FIRST, SECOND)
    needs = Needs(
        sources=("all", "snapshot", "ranker"),
        descriptions=True,
        texts=False,
        scene=False,
        sees=True,
    )
    none_rule = "in words"
    schema = SCHEMA

    def dialogue(self, view: StepView) -> Dialogue:
        """Describe the action, then the element. Raises ValueError without choices."""
        step, choices = view.step, view.choices
        if not choices:
            raise ValueError(f"step {step.step_id} has no candidates to match with")
        rounds = described_first(
            self.opening(step),
            (user(self.texts["second"]),),
            partial(self.read, choices=choices),
            places=(FIRST, SECOND),
            max_tokens=self.max_tokens,
        )
        return (yield from rounds)

    def read(self, reply: Reply, choices: Sequence[Choice]) -> Prediction:
        """Return the five lines as a prediction, with flags for how the element was matched.

        The status is `no_element` if no element matches.
        """
        answer = read_attributes(reply.text, finish=reply.finish.value)
        if answer.status is not Status.ANSWERED:
            return Prediction.of(
                answer.status, operation=answer.operation, value=answer.value, flags=answer.flags
            )
        matched = match(choices, answer.type, answer.text or ("" if answer.type else answer.name))
        return Prediction.of(
            Status.ANSWERED if matched.choice else Status.NO_ELEMENT,
            element=matched.choice.id if matched.choice else None,
            operation=answer.operation,
            value=answer.value,
            flags=tuple(sorted({*answer.flags, *matched.flags})),
        )

    def write(self, view: StepView, said: Prediction) -> Mapping[str, str]:
        """Both replies of a model that describes the element of `said` as the page shows it.

        Reading them gives the element back unless a higher one has the same type and text.
        """
        choices = view.choices
        chosen = next((c for c in choices if c.id == said.element), None)
        about = None
        if chosen is not None:
            kind, text = described_as(chosen)
            about = {"name": f"{kind.lower()} {text}".strip(), "type": kind, "text": text}
        answer = write_attributes(about, said.operation, said.value)
        what = about["name"] if about else "none of the elements"
        return {FIRST: f"{said.operation or 'No action'}: {what}", SECOND: answer}

    def opening(self, step: Step) -> tuple[Message, ...]:
        """Return the messages of the first round."""
        return first_messages(self.texts, step, step.pictures, self.history_shown, self.order)

    def notes(self, flags: Mapping[str, int]) -> list[str]:
        return match_notes(flags)
