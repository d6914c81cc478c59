"""Baselines: selected like models, run anywhere.

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
    "element and operation by chance",
)
POLICIES.add(
    "always-click",
    "harness.policies.baselines:AlwaysClick",
    "clicks an element by chance: the floor of every table",
)
POLICIES.add(
    "oracle",
    "harness.policies.baselines:Oracle",
    "the recorded answer: tests the plumbing",
)
POLICIES.add(
    "lexical",
    "harness.policies.lexical:Lexical",
    "text overlap of task and history with the choices, no model",
)
