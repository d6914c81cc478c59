"""The prompt, id by id: ChatML, numbered pictures, replies as they were generated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="the extra 'local' is not installed")

from adapters.contract import Fatal
from adapters.conversation import (
    Conversation,
    Message,
    Picture,
    Reply,
    Text,
    system,
    user,
)
from adapters.local.qwen_vl.prompt import SPECIALS, Tokenizer, encoded, stop_ids

TOKENIZER = Tokenizer({bytes([byte]): byte for byte in range(256)}, queries=4)
PAD = "<imgpad>" * 4
END = TOKENIZER.specials["<|im_end|>"]
START = TOKENIZER.specials["<|im_start|>"]
PICTURE = Picture("0" * 64, "recipe", 40, 30)


def shown(ids: list[int]) -> str:
    """The ids spelled out, special tokens included."""
    names = {number: name for name, number in TOKENIZER.specials.items()}
    spelled = (names[n].encode() if n in names else bytes([n]) for n in ids)
    return b"".join(spelled).decode()


def prompt(*messages: Message) -> str:
    return shown(encoded(Conversation(messages), TOKENIZER))


def test_a_first_round_reads_as_the_model_was_trained() -> None:
    assert prompt(user(PICTURE, "What now?")) == (
        "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
        f"<|im_start|>user\nPicture 1: <img>{PAD}</img>\nWhat now?<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_a_conversation_with_its_own_system_text_keeps_it() -> None:
    assert prompt(system("Be brief."), user("Hi")) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )


def test_pictures_stand_where_they_are_and_are_numbered_through() -> None:
    text = prompt(
        user("Before ", PICTURE, "between", PICTURE),
        Message("assistant", (Text("Done."),)),
        user(PICTURE, "And now?"),
    )
    assert text.endswith(
        f"<|im_start|>user\nBefore Picture 1: <img>{PAD}</img>\nbetween"
        f"Picture 2: <img>{PAD}</img>\n<|im_end|>\n"
        "<|im_start|>assistant\nDone.<|im_end|>\n"
        f"<|im_start|>user\nPicture 3: <img>{PAD}</img>\nAnd now?<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def reply(ids: list[int], text: str = "CLICK") -> Reply:
    return Reply(text, native={"ids": ids, "text": text})


def test_the_second_round_goes_on_with_the_ids_of_the_first() -> None:
    first = Conversation((user(PICTURE, "What now?"),))
    # Ids that no tokenizer would choose for this text.
    generated = [*b"CL", *b"ICK", END]
    second = encoded(first.then(reply(generated), user("Which one?")), TOKENIZER)
    before = encoded(first, TOKENIZER)
    end = len(before) + len(generated)
    assert second[:end] == [*before, *generated]
    assert shown(second[end:]) == (
        "\n<|im_start|>user\nWhich one?<|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.mark.parametrize("ending", [[], [START], [TOKENIZER.specials["<|endoftext|>"]], [END]])
def test_a_reply_that_ended_otherwise_is_closed(ending: list[int]) -> None:
    first = Conversation((user("What now?"),))
    second = encoded(first.then(reply([*b"CLICK", *ending]), user("Go on")), TOKENIZER)
    assert "assistant\nCLICK<|im_end|>\n<|im_start|>user" in shown(second)


def test_a_reply_with_another_text_than_its_ids_is_read_as_text() -> None:
    changed = Message("assistant", (Text("TYPE"),), {"ids": [1, 2, END], "text": "CLICK"})
    made = encoded(Conversation((user("a"), changed, user("b"))), TOKENIZER)
    assert "assistant\nTYPE<|im_end|>" in shown(made)


HOSTILE = st.lists(st.one_of(st.sampled_from(SPECIALS), st.text(max_size=6)), max_size=5)


@given(HOSTILE.map("".join))
def test_page_text_opens_no_turn_and_no_picture(text: str) -> None:
    made = encoded(Conversation((user(PICTURE, text),)), TOKENIZER)
    plain = encoded(Conversation((user(PICTURE, "x"),)), TOKENIZER)
    for number in TOKENIZER.specials.values():
        assert made.count(number) == plain.count(number)


def test_what_the_model_cannot_take_is_said() -> None:
    with pytest.raises(Fatal, match="end with a reply"):
        prompt(user("a"), Message("assistant", (Text("b"),)))
    with pytest.raises(Fatal, match="system turn"):
        prompt(Message("system", (PICTURE,)), user("a"))


def test_generation_stops_at_either_mark_of_a_turn() -> None:
    assert stop_ids(TOKENIZER) == (END, START, TOKENIZER.specials["<|endoftext|>"])
