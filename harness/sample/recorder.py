"""Perform tasks in the browser and record the page before each action."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from harness.live.nodes import Node, find, tree_of
from harness.recording import columns
from harness.recording.browser import visit
from harness.recording.candidates import Target, target_of
from harness.recording.columns import Row, Screenshot, Step, Trajectory, jpeg
from harness.recording.pages import html_of, snapshot
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


def as_rows(steps: Iterable[Recorded]) -> list[Row]:
    """Build the rows of recorded steps; each has the representations of all steps of its task."""
    found: list[Row] = []
    for task, recorded in groupby(steps, key=lambda step: step.task):
        site = task.site
        trajectory = Trajectory(
            task.annotation_id, task.goal, site.website, site.domain, site.subdomain
        )
        mine = list(recorded)
        listed = columns.rows(trajectory, [_step(step) for step in mine])
        found += map(_with_lost_picture, listed, mine)
    return found


def _step(recorded: Recorded) -> Step:
    action = recorded.action
    return Step(
        action_uid=recorded.task.action_uid(recorded.index),
        op=action.op,
        value=action.value,
        root=recorded.root,
        raw_html=recorded.raw_html,
        target=recorded.target,
        picture=jpeg(recorded.screenshot) if action.picture == "kept" else None,
    )


def _with_lost_picture(row: Row, recorded: Recorded) -> Row:
    if recorded.action.picture == "empty":
        row["screenshot"] = Screenshot(bytes=None, path=None)
    return row


def _before(page: Page, task: Task, index: int) -> Recorded:
    element = page.locator(task.actions[index].at)
    element.wait_for(state="attached")
    if element.is_visible():
        element.scroll_into_view_if_needed()
    described = element.evaluate(_script())
    picture = page.screenshot(full_page=True, animations="disabled", caret="hide")
    root = tree_of(described["nodes"])
    target = target_of(find(root, described["labelled"]))
    return Recorded(task, index, root, html_of(described["pieces"]), target, picture)


def _script() -> str:
    heard = "heard: window.__clickListeners, offset: [window.scrollX, window.scrollY]"
    seen = f"const {{ ids, ...seen }} = ({snapshot()})({{ target, {heard} }});"
    return f"(target) => {{ {seen} return seen; }}"


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
    # Move the pointer away: nothing may look hovered.
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
