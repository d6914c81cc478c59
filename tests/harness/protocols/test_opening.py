"""Settings reach the parameter that takes them, in its type, or are refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from harness.errors import UserError
from harness.protocols import PROTOCOLS, SHARED, AskingProtocol, open_protocol, settled_settings
from harness.protocols.seeact import TwoRounds

GIVEN: dict[str, Any] = {}


def factory(
    *,
    prompts: Path | None = None,
    history: int | None = 5,
    max_tokens: tuple[int, ...] = (),
    eager: bool = False,
    size: int = 5,
    share: float = 0.5,
    rule: Literal["first", "final"] = "first",
    limit: int | None = None,
    label: str = "",
    coordinates: str = "absolute",
) -> AskingProtocol:
    GIVEN.clear()
    GIVEN.update(locals())
    if size > 9:
        raise ValueError("groups have at most 9 candidates")
    return TwoRounds()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PROTOCOLS, "_entries", dict(PROTOCOLS._entries))
    PROTOCOLS.add("small", factory)


def test_what_is_left_out_has_the_protocol_s_default() -> None:
    open_protocol("small")
    assert (GIVEN["history"], GIVEN["eager"], GIVEN["rule"]) == (5, False, "first")
    taken = tuple(PROTOCOLS.parameters("small"))
    assert "none" not in taken
    own = ("eager", "size", "share", "rule", "limit", "label", "coordinates")
    assert tuple(name for name in taken if name not in SHARED) == own


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("eager", "true", True),
        ("eager", "no", False),
        ("size", "3", 3),
        ("share", "0.25", 0.25),
        ("rule", "final", "final"),
        ("limit", "none", None),
        ("limit", "4", 4),
        ("label", "none", "none"),
        ("size", 7, 7),
    ],
)
def test_options_are_read_by_the_type_of_their_parameter(
    name: str, text: object, value: object
) -> None:
    open_protocol("small", {}, {name: text})
    assert GIVEN[name] == value
    assert type(GIVEN[name]) is type(value)


def test_shared_settings_are_passed_and_a_history_of_all_is_no_default() -> None:
    open_protocol("small", {"history": "all", "max_tokens": (9,)}, {"coordinates": "unit"})
    assert (GIVEN["history"], GIVEN["max_tokens"]) == (None, (9,))
    assert GIVEN["coordinates"] == "unit"


@pytest.mark.parametrize(
    ("shared", "options", "told"),
    [
        ({"none": "last"}, {}, "--none has no effect on 'small'; leave it out"),
        ({"first_of_many": True}, {}, "--first-of-many has no effect on 'small'"),
        (
            {},
            {"egaer": "true"},
            "--protocol-option egaer: unknown option; 'small' has eager, size",
        ),
        ({}, {"history": "3"}, "--protocol-option history: use --history instead"),
        ({}, {"eager": "maybe"}, "--protocol-option eager=maybe: expected true or false"),
        ({}, {"size": "many"}, "--protocol-option size=many: expected a whole number"),
        ({}, {"rule": "second"}, "--protocol-option rule=second: expected one of first, final"),
        ({}, {"size": "12"}, "protocol 'small': groups have at most 9 candidates"),
    ],
)
def test_what_a_protocol_does_not_take_is_refused_by_name(
    shared: dict[str, object], options: dict[str, object], told: str
) -> None:
    with pytest.raises(UserError) as caught:
        open_protocol("small", shared, options)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_protocol_opens_by_itself_and_says_what_it_is() -> None:
    for name in PROTOCOLS.names():
        if name == "small":
            continue
        protocol = open_protocol(name)
        settings = protocol.settings()
        assert protocol.name == settings["protocol"] == name
        kept = {"prompts", "coordinates"}
        assert PROTOCOLS.parameters(name).keys() - kept <= settings.keys()
        assert settled_settings(name, protocol)["protocol_options"].items() <= settings.items()
        least, most = protocol.calls(20)
        assert 0 <= least <= most
        assert protocol.paper
        assert protocol.candidate_description(protocol.needs.sources[0], 50)
        assert len(protocol.letters(4).choices) == 4
