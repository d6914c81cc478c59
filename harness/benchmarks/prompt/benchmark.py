"""Finished prompts: what chance and the right answers reach on them.

Baselines for finished prompts, which show a page with ids in letters and the task in a line.

Every share that they reach is a share that no understanding is needed for. `evade` shows what a
score is worth that leaves out rows: it gives the right click, and elsewhere an answer of which a
scorer may make nothing.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from adapters.conversation import Conversation, Reply, user
from harness.benchmarks.contract import Benchmark
from harness.dialogue import Ask, Dialogue
from harness.policies import ItemPolicy, Secret
from harness.policies.lexical import STOP
from harness.protocols.contract import AskingProtocol, Needs
from harness.runs.records import Unit
from harness.views import PromptView
from parsers.actions import Action
from parsers.autowebbench import reference
from parsers.autowebglm import FUNCTIONS, Order, read, spell
from parsers.records import Prediction, Scores, Status

PLACE = "answer"
CHATGLM = "Q: {}\n\nA: "
"""How ChatGLM's own code wraps a question."""


@dataclass(frozen=True)
class Verbatim(AskingProtocol):
    """One user message that is the prompt; text only."""

    wrapping: Literal["plain", "chatglm"] = "plain"
    """`chatglm` writes the prompt between `Q: ` and `A: `, as AutoWebGLM was trained with it."""
    order: Order = "position"
    """Choice among several calls: the first (`position`), or the one whose function the released
    runner looks for first (`reference`)."""

    name = "verbatim"
    View = PromptView
    paper = "Lai et al. 2024 (AutoWebGLM), AutoWebBench"
    places = (PLACE,)
    needs = Needs(pictures="none", picture_policy="none")
    actions = FUNCTIONS

    def dialogue(self, view: PromptView) -> Dialogue:
        """Send the prompt and read the call."""
        text = view.content if self.wrapping == "plain" else CHATGLM.format(view.content)
        reply = yield Ask(Conversation((user(text),)), PLACE)
        assert isinstance(reply, Reply)
        said = read(reply.text, finish=reply.finish.value, order=self.order)
        return replace(said, parsed=reference(reply.text))

    def write(self, view: PromptView, said: Prediction) -> Mapping[str, str]:
        """Spell the reply with the call; no text without an action."""
        return {PLACE: spell(said.action) if said.action else ""}


ELEMENT = re.compile(r"<\w*\[([A-Z]{1,4})\]\|([^<>]*)")
"""An element of a page that can be acted upon, with its own text."""
TASK = "\n#Task: "
WORD = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]")
"""A word in small letters, or a Chinese character."""
DOWN = Action("scroll_page", arguments={"direction": "down"})


def elements(prompt: str) -> list[tuple[str, str]]:
    """The elements that the page of a prompt gives ids: id and text, in document order.

    >>> elements("< <a[AB]| Help> <p| none> <button[C]| <i| Go> > >\\n\\n#Task: x")
    [('AB', ' Help'), ('C', ' ')]
    """
    page = prompt.partition("\n\n")[0]
    return ELEMENT.findall(page)


def _answer(action: Action) -> Prediction:
    return Prediction(Status.ANSWERED, action)


def random_element(view: PromptView, chance: random.Random, secret: Secret | None) -> Prediction:
    """Click a uniformly random element; finish where the page has none."""
    found = elements(view.content)
    return _answer(Action("click", chance.choice(found)[0]) if found else Action("finish"))


def evade(view: PromptView, chance: random.Random, secret: Secret | None) -> Prediction:
    """Answer with the right click, or `finish()` where the right action is not a click."""
    gold = secret.gold if secret else None
    right = isinstance(gold, Action) and gold.name == "click"
    return _answer(gold if isinstance(gold, Action) and right else Action("finish"))


def overlapping(view: PromptView, chance: random.Random, secret: Secret | None) -> Prediction:
    """Click the element whose own text shares most words with the task, rare ones counting more
    and long texts less; of equals the first. Scroll down where none shares any."""
    found = [(one, WORD.findall(text.lower())) for one, text in elements(view.content)]
    seen = Counter(word for _, words in found for word in set(words))
    task = view.content.rpartition(TASK)[2].partition("\n\n")[0].lower()
    weights = {
        word: math.log((len(found) + 1) / seen[word])
        for word in WORD.findall(task)
        if seen[word] and word not in STOP
    }

    def points(words: list[str]) -> float:
        return sum(weights.get(word, 0.0) for word in set(words)) / math.sqrt(1 + len(words))

    best = max(found, key=lambda one: points(one[1]), default=("", []))
    return _answer(Action("click", best[0]) if points(best[1]) > 0 else DOWN)


RANDOM = ItemPolicy("random", PromptView, random_element)
LEXICAL = ItemPolicy("lexical", PromptView, overlapping)
EVADE = ItemPolicy("evade", PromptView, evade, needs_gold=True)
ALWAYS_SCROLL = ItemPolicy("always-scroll", PromptView, lambda *_: _answer(DOWN))
ALWAYS_FINISH = ItemPolicy("always-finish", PromptView, lambda *_: _answer(Action("finish")))


@dataclass(frozen=True, slots=True)
class PromptDetail:
    """The detail of a unit that is a finished prompt, answered with an action.

    asked: the prompt, in full.
    gold: the right action.
    target: the right answer as the data has it, for scorers that read it in their own way.
    """

    asked: str
    gold: Action
    target: str


PromptRecord = Unit[PromptDetail]


@dataclass(frozen=True)
class PromptBenchmark(Benchmark):
    """Finished prompts; the floor is a click on a random element."""

    View = PromptView
    Detail = PromptDetail
    protocol = "verbatim"

    def chance(self, units: Sequence[PromptRecord]) -> Iterator[Scores]:
        def scored(record: PromptRecord, action: Action) -> Scores:
            said = Prediction(Status.ANSWERED, action, parsed=reference(spell(action)))
            return self.score(said, record.detail)

        return (expected(unit, scored) for unit in units)

    def footnotes(self, *, known: bool) -> Iterator[str]:
        yield "chance: a click on a random element, expected; ceiling: the right answers."


def expected(record: PromptRecord, scored: Callable[[PromptRecord, Action], Scores]) -> Scores:
    """The scores of a click on an element of the page drawn at random, in expectation.

    All wrong clicks are assumed to score the same. Without any element, those of `finish()`.
    """
    ids = [one for one, _ in elements(record.detail.asked)]
    if not ids:
        return scored(record, Action("finish"))
    right = record.detail.gold.element
    wrong = next((one for one in ids if one != right), "")
    share = (right in ids) / len(ids)
    hit, miss = (scored(record, Action("click", one)) for one in (right or wrong, wrong or right))
    return {name: _between(share, hit[name], miss[name]) for name in hit}


def _between(share: float, hit: float | None, miss: float | None) -> float | None:
    return None if hit is None or miss is None else share * hit + (1 - share) * miss
