"""Settings reach the parameter that takes them, in its type, or are refused by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from adapters import AdapterInfo
from harness.benchmarks import BENCHMARKS, declared
from harness.dialogue import Dialogue
from harness.errors import UserError
from harness.pictures import PicturePolicy
from harness.policies import policies_for
from harness.protocols import (
    PROTOCOLS,
    StepProtocol,
    completed_options,
    lettering,
    open_protocol,
)
from harness.protocols.registry import options_of
from harness.protocols.seeact import TwoRounds
from harness.views import ItemView, LiveView, ScreenView, StepView
from parsers import Prediction, Status

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
) -> StepProtocol:
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
    assert taken == ("prompts", "history", "max_tokens", *own)
    assert tuple(options_of("small")) == ("prompts", "history", *own)


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
    open_protocol("small", {name: text})
    assert GIVEN[name] == value
    assert type(GIVEN[name]) is type(value)


def test_token_limits_are_passed_and_a_history_of_all_is_no_default() -> None:
    open_protocol("small", {"history": "all", "coordinates": "unit"}, max_tokens=(9,))
    assert (GIVEN["history"], GIVEN["max_tokens"]) == (None, (9,))
    assert GIVEN["coordinates"] == "unit"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"none": "last"}, "--protocol-option: unknown key 'none' ('small' has prompts, history, "),
        ({"egaer": "true"}, "--protocol-option: unknown key 'egaer'; did you mean 'eager'? ('sma"),
        ({"max_tokens": "9"}, "--protocol-option: unknown key 'max_tokens'; give --max-tokens ("),
        ({"history": "+3"}, "--history +3: 'small' shows earlier actions as lines only"),
        ({"history": "-1"}, "--history -1: 'small' shows earlier actions as lines only"),
        ({"eager": "maybe"}, "--protocol-option eager=maybe: expected true or false"),
        ({"size": "many"}, "--protocol-option size=many: expected a whole number"),
        ({"rule": "second"}, "--protocol-option rule=second: expected one of first, final"),
        ({"size": "12"}, "protocol 'small': groups have at most 9 candidates"),
    ],
)
def test_what_a_protocol_does_not_take_is_refused_by_name(
    options: dict[str, object], told: str
) -> None:
    with pytest.raises(UserError) as caught:
        open_protocol("small", options)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["coordinates", "seeact-two-rounds"])
def test_a_name_means_the_protocol_that_answers_what_is_shown(name: str) -> None:
    pages, screens = (open_protocol(name, View=View) for View in (StepView, ScreenView))
    assert (pages.View, screens.View) == (StepView, ScreenView)
    assert open_protocol(name) == pages == open_protocol(name, View=LiveView)
    for one in (pages, screens):
        settings = one.settings()
        again = open_protocol(name, completed_options(name, one), View=one.View)
        assert one.name == settings["protocol"] == name and again.settings() == settings


class StrangeView(ItemView[str]):
    """What nobody answers."""


def test_where_none_of_a_name_answers_the_first_says_what_it_answers() -> None:
    assert open_protocol("coordinates", View=StrangeView).View is StepView


def test_every_benchmark_can_be_asked_with_its_own_protocol() -> None:
    for name in BENCHMARKS.names():
        one = declared(name)
        if one is not None and one.protocol in PROTOCOLS.names():
            asked = open_protocol(one.protocol, View=one.View)
            assert issubclass(one.View, asked.View), name
            assert policies_for(one.View), name


def test_every_protocol_opens_by_itself_and_says_what_it_is() -> None:
    for name in PROTOCOLS.names():
        if name == "small" or PROTOCOLS.was_put(name):
            continue
        protocol = open_protocol(name)
        settings = protocol.settings()
        assert protocol.name == settings["protocol"] == name
        kept = {"prompts", "coordinates"}
        assert PROTOCOLS.parameters(name).keys() - kept <= settings.keys()
        known = {**settings, "history": settings.get("history", "all") or "all"}
        assert completed_options(name, protocol).items() <= known.items()
        least, most = protocol.calls(20)
        assert 0 <= least <= most
        assert protocol.paper
        if isinstance(protocol, StepProtocol):
            assert protocol.candidate_description(protocol.needs.sources[0], 50)
            assert len(lettering(protocol, 4).choices) == 4


QWEN = AdapterInfo(
    name="openai:Qwen2.5-VL-7B", model="Qwen2.5-VL-7B", provider="openai", coordinates="absolute"
)


@pytest.mark.parametrize(
    ("options", "form", "coordinates"),
    [
        ({}, "qwen2.5-vl", "absolute"),
        ({"form": "auto"}, "qwen2.5-vl", "absolute"),
        ({"form": "plain"}, "plain", "absolute"),
        ({"coordinates": "unit"}, "qwen2.5-vl", "unit"),
    ],
)
def test_settings_that_follow_from_the_model_are_completed_unless_given(
    options: dict[str, object], form: str, coordinates: str
) -> None:
    settings = open_protocol("coordinates", options, model=QWEN).settings()
    assert (settings["form"], settings["coordinates"]) == (form, coordinates)
    assert open_protocol("coordinates").settings()["form"] == "plain"


@pytest.mark.parametrize(
    ("name", "pictures", "message"),
    [
        ("coordinates", "tiles", "--image-policy tiles shows several pictures"),
        ("coordinates", "full", "what the coordinates of somebody's mean"),
        ("seeact-annotation", "viewport", "some would lie outside the picture"),
    ],
)
def test_a_protocol_refuses_pictures_and_models_that_it_cannot_use(
    name: str, pictures: str, message: str
) -> None:
    model = AdapterInfo(name="somebody's", model="m", provider="p")
    with pytest.raises(UserError, match=message):
        open_protocol(name).check(PicturePolicy.parse(pictures), model)
    open_protocol("seeact-choice").check(PicturePolicy.parse(pictures), model)


@pytest.mark.parametrize(
    ("name", "flags", "lines"),
    [
        ("seeact-two-rounds", {"round-1-truncated": 2}, []),
        ("seeact-choice", {"group-parse_error": 2}, ["2 with parse_error"]),
        (
            "seeact-annotation",
            {"unmarked": 3, "group-refusal": 1},
            ["in 3 steps", "1 with refusal"],
        ),
        ("seeact-attributes", {"matched-nearly": 4, "matcher-tie": 1}, ["4 approximately (1 of"]),
        ("mindact-generate", {"match-text": 5, "match-words": 1}, ["5 by text, 1 by words"]),
    ],
)
def test_a_protocol_says_what_its_flags_mean(
    name: str, flags: dict[str, int], lines: list[str]
) -> None:
    notes = open_protocol(name).notes(flags)
    assert len(notes) == len(lines)
    assert all(part in note for part, note in zip(lines, notes, strict=True))


@dataclass(frozen=True)
class Smallest(StepProtocol):
    """A protocol with nothing but what has no default."""

    share: float = 0.5
    names: tuple[str, ...] = ("a",)
    file: Path | None = None

    name = "smallest"

    def dialogue(self, view: StepView) -> Dialogue:
        return Prediction.of(Status.NONE)
        yield ()


def test_everything_else_has_a_default() -> None:
    PROTOCOLS.add("smallest", Smallest)
    options = {"share": "0.25", "file": "some/where"}
    protocol = open_protocol("smallest", options, max_tokens=(9,))
    assert protocol == Smallest(0.25, file=Path("some/where"))
    assert protocol.settings() == {
        "protocol": "smallest",
        "share": 0.25,
        "names": ["a"],
        "file": "some/where",
    }
    assert protocol.calls(50) == (0, 0)
    assert lettering(protocol, 2).choices == ("", "")
    assert protocol.candidate_description("ranker", 50) == "ranker top-50, smallest"
