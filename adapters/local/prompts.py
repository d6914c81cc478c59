"""A conversation through a checkpoint's own chat template and processor."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adapters.contract import Fatal
from adapters.conversation import Conversation, Message, Picture, Text, user
from adapters.local.chat import Guard, escaped, guarded, reply_ids
from adapters.local.options import explained

if TYPE_CHECKING:
    from PIL.Image import Image

_OPEN = re.compile(r"(<(think|thinking|thought)>|\u25c1think\u25b7|\[THINK\])\s*\Z", re.IGNORECASE)
"""The end of a prompt that has the model begin with its thought."""
_THOUGHT = re.compile(r"(</?(?:think|thinking|thought)>|\u25c1/?think\u25b7|\[/?THINK\])")
"""The marks around a thought in a reply."""
_HERE = "\udfff\udffe\udfff"
"""Where a reply stands while a template is read: like escaped text, it cannot be forged."""
_BLANK = user(Picture("", "", 0, 0))
"""A message of a picture alone."""


class Prompter:
    """Writes prompts. Without state: to be used from several threads.

    A reply is put in by its ids if all are in the model's `vocabulary` and none is `reserved`: such
    ids are replaced by pictures. With a vocabulary of 0, every reply is put in as its text.
    """

    def __init__(
        self, processor: Any, guard: Guard, vocabulary: int, reserved: frozenset[int]
    ) -> None:
        self._processor = processor
        self._guard = guard
        self._reserved = reserved
        self._vocabulary = vocabulary
        self._blank: dict[object, int] = {}
        self._bos = processor.tokenizer.bos_token
        processor.tokenizer = guarded(processor.tokenizer, guard)
        self._takes_system = self._tries_system()

    def encode(self, conversation: Conversation, images: Sequence[Image]) -> Mapping[str, Any]:
        """Return the processor's tensors, with a first axis of one row. Raises `Fatal`."""
        if len(images) != len(conversation.pictures):
            raise Fatal(
                f"{len(images)} images for a conversation with {len(conversation.pictures)}"
            )
        return self._processed(self.text(conversation.messages), images)

    def collapsed(self, conversation: Conversation) -> list[int]:
        """Return the prompt's ids with its pictures as the template marks them, before the
        processor makes room for them. Raises `Fatal`."""
        return self._ids(self.text(conversation.messages))

    def picture_tokens(self, width: int, height: int) -> int:
        """Count a picture's ids at this size as the processor counts them; if it cannot
        tell, a blank picture is prepared."""
        # A private method, which serving engines rely on as well.
        with contextlib.suppress(Exception):
            count = self._processor._get_num_multimodal_tokens
            return int(count(image_sizes=[(height, width)])["num_image_tokens"][0])
        marked, plain = self._rendered([_BLANK]), self._rendered([user("")])
        return self.growth(width, height) + len(self._ids(marked)) - len(self._ids(plain))

    def growth(self, width: int, height: int) -> int:
        """Count the ids that the processor adds to a collapsed prompt for such a picture."""
        cut: object = width, height
        with contextlib.suppress(Exception):
            # Pictures that are cut into the same rows and columns have as many ids.
            made = self._processor.image_processor.get_number_of_image_patches(height, width)
            cut = made if isinstance(made, tuple) else cut
        if cut not in self._blank:
            from PIL.Image import new

            marked = self._rendered([_BLANK])
            made = self._processed(marked, [new("RGB", (width, height))])
            self._blank[cut] = len(made["input_ids"][0]) - len(self._ids(marked))
        return self._blank[cut]

    def together(self) -> bool:
        """Return whether the tensors of two prompts, concatenated, are those of a batch of both.

        Some processors number patches through the batch, or join pictures along another axis.
        Raises `Fatal` if a prompt with a picture cannot be processed at all.
        """
        from PIL import Image

        picture = Image.linear_gradient("L").convert("RGB")
        images = [picture, picture.rotate(90)]
        text = self._rendered([_BLANK])
        alone = [self._processed(text, [image]) for image in images]
        with contextlib.suppress(Exception):
            batch = self._called([text, text], [[image] for image in images])
            return all(_concatenated([row[name] for row in alone], batch[name]) for name in batch)
        return False

    def seen(self, width: int, height: int) -> float:
        """Return the share of a picture that the processor's centre crop leaves; 1 without one.

        Some processors have the setting and cut pictures into tiles instead, so two pictures are
        compared that differ where the crop would be.
        """
        across, down = _centre(self._processor.image_processor, width, height)
        if across * down == 1:
            return 1.0
        from PIL import Image

        white = Image.new("RGB", (width, height), "white")
        marked = Image.new("RGB", (width, height), "black")
        # A little more than the crop, because resizing blends neighbours.
        sides = [min(n, round(n * part * 1.1)) for n, part in ((width, across), (height, down))]
        marked.paste("white", _middle(width, height, *sides))
        text = self._rendered([_BLANK])
        made, other = (self._processed(text, [image]) for image in (white, marked))
        same = all(bool((made[name] == other[name]).all()) for name in made)
        return across * down if same else 1.0

    def text(self, messages: Sequence[Message]) -> str:
        """Return the prompt as an escaped string, up to where the next reply begins."""
        messages = self.without_system(messages)
        for place in range(len(messages) - 1, -1, -1):
            ids = self._kept_ids(messages[place])
            if ids is None:
                continue
            whole = self._rendered(messages, hole=place)
            if whole.count(_HERE) == 1:
                return self.text(messages[:place]) + reply_ids(ids) + whole.partition(_HERE)[2]
        return self._rendered(messages)

    def without_system(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return the messages with the system's text at the head of the first user message, for a
        template that has no role for it."""
        if self._takes_system or not messages or messages[0].role != "system":
            return messages
        instructions = messages[0].parts
        if len(messages) == 1 or messages[1].role != "user":
            return [Message("user", instructions), *messages[1:]]
        return [
            Message("user", (*instructions, Text("\n\n"), *messages[1].parts)),
            *messages[2:],
        ]

    @property
    def opens_thought(self) -> bool:
        """True if the template ends a prompt in an open thought."""
        return _OPEN.search(self.text([user("a")])) is not None

    def _processed(self, text: str, images: Sequence[Image]) -> Mapping[str, Any]:
        """Return the processor's tensors for an escaped prompt. Raises `Fatal`."""
        with explained("the model's processor refuses the prompt"):
            return self._called(text, [list(images)] if images else None)

    def _called(self, text: str | list[str], images: list[list[Image]] | None) -> Mapping[str, Any]:
        first = text if isinstance(text, str) else text[0]
        made: Mapping[str, Any] = self._processor(
            text=text,
            images=images,
            return_tensors="pt",
            add_special_tokens=self._adds_special(first),
        )
        return made

    def _ids(self, text: str) -> list[int]:
        """Return the ids of an escaped prompt."""
        return self._guard.ids(text, add_special_tokens=self._adds_special(text))

    def _adds_special(self, text: str) -> bool:
        """Return whether the tokenizer is to write its first token: templates may have done so."""
        return not (self._bos and text.startswith(self._bos))

    def _kept_ids(self, message: Message) -> list[int] | None:
        """Return the ids generated for a reply, if they can be inserted unchanged."""
        native = message.native
        if message.role != "assistant" or not isinstance(native, Mapping):
            return None
        ids, text = native.get("ids"), native.get("text")
        if text != message.text or not isinstance(ids, list | tuple) or not ids:
            return None
        good = all(type(token) is int and 0 <= token < self._vocabulary for token in ids)
        return None if not good or self._reserved.intersection(ids) else list(ids)

    def _rendered(self, messages: Sequence[Message], hole: int | None = None) -> str:
        here = [{"type": "text", "text": _HERE}]
        turns = [
            {"role": message.role, "content": _parts(message) if place != hole else here}
            for place, message in enumerate(messages)
        ]
        return self._applied(turns)

    def _applied(self, turns: list[dict[str, Any]]) -> str:
        # A template is a program, and raises whatever its expressions do.
        with explained("the chat template refuses the conversation"):
            written = self._processor.apply_chat_template(
                [turns], tokenize=False, add_generation_prompt=True
            )
            return str(written[0])

    def _tries_system(self) -> bool:
        asked = {"role": "user", "content": [{"type": "text", "text": "a"}]}
        try:
            self._applied([{**asked, "role": "system"}, asked])
        except Fatal:
            self._applied([asked])
            return False
        return True


def _parts(message: Message) -> list[dict[str, str]]:
    write = _reply_text if message.role == "assistant" else escaped
    return [
        {"type": "text", "text": write(part.text)} if isinstance(part, Text) else {"type": "image"}
        for part in message.shown
    ]


def _reply_text(text: str) -> str:
    return around_thoughts(text, escaped)


def around_thoughts(text: str, write: Callable[[str], str]) -> str:
    """Return a reply, rewritten but for the marks of its thought, which templates look for to leave
    it out of later rounds."""
    pieces = _THOUGHT.split(text)
    return "".join(piece if number % 2 else write(piece) for number, piece in enumerate(pieces))


def _concatenated(parts: Sequence[Any], whole: Any) -> bool:
    """Return whether a batch's tensor is that of its rows, one after the other."""
    import torch

    return bool(torch.equal(torch.cat(list(parts)), whole))


def _centre(processor: Any, width: int, height: int) -> tuple[float, float]:
    """Return the shares of a picture's width and height that a processor's centre crop leaves, by
    its settings."""
    size = getattr(processor, "size", None) or {}
    crop = getattr(processor, "crop_size", None) or {}
    if not (getattr(processor, "do_center_crop", False) and crop.get("width")):
        return 1.0, 1.0
    wide, tall = width, height
    if getattr(processor, "do_resize", False) and size.get("shortest_edge"):
        scale = size["shortest_edge"] / min(width, height)
        wide, tall = round(width * scale), round(height * scale)
    elif getattr(processor, "do_resize", False) and size.get("width"):
        wide, tall = size["width"], size["height"]
    return min(1.0, crop["width"] / wide), min(1.0, crop["height"] / tall)


def _middle(width: int, height: int, across: int, down: int) -> tuple[int, int, int, int]:
    """Return the box of that size in the middle of a picture."""
    left, top = (width - across) // 2, (height - down) // 2
    return left, top, left + across, top + down
