"""What is known of open models by name, and what a server's own facts change about it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters import Fatal, make
from adapters.chat_completions import served
from adapters.contract import ImageRule
from adapters.open_models import OPEN_MODELS, Pixels, open_model
from tests.adapters.support import adapter_for, ask, bodies
from tests.servers import Answer, WireServer, refusing

PAGE, SQUARE, VIEW = (1280, 7400), (1280, 1280), (1280, 720)
LARGE = [VIEW, (1920, 1080), (3840, 2160), (1280, 5429)]
QWEN2, QWEN3 = (28, 3_136, 12_845_056), (32, 65_536, 16_777_216)


def rule_of(model: str, **limits: Any) -> ImageRule:
    rule = served(model, **limits)[0].image_rule()
    assert rule is not None
    return rule


@pytest.mark.parametrize(
    ("name", "coordinates", "pixels"),
    [
        ("Qwen/Qwen2-VL-7B-Instruct", "per-mille", QWEN2),
        ("Qwen/Qwen2.5-VL-72B-Instruct-AWQ", "absolute", QWEN2),
        ("Qwen/Qwen3-VL-8B-Thinking", "per-mille", QWEN3),
        ("Qwen/Qwen-VL-Chat", "per-mille", None),
        ("cckevinn/SeeClick", "unit", None),
        ("ByteDance-Seed/UI-TARS-1.5-7B", "absolute", (28, 78_400, 12_845_056)),
        ("bytedance-research/UI-TARS-7B-DPO", "per-mille", QWEN2),
        ("ByteDance-Seed/UI-TARS-2", None, None),
        ("Hcompany/Holo1-7B", "absolute", (28, 3_136, 1_003_520)),
        ("Hcompany/Holo2-8B", "per-mille", QWEN3),
        ("HelloKKMe/GTA1-7B", "absolute", (28, 3_136, 8_847_360)),
        ("osunlp/UGround-V1-7B", "per-mille", QWEN2),
        ("OS-Copilot/OS-Atlas-Base-4B", "per-mille", None),
        ("showlab/ShowUI-2B", "unit", (28, 200_704, 1_053_696)),
        ("inclusionAI/UI-Venus-Ground-7B", None, QWEN2),
        ("mPLUG/GUI-Owl-1.5-8B-Instruct", "per-mille", (32, 200_704, 10_035_200)),
        ("stepfun-ai/GELab-Zero-4B-preview", "per-999", None),
        ("moonshotai/Kimi-VL-A3B-Thinking", "unit", None),
    ],
)
def test_the_longest_name_says_what_numbers_mean_and_how_pictures_are_resized(
    name: str, coordinates: str | None, pixels: tuple[int, int, int] | None
) -> None:
    known = open_model(name)
    assert known is not None
    assert known.coordinates == coordinates
    assert known.pixels == (Pixels(*pixels) if pixels else None)


@pytest.mark.parametrize("name", ["somebody/model", "osunlp/UGround", "qwen-vl-max", "", "gpt-4o"])
def test_of_other_models_nothing_is_claimed(name: str) -> None:
    assert open_model(name) is None


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("Qwen/Qwen2-VL-7B-Instruct", (12144, 2116, 1196)),
        ("Qwen/Qwen2.5-VL-7B-Instruct", (12144, 2116, 1196)),
        ("Qwen/Qwen3-VL-8B-Instruct", (9240, 1600, 880)),
    ],
)
def test_qwen_rounds_to_its_patches(model: str, tokens: tuple[int, int, int]) -> None:
    rule = rule_of(model)
    assert tuple(rule.tokens(*size) for size in (PAGE, SQUARE, VIEW)) == tokens


def test_only_what_is_meant_in_pixels_is_sent_in_the_size_that_the_server_makes() -> None:
    for name in ("Qwen2-VL-7B-Instruct", "Qwen3-VL-8B-Instruct", "UGround-V1-7B", "MAI-UI-8B"):
        assert [rule_of(name).fit(*size) for size in LARGE] == LARGE
        # Requests to them, and so their runs and cached replies, stay as they were.
        assert not served(name)[1]
    exact = [(1288, 728), (1932, 1092), (3836, 2156), (1288, 5432)]
    assert [rule_of("Qwen2.5-VL-7B-Instruct").fit(*size) for size in LARGE] == exact


def test_what_may_be_meant_in_pixels_is_sent_in_that_size_too() -> None:
    assert rule_of("inclusionAI/GUI-G2-7B").fit(1280, 720) == (1288, 728)
    assert served("inclusionAI/GUI-G2-7B")[1] == {"min_pixels": 3_136, "max_pixels": 12_845_056}


ABSOLUTE = sorted(name for name, known in OPEN_MODELS.items() if known.exact)


@given(st.sampled_from(ABSOLUTE), st.integers(1, 12_000), st.integers(1, 12_000))
def test_a_size_that_qwens_processor_makes_is_one_that_it_leaves_alone(
    model: str, width: int, height: int
) -> None:
    known = open_model(model)
    rule = rule_of(model)
    seen = rule.fit(width, height)
    if max(width, height) > 100 * min(width, height):
        return
    assert rule.fit(*seen) == seen
    assert known is not None and known.pixels is not None
    # Wider limits than our own, as a server has that was started without any, change nothing.
    wide = rule_of(model, least=1, most=4 * known.pixels.most)
    assert wide.fit(*seen) == seen


def test_limits_of_the_server_are_on_record_where_replies_depend_on_them() -> None:
    known, recorded = served("qwen2.5-vl", most=1_605_632)
    assert recorded == {"min_pixels": 3_136, "max_pixels": 1_605_632}
    assert known.pixels == Pixels(28, 3_136, 1_605_632)
    assert served("qwen3-vl", least=70_000)[1] == {"min_pixels": 70_000, "max_pixels": 16_777_216}


@pytest.mark.parametrize(
    ("model", "limits", "why"),
    [
        ("somebody/model", (None, 5000), "how somebody/model resizes pictures is not known"),
        ("SeeClick", (5000, None), "how SeeClick resizes pictures is not known"),
        ("qwen2.5-vl", (5000, 4000), "min_pixels must not exceed max_pixels"),
        ("qwen2.5-vl", (1, 500), "one picture token has 784 pixels"),
    ],
)
def test_limits_that_cannot_be_are_refused(
    model: str, limits: tuple[int | None, int | None], why: str
) -> None:
    with pytest.raises(Fatal, match=why):
        served(model, least=limits[0], most=limits[1])


def test_a_model_that_goes_by_another_name_is_declared_by_its_family() -> None:
    known, recorded = served("my-finetune", family="qwen2.5-vl")
    assert known == served("Qwen2.5-VL-7B-Instruct")[0]
    assert recorded == {"family": "qwen2.5-vl", "min_pixels": 3_136, "max_pixels": 12_845_056}
    # It also says what a name leaves open.
    assert served("UI-TARS-2", family="ui-tars-1.5")[0].coordinates == "absolute"
    with pytest.raises(Fatal, match=r"nothing is known of a family 'qwen' \(known: qwen-vl-chat, "):
        served("my-finetune", family="qwen")


def test_a_family_and_limits_are_refused_for_openais_own_models() -> None:
    for option in ({"family": "qwen2.5-vl"}, {"max_pixels": 5000}):
        with pytest.raises(Fatal, match="OpenAI's are known: leave them out"):
            make("openai:gpt-4o", api_key="x", **option)


@pytest.mark.parametrize(
    ("details", "counted"),
    [
        ({"image_tokens": 1196}, 1196),
        ({"multimodal_tokens": {"image": 1196, "audio": 3}}, 1196),
        ({"cached_tokens": 5}, None),
        ({"image_tokens": 0, "multimodal_tokens": None}, None),
        ({"image_tokens": "many", "multimodal_tokens": [1]}, None),
        ({"image_tokens": True, "multimodal_tokens": {"image": -1}}, None),
        ({"image_tokens": 5000, "multimodal_tokens": {"image": {}}}, None),
    ],
)
def test_tokens_of_pictures_are_what_a_server_says_of_them_if_it_makes_sense(
    details: dict[str, Any], counted: int | None
) -> None:
    answer = {
        "choices": [{"message": {"content": "fine"}}],
        "usage": {"prompt_tokens": 1300, "prompt_tokens_details": details},
    }
    with WireServer(Answer(raw=json.dumps(answer).encode())) as server:
        [reply] = ask(adapter_for("openai", server))
    assert (reply.text, reply.picture_tokens) == ("fine", counted)


def test_special_tokens_are_kept_where_places_are_marked_by_them() -> None:
    with WireServer() as server:
        atlas = adapter_for("openai", server, model="OS-Copilot/OS-Atlas-Base-7B")
        ask(atlas)
        ask(adapter_for("openai", server, model="Qwen/Qwen2-VL-7B-Instruct"))
    kept, others = bodies(server)
    assert kept["skip_special_tokens"] is False
    assert atlas.info.settings["skip_special_tokens"] is False
    assert "skip_special_tokens" not in others


def test_a_server_that_does_not_know_special_tokens_is_asked_without_them() -> None:
    with WireServer(refusing("skip_special_tokens", status=422)) as server:
        adapter = adapter_for("openai", server, model="OS-Atlas-Pro-7B")
        ask(adapter)
        [notice] = adapter.notices()
    assert "skip_special_tokens" not in server.asks[-1].body
    assert "refused skip_special_tokens=False" in notice
