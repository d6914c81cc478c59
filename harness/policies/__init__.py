"""Baselines, which are selected like models and need none.

policy = POLICIES.make("random")
model = PolicyAdapter(policy, protocol, seed=42)    # from harness.policies.as_model
"""

from __future__ import annotations

from adapters.registry import Registry
from harness.policies.contract import Policy, Secret, chance_for

__all__ = ["POLICIES", "Policy", "Secret", "chance_for"]

POLICIES: Registry[Policy] = Registry("policy", "vlm_eval.policies", has=("predict",))
POLICIES.add(
    "random",
    "harness.policies.baselines:RandomPolicy",
    "a random element with a random operation",
)
POLICIES.add(
    "always-click",
    "harness.policies.baselines:AlwaysClick",
    "clicks a random element: the floor of every table",
)
POLICIES.add(
    "oracle",
    "harness.policies.baselines:Oracle",
    "the recorded answer: an upper bound, and a test of the whole pipeline",
)
POLICIES.add(
    "lexical",
    "harness.policies.lexical:Lexical",
    "word overlap of task and history with the choices, without a model",
)
