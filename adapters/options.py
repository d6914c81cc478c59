"""Reads the values of options and settings: from a command line, a file or a Python caller.

`read(kind, value)` is `msgspec.convert` with the spellings that people use: `yes` and `off` for
switches, `none` and `auto` for what may be left out, a single text where a list is expected, a JSON
object as text. The options of an adapter or a protocol are the parameters of its class or factory.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from adapters.contract import Fatal
from adapters.decoding import convert_to, decode_json
from adapters.entry_points import parameters_of

SESSION_OPTIONS = frozenset({"batch_size", "device_map", "devices", "ends", "model_path"})
"""Options of adapters, by name, that change no reply: a run does not record them. What a folder
holds is told by the identity of its weights."""

Count = Annotated[int, msgspec.Meta(ge=1)]

PathText = Annotated[str, msgspec.Meta(extra={"path": True})]
"""A file or folder; from Python also a `Path`."""

SWITCHES = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


def signature_of(declared: type) -> inspect.Signature:
    """Return the keyword-only fields of a dataclass as the signature of a factory that takes a
    model's name and these."""
    kinds = get_type_hints(declared, include_extras=True)
    model = inspect.Parameter("model", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=str)
    parameters = [
        parameter.replace(annotation=kinds[name])
        for name, parameter in inspect.signature(declared).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    return inspect.Signature([model, *parameters])


def read_options(factory: Any, options: Mapping[str, object]) -> dict[str, object]:
    """Return the options that are given, as the types that a class or factory declares for them.

    A list's items stand between commas. A value of a type that no text can give is left as it is.
    Raises `Fatal` naming the option whose value is of another type.
    """
    kinds, found = kinds_of(factory), dict[str, object]()
    for name, value in options.items():
        kind = kinds.get(name, Any)
        if value is None or not _is_plain(kind):
            found |= {} if value is None else {name: value}
            continue
        if isinstance(value, str) and is_list(kind):
            value = words(value) or None
        try:
            found[name] = read(kind, value)
        except ValueError as error:
            raise Fatal(f"{name}: {error}") from None
    return found


def kinds_of(factory: Any) -> Mapping[str, Any]:
    """Return the types that a class or factory declares for its parameters, by name; Any for those
    that it does not declare."""
    named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    known = [p for p in parameters_of(factory).values() if p.kind in named]
    made_by: Any = factory
    if isinstance(factory, type) and not is_dataclass(factory):
        made_by = made_by.__init__
    elif inspect.isfunction(call := vars(type(factory)).get("__call__")):
        made_by = call  # Of an object that can be called.
    try:
        # Annotations of inherited fields belong to the modules of the classes that have them.
        hints = get_type_hints(made_by, include_extras=True)
    except (NameError, TypeError, AttributeError):  # Names for type checkers only, or none.
        hints = {}
    return {p.name: hints.get(p.name, Any) if _is_text(p) else p.annotation for p in known}


def _is_text(parameter: inspect.Parameter) -> bool:
    """Return True if a parameter's type has to be looked up by name, or is not declared."""
    kind = parameter.annotation
    return isinstance(kind, str) or kind is inspect.Parameter.empty


def _is_plain(kind: Any) -> bool:
    """Return True if all values of a type can be given as text."""
    return all(
        member in (Any, str, int, float, bool, Path, type(None))
        or get_origin(member) in (Literal, tuple, Mapping, dict)
        or (isinstance(member, type) and issubclass(member, Enum))
        for member in alternatives(kind)
    )


def read(kind: Any, value: object) -> Any:
    """Return the value as `kind`, a type annotation. Raises ValueError naming what was expected.

    >>> read(int | None, "none"), read(bool, "yes"), read(tuple[str, ...], "test_task")
    (None, True, ('test_task',))
    """
    if _holds_null(value):
        raise ValueError("a null byte is in it")
    try:
        return convert_to(_spelled_out(kind, value), kind, strict=False, hook=_as_it_is)
    except (msgspec.DecodeError, TypeError, ValueError, OverflowError, RecursionError):
        raise ValueError(f"expected {describe(kind)}, not {_quoted(value)}") from None


def _holds_null(value: object) -> bool:
    if isinstance(value, (str, Path)):
        return "\0" in str(value)
    if isinstance(value, Mapping):
        return any(map(_holds_null, (*value, *value.values())))
    return isinstance(value, (list, tuple)) and any(map(_holds_null, value))


def _quoted(value: object) -> str:
    if isinstance(value, (list, tuple)) and len(value) == 1:
        return _quoted(value[0])
    return f"'{value}'" if isinstance(value, (str, int, float)) else repr(value)


def _spelled_out(kind: Any, value: object) -> object:
    """Return the value without the spellings that msgspec does not know."""
    kind = bare(kind)
    members = alternatives(kind)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        left_out = value.lower() in ("none", "auto") and not _allows(members, value)
        if type(None) in members and left_out and str not in members:
            return None
        if bool in members and value.lower() in SWITCHES:
            return SWITCHES[value.lower()]
    for member in members:
        if get_origin(member) is tuple:
            return _listed(member, value)
        if get_origin(member) in (Mapping, dict) and isinstance(value, str):
            return decode_json(value)
    if isinstance(value, bool) and bool not in members and not _allows(members, value):
        raise ValueError("a switch was given")
    if isinstance(value, float) and not {float, Any} & set(members):
        raise ValueError("a fraction was given")
    return value


def _listed(kind: Any, value: object) -> object:
    if value is None:
        return None
    inner = get_args(kind)
    if isinstance(value, (str, Path)) or not isinstance(value, Iterable):
        value = (value,)
    if len(inner) == 2 and inner[1] is Ellipsis:
        return tuple(_spelled_out(inner[0], item) for item in value)
    return tuple(value)


def _allows(members: Iterable[Any], value: object) -> bool:
    return Any in members or any(
        get_origin(member) is Literal and value in get_args(member) for member in members
    )


def _as_it_is(kind: type[Any], value: object) -> object:
    if kind is Path and isinstance(value, str):
        return Path(value)
    if isinstance(value, kind):
        return value
    raise ValueError(f"no {kind}")


def bare(kind: Any) -> Any:
    """Return the type without its constraints."""
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def alternatives(kind: Any) -> tuple[Any, ...]:
    """Return the members of a union, constraints taken off; the type itself where it is none."""
    kind = bare(kind)
    if get_origin(kind) in (Union, types.UnionType):
        return tuple(bare(member) for member in get_args(kind))
    return (kind,)


def is_path(kind: Any) -> bool:
    """Return True if the type is a file or folder (`adapters.options.PathText`)."""
    return PathText in (kind, *get_args(kind))


def choices(kind: Any) -> tuple[str, ...]:
    """Return the values that a type lists, as text; () where it lists none."""
    kinds = [member for member in alternatives(kind) if member is not type(None)]
    if len(kinds) != 1:
        return ()
    only = kinds[0]
    if get_origin(only) is tuple:
        return choices(get_args(only)[0])
    if get_origin(only) is Literal:
        return tuple(str(value) for value in get_args(only))
    if isinstance(only, type) and issubclass(only, Enum):
        return tuple(str(member.value) for member in only)
    return ()


def is_list(kind: Any) -> bool:
    """Return True if the type holds any number of values."""
    return any(
        get_origin(member) is tuple and get_args(member)[-1] is Ellipsis
        for member in alternatives(kind)
    )


def describe(kind: Any) -> str:
    """Return the type in words, for error messages.

    >>> describe(Annotated[int, msgspec.Meta(ge=1)])
    'a whole number of at least 1'
    """
    listed = choices(kind)
    if listed:
        return f"one of {', '.join(listed)}"
    least, most = bounds(kind)
    words = []
    for member in alternatives(kind):
        if member is type(None):
            continue
        if get_origin(member) is Literal:
            words += [str(value) for value in get_args(member)]
        elif get_origin(member) is tuple:
            words.append(f"a list of {describe(get_args(member)[0]).removeprefix('a ')}")
        elif get_origin(member) in (Mapping, dict):
            words.append('a JSON object such as {"top_k": 1}')
        else:
            words.append(_PLAIN.get(member, "a text"))
    text = " or ".join(dict.fromkeys(words))
    if least is not None and most is not None:
        return f"{text} from {least:g} to {most:g}"
    return text if least is None else f"{text} of at least {least:g}"


_PLAIN: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    Path: "a path",
}


def bounds(kind: Any) -> tuple[float | None, float | None]:
    """Return the least and the largest value of a type; None where there is none."""
    for member in (kind, *get_args(kind)):
        if get_origin(member) is Annotated:
            for meta in get_args(member)[1:]:
                if isinstance(meta, msgspec.Meta):
                    return meta.ge, meta.le
    return None, None


def words(text: str) -> tuple[str, ...]:
    """Parse `one` or `one,another`."""
    return tuple(word for part in text.split(",") if (word := part.strip()))
