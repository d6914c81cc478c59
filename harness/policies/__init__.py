"""Baselines: selected like models, they answer without one.

policy = policy_named("random", StepView)
model = PolicyAdapter(policy, protocol, seed=42)    # from harness.policies.as_model

A name can mean several policies, each for what it is shown (`Policy.View`).

Of recorded steps, `random` chooses by chance. `always-click` is the chance in every table: 81 to
84 % of the recorded operations are clicks, so it reaches an operation F1 of 0.80 to 0.84 on the
test splits. `oracle` gives the recorded answer and must reach 100 % on valid rows; less is a bug.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from adapters.registry import Registry, UnknownName
from harness.views import StepView
from parsers.records import OPERATIONS, Gold, Operation, Prediction, Status

if TYPE_CHECKING:
    from harness.records import Choice


@dataclass(frozen=True, slots=True)
class Secret:
    """The right answer of a unit, given only to policies that declare `needs_gold`."""

    gold: Any
    """Of recorded steps the action with all acceptable elements (`parsers.records.Gold`), of units
    of other kinds what their detail holds as `gold`."""
    shown: str | None = None
    """Id of the positive among the choices, None if there is none."""


class About(NamedTuple):
    """A policy's view of a call (`Ask.about`), and a model never.

    view: what it is asked about.
    secret: None unless the policy declares `needs_gold`.
    step: the step of a unit that is asked about step by step, "" for others.
    """

    view: Any
    secret: Secret | None = None
    step: str = ""


class Policy(Protocol):
    """Answers units without a model. Instances are values.

    A policy that cannot answer all units that it is shown has a method `check`, which gets the
    selected units before the first call and raises `UserError`. One that looks at pictures has a
    coroutine `look`, which gets the pictures of a unit and where their bytes are (`PictureSource`);
    what it returns is the last argument of `predict`. A method `close` is called at the end.
    """

    @property
    def name(self) -> str:
        """Its name for users and records."""
        ...

    @property
    def View(self) -> type[Any]:
        """The class of what it answers (`harness.views`); `object` for everything."""
        ...

    @property
    def needs_gold(self) -> bool:
        """True if `predict` is given the `Secret`."""
        ...

    def predict(
        self, view: Any, chance: random.Random, secret: Secret | None, *seen: Any
    ) -> Prediction:
        """Return the prediction for one unit.

        Args:
            view: what the protocol is shown of it.
            chance: the only source of randomness.
            secret: None unless the policy declares `needs_gold`.
        """
        ...


@dataclass(frozen=True, slots=True)
class ItemPolicy:
    """A baseline that is a function, with its name and the class of what it is shown."""

    name: str
    View: type[Any]
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

    View = StepView
    operations: ClassVar[Sequence[Operation]] = OPERATIONS

    def predict(self, view: StepView, chance: random.Random, secret: Secret | None) -> Prediction:
        element = view.choices[chance.randrange(len(view.choices))]
        return _answer(element, self.operations[chance.randrange(len(self.operations))])


@dataclass(frozen=True, slots=True)
class AlwaysClick(RandomPolicy):
    """Always CLICK, on the element that `random` picks with the same seed."""

    name: str = "always-click"
    operations = ("CLICK",)


@dataclass(frozen=True, slots=True)
class Oracle:
    """The right answer: of a recorded step a listed positive with the recorded operation and value,
    None if no positive is listed; of any other unit the action that its gold is, or has as
    `action`, where None says that nothing is to be done."""

    name: str = "oracle"
    needs_gold: bool = True

    View = object

    def predict(self, view: Any, chance: random.Random | None, secret: Secret | None) -> Prediction:
        if secret is None:
            raise ValueError("the oracle needs the recorded answer")
        gold = secret.gold
        if isinstance(gold, Gold):
            return self._step(view.choices, gold)
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


POLICIES: Registry[Policy] = Registry(
    "policy", "vlm_eval.policies", has=("predict", "View"), several=True
)
_READS = "matches the task's words with the text that it reads on the picture (extra ocr)"
_BUILT_IN = (
    ("random", "harness.policies:RandomPolicy", "a random element with a random operation"),
    (
        "always-click",
        "harness.policies:AlwaysClick",
        "clicks a random element: the chance in every table",
    ),
    (
        "oracle",
        "harness.policies:Oracle",
        "the recorded answer: an upper bound, and a test of the whole pipeline",
    ),
    (
        "lexical",
        "harness.policies.lexical:Lexical",
        "word overlap of task and history with the choices, without a model",
    ),
    ("ocr", "harness.ocr.policies:ReadsSteps", f"steps: {_READS}"),
    ("ocr", "harness.ocr.policies:ReadsTargets", f"places: {_READS}"),
    (
        "random",
        "harness.benchmarks.grounding.benchmark:RANDOM",
        "places: a point drawn uniformly from the picture",
    ),
    (
        "centre",
        "harness.benchmarks.grounding.benchmark:CENTRE",
        "places: the middle of every picture",
    ),
    (
        "random",
        "harness.benchmarks.question.benchmark:RANDOM",
        "questions: a random option; nothing where there are none",
    ),
    (
        "random",
        "harness.benchmarks.screen.benchmark:RANDOM",
        "screens: a tap at a point drawn uniformly from the picture",
    ),
    (
        "scroll-down",
        "harness.benchmarks.screen.benchmark:SCROLL_DOWN",
        "screens: scrolls down always",
    ),
    ("wait", "harness.benchmarks.screen.benchmark:WAIT", "screens: waits always"),
    (
        "repeat",
        "harness.benchmarks.screen.benchmark:REPEAT",
        "screens: the recorded action of the step before",
    ),
    (
        "oracle",
        "harness.benchmarks.episode.miniwob.policy:ORACLE",
        "episodes: scripted solutions of tasks of MiniWoB++",
    ),
    (
        "random",
        "harness.benchmarks.prompt.autowebbench:RANDOM",
        "prompts: clicks a random element of the page",
    ),
    (
        "lexical",
        "harness.benchmarks.prompt.autowebbench:LEXICAL",
        "prompts: clicks the element whose words overlap most with the task's",
    ),
    (
        "always-scroll",
        "harness.benchmarks.prompt.autowebbench:ALWAYS_SCROLL",
        "prompts: scrolls down",
    ),
    (
        "always-finish",
        "harness.benchmarks.prompt.autowebbench:ALWAYS_FINISH",
        "prompts: finishes without an answer",
    ),
    (
        "evade",
        "harness.benchmarks.prompt.autowebbench:EVADE",
        "prompts: the right click, else `finish()`: what leaving out rows is worth",
    ),
)
"""Policies by name: where each is, and a line about it."""
for _name, _target, _summary in _BUILT_IN:
    POLICIES.add(_name, _target, _summary)


def is_policy(name: str) -> bool:
    """Return True if a user's name of a model is that of a policy, or of code that is one."""
    if name in POLICIES.names():
        return True
    with suppress(UnknownName):
        return ":" in name and hasattr(POLICIES.get(name), "predict")
    return False


def policy_named(name: str, View: type[Any]) -> Policy:
    """Return the policy of a name for what a benchmark shows. Raises `UnknownName`.

    Of several, it is the first that answers. If none does, return the first: `Policy.View` says
    what that answers.
    """
    for one in POLICIES.all(name):
        policy = POLICIES.made(name, one)
        if answers(policy, View):
            return policy
    return POLICIES.make(name)


def answers(policy: Policy, View: type[Any]) -> bool:
    """Return whether a policy answers what a benchmark shows.

    One that needs the right answer has to name the very class where that is not on record.
    """
    if policy.needs_gold and not View.recorded:
        return policy.View is View
    return issubclass(View, policy.View)


def policies_for(View: type[Any]) -> list[str]:
    """Return the names of the policies that answer what a benchmark shows, those that answer
    everything first."""
    named = {name: policy_named(name, View) for name in POLICIES.names()}
    fitting = [name for name, policy in named.items() if answers(policy, View)]
    return sorted(fitting, key=lambda name: named[name].View is not object)
