"""Actions of an episode in the words of Mind2Web's representations."""

from __future__ import annotations

from harness.page import Page
from parsers.actions import Action

WORDS = 10
"""Words of an element that the history of an episode shows."""


def action_words(action: Action, page: Page) -> str:
    """An action in the words of Mind2Web's representations."""
    given = [value for value in action.arguments.values() if not isinstance(value, bool)]
    value = action.arguments.get("value", ", ".join(map(str, given)))
    done = f"{action.name}: {value}" if value != "" else action.name
    if action.element is not None:
        facts, text = _described(page, action.element)
        return f"[{facts}]  {text} -> {done}"
    if action.point is not None:
        return f"({action.point[0]:.0f}, {action.point[1]:.0f}) -> {done}"
    return done


def _described(page: Page, node_id: str) -> tuple[str, str]:
    """Role or tag of an element, and its label or text."""
    try:
        facts = page.role_of(node_id)
        text = page.text_of(node_id, WORDS)
    except ValueError:
        return "element", ""
    return facts.role or facts.tag, " ".join((text or next(iter(facts.labels), "")).split())
