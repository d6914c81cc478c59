"""Grounding: what is asked, where answers lie, and the second question about a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.contract import AdapterInfo
from adapters.conversation import Picture, Reply
from adapters.open_models import open_model
from harness.benchmarks.grounding.protocol import Grounding, open_pack, pack_of_model, shipped
from harness.dialogue import Ask, hold
from harness.errors import UserError
from harness.pictures import PicturePolicy, Recipe, zoomed
from harness.protocols import open_protocol
from harness.protocols.pointing import usual_form
from harness.views import PlaceView
from parsers.actions import Action
from parsers.grounding import CLICK, POINTING, GroundingDetail, Target, hit
from parsers.points import CONVENTIONS, FORMS, Convention, Form
from parsers.records import Prediction, Status
from parsers.settling import settled
from tests.families import FAMILIES, Family
from tests.grounding import item, shown
from tests.harness.protocols.examples import talk

HALF = PlaceView("search", "the search field", (shown((1920, 1080), "full:pixels=518400"),))
"""1920 x 1080, shown at half its size."""


def ask(
    protocol: Grounding, *replies: str, about: PlaceView = HALF
) -> tuple[list[Ask], Prediction]:
    asked, found = talk(protocol.dialogue(about), list(replies))
    return asked, found


def model(name: str, coordinates: Convention | None = None) -> AdapterInfo:
    return AdapterInfo(name=f"openai:{name}", model=name, provider="x", coordinates=coordinates)


@pytest.mark.parametrize(
    ("coordinates", "numbers"),
    [("absolute", "716, 169.5"), ("unit", "0.745833, 0.313889"), ("per-mille", "746, 314")],
)
def test_numbers_lie_in_pixels_of_the_original(coordinates: Convention, numbers: str) -> None:
    _, found = ask(Grounding(coordinates=coordinates), f"ELEMENT: {numbers}")
    assert found.status is Status.ANSWERED and found.action is not None
    assert (found.action.name, found.parsed) == (CLICK, {})
    assert found.point == pytest.approx((1432, 339), abs=0.5)


def test_a_box_counts_by_its_middle_and_is_kept() -> None:
    protocol = Grounding(form="qwen2.5-vl")
    _, found = ask(protocol, '{"bbox_2d": [700, 165, 732, 175]}')
    assert found.point == (1432, 340)
    assert found.parsed == {"left": 1400, "top": 330, "right": 1464, "bottom": 350}
    assert ask(protocol, '{"bbox_2d": [950, 165, 964, 175]}')[1].parsed == {}, "partly outside"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("coordinates", CONVENTIONS)
def test_what_is_asked_says_what_numbers_mean(form: Form, coordinates: Convention) -> None:
    refusals: Literal["offered", "unoffered"] = "unoffered" if form == "seeclick" else "offered"
    protocol = Grounding(form=form, coordinates=coordinates, refusals=refusals)
    asked, _ = ask(protocol, "x")
    text = asked[0].conversation.messages[-1].text
    phrase = {"absolute": "960 pixels wide and 540", "unit": "0 and 1", "per-mille": "1000"}
    assert phrase.get(coordinates, "999") in text
    assert "the search field" in text
    none = protocol.write(HALF, Prediction(Status.NONE))["answer"]
    unoffered = replace(protocol, refusals="unoffered").opening("x", HALF.pictures[0])
    assert (none in text) == (refusals == "offered") and none not in unoffered[-1].text


@pytest.mark.parametrize("pack", shipped())
def test_every_pack_asks_with_the_instruction_and_nothing_left_open(pack: str) -> None:
    protocol = Grounding(pack=pack, refusals="offered")
    asked, _ = ask(protocol, "x")
    texts = [message.text for message in asked[0].conversation.messages]
    assert "the search field" in texts[-1]
    assert not any(f"{{{name}}}" in t for t in texts for name in ("width", "numbers", "none"))


def test_a_pack_of_ones_own_is_a_few_lines(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(
        'name = "own"\nform = "qwen3-vl"\ncoordinates = "per-mille"\norder = "text-first"\n'
        'system = "You look at a screen of {width} x {height}."\n'
        'question = "Where is this: {instruction}?"\n'
    )
    settings = {"prompts": file}
    protocol = open_protocol("grounding", settings, model=model("unknown", "absolute"))
    assert isinstance(protocol, Grounding)
    protocol.check(PicturePolicy(), model("unknown"))
    asked, found = ask(protocol, '{"point_2d": [746, 314]}')
    system, question = asked[0].conversation.messages
    assert system.text == "You look at a screen of 960 x 540."
    assert question.text == "Where is this: the search field?"
    assert isinstance(question.parts[-1], Picture)
    assert found.point == (1432.32, 339.12), "what the file says goes before the adapter"
    on_record = protocol.settings()
    assert on_record["prompts"] == "own" and on_record["form"] == "qwen3-vl"
    again = open_protocol("grounding", options={k: on_record[k] for k in ("form", "coordinates")})
    assert isinstance(again, Grounding), "a run is read again without the file"
    assert ask(again, '{"point_2d": [746, 314]}')[1] == found


def test_the_pack_in_the_guide_is_one(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[3] / "docs/grounding.md").read_text("utf-8")
    _, _, rest = guide.partition("`--protocol-option prompts=my-family.toml`:\n\n```toml\n")
    (tmp_path / "my-family.toml").write_text(rest.partition("```")[0])
    protocol = Grounding(prompts=tmp_path / "my-family.toml")
    protocol.check(PicturePolicy(), model("my-model"))
    asked, found = ask(protocol, "[746, 314]")
    text = asked[0].conversation.messages[-1].text
    assert text == "Where would you click to do this? the search field"
    assert found.point == pytest.approx((746 * 1920 / 999, 314 * 1080 / 999))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('form = "plain"', "a prompt pack needs a name"),
        ('name = "x"\nforms = "plain"', "unknown key forms; did you mean 'form'"),
        ('name = "x"\nform = "qwen9"', "form is one of plain, .* not 'qwen9'"),
        ('name = "x"\ncoordinates = "px"', "coordinates is one of absolute"),
        ('name = "x"\nquestion = "Where?"', "question must contain {instruction}"),
        ('name = "x"\nquestion = "{task} {instruction}"', "question has {task}"),
        ('name = "x"\nfamilies = "x"', "families is a list"),
        ('name = "x"\nsystem = 3', "system must be text, not int"),
        ("name = ", "not TOML"),
    ],
)
def test_a_mistake_in_a_pack_is_told(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(text)
    with pytest.raises(UserError, match=problem) as told:
        Grounding(prompts=file)
    assert str(file) in str(told.value) and "\n" not in str(told.value)


def test_a_model_of_no_known_family_has_to_be_declared() -> None:
    protocol = open_protocol("grounding", model=model("my-model"))
    with pytest.raises(UserError, match="not known what the coordinates of openai:my-model mean"):
        protocol.check(PicturePolicy(), model("my-model"))
    declared = open_protocol("grounding", {"coordinates": "unit"}, model=model("my-model"))
    declared.check(PicturePolicy(), model("my-model"))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"zoom_share": "0.3"}, "zoom_share has no effect without zoom=crop"),
        ({"zoom": "crop", "zoom_share": "1"}, "not between 0 and 1"),
        ({"pack": "qwen9"}, "unknown prompt pack 'qwen9'"),
        ({"declines": "words,minus"}, "declines=words,minus: did you mean 'minus-one'"),
        ({"form": "seeclick", "refusals": "offered"}, "seeclick has no way to decline"),
    ],
)
def test_settings_without_sense_are_refused(options: dict[str, object], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        open_protocol("grounding", options)


def test_a_window_around_the_answer_is_asked_about_again() -> None:
    asked, found = ask(
        Grounding(coordinates="unit", zoom="crop", zoom_share=0.25),
        "ELEMENT: 0.75, 0.3",
        "ELEMENT: 0.5, 0.6",
    )
    first, window = (one.conversation.messages[0].parts[0] for one in asked)
    assert isinstance(first, Picture) and isinstance(window, Picture)
    assert [one.place for one in asked] == ["answer", "zoom"]
    assert (window.width, window.height) == (first.width, first.height) == (960, 540)
    # 480 x 270 pixels around (1440, 324).
    assert Recipe.parse(window.recipe).box == (1200, 189, 1680, 459)
    assert found.point == (1440, 351)
    assert found.parsed == {"first_x": 1440, "first_y": 324}


@pytest.mark.parametrize(
    ("numbers", "box"),
    [
        ("0, 0", (0, 0, 960, 540)),
        ("1, 1", (960, 540, 1920, 1080)),
        ("0.5, 1", (480, 540, 1440, 1080)),
    ],
)
def test_a_window_lies_within_the_picture(numbers: str, box: Sequence[int]) -> None:
    protocol = Grounding(coordinates="unit", zoom="crop")
    asked, found = ask(protocol, f"ELEMENT: {numbers}", f"ELEMENT: {numbers}")
    window = asked[1].conversation.messages[0].parts[0]
    assert isinstance(window, Picture) and Recipe.parse(window.recipe).box == box
    x, y = map(float, numbers.split(", "))
    assert found.point == (box[0] + 960 * x, box[1] + 540 * y)


@pytest.mark.parametrize(
    ("reply", "status"),
    [("?", Status.PARSE_ERROR), ("ELEMENT: 2, 0", Status.OUT_OF_RANGE), ("ELEMENT: None", "none")],
)
def test_a_first_answer_without_a_place_ends_it(reply: str, status: Status) -> None:
    asked, found = ask(Grounding(coordinates="unit", zoom="crop"), reply)
    assert (len(asked), found.status) == (1, status)


@pytest.mark.parametrize("zoom", ["none", "crop"])
@pytest.mark.parametrize("coordinates", CONVENTIONS)
@pytest.mark.parametrize("form", FORMS)
def test_what_is_spelled_is_read_back(form: Form, coordinates: Convention, zoom: str) -> None:
    protocol = open_protocol("grounding", {"form": form, "coordinates": coordinates, "zoom": zoom})
    assert isinstance(protocol, Grounding)
    about = item((1920, 1080))
    for point in ((0.0, 0.0), (1432.0, 340.0), (1920.0, 1080.0)):
        wanted = Prediction(Status.ANSWERED, Action(CLICK, point=point))
        replies = protocol.write(about, wanted)
        assert tuple(replies) == protocol.places
        _, found = ask(protocol, *replies.values(), about=about)
        assert found.status is Status.ANSWERED and found.point is not None
        off = 10 if coordinates == "unit" else 1.0
        off = off / 2 if zoom == "crop" else off
        assert found.point == pytest.approx(point, abs=off)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.model)
def test_a_model_is_asked_and_read_as_its_family_is(family: Family) -> None:
    known = open_model(family.model)
    info = model(family.model, known.coordinates if known else None)
    protocol = open_protocol("grounding", model=info)
    assert isinstance(protocol, Grounding)
    assert (protocol.chosen.name, protocol.answer_form) == (family.pack, family.form)
    if family.declared:
        with pytest.raises(UserError, match="add --protocol-option coordinates="):
            protocol.check(PicturePolicy(), info)
        protocol = open_protocol("grounding", {"coordinates": family.numbers}, model=info)
        assert isinstance(protocol, Grounding)
    protocol.check(PicturePolicy(), info)
    assert protocol.convention == family.numbers
    box = (1392 / 1920, 329 / 1080, 1472 / 1920, 349 / 1080)
    _, found = ask(protocol, family.says(box, (960, 540)))
    assert found.point == pytest.approx((1432, 339), abs=2)
    assert bool(found.parsed) == ("<l>" in family.reply)
    _, absent = ask(protocol, "The element does not exist.")
    assert absent.status is Status.NONE


def test_a_form_of_ones_own_choice_is_asked_for_in_the_shared_words() -> None:
    info = model("UI-Venus-1.5-8B", "per-mille")
    own = open_protocol("grounding", model=info)
    other = open_protocol("grounding", {"form": "glm"}, model=info)
    assert isinstance(own, Grounding) and isinstance(other, Grounding)
    assert (own.chosen.name, other.chosen.name) == ("ui-venus", "grounding")
    assert ask(own, "[-1,-1]")[1].status is Status.NONE, "declared by the family"
    assert ask(other, "[[-1,-1]]")[1].status is Status.OUT_OF_RANGE
    strict = open_protocol("grounding", {"declines": ""}, model=info)
    assert isinstance(strict, Grounding) and strict.chosen == own.chosen
    assert ask(strict, "[-1,-1]")[1].status is Status.OUT_OF_RANGE
    assert ask(strict, "There is no such element.")[1].status is Status.PARSE_ERROR
    named = open_protocol("grounding", {"pack": "ui-venus"}, model=model("x", "per-999"))
    assert isinstance(named, Grounding)
    assert (named.answer_form, named.convention) == ("plain", "per-999")


CORNER = Target("box", (0, 0, 48, 48))
TARGET = Target("box", (1400, 330, 1464, 350))
ABSENT = Target("absent")
WAIT = '{"name": "computer_use", "arguments": {"action": "wait", "time": 10}}'


@pytest.mark.parametrize(
    ("form", "coordinates", "reply", "target", "right"),
    [
        # By the numbers of the cases that other harnesses get wrong.
        pytest.param("point-text", "absolute", "I cannot tell.", CORNER, False, id="12"),
        pytest.param("point-text", "absolute", "", CORNER, False, id="12, empty"),
        pytest.param("point-text", "absolute", "(0, 0)", CORNER, True, id="12, a corner"),
        pytest.param("qwen3-vl", "per-mille", "The element does not exist.", ABSENT, True, id="13"),
        pytest.param(
            "computer-use", "per-mille", '{"x":null,"y":null}', ABSENT, True, id="13, null"
        ),
        pytest.param("qwen2.5-vl", "absolute", WAIT, ABSENT, True, id="13, wait"),
        pytest.param("qwen2.5-vl", "absolute", WAIT, TARGET, False, id="13, wait in vain"),
        pytest.param("point-text", "absolute", "(1464, 340)", TARGET, True, id="18, right border"),
        pytest.param("point-text", "absolute", "(1400, 350)", TARGET, True, id="18, corner"),
        pytest.param("point-text", "absolute", "(1465, 340)", TARGET, False, id="18, outside"),
        pytest.param(
            "point-text",
            "per-mille",
            "[44, 355]",
            Target("box", (75, 383.4, 75 + 101.2, 383.4 + 17.8)),
            True,
            id="20",
        ),
    ],
)
def test_answers_that_others_score_wrong(
    form: Form, coordinates: Convention, reply: str, target: Target, right: bool
) -> None:
    protocol = Grounding(form=form, coordinates=coordinates)
    _, found = ask(protocol, reply, about=item())
    assert hit(found, GroundingDetail(asked="x", gold=target, size=(1920, 1080))) == float(right)


def test_a_word_stands_for_one_family_whose_form_is_known() -> None:
    packs = [open_pack(name) for name in shipped()]
    words = [word for pack in packs for word in pack.families]
    assert len(words) == len(set(words)) and all(word == word.lower() for word in words)
    for pack in packs:
        for word in pack.families:
            assert pack_of_model(word).name == pack.name
            assert pack.form or usual_form(word) != "plain"


PIECES = st.sampled_from(
    [
        *("746", "-1", "1e9", "0.5", "99999999999", "NaN", "None", "null", "[", "]", "(", ")"),
        *(",", "}", '{"point_2d":', '{"x":', '"y":', "<box>", "</box>", "<|box_start|>"),
        *("point:", "Click(", "click(start_box='", "')", "<think>", "</think>", "Thought:"),
        *("\n", " ", "\ud800", "不", "\x00"),
    ]
)


@given(
    st.lists(PIECES, max_size=12).map("".join),
    st.lists(PIECES, max_size=12).map("".join),
    st.sampled_from(FORMS),
    st.sampled_from(CONVENTIONS),
)
def test_no_reply_ends_in_anything_but_a_prediction(
    first: str, second: str, form: Form, coordinates: Convention
) -> None:
    protocol = Grounding(form=form, coordinates=coordinates, zoom="crop")

    def say(call: Ask) -> Reply:
        return Reply(first if call.place == "answer" else second)

    found = hold(protocol.dialogue(HALF), say)
    assert settled(found, POINTING) == found
    assert (found.status is Status.ANSWERED) == (found.point is not None)
    if found.point is not None:
        assert 0 <= found.point[0] <= 1920 and 0 <= found.point[1] <= 1080


@given(
    st.tuples(st.integers(1, 9000), st.integers(1, 9000)),
    st.tuples(st.floats(0, 1), st.floats(0, 1)),
    st.floats(0.01, 0.99),
)
def test_every_window_is_a_part_of_the_picture_around_the_point(
    size: tuple[int, int], at: tuple[float, float], share: float
) -> None:
    whole = shown(size, "full:pixels=250000")
    point = at[0] * size[0], at[1] * size[1]
    window = zoomed(whole, point, share)
    left, top, right, bottom = Recipe.parse(window.recipe).box
    assert (window.width, window.height) == (whole.width, whole.height)
    assert 0 <= left <= point[0] + 1 and point[0] - 1 <= right <= size[0]
    assert 0 <= top <= point[1] + 1 and point[1] - 1 <= bottom <= size[1]
    assert right - left == max(1, round(share * size[0]))
    assert bottom - top == max(1, round(share * size[1]))


FAILED = '{"name": "computer_use", "arguments": {"action": "terminate", "status": "failure"}}'


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("UI-Venus-1.5-8B", "[-1,-1]"),
        ("Holo2-8B", '{"x": null, "y": null}'),
        ("Qwen3-VL-8B", f"<tool_call>\n{FAILED}\n</tool_call>"),
        ("Jedi-7B-1080p", f"<tool_call>\n{FAILED}\n</tool_call>"),
        ("GLM-4.5V", "<|begin_of_box|>None<|end_of_box|>"),
    ],
)
def test_what_a_family_is_offered_declines(name: str, reply: str) -> None:
    known = open_model(name)
    info = model(name, known.coordinates if known else None)
    protocol = open_protocol("grounding", {"refusals": "offered"}, model=info)
    assert isinstance(protocol, Grounding)
    asked, found = ask(protocol, reply)
    assert (found.status, found.action) == (Status.NONE, None)
    offered = asked[0].conversation.messages[-1].text.split("\n\n")[-1]
    unoffered = replace(protocol, refusals="unoffered").opening("x", HALF.pictures[0])[-1].text
    assert offered not in unoffered and len(offered) > 3
