"""The values of adapters' options, which a command line gives as text.

An adapter's options are the keyword parameters of its class or factory. A value given as text is
read as the parameter's type: `true`, `yes`, `on` or `1` for a switch, a list's items between
commas, a JSON object for a mapping, and `none` or `auto` for what may be left out.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from adapters.contract import Fatal
from adapters.decoding import convert_to, decode_json

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


def parameters_of(declared: type) -> inspect.Signature:
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

    Raises `Fatal` naming the option whose value is of another type.
    """
    kinds = kinds_of(factory)
    return {
        name: read_option(name, value, kinds[name]) if name in kinds else value
        for name, value in options.items()
        if value is not None
    }


def read_option(name: str, value: object, kind: Any) -> Any:
    """Read one value as a type. Types other than those above leave it unchanged.

    >>> read_option("x", "no", bool), read_option("devices", "cuda:0, cpu", tuple[str, ...])
    (False, ('cuda:0', 'cpu'))
    """
    members = [_bare(member) for member in _members(kind)]
    if isinstance(value, str) and str not in members:
        if type(None) in members and value.lower() in {"none", "auto"}:
            return None
        value = _from_text(value, members)
    if any(get_origin(member) is tuple for member in members) and isinstance(value, Sequence):
        value = tuple(str(item).strip() for item in value if str(item).strip()) or None
    elif listed := [one for member in members for one in _listed(member)]:
        if value not in listed:
            words = ", ".join(map(str, listed))
            raise Fatal(f"{name}={value}: choose from {words}")
        return value
    elif not any(member in _WORDS for member in members):
        return value
    try:
        return convert_to(value, kind, strict=False)
    except msgspec.ValidationError:
        raise Fatal(f"{name} must be {_expected(kind, members)}: {_shown(value)}") from None


_WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Mapping: 'a JSON object such as {"top_k": 1}',
}


def kinds_of(factory: Any) -> Mapping[str, Any]:
    """Return the types that a class or factory declares for its parameters, by name."""
    declared = getattr(factory, "__signature__", None)
    if declared is not None:
        return {name: parameter.annotation for name, parameter in declared.parameters.items()}
    made_by: Any = vars(factory).get("__init__") if isinstance(factory, type) else factory
    try:
        return get_type_hints(made_by, include_extras=True)
    except (NameError, TypeError):  # Names that exist for type checkers only, or no annotations.
        return {}


def _listed(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) is Literal else ()


def _members(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _bare(kind: Any) -> Any:
    bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return Mapping if get_origin(bare) in (Mapping, dict) else bare


def _from_text(text: str, members: Sequence[Any]) -> object:
    if bool in members:
        return SWITCHES.get(text.lower(), text)
    if Mapping in members:
        try:
            return decode_json(text)
        except msgspec.DecodeError:
            return text
    if any(get_origin(member) is tuple for member in members):
        return text.split(",")
    return text


def _expected(kind: Any, members: Sequence[Any]) -> str:
    words = next(_WORDS[member] for member in members if member in _WORDS)
    for member in _members(kind):
        for fact in get_args(member)[1:] if get_origin(member) is Annotated else ():
            if isinstance(fact, msgspec.Meta) and fact.ge is not None:
                return f"{words} from {fact.ge} on"
    return words


def _shown(value: object) -> str:
    return value if isinstance(value, str) else repr(value)
