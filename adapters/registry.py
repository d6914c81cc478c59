"""Whatever users name: models, benchmarks, protocols and so on, loaded when asked for.

    RANKERS: Registry[Ranker] = Registry("ranker", "vlm_eval.rankers", has=("of",))
    RANKERS.add("lexical", "harness.rankers:Lexical", "by the words of the task")

    RANKERS.names()            # {"lexical": "by the words of the task"}; imports nothing
    RANKERS.make("lexical")    # imports its module now, and makes a ranker

Packages add names through the entry-point group, which is read only if a name is not built in, or
for a listing. A built-in name wins over an entry point of the same name, but where a name may mean
several things (policies, protocols): the first one that answers what is shown is taken. A name may
carry an argument after a colon (`openai:gpt-5.4`); `split` takes it apart.

The object of a name, built in or from an entry point, is one of three things for every kind:

- a class, which `make` calls,
- a factory: a function, or anything else that can be called, which `make` calls,
- an instance, which `make` returns.

An instance is recognised by the attributes that every thing of the kind has (`has`). Classes
and factories are called with what the kind hands over:

    vlm_eval.    called with                             an instance has
    adapters     model name, options by name             info, ask
    embedders    model name, options by name             info, embed
    benchmarks   nothing                                 open
    policies     nothing                                 predict, View
    protocols    settings by name                        dialogue, View
    rankers      what follows the name and a colon       of
    commands     nothing                                 make_context (a click.Command)
    exports      options by name                         write
    trackers     what follows the name and a colon       start, log, finish

`module:Class` is a name as well, of code that no package registers (`adapters.entry_points`): a
file of the working folder, or any module. A registered name wins.

A class or factory without a positional parameter is not handed an empty argument, so a ranker
without arguments needs no parameter. An instance takes no argument and no values.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar, cast

from adapters.entry_points import (
    EntryPoint,
    absent,
    entry_points,
    load_named,
    look_again,
    named_code,
    nearest,
    parameters_of,
)
from adapters.entry_points import NotInstalled as NotInstalled
from adapters.entry_points import UnknownName as UnknownName
from adapters.entry_points import allow as allow
from adapters.entry_points import load as load

T = TypeVar("T")

_BY_POSITION = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL,
)

PUBLISHED = False
"""True if the package is on PyPI; until then it is installed from a clone."""


@dataclass(frozen=True, slots=True)
class Entry(Generic[T]):
    """A name of a registry and what is known of it without importing anything.

    Attributes:
        name: the name.
        target: where it is ("module:attribute"), the thing itself, or None for an entry point.
        summary: a line about it.
        plain: beginnings of arguments that mean this entry by themselves: with `gpt-` here,
            `gpt-5.4` is `openai:gpt-5.4`.
        heading: the heading that it stands under in a listing, "" for none.
    """

    name: str
    target: str | T | Callable[..., T] | None
    summary: str = ""
    plain: tuple[str, ...] = ()
    heading: str = ""


class Registry(Generic[T]):
    """The things of one kind, by name.

    Args:
        kind: the word for messages ("model").
        group: the entry-point group for names of other packages.
        has: attributes that every thing of the kind has.
        several: whether a name may mean several things (`all`); the caller takes one.
    """

    def __init__(
        self, kind: str, group: str, *, has: tuple[str, ...] = (), several: bool = False
    ) -> None:
        self.kind = kind
        self.group = group
        self.has = has
        self.several = several
        self._entries: dict[str, Entry[T]] = {}
        self._further: list[Entry[T]] = []
        self._foreign: Mapping[str, EntryPoint] | None = None
        self._missed: set[str] = set()
        self._put: set[str] = set()

    def add(
        self,
        name: str,
        target: str | T | Callable[..., T] | None,
        summary: str = "",
        *,
        plain: tuple[str, ...] = (),
        heading: str = "",
    ) -> None:
        """Add an entry. Raises ValueError if the name is taken by another target, unless it may
        mean several.

        Without a target the entry describes an entry point, and is there only if that is.
        """
        known = self._entries.get(name)
        entry = Entry(name, target, summary, plain, heading)
        if known is None or known.target == target:
            self._entries[name] = entry
        elif self.several:
            self._further.append(entry)
        else:
            raise ValueError(f"{self.kind} '{name}' is {known.target} already")

    def put(self, name: str, target: T | Callable[..., T]) -> None:
        """Add an object of the caller's for the rest of the process, or replace one put before.

        Raises ValueError if the name is that of another target.
        """
        if name not in self._put and name in self.names():
            raise ValueError(f"{self.kind} '{name}' is registered; give yours another name")
        self._put.add(name)
        self._entries[name] = Entry(name, target)

    def was_put(self, name: str) -> bool:
        """Return True if the object of a name was `put`."""
        return name in self._put

    def entries(self) -> Iterator[Entry[T]]:
        """Return all entries, the built-in ones in order of addition, those of a name together."""
        points = self._points()
        for entry in self._entries.values():
            if entry.target is not None or entry.name in points:
                yield entry
                yield from (one for one in self._further if one.name == entry.name)
        for name, point in sorted(points.items()):
            if name not in self._entries:
                yield Entry(name, None, f"from {point.package or 'an entry point'}")

    def names(self) -> dict[str, str]:
        """Return every name with its one-line description, of several the first one's; nothing is
        imported."""
        names: dict[str, str] = {}
        for entry in self.entries():
            names.setdefault(entry.name, entry.summary)
        return names

    def plain(self, name: str) -> tuple[str, ...]:
        """Return the beginnings of arguments that mean a built-in name by themselves."""
        return self._entries[name].plain if name in self._entries else ()

    def split(self, text: str) -> tuple[str, str]:
        """Split a text into (name, argument); the argument is "" without one.

        Raises `UnknownName` when neither the part before the first colon is a name nor the whole
        begins like an argument that needs none.
        """
        name, _, argument = text.partition(":")
        if self._is_built_in(name):
            return name, argument
        for entry in self._entries.values():
            if entry.plain and text.startswith(entry.plain):
                return entry.name, text
        if name in self._points():
            return name, argument
        code = self._code(text)
        return code, text[len(code) + 1 :]

    def _code(self, text: str) -> str:
        """Return the `module:Class` of a text that is not a registered name. Raises `UnknownName`
        if there is none, or the user has not named it."""
        if absent(text):
            raise UnknownName(self._unknown(text))
        return named_code(self.kind, text)

    def get(self, name: str) -> Any:
        """Return the object of a name: a class, a factory or an instance (see above).

        Raises `UnknownName`, also when it cannot be loaded.
        """
        target = self._target(name)
        return load_named(self.kind, name, target) if isinstance(target, str) else target

    def all(self, name: str) -> Iterator[Any]:
        """Yield the objects of a name, that of an entry point last; further ones whose modules are
        missing are left out. Raises `UnknownName`."""
        yield self.get(name)
        further = [one.target for one in self._further if one.name == name]
        if self._is_built_in(name) and name in self._points():
            further.append(self._points()[name].target)
        for target in further:
            with suppress(NotInstalled):
                yield load_named(self.kind, name, target) if isinstance(target, str) else target

    def is_instance(self, target: object) -> bool:
        """Return whether the object of a name is an instance, not a maker of one."""
        return not isinstance(target, type) and all(hasattr(target, needed) for needed in self.has)

    def parameters(self, name: str) -> Mapping[str, inspect.Parameter]:
        """Return the parameters of the class or factory of a name; an instance has none.

        Raises `UnknownName`.
        """
        target = self.get(name)
        return {} if self.is_instance(target) else parameters_of(target)

    def make(self, name: str, argument: str | None = None, /, **values: object) -> T:
        """Return the instance of a name: the result of its class or factory, or the object itself.

        Args:
            name: the name.
            argument: for kinds that take one, what follows the name and a colon.
            values: further values for the class or factory, by name.

        Raises:
            UnknownName: the name is unknown, or its object cannot be loaded, does not take these
                values, or does not make a thing of this kind.
        """
        return self.made(name, self.get(name), argument, values)

    def made(
        self,
        name: str,
        target: Any,
        argument: str | None = None,
        values: Mapping[str, object] = MappingProxyType({}),
    ) -> T:
        """Return the instance that an object of a name represents, as `make` does."""
        made = target
        if not self.is_instance(target):
            if not callable(target):
                raise UnknownName(self._misfit(name, target))
            handed = self._call_with(name, target, argument, values)
            if inspect.isabstract(target):
                raise UnknownName(self._misfit(name, target))
            made = target(*handed, **values)
            if not self.is_instance(made):
                raise UnknownName(self._misfit(name, made))
        elif argument or values:
            rest = f"argument '{argument}'" if argument else f"'{next(iter(values))}'"
            raise UnknownName(f"{self.kind} '{name}' takes no {rest}")
        return cast(T, made)

    def _call_with(
        self, name: str, factory: object, argument: str | None, values: Mapping[str, object]
    ) -> tuple[str, ...]:
        """Return the positional values for a factory. Raises `UnknownName` if it does not take
        them."""
        parameters = parameters_of(factory).values()
        positional = any(parameter.kind in _BY_POSITION for parameter in parameters)
        handed = () if argument is None or (argument == "" and not positional) else (argument,)
        if handed and not positional:
            raise UnknownName(f"{self.kind} '{name}' takes no argument '{argument}'")
        try:
            inspect.Signature(list(parameters)).bind(*handed, **values)
        except TypeError as error:
            raise UnknownName(f"{self.kind} '{name}' cannot be made: {error}") from error
        return handed

    def _is_built_in(self, name: str) -> bool:
        entry = self._entries.get(name)
        return entry is not None and entry.target is not None

    def _target(self, name: str) -> str | T | Callable[..., T]:
        entry = self._entries.get(name)
        if entry is not None and entry.target is not None:
            return entry.target
        if name not in self._points() and name not in self._missed:
            self._missed.add(name)
            look_again()
            self._foreign = None
        point = self._points().get(name)
        if point is None and (code := self._code(name)) != name:
            raise UnknownName(f"{self.kind} '{code}' takes no argument '{name[len(code) + 1 :]}'")
        return name if point is None else point.target

    def _points(self) -> Mapping[str, EntryPoint]:
        if self._foreign is None:
            self._foreign = entry_points(self.group)
        return self._foreign

    def _misfit(self, name: str, loaded: object) -> str:
        target = self._target(name)
        where = f" ({target})" if isinstance(target, str) and target != name else ""
        lacking = [needed for needed in self.has if not hasattr(loaded, needed)]
        lacking = lacking or sorted(getattr(loaded, "__abstractmethods__", ()))
        listed = " and no ".join(f"'{needed}'" for needed in lacking)
        why = f"it has no {listed}" if lacking else "it makes a class, not an instance"
        return f"{self.kind} '{name}'{where} is not a {self.kind}: {why}"

    def _unknown(self, text: str) -> str:
        if near := self.near(text):
            hint = f"did you mean {near}?"
        elif ":" in text:
            hint = absent(text)
        else:
            hint = f"known: {', '.join(sorted(self.names())) or 'none'}"
        return f"unknown {self.kind} '{text}'; {hint}"

    def near(self, text: str) -> str | None:
        """Return what a text that is not a name may have meant; see `nearest`."""
        starts = [start for entry in self._entries.values() for start in entry.plain]
        return nearest(text, self.names(), starts)


def install(extra: str) -> str:
    """Return the command that installs an extra of this package."""
    package = "vlm-web-eval" if PUBLISHED else "."
    return f"pip install '{package}[{extra}]'" + ("" if PUBLISHED else " in a clone")
