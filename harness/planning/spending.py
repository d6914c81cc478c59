"""Lines before a run: tiers, cost, and how much the model sees; and the consent to spend money."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness.errors import UserError, from_leaf
from harness.planning.model import Model, tier_lines
from harness.planning.plan import Plan
from harness.settings import Settings

if TYPE_CHECKING:
    from harness.planning.roles import OpenRole

CONFIRM_FROM = 100
"""More calls than this to a model that costs money have to be confirmed."""
ENOUGH = 0.6
"""Share of a picture below which the user is warned."""


def lines_before(plan: Plan) -> Iterator[str]:
    """Yield what the user should know of a run before it spends anything. Raises `DataError`."""
    tier, model = plan.settings.tier, plan.model
    if tier is not None:
        yield from tier_lines(tier, model.info, model.sheet)
    if tier == "batch":
        from harness.planning.estimated_calls import first_calls

        if (calls := first_calls(plan)) is not None:
            yield str(from_leaf("harness.batches.passes:heading")(plan, calls))
    if (cost := call_at_most(plan)) is not None:
        limit = plan.settings.max_cost
        whole = "no --max-cost" if limit is None else f"${limit:,.2f} in all"
        yield f"{'cost:':<9} at most ${cost:,.4f} a call, as far as the first step shows; {whole}"
    yield from _picture_lines(plan)


def _picture_lines(plan: Plan) -> Iterator[str]:
    """Say how large the first page is sent, and how much of it the model sees if that is known."""
    rule = plan.model.info.image_rule
    if plan.model.policy is not None or rule is None or rule.seen is None:
        return
    from harness.dialogue import Ask
    from harness.pictures.recipe import Recipe
    from harness.planning.estimated_calls import first_calls

    asks = [call.call for call in first_calls(plan) or () if not call.role]
    pictures = [p for ask in asks if isinstance(ask, Ask) for p in ask.conversation.pictures]
    if not pictures:
        return
    first = pictures[0]
    left, top, right, bottom = Recipe.parse(first.recipe).box
    sent = f"{first.width} x {first.height}"
    if tokens := rule.tokens(first.width, first.height):
        sent += f" ({tokens:,} tokens)"
    share = rule.seen(first.width, first.height)
    part = "all" if share == 1 else f"{100 * share:.0f} %"
    yield (
        f"{'picture:':<9} the first shows {right - left} x {bottom - top} pixels of a page, sent "
        f"as {sent}; the model sees {part} of it"
    )
    if share < ENOUGH:
        yield (
            f"warning:  the model's processor keeps the middle of a picture, {part} of this one, "
            "and cuts off the rest: send squarer parts of the page (--image-policy tiles), or "
            "choose another model"
        )


def call_at_most(plan: Plan) -> float | None:
    """Upper bound for the cost of a call of the first step, in US dollars.

    It is what `max_cost` sets aside for such a call while it is under way. None where nothing is
    asked or nothing can be spent. Raises `DataError`.
    """
    models = (plan.model, *plan.roles.values())
    if not plan.spends or any(model.spends and model.pricing() is None for model in models):
        return None
    from harness.planning.estimated_calls import first_calls, preflight_calls

    calls = first_calls(plan)
    if calls is None:
        return None
    cases = (*(call.cases["high"] for call in calls), *preflight_calls(plan))
    return max((case.cost or 0.0 for case in cases), default=0.0)


def check_cost_limit(plan: Plan) -> None:
    """Raise `UserError` for a cost limit that could not be kept."""
    if plan.settings.max_cost is None:
        return
    if plan.model.policy is not None:
        raise UserError("--max-cost has no effect on a policy; leave it out")
    for name, model in (("", plan.model), *plan.roles.items()):
        check_priced(model, f" (role {name})" if name else "")


def check_priced(model: Model | OpenRole, role: str = "") -> None:
    """Raise `UserError` for a model whose cost cannot be limited; `role` is part of the words."""
    if not model.can_be_limited:
        free = "; if its server is free, with the prices 0" if model.info.assumed_free else ""
        raise UserError(
            f"--max-cost needs a price for {model.info.name}{role}; give one with --prices "
            f"FILE{free}"
        )


def is_agreed(settings: Settings) -> bool:
    """Return whether the user has said beforehand that a run may cost money."""
    return settings.yes or settings.max_cost is not None


def is_confirmed(plan: Plan) -> bool:
    """Return whether a run may start without asking: free, short, or confirmed beforehand."""
    return is_agreed(plan.settings) or not plan.spends or plan.most_calls <= CONFIRM_FROM


def check_confirmed(plan: Plan) -> None:
    """Raise `UserError` for a run that costs money and cannot be confirmed here."""
    if is_confirmed(plan):
        return
    models = (plan.model, *plan.roles.values())
    priced = all(model.pricing() is not None for model in models)
    limit = "--max-cost DOLLARS" if priced else "--prices FILE with --max-cost"
    names = ", ".join(dict.fromkeys(model.info.name for model in models if model.spends))
    raise UserError(
        f"{plan.most_calls} calls to {names} may cost money; "
        f"without a terminal to ask on, say --yes or {limit}"
    )
