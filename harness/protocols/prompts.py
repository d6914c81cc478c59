"""Prompt texts: kept in files, filled in strictly, hashed into the run.

A prompt file is TOML with the keys of `Prompts`. Placeholders are names in braces; one that a text
does not know is an error with the file and the key, so that a typing mistake never reaches a model
as text. Braces around anything but a lower-case name are left alone (a prompt may show JSON).
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path

from adapters.conversation import canonical_json
from harness.errors import UserError

PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")

ALLOWED: dict[str, frozenset[str]] = {
    "name": frozenset(),
    "system": frozenset(),
    "first": frozenset({"task", "history", "pictures"}),
    "first_without_picture": frozenset({"task", "history"}),
    "second": frozenset({"choices", "last_letter", "none_notice"}),
    "none_option": frozenset(),
    "none_notice": frozenset({"none_letter"}),
    "history_line": frozenset({"number", "action"}),
    "no_history": frozenset(),
    "one_picture": frozenset(),
    "several_pictures": frozenset({"count"}),
}
NEEDED: dict[str, frozenset[str]] = {
    "first": frozenset({"task"}),
    "first_without_picture": frozenset({"task"}),
    "second": frozenset({"choices"}),
    "none_notice": frozenset({"none_letter"}),
    "history_line": frozenset({"action"}),
}


@dataclass(frozen=True, slots=True)
class Prompts:
    """The texts of the two-round protocol; `harness/prompts/seeact.toml` says what each is for."""

    name: str
    system: str
    first: str
    first_without_picture: str
    second: str
    none_option: str
    none_notice: str
    history_line: str
    no_history: str
    one_picture: str
    several_pictures: str

    def digest(self) -> str:
        """SHA-256 over all texts, independent of the layout of the file."""
        texts = {field.name: getattr(self, field.name) for field in fields(self)}
        return hashlib.sha256(canonical_json(texts).encode()).hexdigest()


def fill(template: str, **values: object) -> str:
    """Put values where their names stand in braces, in one pass: values are never filled in turn.

    >>> fill("Task: {task}", task="write {task}")
    'Task: write {task}'
    """
    return PLACEHOLDER.sub(lambda match: str(values[match.group(1)]), template)


def shipped() -> Prompts:
    """The texts that come with the package."""
    return _parse(
        files("harness").joinpath("prompts/seeact.toml").read_text("utf-8"), "seeact.toml"
    )


def load(path: Path) -> Prompts:
    """Texts from a file. Raises `UserError` for a file that is missing or not of this form."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise UserError(f"--prompts {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"--prompts {path}: not UTF-8 text ({error.reason})") from error
    return _parse(text, str(path))


def _parse(text: str, where: str) -> Prompts:
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{where}: not TOML: {error}") from error
    unknown = sorted(set(found) - set(ALLOWED))
    missing = sorted(set(ALLOWED) - set(found))
    if unknown or missing:
        parts = [f"unknown {', '.join(unknown)}"] if unknown else []
        parts += [f"missing {', '.join(missing)}"] if missing else []
        raise UserError(f"{where}: prompt keys: {'; '.join(parts)}")
    for key, value in found.items():
        if not isinstance(value, str):
            raise UserError(f"{where}: {key} must be text, not {type(value).__name__}")
        used = set(PLACEHOLDER.findall(value))
        if wrong := sorted(used - ALLOWED[key]):
            allowed = ", ".join(f"{{{name}}}" for name in sorted(ALLOWED[key])) or "none"
            raise UserError(f"{where}: {key} has {{{wrong[0]}}}; placeholders there: {allowed}")
        if lost := sorted(NEEDED.get(key, frozenset()) - used):
            raise UserError(f"{where}: {key} must contain {{{lost[0]}}}")
    return Prompts(**{key: value.strip() for key, value in found.items()})
