"""What a server says of a prompt that does not fit: its limit, the prompt, what is too large."""

from __future__ import annotations

import pytest

from adapters.faults import Sizes, sizes_named

REPLY = {
    "max_tokens is too large: 1024. This model's maximum context length is 4096 tokens and your "
    "request has 3500 input tokens (1024 > 4096 - 3500).": (4096, 3500),
    "This model's maximum context length is 4,096 tokens. However, you requested 5,000 tokens "
    "(3,976 in the messages, 1,024 in the completion).": (4096, 3976),
    "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3500 `inputs` tokens and 1024 "
    "`max_new_tokens`": (4096, 3500),
    "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000": (200000, 188240),
    "Requested token count exceeds the model's maximum context length of 4096 tokens. You "
    "requested a total of 5000 tokens: 3976 tokens from the input messages and 1024 tokens for the "
    "completion.": (4096, 3976),
    "your prompt contains at least 3073 input tokens and you requested 1024 output tokens; the "
    "maximum context length is 4096": (4096, 3073),
}
PROMPT = {
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.": (
        131072,
        537812,
    ),
    "prompt is too long: 210000 tokens > 200000 maximum": (200000, 210000),
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).": (
        1048576,
        1200000,
    ),
    "The decoder prompt (length 5000) is longer than the maximum model length of 4096.": (
        4096,
        5000,
    ),
    "request (5200 tokens) exceeds the available context size (4096 tokens)": (4096, 5200),
    "'max_tokens' is too large: 1024. This model's maximum context length is 4096 tokens and your "
    "request has 4500 input tokens (1024 > 4096 - 4500).": (4096, 4500),
    "Request too large: input has 9000 tokens but the model supports up to 4096 tokens": (
        4096,
        9000,
    ),
    "The input (5000 tokens) is longer than the model's context length (4096 tokens).": (
        4096,
        5000,
    ),
    "Prompt contains 40000 tokens, too large for model with 32768 maximum context length": (
        32768,
        40000,
    ),
    "`inputs` must have less than 4096 tokens. Given: 5000": (4096, 5000),
    "total number of tokens in the prompt cannot exceed 4081 - received 5000.": (4081, 5000),
    "Input length 5000 exceeds maximum allowed token length 4096": (4096, 5000),
    "The input is 5,000 tokens long; the context window is 4,096 tokens.": (4096, 5000),
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 "
    "tokens.": (272000, 300000),
    "Range of input length should be [1, 30720]": (30720, None),
    "Could not process image": (None, None),
}


@pytest.mark.parametrize(("words", "numbers"), REPLY.items())
def test_the_limit_of_the_reply_is_too_large(words: str, numbers: tuple[int, int | None]) -> None:
    sizes = sizes_named(words)
    assert ((sizes.limit, sizes.prompt), sizes.of_reply) == (numbers, True)


@pytest.mark.parametrize(("words", "numbers"), PROMPT.items())
def test_the_prompt_is_too_long(words: str, numbers: tuple[int | None, int | None]) -> None:
    sizes = sizes_named(words)
    assert ((sizes.limit, sizes.prompt), sizes.of_reply) == (numbers, False)


@pytest.mark.parametrize(
    "words",
    [
        "At most 1 image(s) may be provided in one prompt.",
        "You set image=1 (or defaulted to 1) in --limit-mm-per-prompt, but passed 2 image items",
        "too many images: at most 20 images per request",
        "image exceeds 5 MB maximum",
        "the picture is larger than the limit of 8000 pixels",
    ],
)
def test_a_limit_of_something_else_is_none_of_tokens(words: str) -> None:
    assert sizes_named(words) == Sizes(None, None, of_reply=False)


def test_hostile_numbers_are_bounded() -> None:
    sizes = sizes_named("maximum context length is " + "9" * 5_000 + ", " + "1," * 5_000)
    assert (sizes.limit or 0) < 10**12
