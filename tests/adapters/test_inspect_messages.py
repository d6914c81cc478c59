"""Conversations, replies and token counts in the form of Inspect AI, and back."""

from __future__ import annotations

from base64 import b64decode

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("inspect_ai", reason="needs the extra [inspect]")

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ContentImage,
    ContentReasoning,
    ContentText,
    ModelOutput,
    ModelUsage,
    StopDetails,
)

from adapters import Conversation, EncodedPicture, Finish, Picture, Reply, Usage, system, user
from adapters.inspect import (
    chat_messages,
    model_output,
    model_usage,
    reply_of,
    usage_of,
)
from harness.runs import MessageRecord

PICTURE = Picture("ab" * 32, "jpeg", 640, 480)


def test_a_conversation_becomes_messages_with_its_pictures() -> None:
    first = Conversation((system("Be brief."), user(PICTURE, "What is it?")))
    whole = first.then(Reply("A page."), user("Sure?"))

    messages = chat_messages(
        whole.messages, lambda picture: EncodedPicture(b"bytes", "image/jpeg", 640, 480)
    )

    assert [message.role for message in messages] == ["system", "user", "assistant", "user"]
    assert [message.text for message in messages] == [
        "Be brief.",
        "What is it?",
        "A page.",
        "Sure?",
    ]
    image, text = messages[1].content_list
    assert isinstance(image, ContentImage) and isinstance(text, ContentText)
    head, _, data = image.image.partition(",")
    assert head == "data:image/jpeg;base64"
    assert b64decode(data) == b"bytes"


def test_messages_on_record_show_a_placeholder_for_pictures() -> None:
    (message,) = chat_messages([MessageRecord.of(user(PICTURE, "Look."))])
    assert message.text == f"[picture, 640 x 480, sha256 {'ab' * 6}]\nLook."


@given(
    st.builds(
        lambda rest, cached, written, output, reasoning: Usage(
            rest + cached + written, cached, written, output + reasoning, reasoning
        ),
        *[st.integers(0, 10**9)] * 5,
    )
)
def test_token_counts_come_back_as_they_were(usage: Usage) -> None:
    told = model_usage(usage)
    assert told.input_tokens == usage.input - usage.cached - usage.cache_write
    assert told.total_tokens == usage.input + usage.output
    assert usage_of(told) == usage


def test_cached_tokens_are_added_to_those_of_the_prompt() -> None:
    told = ModelUsage(
        input_tokens=5,
        input_tokens_cache_read=100,
        input_tokens_cache_write=20,
        output_tokens=7,
        total_tokens=132,
    )
    assert usage_of(told) == Usage(input=125, cached=100, cache_write=20, output=7)


@pytest.mark.parametrize("finish", Finish)
def test_a_reply_comes_back_with_its_finish_reason(finish: Finish) -> None:
    reply = Reply(
        "A",
        finish,
        Usage(10, 3, 1, 4, 2),
        "model-1",
        1.5,
        request_id="r-1",
        reasoning="because",
    )
    assert reply_of(model_output(reply)) == reply


def test_thoughts_are_no_part_of_the_text() -> None:
    message = ChatMessageAssistant(
        content=[ContentReasoning(reasoning="hidden"), ContentText(text="ELEMENT: A")]
    )
    output = ModelOutput(
        model="m", choices=[ChatCompletionChoice(message=message, stop_reason="stop")]
    )
    reply = reply_of(output)
    assert (reply.text, reply.reasoning) == ("ELEMENT: A", "hidden")


@pytest.mark.parametrize(
    ("content", "stop", "details", "finish"),
    [
        (ContentText(text="No.", refusal=True), "stop", None, Finish.REFUSAL),
        (ContentText(text=""), "content_filter", StopDetails(type="refusal"), Finish.REFUSAL),
        (ContentText(text=""), "content_filter", StopDetails(), Finish.CONTENT_FILTER),
        (ContentText(text=""), "content_filter", None, Finish.CONTENT_FILTER),
        (ContentText(text="A"), "max_tokens", None, Finish.LENGTH),
        (ContentText(text=""), "model_length", None, Finish.TOO_LONG),
        (ContentText(text="A"), "unknown", None, Finish.STOP),
    ],
)
def test_what_providers_send_in_place_of_a_reply_is_a_finish_reason(
    content: ContentText, stop: str, details: StopDetails | None, finish: Finish
) -> None:
    message = ChatMessageAssistant(content=[content])
    choice = ChatCompletionChoice.model_validate(
        {"message": message, "stop_reason": stop, "stop_details": details}
    )
    assert reply_of(ModelOutput(model="m", choices=[choice])).finish is finish


def test_an_output_without_a_choice_is_no_reply() -> None:
    with pytest.raises(ValueError, match="without a choice"):
        reply_of(ModelOutput(model="m"))
