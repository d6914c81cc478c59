"""What a model sees of the first page, said before a run."""

from __future__ import annotations

from collections.abc import Iterator

from harness.planning.plan import Plan

ENOUGH = 0.6
"""Share of a picture below which the user is warned."""


def picture_lines(plan: Plan) -> Iterator[str]:
    """Say how large the first page is sent and how much of it the model sees, where its rule tells.

    Raises `DataError`.
    """
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
