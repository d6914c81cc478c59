"""Read a value of a setting, whether it comes from a command line, a file or a Python caller.

`read(kind, value)` is `msgspec.convert` with the spellings that people use: `yes` and `off` for
switches, `none` for optional values, a single text where a list is expected.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from adapters.conversation import Tier
from adapters.decoding import convert_to
from adapters.options import SWITCHES, PathText
from harness.question_options import History


def read(kind: Any, value: object) -> Any:
    """Return the value as `kind`, a type annotation. Raises ValueError naming what was expected.

    >>> read(int | None, "none"), read(bool, "yes"), read(tuple[str, ...], "test_task")
    (None, True, ('test_task',))
    """
    if _holds_null(value):
        raise ValueError("a null byte is in it")
    try:
        return convert_to(_spelled_out(kind, value), kind, strict=False, hook=_as_path)
    except (msgspec.ValidationError, TypeError, ValueError, OverflowError):
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
        if type(None) in members and value.lower() == "none" and str not in members:
            return None
        if bool in members and value.lower() in SWITCHES:
            return SWITCHES[value.lower()]
    for member in members:
        if get_origin(member) is tuple:
            return _listed(member, value)
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


def _as_path(kind: type[Any], value: object) -> object:
    if kind is Path and isinstance(value, (str, Path)):
        return Path(value)
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
            words.append("a JSON object")
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


def pair(text: str) -> tuple[str, str]:
    """Parse `key=value` into a pair."""
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise ValueError(f"expected key=value, not '{text}'")
    return key.strip().replace("-", "_"), value


def condition(text: str) -> str:
    """Check the form `key=value`, and return the text unchanged."""
    key, sign, _ = text.partition("=")
    if not sign or not key:
        raise ValueError(f"expected key=value, not '{text}'")
    return text


def role(text: str) -> tuple[str, str]:
    """Parse `name=model`, or `name.setting=value`, as a pair.

    >>> role("planner=openai:gpt-5.4"), role("planner.max-tokens=300")
    (('planner', 'openai:gpt-5.4'), ('planner.max_tokens', '300'))
    """
    key, value = pair(text)
    if key.count(".") > 1 or not all(part.isidentifier() for part in key.split(".")):
        raise ValueError(f"'{key}' is neither a role nor a setting of one (planner.max_tokens)")
    return key.removesuffix(".model"), value


def pairs(table: Mapping[str, object]) -> list[str]:
    """Return the entries of a table as `key=value`, one for each value of a list, and those of a
    table within it as `key.inner=value`.

    >>> pairs({"planner": {"model": "gpt-5.4", "max_tokens": 300}, "embedding": "lexical"})
    ['planner.model=gpt-5.4', 'planner.max_tokens=300', 'embedding=lexical']
    """
    written = []
    for key, value in table.items():
        if isinstance(value, Mapping):
            written += [f"{key}.{inner}" for inner in pairs(value)]
        else:
            items = value if isinstance(value, list) else [value]
            written += [f"{key}={str(v).lower() if isinstance(v, bool) else v}" for v in items]
    return written


def shard(text: str) -> tuple[int, int]:
    """Parse `1/4`: number and count."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError(f"'{text}' is not a shard; write 1/4 to 4/4")
    return int(match[1]), int(match[2])


def per_round(text: str) -> tuple[int, ...]:
    """Parse `1024`, or `800,300` with a number for each round."""
    parts = text.split(",")
    if not all(part.strip().isdigit() and int(part) > 0 for part in parts):
        raise ValueError(f"'{text}' is not a number of tokens per round (1024, or 800,300)")
    return tuple(int(part) for part in parts)


def words(text: str) -> tuple[str, ...]:
    """Parse `one` or `one,another`."""
    return tuple(word for part in text.split(",") if (word := part.strip()))


def tiers(text: str) -> tuple[str, ...]:
    """Parse `flex`, or `flex,default` with a tier to fall back to."""
    parts = tuple(part.strip() for part in text.split(","))
    for part in parts:
        if part not in get_args(Tier):
            raise ValueError(f"'{part}' is not a tier ({', '.join(get_args(Tier))})")
    return parts


def history(text: str) -> int | str:
    """Return a history in the one spelling that is put on record: `all`, a number, or a text."""
    read = History.parse(text)
    return read.actions if read.plain and read.actions is not None else str(read)
