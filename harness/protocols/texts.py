"""Prompt files: texts in TOML with checked placeholders, whose digest is part of a run.

A protocol's `Schema` lists the keys of its file and the placeholders of each. Placeholders are
names in braces; an unknown one is an error that names file and key: a typo never reaches a
model. Braces around anything but a lower-case name are left alone (a prompt may show JSON).

The functions at the end write what a prompt shows of earlier steps (`--history`): lines, thoughts,
pictures, or their own turns.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

from adapters.conversation import (
    Message,
    Order,
    Picture,
    Text,
    canonical_json,
    illustrated,
    user,
)
from adapters.input_files import file_text
from harness.errors import UserError
from harness.options import History
from harness.protocols.contract import StepProtocol
from harness.records import Earlier, Step

PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


MEMORY = {
    "earlier_turns": frozenset[str](),
    "earlier_pictures": frozenset({"count"}),
    "thoughts": frozenset({"action", "thoughts"}),
}
"""Keys for what `--history` may show of earlier steps in addition to their actions."""


@dataclass(frozen=True)
class Schema:
    """The form of a protocol's prompt file."""

    file: str
    """Name of the shipped file in `harness/prompts`."""
    allowed: Mapping[str, frozenset[str]]
    """Keys of the file, with the placeholders that each text may contain."""
    needed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Placeholders that a text must contain, by key."""
    further: frozenset[str] = frozenset()
    """Keys for single ways of asking: a file may leave them out, which leaves the shipped texts in
    place, and the digest is about those that are used. So a new way of asking changes no other."""


@dataclass(frozen=True)
class Texts:
    """The texts of a protocol by key; the key `name` holds the name of the prompt file's texts."""

    texts: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.texts["name"]

    def __getitem__(self, key: str) -> str:
        return self.texts[key]

    def fill(self, key: str, **values: object) -> str:
        """Replace the placeholders of a text; placeholders inside values are left alone."""
        return PLACEHOLDER.sub(lambda match: str(values[match.group(1)]), self.texts[key])

    def digest(self, without: Collection[str] = ()) -> str:
        """SHA-256 of all texts but those `without`, independent of the file's layout."""
        texts = {key: text for key, text in self.texts.items() if key not in without}
        return hashlib.sha256(canonical_json(texts).encode()).hexdigest()


def open_texts(schema: Schema, path: Path | None = None) -> Texts:
    """Read the shipped texts, or those in `path`. Raises `UserError` if they violate the schema."""
    shipped = files("harness").joinpath(f"prompts/{schema.file}").read_text("utf-8")
    if path is None:
        return _parse(shipped, schema, schema.file)
    further = _parse(shipped, schema, schema.file).texts if schema.further else {}
    usual = {key: further[key] for key in schema.further}
    return Texts({**usual, **_parse(read_file(path), schema, str(path), schema.further).texts})


def read_file(path: Path) -> str:
    """Return the text of a prompt file. Raises `UserError`."""
    try:
        return file_text(path)
    except OSError as error:
        raise UserError(f"prompts={path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"prompts={path}: not UTF-8 text ({error.reason})") from error


def read_toml(text: str, where: str) -> dict[str, Any]:
    """Return the keys of a prompt file. Raises `UserError` for what is not TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{where}: not TOML: {error}") from error


def checked_text(
    value: object,
    key: str,
    where: str,
    allowed: frozenset[str] = frozenset(),
    needed: frozenset[str] = frozenset(),
) -> str:
    """Return a text of a prompt file, without blanks around it.

    Raises `UserError` unless it has all placeholders that are `needed` and only those `allowed`.
    """
    if not isinstance(value, str):
        raise UserError(f"{where}: {key} must be text, not {type(value).__name__}")
    used = set(PLACEHOLDER.findall(value))
    if wrong := sorted(used - allowed):
        known = ", ".join(f"{{{name}}}" for name in sorted(allowed)) or "none"
        raise UserError(f"{where}: {key} has {{{wrong[0]}}}; placeholders there: {known}")
    if lost := sorted(needed - used):
        raise UserError(f"{where}: {key} must contain {{{lost[0]}}}")
    return value.strip()


def _parse(text: str, schema: Schema, where: str, optional: Collection[str] = ()) -> Texts:
    found = read_toml(text, where)
    keys = {"name": frozenset[str](), **schema.allowed}
    unknown, missing = sorted(set(found) - set(keys)), sorted(set(keys) - {*found, *optional})
    if unknown or missing:
        parts = [f"unknown {', '.join(unknown)}"] if unknown else []
        parts += [f"missing {', '.join(missing)}"] if missing else []
        raise UserError(f"{where}: prompt keys: {'; '.join(parts)}")
    return Texts(
        {
            key: checked_text(value, key, where, keys[key], schema.needed.get(key, frozenset()))
            for key, value in found.items()
        }
    )


@dataclass(frozen=True)
class PromptedProtocol(StepProtocol):
    """A protocol with a prompt file, which is read and checked when the protocol is opened."""

    prompts: Path | None = None
    """File with texts that replace the shipped ones."""

    schema: ClassVar[Schema]

    def __post_init__(self) -> None:
        """Raise `UserError` if the prompt file does not fit the schema."""
        self.texts  # noqa: B018

    @cached_property
    def texts(self) -> Texts:
        """The texts of the prompt file."""
        return open_texts(self.schema, self.prompts)

    @property
    def further(self) -> frozenset[str]:
        """The keys of `Schema.further` that this way of asking uses."""
        memory = self.history_shown
        used = {
            "earlier_turns": memory.turns,
            "earlier_pictures": not memory.turns and memory.pictures[1] > 1,
            "thoughts": memory.thoughts and not memory.turns,
        }
        return self.schema.further & {key for key, is_used in used.items() if is_used}

    def settings(self) -> dict[str, object]:
        """Return the fields by name; the prompt file as name and digest of its texts."""
        settings = super().settings()
        del settings["prompts"]
        digest = self.texts.digest(self.schema.further - self.further)
        named = {"prompts": self.texts.name, "prompts_sha256": digest}
        return {"protocol": settings.pop("protocol"), **named, **settings}


def history_lines(texts: Texts, history: Sequence[str], last: int | None) -> str:
    """Write the `last` previous actions (None: all), a line each, numbered within the task."""
    first = 0 if last is None else max(0, len(history) - last)
    lines = [
        texts.fill("history_line", number=number + 1, action=action)
        for number, action in enumerate(history)
        if number >= first
    ]
    return "\n".join(lines) or texts["no_history"]


def history_of(texts: Texts, step: Step, memory: History) -> str:
    """Write the previous actions, a line each, with the thoughts before them where they are shown;
    or say that they are turns."""
    if memory.turns:
        return texts["earlier_turns"]
    history = list(step.history)
    for one in step.before if memory.thoughts else ():
        thoughts = " ".join(one.thoughts.split())
        if thoughts and one.index is not None and one.index < len(history):
            history[one.index] = texts.fill(
                "thoughts", action=history[one.index], thoughts=thoughts
            )
    return history_lines(texts, history, memory.actions)


def with_earlier(
    texts: Texts,
    text: Callable[[str], str],
    step: Step,
    pictures: Sequence[Picture],
    memory: History,
    order: Order,
    spell: Callable[[Earlier], str],
) -> tuple[Message, ...]:
    """Return the messages of a question behind what is shown of earlier steps.

    Args:
        texts: where the words about earlier pictures are.
        text: the question, given what is said of the pictures before its own.
        pictures: those of the step itself.
        spell: the reply of an earlier step, for its turn.
    """
    if memory.turns:
        return (user(text("")), *turns(step.before, memory, spell), user(*pictures))
    earlier = earlier_pictures(step.before, memory)
    about = texts.fill("earlier_pictures", count=len(earlier)) + " " if earlier else ""
    return (illustrated((*earlier, *pictures), text(about), order=order),)


def turns(
    before: Sequence[Earlier], memory: History, spell: Callable[[Earlier], str]
) -> tuple[Message, ...]:
    """Return the earlier steps as turns: the pictures of the last ones, and every reply."""
    shown, pictured = memory.of(len(before))
    messages: list[Message] = []
    for left, one in zip(range(shown, 0, -1), before[len(before) - shown :], strict=True):
        if left <= pictured and one.pictures:
            messages.append(user(*one.pictures))
        messages.append(Message("assistant", (Text(spell(one)),)))
    return tuple(messages)


def earlier_pictures(before: Sequence[Earlier], memory: History) -> tuple[Picture, ...]:
    """Return the pictures of earlier steps that are shown, oldest first."""
    _, pictured = memory.of(len(before))
    return tuple(one for step in before[len(before) - pictured :] for one in step.pictures)
