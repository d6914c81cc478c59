"""Perform tasks in the browser and record the page before each action."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from harness.live.nodes import Node, find, tree_of
from harness.live.snapshot import describing
from harness.sample.browser import visit
from harness.sample.candidates import Target, target_of
from harness.sample.trajectories import Action, Task

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded step: the page before the action, and the target on it."""

    task: Task
    index: int
    root: Node
    raw_html: str
    target: Target
    screenshot: bytes

    @property
    def action(self) -> Action:
        """The action performed on this page."""
        return self.task.actions[self.index]


def record(browser: Browser, tasks: Sequence[Task]) -> Iterator[Recorded]:
    """Perform all actions of tasks of a site, one task after the other in one browser session.

    Yields the page before each action, with a PNG screenshot.
    """
    with visit(browser, tasks[0].site.site) as page:
        for task in tasks:
            for index, action in enumerate(task.actions):
                yield _before(page, task, index)
                _perform(page, action)


@cache
def _script() -> str:
    own = Path(__file__).with_name("snapshot.js").read_text(encoding="utf-8")
    return f"(target) => {{ const describe = {describing()};\nreturn ({own})(target); }}"


def _before(page: Page, task: Task, index: int) -> Recorded:
    element = page.locator(task.actions[index].at)
    element.wait_for(state="attached")
    if element.is_visible():
        element.scroll_into_view_if_needed()
    described = element.evaluate(_script())
    picture = page.screenshot(full_page=True, animations="disabled", caret="hide")
    root = tree_of(described["nodes"])
    target = target_of(find(root, described["labelled"]))
    return Recorded(task, index, root, described["raw"], target, picture)


def _perform(page: Page, action: Action) -> None:
    element = page.locator(action.at)
    if action.hover:
        page.hover(action.hover)
    if action.op == "HOVER":
        element.hover()
        return
    if action.key:
        element.focus()
        page.keyboard.press(action.key)
    else:
        _act(element, action)
    # Move the pointer away, so that nothing is highlighted as hovered.
    page.mouse.move(0, 0)


def _act(element: Locator, action: Action) -> None:
    match action.op:
        case "TYPE":
            element.fill(action.value)
        case "SELECT":
            element.select_option(label=action.value)
        case "ENTER":
            element.press("Enter")
        case _:
            element.click()
