"""Points on pictures: what numbers mean, where they lie on the page, and what lies under them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.conversation import Picture
from harness.page import Box
from harness.pictures import PicturePolicy, Screenshot, plan
from harness.protocols.coordinates import (
    Coordinates,
    smallest_under,
)
from harness.protocols.pointing import usual_form
from harness.records import Choice, Earlier, Step
from harness.views import StepView
from parsers import OPERATIONS, Operation, ScoringRules, score
from parsers.points import CONVENTIONS, FIRST, FORMS, Convention, Form
from parsers.records import Gold, Prediction, Status
from tests.harness.protocols.examples import HISTORY, step, talk

PAGE = Screenshot("d" * 64, 1280, 5000)


def shown(policy: str = "full:pixels=1600000") -> tuple[Picture, ...]:
    """The page at half its size: 640 x 2500."""
    return plan(PicturePolicy.parse(policy), PAGE)


def element(node_id: str, box: Box | None, place: int | None = None) -> Choice:
    return Choice("", node_id, "a", "", box, place=place)


NESTED = (
    element("body", Box(0, 0, 1280, 5000), 0),
    element("menu", Box(0, 900, 400, 300), 1),
    element("link", Box(100, 1000, 40, 20), 2),
    element("text", Box(100, 1000, 40, 20), 3),
    element("flat", Box(100, 1000, 40, 0), 4),
    element("gone", None, 5),
)


def ask(protocol: Coordinates, reply: str, asked: Step | None = None) -> Prediction:
    _, found = talk(protocol.dialogue(StepView(asked or step(pictures=shown()), NESTED)), [reply])
    return found


@pytest.mark.parametrize(
    ("coordinates", "numbers"),
    [
        ("absolute", "55, 505"),
        ("unit", "0.0859375, 0.202"),
        ("per-mille", "85.9375, 202"),
        ("per-999", "85.8515625, 201.798"),
    ],
)
def test_the_same_point_in_every_convention(coordinates: Convention, numbers: str) -> None:
    found = ask(Coordinates(coordinates=coordinates), f"ELEMENT: {numbers}\nACTION: CLICK")
    assert found == Prediction.of(
        Status.ANSWERED, point=(110.0, 1010.0), operation="CLICK", under="link"
    )


def test_a_point_on_a_crop_lies_further_down_the_page() -> None:
    boxes = [Box(100, 3000, 10, 10)]
    (picture,) = plan(PicturePolicy("candidates", margin=500), PAGE, boxes)
    found = ask(Coordinates(), "ELEMENT: 105, 505\nACTION: CLICK", step(pictures=[picture]))
    assert found.point == (105.0, 3005.0)


def test_a_box_counts_by_its_centre() -> None:
    found = ask(
        Coordinates(form="qwen2.5-vl"), '{"bbox_2d": [50, 500, 70, 510], "action": "CLICK"}'
    )
    assert found.point == (120.0, 1010.0)


def test_the_smallest_candidate_under_a_point() -> None:
    assert smallest_under((110, 1010), NESTED) == "link", "of equal boxes the first on the page"
    assert smallest_under((140, 1020), NESTED) == "link", "the border belongs to the box"
    assert smallest_under((140.5, 1020), NESTED) == "menu"
    assert smallest_under((1000, 100), NESTED) == "body"
    assert smallest_under((1281, 100), NESTED) is None
    assert smallest_under((110, 1000), [NESTED[4]]) is None, "a box without area holds nothing"
    assert smallest_under((110, 1010), NESTED[::-1]) == "link", "whatever the order of the list"


@pytest.mark.parametrize(
    ("point", "right"),
    [("50, 500", True), ("70, 510", True), ("71, 510", False), ("50, 499", False)],
)
def test_hand_computed_scores_on_and_off_the_border(point: str, right: bool) -> None:
    gold = Gold("CLICK", "", ("link",), ((100.0, 1000.0, 40.0, 20.0),))
    found = ask(Coordinates(), f"ELEMENT: {point}\nACTION: CLICK\nVALUE: None")
    scores = score(found, gold)
    assert {scores[name] for name in ("element", "success", "element_under")} == {float(right)}


def test_a_positive_without_a_box_or_area_cannot_be_hit() -> None:
    found = ask(Coordinates(), "ELEMENT: 55, 505\nACTION: CLICK")
    for box in (None, (100.0, 1000.0, 40.0, 0.0)):
        assert not score(found, Gold("CLICK", "", ("x",), (box,)))["element"]
    inner = Gold("CLICK", "", ("text",), ((100.0, 1000.0, 40.0, 20.0),))
    assert score(found, inner)["element"]
    assert not score(found, inner, ScoringRules(point_rule="smallest"))["element"]


def test_an_element_that_has_no_box_is_spelled_as_none() -> None:
    protocol = Coordinates()
    asked = step(pictures=shown())
    for node_id in ("gone", "flat", "unknown"):
        wanted = Prediction.of(Status.ANSWERED, element=node_id, operation="CLICK")
        told = protocol.write(StepView(asked, NESTED), wanted)
        assert ask(protocol, told["answer"]) == Prediction.of(Status.NONE, operation="CLICK")


@pytest.mark.parametrize("pictures", [(), shown("tiles")])
def test_a_point_needs_exactly_one_picture(pictures: Sequence[Picture]) -> None:
    with pytest.raises(ValueError, match="exactly one"):
        talk(Coordinates().dialogue(StepView(step(pictures=pictures), NESTED)), [])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("coordinates", CONVENTIONS)
def test_what_is_asked_says_what_numbers_mean(form: Form, coordinates: Convention) -> None:
    protocol = Coordinates(form=form, coordinates=coordinates)
    asked, _ = talk(
        protocol.dialogue(StepView(step(history=HISTORY, pictures=shown()), NESTED)), ["x"]
    )
    text = asked[0].conversation.messages[-1].text
    assert "Book a table for 5" in text
    if form == "seeclick":
        return
    phrase = {"absolute": "640 pixels wide and 2500", "unit": "0 and 1", "per-mille": "1000"}
    phrase["per-999"] = "from 0 to 999"
    assert phrase[coordinates] in text
    assert "{" not in text.replace('{"', "").replace("}", "")


def test_seeclick_is_asked_as_it_was_trained() -> None:
    earlier = (
        Earlier("CLICK", "", (0.1, 0.1)),
        Earlier("CLICK", "", (0.5, 0.123)),
        Earlier("TYPE", "lost", None),
        Earlier("SELECT", "5 people", (0.25, 0.999)),
        Earlier("TYPE", "Ada", (0.0, 1.0)),
        Earlier("CLICK", "", (0.333, 0.006)),
    )
    step_now = replace(step(history=HISTORY, pictures=shown()), before=earlier)
    asked, _ = talk(Coordinates(form="seeclick").dialogue(StepView(step_now, NESTED)), ["x"])
    (message,) = asked[0].conversation.messages
    assert message.text.startswith("Please generate the next move according to the ui screenshot")
    _, _, told = message.text.partition("Previous actions: ")
    assert told == (
        'Step0: {"action_type": 4, "click_point": (0.50,0.12)}. '
        'Step1: {"action_type": 2, "click_point": (0.25,1.00), "value": "5 people"}. '
        'Step2: {"action_type": 3, "click_point": (0.00,1.00), "value": "Ada"}. '
        'Step3: {"action_type": 4, "click_point": (0.33,0.01)}. '
    )
    alone, _ = talk(
        Coordinates(form="seeclick").dialogue(StepView(step(pictures=shown()), NESTED)), ["x"]
    )
    assert alone[0].conversation.messages[0].text.endswith("Previous actions: ")


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("hf:cckevinn/SeeClick-mind2web", "seeclick"),
        ("qwen3-vl:x", "qwen3-vl"),
        ("qwen2-vl:x", "qwen2-vl"),
        ("qwen-vl:Qwen-VL-Chat", "qwen-vl"),
        ("anthropic:claude-sonnet-5-5", "computer-use"),
        ("openai:gpt-6.1", "computer-use"),
        ("google:gemini-3.8-flash", "gemini"),
        ("Qwen/Qwen3.5-9B", "qwen3.5-xml"),
        ("scripted:x.jsonl", "plain"),
    ],
)
def test_the_form_of_a_family(name: str, form: Form) -> None:
    assert usual_form(name) == form


def test_texts_of_later_forms_leave_earlier_runs_as_they_were(tmp_path: Path) -> None:
    def prompts(**settings: Any) -> object:
        return Coordinates(**settings).settings()["prompts_sha256"]

    released = "3f3fa97685689aed937666b0d2f8cef35c8d92d282f91417d42c51d01421086e"
    assert {prompts(form=form) for form in FIRST} == {released}
    later = [form for form in FORMS if form not in FIRST]
    assert len({released, *(prompts(form=form, coordinates="unit") for form in later)}) == 11
    assert prompts(coordinates="per-999") not in (released, prompts(form="step"))
    # A file of one's own need not have them; those that are used count.
    shipped = files("harness").joinpath("prompts/coordinates.toml").read_text("utf-8")
    own = tmp_path / "own.toml"
    cut = shipped.index("ui_tars = "), shipped.index("seeclick = ")
    rest = shipped[: cut[0]] + shipped[cut[1] :].replace("per_999", "#")
    own.write_text(rest.replace("You operate", "You use"), "utf-8")
    assert prompts(prompts=own) != released
    assert Coordinates(prompts=own).texts["step"] == Coordinates().texts["step"]
    with own.open("a") as file:
        file.write('step = "point, {numbers}"\n')
    assert Coordinates(prompts=own).texts["step"] == "point, {numbers}"


@given(
    st.sampled_from(FORMS),
    st.sampled_from(CONVENTIONS),
    st.tuples(st.floats(0, 1280), st.floats(0, 5000)),
    st.sampled_from(OPERATIONS),
    st.sampled_from(["Ohio", "5 PM", 'a "b" c', "ELEMENT: 1, 2", "{}", "Größe"]),
)
@settings(max_examples=200, deadline=None)
def test_what_is_spelled_is_read_back_up_to_the_rounding_of_the_form(
    form: Form,
    coordinates: Convention,
    point: tuple[float, float],
    operation: Operation,
    value: str,
) -> None:
    """Within half a step of the form's numbers; and exactly, for a point that it can write."""
    protocol = Coordinates(form=form, coordinates=coordinates)
    asked = step(pictures=shown())
    value = "" if operation == "CLICK" else value
    wanted = Prediction.of(Status.ANSWERED, point=point, operation=operation, value=value)
    near = ask(protocol, protocol.write(StepView(asked, NESTED), wanted)["answer"])
    steps = {"absolute": (2.0, 2.0), "unit": (12.8, 50.0), "per-mille": (1.28, 5.0)}
    steps["per-999"] = (1280 / 999, 5000 / 999)
    assert near.point is not None
    for found, meant, grain in zip(near.point, point, steps[coordinates], strict=True):
        assert abs(found - meant) <= grain / 2 + 1e-6
    again = ask(protocol, protocol.write(StepView(asked, NESTED), near)["answer"])
    assert again == near
    assert (near.operation, near.value, near.flags) == (operation, value, ())
