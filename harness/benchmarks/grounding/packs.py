"""Prompt packs: how a family of models is asked for a point, and how it answers.

A pack is a TOML file. Those in `harness/prompts/grounding` are found by the model's name; one of
the user's own is given with `--protocol-option prompts=FILE`, and may be as short as this:

    name = "my-family"
    form = "point-text"
    coordinates = "per-999"
    question = "Where would you click to do this? {instruction}"

Texts that a pack leaves out are taken from `harness/prompts/grounding.toml`; form and coordinates
follow from the model's name (`families`, `adapters.open_models`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

from adapters.conversation import Order
from harness.errors import UserError, suggestion
from harness.protocols.pointing import by_longest_word
from harness.protocols.texts import Texts, checked_text, read_file, read_toml
from parsers.points import CONVENTIONS, DECLINES, FORMS, Convention, Decline, Form

SystemPlace = Literal["apart", "merged", "none"]
"""A system text is a separate message, comes first in the question, or is left out."""

USUAL = "grounding"
"""The pack of models without special wording: the shared texts alone."""

_SCREEN = frozenset({"width", "height", "resolution"})
_PLACEHOLDERS = {
    "system": _SCREEN,
    "question": frozenset({"instruction", "answer", "numbers", *_SCREEN}),
    "answer": frozenset({"numbers"}),
    "declining": frozenset({"none"}),
}
_NEEDED = {"question": frozenset({"instruction"})}
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "form": FORMS,
    "coordinates": CONVENTIONS,
    "order": get_args(Order),
    "system_place": get_args(SystemPlace),
}
_LISTS: Mapping[str, tuple[str, ...]] = {"families": (), "declines": DECLINES}
_KNOWN = frozenset({"name", *_LISTS, *_PLACEHOLDERS, *_CHOICES})


@dataclass(frozen=True)
class ModelPrompts:
    """A family's way to be asked.

    families: words in the names of its models.
    form: how it answers; None as its models usually do.
    coordinates: meaning of its numbers; None as the model's adapter declares.
    declines: replies that mean nothing fits, next to the form's word for none; None for the form's.
    order, system_place: places of the picture and the system text.
    own: its own texts, by key.
    """

    name: str
    families: tuple[str, ...] = ()
    form: Form | None = None
    coordinates: Convention | None = None
    declines: frozenset[Decline] | None = None
    order: Order = "picture-first"
    system_place: SystemPlace = "apart"
    own: Mapping[str, str] = field(default_factory=dict)

    def texts(self, form: Form, convention: Convention) -> Texts:
        """Return its texts for a form: `system`, `question`, `answer`, `numbers`, `declining`."""
        shared = _shared()
        usual = {
            "name": self.name,
            "system": "",
            "question": shared["question"],
            "answer": shared["answers"][form],
            "numbers": shared["numbers"][convention],
            "declining": shared["declining"],
        }
        return Texts({**usual, **self.own})


def pack_of_model(*names: str) -> ModelPrompts:
    """Return the pack of the longest word in a model's name; the usual one if no word is known.

    Of several names (the model's own, the adapter's) the first with a known word decides.

    >>> pack_of_model("UI-Venus-1.5-8B").name, pack_of_model("my-model", "openai:my-model").name
    ('ui-venus', 'grounding')
    """
    packs = [open_pack(pack) for pack in shipped()]
    words = [(word, pack) for pack in packs for word in pack.families]
    return by_longest_word(words, *names) or open_pack(USUAL)


@cache
def shipped() -> tuple[str, ...]:
    """Return the names of the packs that come with the project."""
    found = files("harness").joinpath("prompts/grounding").iterdir()
    names = (file.name.partition(".toml") for file in found)
    return (USUAL, *sorted(name for name, suffix, _ in names if suffix))


@cache
def open_pack(name: str) -> ModelPrompts:
    """Read a pack that comes with the project. Raises `UserError` for an unknown one."""
    if name == USUAL:
        return ModelPrompts(USUAL)
    if name not in shipped():
        raise UserError(f"unknown prompt pack '{name}'; {suggestion(name, shipped())}")
    file = files("harness").joinpath(f"prompts/grounding/{name}.toml")
    return _pack(read_toml(file.read_text("utf-8"), f"{name}.toml"), f"{name}.toml")


def read_pack(path: Path) -> ModelPrompts:
    """Read a pack in a file of the user's. Raises `UserError` naming the key that is wrong."""
    return _pack(read_toml(read_file(path), str(path)), str(path))


def _pack(found: Mapping[str, Any], where: str) -> ModelPrompts:
    given: dict[str, Any] = {}
    if unknown := sorted(found.keys() - _KNOWN):
        raise UserError(f"{where}: unknown key {unknown[0]}; {suggestion(unknown[0], _KNOWN)}")
    own: dict[str, str] = {}
    for key, value in found.items():
        if key in _LISTS:
            listed = _listed(value, key, where)
            given[key] = frozenset(listed) if key == "declines" else listed
            continue
        allowed, needed = _PLACEHOLDERS.get(key, frozenset()), _NEEDED.get(key, frozenset())
        given[key] = checked_text(value, key, where, allowed, needed)
        if given[key] not in _CHOICES.get(key, (given[key],)):
            known = ", ".join(_CHOICES[key])
            raise UserError(f"{where}: {key} is one of {known}, not '{given[key]}'")
        if key in _PLACEHOLDERS:
            own[key] = given.pop(key)
    if not given.get("name"):
        raise UserError(f"{where}: a prompt pack needs a name")
    return ModelPrompts(**given, own=own)


def _listed(value: object, key: str, where: str) -> tuple[str, ...]:
    words = value if isinstance(value, list) else [None]
    known = _LISTS[key]
    if not all(isinstance(word, str) and (word in known or not known) for word in words):
        hint = f" of {', '.join(known)}" if known else " in the names of models"
        raise UserError(f"{where}: {key} is a list of words{hint}")
    return tuple(words)


@cache
def _shared() -> Mapping[str, Any]:
    file = files("harness").joinpath(f"prompts/{USUAL}.toml")
    found = read_toml(file.read_text("utf-8"), f"{USUAL}.toml")
    return {key: _stripped(value) for key, value in found.items()}


def _stripped(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _stripped(inner) for key, inner in value.items()}
    return value.strip()
