"""Baselines: selected like models, they answer without one.

policy = policy_named("random", "step")
model = PolicyAdapter(policy, protocol, seed=42)    # from harness.policies.as_model

A name can mean another policy for another kind of units: it is registered as `kind/name`, and users
write the name alone.

Of recorded steps, `random` chooses by chance. `always-click` is the chance in every table: 81 to
84 % of the recorded operations are clicks, so it reaches an operation F1 of 0.80 to 0.84 on the
test splits. `oracle` gives the recorded answer and must reach 100 % on valid rows; less is a bug.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from adapters.registry import Registry
from parsers.records import OPERATIONS, Gold, Operation, Prediction, Status

if TYPE_CHECKING:
    from harness.records import Choice, Step


@dataclass(frozen=True, slots=True)
class Secret:
    """The right answer of a unit, given only to policies that declare `needs_gold`."""

    gold: Any
    """Of recorded steps the action with all acceptable elements (`parsers.records.Gold`), of units
    of other kinds what their detail holds as `gold`."""
    shown: str | None = None
    """Id of the positive among the choices, None if there is none."""


class Policy(Protocol):
    """Answers units of one kind without a model. Instances are values.

    `kind` names the kind ("" for all kinds); without it, a policy answers recorded steps. A policy
    that cannot answer all units of its kind has a method `check`, which gets the selected units
    before the first call and raises `UserError`. One that looks at pictures has a coroutine `look`,
    which gets the pictures of a unit and where their bytes are (`PictureSource`); what it returns
    is the last argument of `predict`. A method `close` is called at the end.
    """

    @property
    def name(self) -> str:
        """Its name for users and records."""
        ...

    @property
    def needs_gold(self) -> bool:
        """True if `predict` is given the `Secret`."""
        ...

    def predict(self, *asked: Any, **_: Any) -> Prediction:
        """Return the prediction for one unit.

        Its arguments are those of the protocol's dialogue (a recorded step and its choices, or an
        item), then `chance`, a `random.Random` and the only source of randomness, and the `Secret`,
        None unless the policy declares `needs_gold`.
        """
        ...


@dataclass(frozen=True, slots=True)
class ItemPolicy:
    """A baseline about items: its name, their kind, and the function that answers."""

    name: str
    kind: str
    predict: Callable[[Any, random.Random, Secret | None], Prediction]
    needs_gold: bool = False


def chance_for(seed: int, repeat: int, unit_id: str, label: str, sample: int = 0) -> random.Random:
    """Return a random generator for one unit, independent of other units and of their order.

    `label` separates uses: two policies with the same label make the same draws. `sample` numbers
    several answers to one unit.
    """
    drawn = [f"sample {sample}"] if sample else []
    text = "\n".join([str(seed), str(repeat), unit_id, label, *drawn])
    return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"))


def _answer(choice: Choice, operation: Operation, value: str = "") -> Prediction:
    return Prediction.of(
        Status.ANSWERED, letter=choice.letter, element=choice.id, operation=operation, value=value
    )


@dataclass(frozen=True, slots=True)
class RandomPolicy:
    """A uniformly random choice (never None) and a uniformly random operation, without a value."""

    name: str = "random"
    needs_gold: bool = False

    def predict(
        self, step: Step, choices: Sequence[Choice], chance: random.Random, secret: Secret | None
    ) -> Prediction:
        element = choices[chance.randrange(len(choices))]
        return _answer(element, OPERATIONS[chance.randrange(len(OPERATIONS))])


@dataclass(frozen=True, slots=True)
class AlwaysClick:
    """Always CLICK, on the element that `random` picks with the same seed."""

    name: str = "always-click"
    needs_gold: bool = False

    def predict(
        self, step: Step, choices: Sequence[Choice], chance: random.Random, secret: Secret | None
    ) -> Prediction:
        return _answer(choices[chance.randrange(len(choices))], "CLICK")


@dataclass(frozen=True, slots=True)
class Oracle:
    """The right answer: of a recorded step a listed positive with the recorded operation and value,
    None if no positive is listed; of any other unit the action that its gold is, or has as
    `action`, where None says that nothing is to be done."""

    name: str = "oracle"
    needs_gold: bool = True
    kind: str = ""

    def predict(self, *asked: Any) -> Prediction:
        *shown, _, secret = asked
        if secret is None:
            raise ValueError("the oracle needs the recorded answer")
        gold = secret.gold
        if isinstance(gold, Gold):
            return self._step(shown[1], gold)
        action = getattr(gold, "action", gold)
        return Prediction(Status.NONE if action is None else Status.ANSWERED, action)

    def _step(self, choices: Sequence[Choice], gold: Gold) -> Prediction:
        listed = [c for c in choices if c.id in gold.elements]
        # Protocols with marks or points cannot refer to an element without a box.
        listed.sort(key=lambda c: (c.box is None or not c.box.is_visible, c.id != gold.original))
        right = next(iter(listed), None)
        if right is None:
            return Prediction.of(Status.NONE, operation=gold.operation, value=gold.value)
        return _answer(right, gold.operation, gold.value)


POLICIES: Registry[Policy] = Registry("policy", "vlm_eval.policies", has=("predict",))
_READS = "matches the task's words with the text that it reads on the picture (extra ocr)"
_BUILT_IN = {
    "random": ("harness.policies:RandomPolicy", "a random element with a random operation"),
    "always-click": (
        "harness.policies:AlwaysClick",
        "clicks a random element: the chance in every table",
    ),
    "oracle": (
        "harness.policies:Oracle",
        "the recorded answer: an upper bound, and a test of the whole pipeline",
    ),
    "lexical": (
        "harness.policies.lexical:Lexical",
        "word overlap of task and history with the choices, without a model",
    ),
    "ocr": ("harness.ocr.policies:ReadsSteps", _READS),
    "grounding/ocr": ("harness.ocr.policies:ReadsTargets", _READS),
    "question/ocr": ("harness.ocr.policies:ReadsQuestions", _READS),
    "screen-step/ocr": ("harness.ocr.policies:ReadsScreens", _READS),
    "grounding/random": (
        "harness.kinds.grounding.kind:RANDOM",
        "a point drawn uniformly from the picture",
    ),
    "grounding/centre": ("harness.kinds.grounding.kind:CENTRE", "the middle of every picture"),
    "question/random": (
        "harness.kinds.question.kind:RANDOM",
        "a random option; nothing where there are none",
    ),
    "screen-step/random": (
        "harness.kinds.screen.kind:RANDOM",
        "a tap at a point drawn uniformly from the picture",
    ),
    "screen-step/scroll-down": ("harness.kinds.screen.kind:SCROLL_DOWN", "scrolls down always"),
    "screen-step/wait": ("harness.kinds.screen.kind:WAIT", "waits always"),
    "screen-step/repeat": (
        "harness.kinds.screen.kind:REPEAT",
        "the recorded action of the step before",
    ),
    "episode/oracle": (
        "harness.kinds.episode.miniwob.policy:ORACLE",
        "scripted solutions of tasks of MiniWoB++",
    ),
    "prompt/random": ("harness.kinds.prompt.kind:RANDOM", "clicks a random element of the page"),
    "prompt/lexical": (
        "harness.kinds.prompt.kind:LEXICAL",
        "clicks the element whose words overlap most with the task's",
    ),
    "prompt/always-scroll": ("harness.kinds.prompt.kind:ALWAYS_SCROLL", "scrolls down"),
    "prompt/always-finish": (
        "harness.kinds.prompt.kind:ALWAYS_FINISH",
        "finishes without an answer",
    ),
    "prompt/evade": (
        "harness.kinds.prompt.kind:EVADE",
        "the right click, else `finish()`: what leaving out rows is worth",
    ),
}
"""Where each policy is, and a line about it."""
for _name, (_target, _summary) in _BUILT_IN.items():
    POLICIES.add(_name, _target, _summary)


def is_policy(name: str) -> bool:
    """Return True if a user's name of a model is that of a policy, for units of some kind."""
    return "/" not in name and any(name == known.rpartition("/")[2] for known in POLICIES.names())


def policy_named(name: str, kind: str) -> Policy:
    """Return the policy of a name for a kind of units. Raises `UnknownName`.

    If only another kind has a policy of that name, return that one: `Policy.kind` names its kind.
    """
    known = POLICIES.names()
    elsewhere = (other for other in known if other.rpartition("/")[2] == name)
    return POLICIES.make(
        next((n for n in (f"{kind}/{name}", name, *elsewhere) if n in known), name)
    )


def policies_for(kind: str, step_kind: str = "") -> list[str]:
    """Return the names of policies that answer units of a kind, those for all kinds first.

    If their calls are about steps of another kind, policies for that kind answer them, too, except
    those that need the right answer, which such steps lack.
    """
    policies = {name: POLICIES.make(name) for name in POLICIES.names()}
    kinds = {name: getattr(policy, "kind", "step") for name, policy in policies.items()}
    by_steps = step_kind not in ("", kind)

    def answers(name: str) -> bool:
        if kinds[name] == kind:
            return True
        usable = kinds[name] in ("", step_kind)
        return usable and not (by_steps and policies[name].needs_gold)

    listed = sorted(kinds, key=lambda name: kinds[name] != "")
    return [name.rpartition("/")[2] for name in listed if answers(name)]
