"""The tasks of the sample: a visitor's goal and the actions that reach it; conversations of tasks.

Tasks are data (`tasks/<site>.toml`). Each action names its element by a selector; the recorder
performs it in a browser, which gives the next page. The turns of a conversation are tasks in one
browser session.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args
from uuid import UUID, uuid5

from harness.recording.columns import Op

TASKS = Path(__file__).parent / "tasks"
_NAMESPACE = UUID("5d2c8a3e-6f0b-5a1d-9c47-0e8b1f2a7d64")

Picture = Literal["kept", "missing", "empty"]


@dataclass(frozen=True, slots=True)
class Action:
    """One action.

    op: the operation as performed.
    at: selector of the element.
    value: the text to type or the option to select.
    hover: selector of an element to point at first, without a separate step.
    key: the key that performs a click, for controls that a pointer cannot reach.
    picture: leaves out the screenshot, as a null struct ("missing") or as a struct of nulls
        ("empty"); the real data has both.
    """

    op: Op
    at: str
    value: str = ""
    hover: str = ""
    key: str = ""
    picture: Picture = "kept"


@dataclass(frozen=True, slots=True)
class Site:
    """A web site of the sample, with its category and split."""

    site: str
    website: str
    domain: str
    subdomain: str
    split: str


@dataclass(frozen=True, slots=True)
class Task:
    """A goal on a site and the actions that reach it."""

    site: Site
    name: str
    goal: str
    actions: tuple[Action, ...]

    @property
    def annotation_id(self) -> str:
        """The task's id, derived from the names of site and task, so the same in every build."""
        return str(uuid5(_NAMESPACE, f"{self.site.site}/{self.name}"))

    def action_uid(self, index: int) -> str:
        """Return the id of the step at `index`, the same in every build."""
        return str(uuid5(_NAMESPACE, f"{self.site.site}/{self.name}/{index}"))


@dataclass(frozen=True, slots=True)
class Conversation:
    """Tasks that a visitor asks for one after the other; later ones refer to earlier ones."""

    site: Site
    name: str
    turns: tuple[Task, ...]

    @property
    def task_id(self) -> str:
        """The conversation's id, called as in MT-Mind2Web; the same in every build."""
        return str(uuid5(_NAMESPACE, f"{self.site.site}/{self.name}"))


def load(folder: Path = TASKS) -> tuple[Task, ...]:
    """Read all single tasks, by file name, then in file order."""
    return tuple(
        _task(path, site, task["name"], task)
        for path, site, content in _contents(folder)
        for task in content.get("task", ())
    )


def load_conversations(folder: Path = TASKS) -> tuple[Conversation, ...]:
    """Read all conversations, by file name, then in file order."""
    return tuple(
        _conversation(path, site, found)
        for path, site, content in _contents(folder)
        for found in content.get("conversation", ())
    )


def _contents(folder: Path) -> Iterator[tuple[Path, Site, Mapping[str, Any]]]:
    for path in sorted(folder.glob("*.toml")):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        yield path, Site(**{part.name: content[part.name] for part in fields(Site)}), content


def _conversation(path: Path, site: Site, found: Mapping[str, Any]) -> Conversation:
    name = found["name"]
    turns = enumerate(found["turn"], start=1)
    return Conversation(
        site, name, tuple(_task(path, site, f"{name}/turn-{at}", turn) for at, turn in turns)
    )


def _task(path: Path, site: Site, name: str, found: Mapping[str, Any]) -> Task:
    return Task(site, name, found["goal"], tuple(_action(path, step) for step in found["steps"]))


def _action(path: Path, step: Mapping[str, Any]) -> Action:
    action = Action(**step)
    if action.op not in get_args(Op) or action.picture not in get_args(Picture):
        raise ValueError(f"{path.name}: {step}")
    if bool(action.value) != (action.op in ("TYPE", "SELECT")):
        raise ValueError(f"{path.name}: only TYPE and SELECT have a value: {step}")
    return action
