"""Lines of units: every kind, with and without the type of its detail."""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass, replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.registry import load
from harness.benchmarks import BENCHMARKS, declared
from harness.runs import RunError, Unit
from harness.runs.files import sealed
from harness.runs.records import line_decoder
from harness.runs.run import DETAILS, detail_type
from parsers.actions import Action
from parsers.records import Prediction, Status
from tests.harness.runs.examples import step


@dataclass(frozen=True)
class Riddle:
    """The detail of a made-up kind."""

    question: str
    answers: tuple[str, ...] = ()
    weight: float | None = None


read = line_decoder(Unit, Any)
words = st.text(max_size=20)
names = st.dictionaries(words, words, max_size=3)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), words)
actions = st.builds(
    Action,
    name=words,
    element=st.none() | words,
    point=st.none() | st.tuples(st.floats(), st.floats()),
    arguments=st.dictionaries(words, scalars, max_size=3),
)
predictions = st.builds(
    Prediction,
    status=st.sampled_from(Status),
    action=st.none() | actions,
    flags=st.just(("a",)),
    parsed=st.dictionaries(words, scalars, max_size=3),
)
riddles = st.builds(
    Riddle, question=words, answers=st.lists(words).map(tuple), weight=st.none() | st.floats()
)
plain = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(words, inner))
details = st.one_of(
    st.tuples(st.just("riddle"), riddles),
    st.tuples(st.just("kind-of-a-missing-package"), plain),
)


@given(details, names, names, predictions, st.integers(), words)
def test_what_is_written_is_read_back_and_the_rest_is_refused(
    of_kind: tuple[str, Any],
    parents: dict[str, str],
    labels: dict[str, str],
    prediction: Prediction,
    position: int,
    goal: str,
) -> None:
    kind, detail = of_kind
    record: Unit[Any] = Unit(
        kind=kind,
        unit_id="u",
        benchmark="b",
        split="s",
        parents=parents,
        labels=labels,
        position=position,
        goal=goal,
        prediction=prediction,
        detail=detail,
    )
    try:
        line = sealed(record)
    except RunError as error:
        assert "is not written, since it could not be read back" in str(error)
        return
    back = line_decoder(Unit, Riddle if kind == "riddle" else Any)(line)
    assert back == record or msgspec.to_builtins(back) == msgspec.to_builtins(record)
    assert msgspec.json.encode(read(line)) == msgspec.json.encode(back)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_json_has_no_form_for_is_refused(number: float) -> None:
    action = Action("scroll", arguments={"by": number})
    record = replace(step("a"), prediction=Prediction(Status.ANSWERED, action))
    with pytest.raises(RunError, match="step 'a' is not written"):
        sealed(record)


def test_an_action_of_any_name_is_written_and_read() -> None:
    action = Action("finish", arguments={"answer": "42", "sure": True, "tries": 2})
    record = replace(step("a"), prediction=Prediction(Status.ANSWERED, action))
    back = read(sealed(record))
    assert back.prediction == record.prediction
    assert back.prediction is not None and back.prediction.operation is None


def test_a_detail_of_another_shape_is_no_unit_of_its_kind() -> None:
    record = Unit(kind="riddle", unit_id="u", benchmark="b", split="s", detail={"a": 1})
    with pytest.raises(RunError, match=r"riddle 'u' is not written.*question"):
        sealed(record, Riddle)


def test_benchmarks_that_ship_name_the_type_that_their_kind_is_read_with() -> None:
    found = [one for one in map(declared, BENCHMARKS.names()) if one is not None]
    ours = [one for one in found if type(one).__module__.startswith("harness.")]
    assert {one.declared.kind for one in ours} == set(DETAILS)
    for one in ours:
        assert is_dataclass(one.Detail) and one.Detail is load(DETAILS[one.declared.kind]), one.name


def test_details_have_the_type_that_the_benchmark_names_else_that_of_the_kind() -> None:
    class Own:
        Detail = Riddle

    assert detail_type(Own(), "step") is detail_type(Own(), "riddle") is Riddle
    assert detail_type(object(), "step") is load(DETAILS["step"])
    assert detail_type(object(), "riddle") is detail_type(None, "riddle") is Any
