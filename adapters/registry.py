"""Names to things, loaded when asked for.

    BENCHMARKS: Registry[Loader] = Registry("benchmark", "vlm_eval.benchmarks")
    BENCHMARKS.add("mind2web", "harness.benchmarks.mind2web:load", "2,000 tasks on 137 sites")

    BENCHMARKS.get("mind2web")      # imports harness.benchmarks.mind2web now
    BENCHMARKS.names()              # imports nothing

A name may carry an argument after a colon (`openai:gpt-4o`); `split` takes it apart. Packages add
names of their own through the entry-point group, which is looked at only when a name is not built
in, or for a listing. A built-in name wins over an entry point of the same name.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Generic, TypeVar, cast

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class UnknownName(LookupError):
    """No such name, or nothing loadable under it; the message is one line for the user."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


@dataclass(frozen=True, slots=True)
class Entry(Generic[T]):
    """A name, where to find it ("module:attribute", or the thing itself), and a line about it.

    `plain` are beginnings of arguments that mean this entry by themselves: with `gpt-` here,
    `gpt-4o` is `openai:gpt-4o`.
    """

    name: str
    target: str | T
    summary: str = ""
    plain: tuple[str, ...] = ()


class Registry(Generic[T]):
    """The things of one kind, by name. `kind` is the word for messages ("model")."""

    def __init__(self, kind: str, group: str) -> None:
        self.kind = kind
        self.group = group
        self._entries: dict[str, Entry[T]] = {}
        self._foreign: dict[str, EntryPoint] | None = None

    def add(
        self, name: str, target: str | T, summary: str = "", *, plain: tuple[str, ...] = ()
    ) -> None:
        """Add an entry. Raises ValueError when the name is taken by another target."""
        known = self._entries.get(name)
        if known is not None and known.target != target:
            raise ValueError(f"{self.kind} '{name}' is {known.target} already")
        self._entries[name] = Entry(name, target, summary, plain)

    def names(self) -> dict[str, str]:
        """Every name with its one-line description; nothing is imported."""
        foreign = {
            name: f"from {point.dist.name}" if point.dist else "from an entry point"
            for name, point in self._points().items()
        }
        own = {entry.name: entry.summary for entry in self._entries.values()}
        return own | {name: line for name, line in sorted(foreign.items()) if name not in own}

    def plain(self, name: str) -> tuple[str, ...]:
        """The beginnings of arguments that mean a built-in name by themselves."""
        return self._entries[name].plain if name in self._entries else ()

    def split(self, text: str) -> tuple[str, str]:
        """What was written to (name, argument); the argument is "" when there is none.

        Raises `UnknownName` when neither the part before the first colon is a name nor the whole
        begins like an argument that needs none.
        """
        name, _, argument = text.partition(":")
        if name in self._entries:
            return name, argument
        for entry in self._entries.values():
            if entry.plain and text.startswith(entry.plain):
                return entry.name, text
        if name in self._points():
            return name, argument
        raise UnknownName(self._unknown(text))

    def get(self, name: str) -> T:
        """What stands under a name. Raises `UnknownName`, also when it cannot be loaded."""
        entry = self._entries.get(name)
        if entry is None:
            point = self._points().get(name)
            if point is None:
                raise UnknownName(self._unknown(name))
            return cast(T, self._load(name, point.value))
        if isinstance(entry.target, str):
            return cast(T, self._load(name, entry.target))
        return entry.target

    def _load(self, name: str, target: str) -> object:
        module, _, attribute = target.partition(":")
        try:
            found: object = import_module(module)
            for part in attribute.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError) as error:
            raise UnknownName(
                f"{self.kind} '{name}' cannot be loaded from {target}: {error}"
            ) from error
        return found

    def _points(self) -> dict[str, EntryPoint]:
        if self._foreign is None:
            # The metadata of every installed package is read here: tens of milliseconds.
            from importlib.metadata import entry_points

            self._foreign = {point.name: point for point in entry_points(group=self.group)}
        return self._foreign

    def _unknown(self, text: str) -> str:
        names = sorted({*self._entries, *self._points()})
        near = difflib.get_close_matches(text.partition(":")[0], names, n=1, cutoff=0.65)
        if near:
            hint = f"did you mean '{near[0]}'?"
        elif start := self._plain_like(text):
            hint = f"did you mean '{start}...'?"
        else:
            hint = f"known: {', '.join(names) or 'none'}"
        return f"unknown {self.kind} '{text}'; {hint}"

    def _plain_like(self, text: str) -> str | None:
        """The beginning of plain names that the text's own beginning is a misspelling of."""
        starts = [start for entry in self._entries.values() for start in entry.plain]
        near = {
            difflib.SequenceMatcher(None, text[: len(start)].lower(), start).ratio(): start
            for start in starts
            if len(start) > 3
        }
        return near[max(near)] if near and max(near) >= 0.75 else None
