"""The models that a run asks for one word before its first unit."""

from __future__ import annotations

from harness.planning.plan import Plan
from harness.planning.roles import LEXICAL


def wants_preflight(plan: Plan) -> bool:
    """Return whether to send a preflight call: not for policies, scripts, or without calls."""
    scripted = plan.model.info.provider == "scripted"
    asks = plan.protocol.calls(2)[1] > 0
    return plan.settings.preflight and asks and plan.model.policy is None and not scripted


def roles_to_preflight(plan: Plan) -> list[str]:
    """The roles that are sent a preflight call, too."""
    if not plan.settings.preflight or plan.model.policy is not None:
        return []
    here = ("scripted", LEXICAL)
    return [name for name, role in plan.roles.items() if role.info.provider not in here]
