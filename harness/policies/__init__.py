"""Baselines: selected like models, they answer without one.

policy = policy_named("random", "step")
model = PolicyAdapter(policy, protocol, seed=42)    # from harness.policies.as_model

A name can mean another policy for another kind of units: it is registered as `kind/name`, and users
write the name alone.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from adapters.registry import Registry
from parsers.records import Prediction


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


__all__ = [
    "POLICIES",
    "ItemPolicy",
    "Policy",
    "Secret",
    "chance_for",
    "is_policy",
    "policies_for",
    "policy_named",
]

POLICIES: Registry[Policy] = Registry("policy", "vlm_eval.policies", has=("predict",))
POLICIES.add(
    "random",
    "harness.policies.baselines:RandomPolicy",
    "a random element with a random operation",
)
POLICIES.add(
    "always-click",
    "harness.policies.baselines:AlwaysClick",
    "clicks a random element: the chance in every table",
)
POLICIES.add(
    "oracle",
    "harness.policies.baselines:Oracle",
    "the recorded answer: an upper bound, and a test of the whole pipeline",
)
POLICIES.add(
    "lexical",
    "harness.policies.baselines:Lexical",
    "word overlap of task and history with the choices, without a model",
)
for _kind, _class in (
    ("step", "ReadsSteps"),
    ("grounding", "ReadsTargets"),
    ("question", "ReadsQuestions"),
    ("screen-step", "ReadsScreens"),
):
    POLICIES.add(
        "ocr" if _kind == "step" else f"{_kind}/ocr",
        f"harness.ocr.policies:{_class}",
        "matches the task's words with the text that it reads on the picture",
    )
POLICIES.add(
    "grounding/random",
    "harness.kinds.grounding.kind:RANDOM",
    "a point drawn uniformly from the picture",
)
POLICIES.add(
    "grounding/centre",
    "harness.kinds.grounding.kind:CENTRE",
    "the middle of every picture",
)
POLICIES.add(
    "question/random",
    "harness.kinds.question.kind:RANDOM",
    "a random option; nothing where there are none",
)
POLICIES.add(
    "screen-step/random",
    "harness.kinds.screen.kind:RANDOM",
    "a tap at a point drawn uniformly from the picture",
)
POLICIES.add(
    "screen-step/scroll-down", "harness.kinds.screen.kind:SCROLL_DOWN", "scrolls down always"
)
POLICIES.add("screen-step/wait", "harness.kinds.screen.kind:WAIT", "waits always")
POLICIES.add(
    "screen-step/repeat",
    "harness.kinds.screen.kind:REPEAT",
    "the recorded action of the step before",
)
POLICIES.add(
    "episode/oracle",
    "harness.kinds.episode.miniwob.policy:ORACLE",
    "scripted solutions of tasks of MiniWoB++",
)
POLICIES.add(
    "prompt/random", "harness.kinds.prompt.kind:RANDOM", "clicks a random element of the page"
)
POLICIES.add(
    "prompt/lexical",
    "harness.kinds.prompt.kind:LEXICAL",
    "clicks the element whose words overlap most with the task's",
)
POLICIES.add("prompt/always-scroll", "harness.kinds.prompt.kind:ALWAYS_SCROLL", "scrolls down")
POLICIES.add(
    "prompt/always-finish",
    "harness.kinds.prompt.kind:ALWAYS_FINISH",
    "finishes without an answer",
)
POLICIES.add(
    "prompt/evade",
    "harness.kinds.prompt.kind:EVADE",
    "the right click, else `finish()`: what leaving out rows is worth",
)


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
