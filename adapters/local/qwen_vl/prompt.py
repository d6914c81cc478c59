"""Conversations as token ids: ChatML with `Picture N:` lines.

    <|im_start|>system
    You are a helpful assistant.<|im_end|>
    <|im_start|>user
    Picture 1: <img>...</img>
    What now?<|im_end|>
    <|im_start|>assistant

No text of a message can open a turn or a picture: everything in it that looks like a special token
is encoded as the characters it consists of. (The original lets `<img>`, `<box>` and their
kind pass; a page that says `<img>/etc/passwd</img>` made it open that file.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adapters.contract import Fatal
from adapters.conversation import Conversation, Message, Text
from adapters.local.qwen_vl.tokenizer import END_OF_TEXT, IM_END, IM_START, Tokenizer

SYSTEM = "You are a helpful assistant."


@dataclass(frozen=True, slots=True)
class Prompt:
    """Token ids, and how many of them precede the end of the last reply inserted by its ids."""

    ids: list[int]
    built_on: int


def stop_ids(tokenizer: Tokenizer) -> tuple[int, ...]:
    return tuple(tokenizer.specials[name] for name in (IM_END, IM_START, END_OF_TEXT))


def encoded(conversation: Conversation, tokenizer: Tokenizer) -> Prompt:
    """Encode the prompt for the reply to a conversation's last message. Raises `Fatal`.

    Pictures are numbered through the conversation. A reply is put in by the ids that were
    generated, when its message carries them (`native`): kept keys and values stay valid.
    """
    messages = conversation.messages
    if not messages or messages[-1].role == "assistant":
        raise Fatal("Qwen-VL answers the user: a conversation must not end with a reply")
    start, end = tokenizer.specials[IM_START], tokenizer.specials[IM_END]
    newline = tokenizer.encode("\n")
    ids: list[int] = []
    built_on = pictures = 0

    def turn(role: str, body: Sequence[int]) -> None:
        ids.extend((*([*newline] if ids else []), start, *tokenizer.encode(role), *newline, *body))

    if messages[0].role != "system":
        turn("system", [*tokenizer.encode(SYSTEM), end])
    for message in messages:
        if message.pictures and message.role != "user":
            raise Fatal(f"Qwen-VL takes pictures from the user only, not in a {message.role} turn")
        generated = _generated(message)
        if generated is None:
            body, pictures = _body(message, tokenizer, pictures)
            turn(message.role, [*body, end])
            continue
        closed = bool(generated) and generated[-1] == end
        if generated and generated[-1] in stop_ids(tokenizer):
            generated = generated[:-1]
        turn("assistant", generated)
        built_on = len(ids) + closed
        ids.append(end)
    turn("assistant", [])
    return Prompt(ids, built_on)


def _body(message: Message, tokenizer: Tokenizer, pictures: int) -> tuple[list[int], int]:
    ids: list[int] = []
    text = ""
    for part in message.parts:
        if isinstance(part, Text):
            text += part.text
            continue
        pictures += 1
        ids += tokenizer.encode(f"{text}Picture {pictures}: ") + tokenizer.image_span()
        text = "\n"
    return ids + tokenizer.encode(text), pictures


def _generated(message: Message) -> list[int] | None:
    """Return the ids that a reply was generated as, if its message carries them."""
    native = message.native
    if message.role != "assistant" or not isinstance(native, dict):
        return None
    ids = native.get("ids")
    if not isinstance(ids, list) or native.get("text") != message.text:
        return None
    return [int(number) for number in ids]
