"""Values of adapters' options, and that all options and settings are read alike."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta

from adapters import Fatal
from adapters.options import Count, PathText, kinds_of, read_options
from harness.settings import Setting

MEMBERS: list[tuple[Any, object, object]] = [
    (int, "7", 7),
    (float | None, "0.5", 0.5),
    (Count | None, "auto", None),
    (Count | None, "None", None),
    (bool, "off", False),
    (bool | None, "Yes", True),
    (str | None, "none", "none"),
    (Literal["auto", "low"] | None, "auto", "auto"),
    (Literal["auto", "low"] | None, "none", None),
    (PathText | None, "a/b", "a/b"),
    (Path, "a/b", Path("a/b")),
    (Mapping[str, object] | None, '{"seed": 3, "a": null}', {"seed": 3, "a": None}),
    (dict[str, int], {"seed": 3}, {"seed": 3}),
]


def adapter(kind: Any) -> Callable[..., None]:
    def made(model: str, *, option: Any = None) -> None: ...

    made.__annotations__ = {"model": str, "option": kind}
    return made


def setting(kind: Any) -> Setting:
    return Setting(name="option", type=kind, default=None, help="", group="Data")


@pytest.mark.parametrize(("kind", "text", "value"), MEMBERS, ids=str)
def test_options_of_adapters_and_settings_are_read_alike(
    kind: Any, text: object, value: object
) -> None:
    assert read_options(adapter(kind), {"option": text}) == {"option": value}
    assert setting(kind).read(text) == value


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (int, "high", "expected a whole number, not 'high'"),
        (int, 1.5, "expected a whole number, not '1.5'"),
        (int, True, "expected a whole number, not 'True'"),
        (Count | None, "0", "expected a whole number of at least 1, not '0'"),
        (Annotated[float, Meta(ge=0, le=1)], 2, "expected a number from 0 to 1, not '2'"),
        (bool, "maybe", "expected true or false, not 'maybe'"),
        (Literal["a", "b"] | None, "c", "expected one of a, b, not 'c'"),
        (dict[str, int], "[1]", "expected a JSON object such as {\"top_k\": 1}, not '[1]'"),
        (dict[str, int], "", "expected a JSON object such as {\"top_k\": 1}, not ''"),
        (str, 5, "expected a text, not '5'"),
        (str, "a\0b", "a null byte is in it"),
    ],
    ids=str,
)
def test_they_are_refused_in_the_same_words(kind: Any, value: object, expected: str) -> None:
    with pytest.raises(Fatal) as of_adapter:
        read_options(adapter(kind), {"option": value})
    with pytest.raises(ValueError) as of_setting:
        setting(kind).read(value)
    assert str(of_adapter.value) == f"option: {of_setting.value}" == f"option: {expected}"


def test_a_list_stands_between_commas_and_objects_are_left_as_they_are() -> None:
    known = adapter(tuple[str, ...] | None)
    for given, read in (("cuda:0, cpu", ("cuda:0", "cpu")), (["cpu"], ("cpu",)), (" ,", None)):
        assert read_options(known, {"option": given}) == {"option": read}
    client = object()
    assert read_options(adapter(Callable[[], str] | None), {"option": client})["option"] is client
    assert read_options(adapter(int), {"option": None, "other": "1"}) == {"other": "1"}


def test_types_are_those_of_a_class_a_function_or_what_a_dataclass_inherits() -> None:
    class Plain:
        def __init__(self, model: str, *, size: int, anything) -> None: ...  # type: ignore[no-untyped-def]

    @dataclass
    class Declared(_Inherited):
        more: bool = False

    assert kinds_of(Plain) == {"model": str, "size": int, "anything": Any}
    assert kinds_of(Declared) == {"size": Count, "more": bool}
    assert kinds_of(lambda size, *rest, **others: size) == {"size": Any}
    assert kinds_of(dict) == {}


@dataclass
class _Inherited:
    size: Count = field(default=1)


@dataclass
class Maker:
    """A factory that can be called and, being comparable, cannot be a key."""

    default: int = 1

    def __call__(self, model: str, *, option: int = 0) -> None: ...


def test_objects_that_are_no_functions_are_read_too() -> None:
    assert read_options(Maker(), {"option": "3"}) == {"option": 3}
    assert read_options(object(), {}) == {}


class Described:
    """A factory that says by a signature of its own which options it takes."""

    def __init__(self) -> None:
        self.__signature__ = inspect.Signature(
            [inspect.Parameter("option", inspect.Parameter.KEYWORD_ONLY, annotation=Count)]
        )

    def __call__(self, model: str, **options: object) -> None: ...


def test_a_signature_says_what_is_taken() -> None:
    with pytest.raises(Fatal, match="option: expected a whole number of at least 1, not '0'"):
        read_options(Described(), {"option": "0"})


@pytest.mark.parametrize("deep", ['{"a":' + "[" * 9000 + "]" * 9000 + "}", "[" * 9000])
def test_json_that_is_nested_too_deeply_is_refused(deep: str) -> None:
    with pytest.raises(Fatal, match="option: expected "):
        read_options(adapter(Mapping[str, object] | None), {"option": deep})
