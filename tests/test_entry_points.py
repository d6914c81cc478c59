"""One rule for every kind of entry point: a class, a factory or an instance.

Each thing below stands in the place of one that a package provides.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import pytest

from adapters import (
    ADAPTERS,
    EMBEDDERS,
    EMBEDDING_MODELS,
    AdapterInfo,
    Embedded,
    EmbedderInfo,
    Reply,
    make,
)
from adapters.contract import Fatal, PictureSource, Request
from adapters.entry_points import EntryPoint, entry_points
from adapters.registry import Registry, UnknownName
from harness.benchmarks import BENCHMARKS, StepBenchmark, StepDataset, open_steps
from harness.page import Page
from harness.policies import POLICIES, Secret
from harness.protocols import PROTOCOLS, AskingProtocol
from harness.rankers import RANKERS, open_ranks
from harness.records import Row
from harness.views import StepView
from parsers.records import Prediction


class Counts:
    """An embedder."""

    def __init__(self, model: str = "", scale: float = 1.0) -> None:
        self.info = EmbedderInfo("counts", model, "counts", settings={"scale": scale})

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return Embedded(tuple((float(len(text)),) for text in texts))

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        return None


def counts_factory(model: str, *, scale: float = 1.0) -> Counts:
    return Counts(model, scale)


counts_instance = Counts()


class Echo:
    """A model."""

    def __init__(self, model: str = "", loud: bool = False) -> None:
        self.info = AdapterInfo(name="echo", model=model, provider="echo", settings={"loud": loud})

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        return Reply("A")

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        return None


def echo_factory(model: str, *, loud: bool = False) -> Echo:
    return Echo(model, loud)


echo_instance = Echo()


@dataclass(frozen=True)
class OneRow(StepBenchmark):
    """A benchmark."""

    name: str = "one-row"

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> StepDataset:
        opened = open_steps("sample", splits=["dev"])
        return replace(opened, benchmark=self.name, entries=opened.entries[:1])


def one_row_factory() -> OneRow:
    return OneRow()


one_row_instance = OneRow()


class First:
    """A policy."""

    name = "first"
    View = StepView
    needs_gold = False

    def predict(self, view: StepView, chance: random.Random, secret: Secret | None) -> Prediction:
        raise NotImplementedError


def first_factory() -> First:
    return First()


first_instance = First()


class InOrder:
    """A ranker."""

    name = "in-order"
    digest = "0" * 64

    def of(self, row: Row, page: Page) -> Sequence[str]:
        return [candidate.id for candidate in (*row.detail.positives, *row.detail.negatives)]

    def missing(self, step_ids: Iterable[str]) -> Sequence[str]:
        return []


def in_order_factory(argument: str) -> InOrder:
    return InOrder()


in_order_instance = InOrder()


def _two_rounds() -> AskingProtocol:
    return PROTOCOLS.make("seeact-two-rounds")


class Asking:
    """A protocol, in whose place SeeAct's does the work."""

    def __init__(self, shown: int = 3) -> None:
        self.shown = shown

    def __getattr__(self, name: str) -> object:
        return getattr(_two_rounds(), name)

    def dialogue(self, view: StepView) -> Any:
        step, choices = view.step, view.choices
        return _two_rounds().dialogue(StepView(step, choices))


def asking_factory(*, shown: int = 3) -> Asking:
    return Asking(shown)


asking_instance = Asking()


@click.command()
def hello_instance() -> None:
    """Say hello."""


def hello_factory() -> click.Command:
    return hello_instance


class Hello(click.Command):
    def __init__(self) -> None:
        super().__init__("hello")


COMMANDS: Registry[click.Command] = Registry("command", "none", has=("make_context",))
KINDS: dict[str, tuple[Registry[Any], tuple[str, str, str]]] = {
    "model": (ADAPTERS, ("Echo", "echo_factory", "echo_instance")),
    "embedder": (EMBEDDERS, ("Counts", "counts_factory", "counts_instance")),
    "benchmark": (BENCHMARKS, ("OneRow", "one_row_factory", "one_row_instance")),
    "policy": (POLICIES, ("First", "first_factory", "first_instance")),
    "ranker": (RANKERS, ("InOrder", "in_order_factory", "in_order_instance")),
    "protocol": (PROTOCOLS, ("Asking", "asking_factory", "asking_instance")),
    "command": (COMMANDS, ("Hello", "hello_factory", "hello_instance")),
}
FORMS = [(kind, form) for kind, (_, forms) in KINDS.items() for form in forms]


@pytest.fixture(autouse=True)
def provided(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every form of every kind as an entry point of its own name."""
    for registry, forms in KINDS.values():
        points = {form: EntryPoint(f"{__name__}:{form}", "a-package") for form in forms}
        monkeypatch.setattr(registry, "_foreign", points)
    yield


@pytest.mark.parametrize(("kind", "form"), FORMS)
def test_a_class_a_factory_and_an_instance_give_the_same_thing(kind: str, form: str) -> None:
    registry, (cls, _, instance) = KINDS[kind]
    made = (
        registry.make(form, "") if kind in ("model", "embedder", "ranker") else registry.make(form)
    )
    assert all(hasattr(made, name) for name in registry.has)
    assert not isinstance(made, type)
    assert isinstance(made, type(registry.get(instance)))
    assert registry.names()[form] == "from a-package"
    assert registry.is_instance(registry.get(form)) is (form == instance)
    assert not registry.is_instance(registry.get(cls))


@pytest.mark.parametrize("form", KINDS["model"][1])
def test_a_model_of_any_form_is_made_by_its_name(form: str) -> None:
    assert make(form).info.provider == "echo"


@pytest.mark.parametrize("form", ["Echo", "echo_factory"])
def test_a_model_is_handed_its_name_and_its_options(form: str) -> None:
    info = make(f"{form}:tiny", loud=True).info
    assert (info.model, info.settings["loud"]) == ("tiny", True)
    with pytest.raises(Fatal, match=rf"'{form}' takes no option 'size' \(it takes: loud\)"):
        make(f"{form}:tiny", size=3)


@pytest.mark.parametrize("form", ["Counts", "counts_factory"])
def test_an_embedder_is_handed_its_name_and_its_options(form: str) -> None:
    info = EMBEDDING_MODELS.make(f"{form}:letters", scale="2.5").info
    assert (info.model, info.settings) == ("letters", {"scale": 2.5})
    with pytest.raises(Fatal, match="takes no option 'colour'"):
        EMBEDDING_MODELS.make(form, colour="red")


def test_an_instance_takes_no_name_of_a_model_and_no_options() -> None:
    with pytest.raises(UnknownName, match="model 'echo_instance' takes no argument 'tiny'"):
        make("echo_instance:tiny")
    with pytest.raises(Fatal, match=r"'echo_instance' takes no option 'loud' \(it takes: none\)"):
        make("echo_instance", loud=True)


@pytest.mark.parametrize("form", KINDS["benchmark"][1])
def test_a_benchmark_of_any_form_is_opened_by_its_name(form: str) -> None:
    assert len(open_steps(form)) == 1


@pytest.mark.parametrize("form", KINDS["ranker"][1])
def test_a_ranker_of_any_form_is_opened_by_its_name(form: str) -> None:
    assert open_ranks(form).name == "in-order"


@pytest.mark.parametrize("form", ["Asking", "asking_factory"])
def test_a_protocol_is_handed_its_settings(form: str) -> None:
    made: Any = PROTOCOLS.make(form, shown=5)
    assert made.shown == 5
    assert list(PROTOCOLS.parameters(form)) == ["shown"]


def test_a_protocol_that_is_an_instance_takes_no_settings() -> None:
    assert PROTOCOLS.parameters("asking_instance") == {}
    with pytest.raises(UnknownName, match="protocol 'asking_instance' takes no 'shown'"):
        PROTOCOLS.make("asking_instance", shown=5)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("First", "policy 'x' cannot be made: got an unexpected keyword argument 'size'"),
        ("InOrder", r"policy 'x' \(.*:InOrder\) is not a policy: it has no 'predict'"),
        ("in_order_instance", r"policy 'x' \(.*\) is not a policy: it has no 'predict'"),
        ("Nothing", "policy 'x' cannot be loaded from .*:Nothing: module .* has no attribute"),
    ],
)
def test_what_does_not_fit_its_kind_is_one_clear_line(
    target: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(POLICIES, "_foreign", {"x": EntryPoint(f"{__name__}:{target}")})
    values = {"size": 3} if target == "First" else {}
    with pytest.raises(UnknownName, match=message):
        POLICIES.make("x", **values)


def test_an_entry_point_may_be_described_before_it_is_imported() -> None:
    commands: Registry[click.Command] = Registry("command", "none", has=("make_context",))
    commands.add("run", "harness.commands.run:run", "Evaluate a model.", heading="Evaluate")
    commands.add("hello", None, "Say hello.", heading="Look")
    commands.add("absent", None, "Not installed.", heading="Look")
    commands._foreign = {"hello": EntryPoint(f"{__name__}:hello_instance")}
    listed = [(entry.heading, entry.name, entry.summary) for entry in commands.entries()]
    assert listed == [("Evaluate", "run", "Evaluate a model."), ("Look", "hello", "Say hello.")]
    assert commands.make("hello") is hello_instance
    with pytest.raises(UnknownName, match="unknown command 'absent'"):
        commands.get("absent")


def test_entry_points_are_those_that_importlib_finds() -> None:
    from importlib.metadata import entry_points as installed

    for group in ("vlm_eval.commands", "console_scripts"):
        expected = {
            point.name: point.value.partition("[")[0].strip() for point in installed(group=group)
        }
        assert {name: point.target for name, point in entry_points(group).items()} == expected
