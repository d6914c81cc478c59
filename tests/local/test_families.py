"""Each family's prompts, pictures and positions, against the library's own."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")


from adapters import open_models
from adapters.contract import AdapterInfo, Fatal
from adapters.conversation import Conversation, Message, Picture, Reply, Text, system, user
from adapters.local.checkpoint import locate
from adapters.local.factory import describe
from adapters.local.loading import family as family_in
from adapters.local.options import LocalOptions
from tests.local.conftest import Checkpoint, Load
from tests.local.examples import load_now as load_model
from tests.local.test_every_family import library_prompt, picture, pixels, stock
from tests.local.tiny import FAMILIES
from tests.servers.pixels import smart_resize

ALL = (*FAMILIES, "llava")


@cache
def noise(width: int, height: int, seed: int = 0) -> Image.Image:
    import random

    return Image.frombytes(
        "RGB", (width, height), random.Random(seed).randbytes(width * height * 3)
    )


def shown(image: Image.Image) -> Picture:
    return Picture("digest", "recipe", *image.size)


@pytest.mark.parametrize("kind", ALL)
def test_prompts_and_pixels_are_those_of_the_library(
    checkpoint: Checkpoint, load: Load, kind: str
) -> None:
    conversation = Conversation(
        (
            user("\nYou are asked to book", picture(0), " a flight.\n\n"),
            Message("assistant", (Text("ELEMENT: A\nACTION: CLICK "),)),
            user("and then?", picture(1)),
        )
    )
    own = load(kind).family.encode(conversation, [pixels(one) for one in conversation.pictures])
    stored = library_prompt(stock(checkpoint(kind), kind), conversation)
    assert own.ids.tolist() == stored["input_ids"][0].tolist()
    assert set(own.pictures) == set(stored) - {"input_ids", "attention_mask", "mm_token_type_ids"}
    for name, tensor in own.pictures.items():
        assert (tensor == stored[name]).all()
    if kind != "llava":
        assert own.token_types is not None
        assert own.token_types.tolist() == stored["mm_token_type_ids"][0].tolist()


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_second_round_begins_with_the_very_ids_of_the_first(load: Load, kind: str) -> None:
    family = load(kind).family
    image = noise(80, 120)
    first = Conversation((system("You help."), user(shown(image), "what </s><|im_end|> now?")))
    before = family.encode(first, [image])
    stop = family.stop_ids[0]

    @settings(max_examples=30)
    @given(st.lists(st.integers(20, 250), min_size=1, max_size=8), st.booleans())
    @example([250, 249, 21], True)
    def holds(ids: list[int], ended: bool) -> None:
        generated = [*ids, stop] if ended else ids
        text = family.decode(generated)
        reply = Reply(text, native={"ids": generated, "text": text})
        after = family.encode(first.then(reply, user("and then?")), [image])
        end = before.length + len(generated)
        assert after.ids[:end].tolist() == before.ids.tolist() + generated
        tail = after.ids[end:].tolist()
        assert tail.count(stop) == 2 - ended
        rewritten = first.then(replace(reply, text=text + " indeed"), user("and then?"))
        other = family.encode(rewritten, [image])
        assert other.ids[: before.length].tolist() == before.ids.tolist()

    holds()


def test_a_second_round_keeps_what_a_template_writes_before_replies_only(
    checkpoint: Checkpoint, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(checkpoint("qwen3-vl"), tmp_path / "thinking"))
    template = folder / "chat_template.jinja"
    begun = template.read_text().replace(
        "<|im_start|>assistant\n{% endif", "<|im_start|>assistant\nTHINK {% endif"
    )
    assert "THINK" in begun
    template.write_text(begun)
    own = family_in(LocalOptions(str(folder)), locate(LocalOptions(str(folder))))
    asked = Conversation((user("one"),))
    before = own.encode(asked, []).ids.tolist()
    reply = Reply(own.decode([40, 41]), native={"ids": [40, 41], "text": own.decode([40, 41])})
    after = own.encode(asked.then(reply, user("two")), []).ids.tolist()
    assert after[: len(before) + 2] == [*before, 40, 41]


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_third_round_keeps_both_replies(load: Load, kind: str) -> None:
    family = load(kind).family
    talk = Conversation((user("one"),))
    for ids in ([40, 41], [50, 51, family.stop_ids[0]]):
        text = family.decode(ids)
        before = family.encode(talk, []).ids.tolist()
        talk = talk.then(Reply(text, native={"ids": ids, "text": text}), user("more"))
        after = family.encode(talk, []).ids.tolist()
        assert after[: len(before) + len(ids)] == before + ids


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    "native",
    [
        None,
        {},
        {"ids": [], "text": "x"},
        {"ids": ["a"], "text": "x"},
        {"text": "x"},
        {"ids": [-1], "text": "x"},
        {"ids": [10**9], "text": "x"},
        [1, 2],
    ],
)
def test_a_reply_without_usable_ids_is_put_in_as_text(
    load: Load, kind: str, native: object
) -> None:
    family = load(kind).family
    asked = Conversation((user("one"),))
    made = family.encode(asked.then(Reply("x", native=native), user("two")), [])
    plain = family.encode(asked.then(Reply("x"), user("two")), [])
    assert made.ids.tolist() == plain.ids.tolist()


def test_ids_that_the_tokenizer_has_no_token_for_are_kept(
    checkpoint: Checkpoint, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(checkpoint("qwen3-vl"), tmp_path / "padded"))
    config = json.loads((folder / "config.json").read_text())
    config["text_config"]["vocab_size"] = 400
    (folder / "config.json").write_text(json.dumps(config))
    options = LocalOptions(str(folder))
    own = family_in(options, locate(options))
    ids = [40, 399, 41]
    text = own.decode(ids)
    asked = Conversation((user("one"),))
    before = own.encode(asked, []).length
    reply = Reply(text, native={"ids": ids, "text": text})
    made = own.encode(asked.then(reply, user("two")), [])
    assert made.ids[before : before + 3].tolist() == ids


@pytest.mark.parametrize("kind", ALL)
def test_prompts_are_the_same_from_many_threads(load: Load, kind: str) -> None:
    own = load(kind).family
    image = noise(90, 60)
    ids = [40, 41]
    reply = Reply(own.decode(ids), native={"ids": ids, "text": own.decode(ids)})
    asked = [
        Conversation((user(shown(image), "now " * n),)).then(reply, user("and " * n))
        for n in range(1, 25)
    ]
    expected = [own.encode(one, [image]) for one in asked]
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda one: own.encode(one, [image]), asked))
    assert [e.ids.tolist() for e in made] == [e.ids.tolist() for e in expected]


def test_a_reply_that_holds_a_picture_token_is_put_in_as_text(load: Load) -> None:
    loaded = load("qwen2.5-vl")
    ids = [40, loaded.model.config.image_token_id, 41]
    text = loaded.family.decode(ids)
    reply = Reply(text, native={"ids": ids, "text": text})
    made = loaded.family.encode(Conversation((user("one"),)).then(reply, user("two")), [])
    assert loaded.model.config.image_token_id not in made.ids.tolist()


@pytest.mark.parametrize("kind", FAMILIES)
@settings(max_examples=25)
@given(width=st.integers(30, 900), height=st.integers(30, 900))
@example(width=200, height=1600)
def test_pictures_are_sent_in_the_size_that_the_processor_keeps(
    load: Load, kind: str, width: int, height: int
) -> None:
    loaded = load(kind)
    rule = loaded.family.image_rule
    assert rule is not None
    patch = loaded.model.config.vision_config.patch_size
    fitted = rule.fit(width, height)
    assert rule.fit(*fitted) == fitted
    for size in ((width, height), fitted):
        image = Image.new("RGB", size)
        made = loaded.family.encode(Conversation((user(shown(image)),)), [image])
        _, rows, columns = made.pictures["image_grid_thw"][0].tolist()
        assert (columns * patch, rows * patch) == fitted
        assert rule.tokens(*size) == rows * columns // 4


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_pixel_limit_is_kept_and_known(checkpoint: Checkpoint, kind: str) -> None:
    loaded = load_model(LocalOptions(str(checkpoint(kind)), max_pixels=50_000), device="cpu")
    image = noise(600, 500)
    made = loaded.family.encode(Conversation((user(shown(image)),)), [image])
    patch = loaded.model.config.vision_config.patch_size
    assert int(made.pictures["image_grid_thw"].prod()) * patch**2 <= 50_000
    rule = loaded.family.image_rule
    assert rule is not None
    width, height = rule.fit(600, 500)
    assert 40_000 < width * height <= 50_000


def test_a_pixel_limit_below_one_token_is_refused(checkpoint: Checkpoint) -> None:
    with pytest.raises(Fatal, match="784 pixels of one qwen2-vl picture token"):
        load_model(LocalOptions(str(checkpoint("qwen2-vl")), max_pixels=100), device="cpu")


def test_other_models_get_pictures_within_the_limit(checkpoint: Checkpoint, load: Load) -> None:
    limited = load_model(LocalOptions(str(checkpoint("llava")), max_pixels=10_000), device="cpu")
    rule = limited.family.image_rule
    assert rule is not None
    assert rule.fit(400, 100) == (200, 50)
    unlimited = load("llava").family.image_rule
    assert unlimited is not None
    assert unlimited.fit(400, 100) == (400, 100)


@pytest.mark.parametrize("kind", ALL)
def test_a_reply_is_shown_without_its_control_tokens(load: Load, kind: str) -> None:
    family = load(kind).family
    ids = family.encode(Conversation((user("book"),)), []).ids.tolist()
    control = family._guard.control  # type: ignore[attr-defined]
    shown_ids = [token for token in ids if token not in control]
    assert family.decode([*ids, *family.stop_ids]) == family.decode(shown_ids)


limits = st.sampled_from([(28, 3_136, 12_845_056), (28, 78_400, 1_605_632), (32, 65_536, 2**24)])


@given(st.integers(28, 8_000), st.integers(28, 8_000), limits)
def test_sizes_are_those_of_the_librarys_own_rule(
    width: int, height: int, limit: tuple[int, int, int]
) -> None:
    from transformers.models.qwen2_vl import image_processing_pil_qwen2_vl as library

    if max(width, height) > 200 * min(width, height):
        return
    seen = library.smart_resize(height, width, *limit)[::-1]
    assert open_models.qwen_exact(*limit).fit(width, height) == seen
    # What tests of served models take for the server.
    assert smart_resize((width, height), *limit) == seen


def named(checkpoint: Checkpoint, family: str, folder: Path) -> AdapterInfo:
    """The declaration of a tiny checkpoint in a folder with a name of its own."""
    folder.symlink_to(checkpoint(family))
    return describe(LocalOptions(str(folder))).info


def test_a_model_made_from_another_has_its_own_coordinates_by_name(
    checkpoint: Checkpoint, tmp_path: Path
) -> None:
    told = named(checkpoint, "qwen2-vl", tmp_path / "ShowUI-2B")
    assert told.coordinates == "unit"
    assert named(checkpoint, "qwen2.5-vl", tmp_path / "GUI-G2-7B").coordinates is None
    # The sizes are those of the checkpoint's own processor, whatever the name.
    own = named(checkpoint, "qwen2-vl", tmp_path / "something").image_rule
    assert told.image_rule is not None and own is not None
    assert told.image_rule.fit(1280, 720) == own.fit(1280, 720)


def test_pixels_of_a_picture_whose_size_is_unknown_mean_nothing(
    checkpoint: Checkpoint, tmp_path: Path
) -> None:
    assert named(checkpoint, "llava", tmp_path / "Jedi-7B").coordinates is None


def test_special_tokens_that_mark_places_stay_in_replies(
    checkpoint: Checkpoint, tmp_path: Path
) -> None:
    folder = tmp_path / "OS-Atlas-Base-7B"
    folder.symlink_to(checkpoint("qwen2-vl"))
    kept = load_model(LocalOptions(str(folder)), device="cpu").family
    plain = load_model(LocalOptions(str(checkpoint("qwen2-vl"))), device="cpu").family
    mark = plain._tokenizer.convert_tokens_to_ids("<|vision_start|>")  # type: ignore[attr-defined]
    ids = [mark, *plain._tokenizer("two").input_ids, mark]  # type: ignore[attr-defined]
    assert kept.decode([*ids, *kept.stop_ids]) == "<|vision_start|>two<|vision_start|>"
    assert plain.decode([*ids, *plain.stop_ids]) == "two"
    assert describe(LocalOptions(str(folder))).info.settings["special_tokens"] is True


def test_what_a_model_cannot_take_is_told_in_one_line(load: Load) -> None:
    family = load("qwen2-vl").family
    thin = Image.new("RGB", (3, 900))
    with pytest.raises(Fatal, match="aspect ratio"):
        family.encode(Conversation((user(shown(thin)),)), [thin])
    with pytest.raises(Fatal, match="0 images for a conversation with 1"):
        family.encode(Conversation((user(shown(thin)),)), [])
