"""Every family of `zoo` and the others, asked through the adapter, against the library's own words.

Families whose processors need torchvision are asked with a stand-in, in a process of its own, since
transformers looks for torchvision once. There the prompts of the others are read as well: they must
not change by it.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

from PIL import Image

from adapters import describe, make
from adapters.contract import Fatal, Generation, PixelPicture, Request
from adapters.conversation import Conversation, Picture, Reply, Text, system, user
from adapters.local.adapter import LocalAdapter
from adapters.local.checkpoint import locate
from adapters.local.contract import ModelFamily
from adapters.local.generate import alike
from adapters.local.loading import family as family_in
from adapters.local.options import LocalOptions
from adapters.local.processors import image_only
from tests.local import tiny, zoo
from tests.local.conftest import Checkpoint, Load
from tests.local.test_adapter import Pictures, answered

STANDIN = Path(__file__).parent / "standin"
WITH_TORCHVISION = find_spec("torchvision") is not None
NEEDY = tuple(name for name, family in zoo.FAMILIES.items() if family.needs_torchvision)
EVERY = ("llava", *tiny.FAMILIES, *zoo.FAMILIES)
HERE = tuple(name for name in EVERY if WITH_TORCHVISION or name not in NEEDY)
SEEN_AGAIN = tuple(name for name in EVERY if name not in NEEDY)[::4]
"""Some that need no torchvision, whose prompts are read with it as well."""
BY_IDS = (*tiny.FAMILIES, "qwen3-vl-moe")
"""Families whose earlier replies are put in by the ids that were generated."""
NO_TEXT_ALONE = ("paligemma",)
"""Families whose processors take no prompt without a picture."""
ONE_BY_ONE = ("minicpm-v-4.6", "molmo2")
"""Families whose processors prepare two pictures otherwise together than apart."""
ALONE = ("hunyuan-vl",)
"""Families that the self-test finds: HunYuan-VL counts pictures over the rows of a batch."""
SIZES = ((150, 90), (60, 210), (150, 90))


@cache
def picture(number: int) -> Picture:
    return Picture(f"{60 * number:x}", "plain", *SIZES[number])


def pixels(shown: Picture) -> Image.Image:
    made: PixelPicture = asyncio.run(Pictures().pixels(shown))
    return Image.frombytes("RGB", (made.width, made.height), made.data)


def questions(name: str) -> list[Conversation]:
    """Conversations of unequal lengths, with pictures of two sizes and without one."""
    asked = [
        Conversation((user(picture(0), "what now?"),)),
        Conversation((user("\nfirst ", picture(1), "what now? " * 9),)),
        Conversation((user(picture(2), "what now?"),)),
        Conversation((user("only words"),)),
    ]
    return asked[: 3 if name in NO_TEXT_ALONE else 4]


def requests(asked: Sequence[Conversation], place: str) -> list[Request]:
    return [
        Request(one, Generation(max_tokens=5), f"s{number}", place)
        for number, one in enumerate(asked)
    ]


@contextmanager
def opened(folder: Path, **options: object) -> Iterator[LocalAdapter]:
    adapter = make(f"hf:{folder}", devices="cpu", **options)
    assert isinstance(adapter, LocalAdapter)
    try:
        yield adapter
    finally:
        asyncio.run(adapter.close())


def stock(folder: Path, name: str) -> Any:
    """The processor that the library chooses, without its part for video, on the same backend."""
    import transformers
    from transformers import AutoImageProcessor

    known = {
        "llava": "LlavaProcessor",
        "qwen2-vl": "Qwen2VLProcessor",
        "qwen2.5-vl": "Qwen2_5_VLProcessor",
        "qwen3-vl": "Qwen3VLProcessor",
    }
    kind = known.get(name) or str(zoo.FAMILIES[name].processor["processor_class"])
    base = getattr(transformers, kind)
    if "video_processor" in base.get_attributes():
        base = image_only(base)
    processor = base.from_pretrained(folder)
    processor.image_processor = AutoImageProcessor.from_pretrained(folder, backend="pil")
    return processor


def in_library_words(conversation: Conversation) -> list[dict[str, Any]]:
    def part(one: Text | Picture) -> dict[str, Any]:
        if isinstance(one, Text):
            return {"type": "text", "text": one.text}
        return {"type": "image", "image": pixels(one)}

    return [
        {"role": message.role, "content": [part(one) for one in message.shown]}
        for message in conversation.messages
    ]


def library_prompt(processor: Any, conversation: Conversation) -> Any:
    return processor.apply_chat_template(
        in_library_words(conversation),
        tokenize=True,
        add_generation_prompt=True,
        return_dict=True,
        return_tensors="pt",
    )


@pytest.mark.parametrize("name", HERE)
def test_two_rounds_in_a_batch_are_answered_as_the_library_answers_one_at_a_time(
    checkpoint: Checkpoint, name: str
) -> None:
    from transformers import AutoModelForImageTextToText

    folder, asked = checkpoint(name), questions(name)
    model = AutoModelForImageTextToText.from_pretrained(folder)
    processor = stock(folder, name)
    with opened(folder, batch_size=4) as adapter:
        assert adapter.rows == (1 if name in (*ONE_BY_ONE, *ALONE) else 4)
        notices = adapter.notices()
        assert len(notices) == (name in (*ONE_BY_ONE, *ALONE))
        assert any("one step at a time" in n for n in notices) is (name in ONE_BY_ONE)
        end = adapter._family.stop_ids
        for place in ("round-1", "round-2"):
            replies = asyncio.run(answered(adapter, requests(asked, place)))
            for conversation, reply in zip(asked, replies, strict=True):
                assert isinstance(reply, Reply)
                prompt, written = reply.token_ids or ((), ())
                expected = library_prompt(processor, conversation)
                if place == "round-2" and name in BY_IDS:
                    expected = with_ids(model, expected, prompt)
                assert list(prompt) == expected["input_ids"][0].tolist()
                assert list(written) == generated(model, expected, end)
            asked = [
                one.then(reply, user("and then?"))
                for one, reply in zip(asked, replies, strict=True)
                if isinstance(reply, Reply)
            ]


def with_ids(model: Any, prompt: Any, ids: Sequence[int]) -> dict[str, Any]:
    """The library's prompt with other ids: those that go on from the ids of a reply."""
    import torch

    row = torch.tensor([ids])
    types = (row == model.config.image_token_id).int()
    mask = torch.ones_like(row)
    return {**prompt, "input_ids": row, "mm_token_type_ids": types, "attention_mask": mask}


def generated(model: Any, prompt: Any, end: Sequence[int]) -> list[int]:
    """What the library's model writes for one prompt: greedily, and no picture's ids."""
    names = ("image_token_id", "image_token_index", "video_token_id", "video_token_index")
    found = (getattr(model.config, name, None) for name in names)
    size = model.config.get_text_config().vocab_size
    made = model.generate(
        **prompt,
        max_new_tokens=5,
        max_length=None,
        do_sample=False,
        repetition_penalty=1.0,
        suppress_tokens=[token for token in found if token is not None and token < size],
        eos_token_id=list(end),
        pad_token_id=0,
    )
    return [int(token) for token in made[0, prompt["input_ids"].shape[1] :]]


@pytest.mark.parametrize("name", HERE)
def test_pictures_in_the_plan_cost_what_the_processor_writes(load: Load, name: str) -> None:
    family = load(name).family
    counted_as_written(family)
    rule = family.image_rule
    assert rule is not None
    assert rule.tokens(*rule.fit(1280, 2560)) is not None


def counted_as_written(family: ModelFamily) -> None:
    rule = family.image_rule
    assert rule is not None
    around = set()
    for number, size in enumerate(SIZES[:2]):
        shown = picture(number)
        with_it = family.encode(Conversation((user("a", shown, "b"),)), [pixels(shown)]).length
        known = rule.tokens(*size)
        assert known
        around.add(with_it - known)
    # What is left is the template's: the same for every picture.
    assert len(around) == 1
    assert 0 < around.pop() < 60


def test_rows_of_unequal_length_share_a_batch_where_pictures_are_looked_at_across(
    load: Load,
) -> None:
    family = load("mllama").family
    rows = [
        family.encode(one, [pixels(shown) for shown in one.pictures])
        for one in (
            Conversation((user(picture(0), "what now?"),)),
            Conversation((user("only words"),)),
            Conversation((user(picture(0), "what now? " * 9),)),
            Conversation((user("only words and a few more"),)),
        )
    ]
    assert rows[0].length != rows[2].length
    assert alike(rows) == [0, 2]
    assert alike([rows[1], rows[0], rows[3]]) == [0, 2]


def test_a_template_decides_what_stays_of_a_thought_where_nothing_is_kept_of_it(
    checkpoint: Checkpoint, tmp_path: Path
) -> None:
    """As those of thinking models do, which leave thoughts out of later rounds."""
    import shutil

    folder = Path(shutil.copytree(checkpoint("internvl"), tmp_path / "thinking"))
    template = folder / "chat_template.jinja"
    shortened = template.read_text().replace(
        "{{ part['text'] }}", "{{ part['text'].split('</think>')[-1] }}"
    )
    template.write_text(shortened)
    options = LocalOptions(str(folder))
    family = family_in(options, locate(options))
    first = Conversation((system("You help."), user("one")))
    text = "<think>A or </s> B?</think>A"
    reply = Reply(text, native={"ids": [40, 41], "text": text})
    made = family.encode(first.then(reply, user("two")), []).ids.tolist()
    assert made == family.encode(first.then(Reply("A"), user("two")), []).ids.tolist()
    processor = stock(folder, "internvl")
    expected = library_prompt(processor, first.then(reply, user("two")))["input_ids"]
    assert made == expected[0].tolist()


@pytest.mark.skipif(WITH_TORCHVISION, reason="torchvision is installed")
@pytest.mark.parametrize("name", NEEDY)
def test_a_family_that_needs_torchvision_says_so_in_whole_words(
    checkpoint: Checkpoint, name: str
) -> None:
    import torch

    folder = checkpoint(name)
    with pytest.raises(Fatal) as caught:
        describe(f"hf:{folder}")
    kinds = (
        zoo.FAMILIES[name].pictures["image_processor_type"],
        zoo.FAMILIES[name].processor["processor_class"],
    )
    assert str(caught.value) in {
        f"{folder}: its pictures are prepared by {kind}, which needs torchvision, and that is not "
        f"installed: install the one made for torch {torch.__version__} "
        "(https://pytorch.org/get-started/locally)"
        for kind in kinds
    }


@pytest.mark.skipif(not WITH_TORCHVISION, reason="torchvision is not installed")
@pytest.mark.parametrize("name", SEEN_AGAIN)
def test_prompts_are_made_without_torchvision_if_it_is_not_needed(
    checkpoint: Checkpoint, tmp_path: Path, name: str
) -> None:
    own = name in zoo.FAMILIES
    folder = zoo.build(zoo.FAMILIES[name], tmp_path, weights=False) if own else checkpoint(name)
    options = LocalOptions(str(folder))
    family, processor = family_in(options, locate(options)), stock(folder, name)
    counted_as_written(family)
    for conversation in questions(name):
        made = family.encode(conversation, [pixels(shown) for shown in conversation.pictures])
        expected = library_prompt(processor, conversation)
        assert made.ids.tolist() == expected["input_ids"][0].tolist()
        for input_name, tensor in made.pictures.items():
            assert tensor.equal(expected[input_name])


@pytest.mark.skipif(WITH_TORCHVISION, reason="this is the inner run")
def test_all_of_this_holds_beside_torchvision() -> None:
    """Its stand-in comes first on the path; transformers then finds it."""
    path = os.pathsep.join([str(STANDIN), *sys.path])
    needy = " or ".join(NEEDY)
    chosen = f"if_it_is_not_needed or (library_answers or processor_writes) and ({needy})"
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", "-k", chosen, __file__],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-2000:]
    assert f"{len(SEEN_AGAIN) + 2 * len(NEEDY)} passed" in ended.stdout
