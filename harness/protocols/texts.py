"""Prompt files: texts in TOML with checked placeholders, whose digest is part of a run.

A protocol's `Schema` lists the keys of its file and the placeholders of each. Placeholders are
names in braces; an unknown one is an error that names file and key: a typo never reaches a
model. Braces around anything but a lower-case name are left alone (a prompt may show JSON).
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

from adapters.conversation import canonical_json
from harness.errors import UserError
from harness.protocols.contract import StepProtocol

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
        return path.read_text("utf-8")
    except OSError as error:
        raise UserError(f"--prompts {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"--prompts {path}: not UTF-8 text ({error.reason})") from error


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
