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

import base64
import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import tiktoken
import torch
from PIL import Image
from torch import Tensor

from adapters.contract import Coordinates, Fatal, ImageRule
from adapters.conversation import Conversation, Message, Text
from adapters.hub import downloaded
from adapters.local.checkpoint import Checkpoint
from adapters.local.contract import Encoded, Padded
from adapters.local.options import HUB, LocalOptions
from adapters.local.qwen_vl.config import QwenVLConfig
from adapters.local.qwen_vl.vision import positions
from adapters.open_models import OPEN_MODELS, pixels

if TYPE_CHECKING:
    from adapters.local.qwen_vl.model import QwenVL

FILE: Final = "qwen.tiktoken"
END_OF_TEXT, IM_START, IM_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
REF, REF_END = "<ref>", "</ref>"
BOX, BOX_END = "<box>", "</box>"
QUAD, QUAD_END = "<quad>", "</quad>"
IMAGE, IMAGE_END, IMAGE_PAD = "<img>", "</img>", "<imgpad>"
MARKUP: Final = frozenset({REF, REF_END, BOX, BOX_END, QUAD, QUAD_END})
# Their ids follow the ranks in this order (151643 and on in the published vocabulary).
SPECIALS: Final = (
    END_OF_TEXT,
    IM_START,
    IM_END,
    *(f"<|extra_{number}|>" for number in range(205)),
    *(REF, REF_END, BOX, BOX_END, QUAD, QUAD_END, IMAGE, IMAGE_END, IMAGE_PAD),
)
# Where a text is cut before bytes are merged. Unlike in later Qwen, digits are never joined.
CUT: Final = "|".join(
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
        r"[^\r\n\p{L}\p{N}]?\p{L}+",
        r"\p{N}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)


class Tokenizer:
    """Converts texts to ids and back. Stateless after loading; used from several threads."""

    def __init__(self, ranks: dict[bytes, int], queries: int = 256) -> None:
        """Build it from merge ranks (0, 1, 2, ...) and the number of ids per picture."""
        specials = {name: len(ranks) + place for place, name in enumerate(SPECIALS)}
        self.specials = specials
        self.queries = queries
        self._encoding = tiktoken.Encoding(
            "qwen", pat_str=CUT, mergeable_ranks=ranks, special_tokens=specials
        )
        self._hidden = {specials[name] for name in SPECIALS if name not in MARKUP}

    @classmethod
    def read(cls, path: Path, queries: int = 256) -> Tokenizer:
        """Read a `qwen.tiktoken`: a line for each token, its bytes in base64 and its rank.

        Raises `Fatal` for a file of another format.
        """
        lines = (line.split() for line in path.read_bytes().splitlines() if line)
        try:
            ranks = {base64.b64decode(token, validate=True): int(rank) for token, rank in lines}
        except ValueError as error:
            raise Fatal(f"{path}: a line is not a token in base64 and its rank") from error
        whole = sorted(ranks.values()) == list(range(len(ranks)))
        if not whole or any(bytes([byte]) not in ranks for byte in range(256)):
            raise Fatal(f"{path}: a rank (0, 1, 2, ...) or a single byte is missing")
        return cls(ranks, queries)

    @property
    def size(self) -> int:
        """Ids in use, special ones included."""
        return self._encoding.n_vocab

    def encode(self, text: str) -> list[int]:
        """Encode a text, composed first (NFC). Special tokens in it are plain text."""
        return self._encoding.encode_ordinary(unicodedata.normalize("NFC", text))

    def image_span(self) -> list[int]:
        """Return a picture's ids: start, `queries` places, end.

        The original writes the picture's path into the places, byte by byte, and opens the file
        that they name. Here pictures travel separately from the ids, and the places are padding.
        """
        padding = [self.specials[IMAGE_PAD]] * self.queries
        return [self.specials[IMAGE], *padding, self.specials[IMAGE_END]]

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids. Special tokens and ids beyond the vocabulary are left out, but for `<ref>`,
        `<box>`, `<quad>` and their ends."""
        shown = [number for number in ids if number not in self._hidden and 0 <= number < self.size]
        return self._encoding.decode(shown, errors="replace")


# CLIP's, per channel of RGB in 0 to 1 (Radford et al. 2021).
MEAN: Final = (0.48145466, 0.4578275, 0.40821073)
STD: Final = (0.26862954, 0.26130258, 0.27577711)


def squeezed(image: Image.Image, side: int) -> Image.Image:
    """Resize the picture to `side` by `side` pixels, bicubic, at any aspect; alpha is dropped.

    Width first, then height, in two calls: Pillow 13 turned the order round for pictures that lose
    much more height than width, which changes most values of a tall screenshot by up to 19 of 255.
    The models were trained with the earlier order, and two calls give it with any version.
    """
    rgb = image.convert("RGB")
    across = rgb.resize((side, rgb.height), Image.Resampling.BICUBIC)
    return across.resize((side, side), Image.Resampling.BICUBIC)


def pixel_values(images: Sequence[Image.Image], side: int) -> Tensor:
    """[pictures, 3, side, side] in float32, normalised with CLIP's mean and deviation."""
    raw = np.stack([np.asarray(squeezed(image, side)) for image in images])
    values = torch.from_numpy(raw).permute(0, 3, 1, 2).contiguous().float().div_(255)
    mean, std = (torch.tensor(numbers).view(1, 3, 1, 1) for numbers in (MEAN, STD))
    return values.sub_(mean).div_(std)


SYSTEM = "You are a helpful assistant."


def stop_ids(tokenizer: Tokenizer) -> tuple[int, ...]:
    return tuple(tokenizer.specials[name] for name in (IM_END, IM_START, END_OF_TEXT))


def encoded(conversation: Conversation, tokenizer: Tokenizer) -> list[int]:
    """Encode the prompt for the reply to a conversation's last message. Raises `Fatal`.

    Pictures are numbered through the conversation. A reply is put in by the ids that were
    generated, when its message carries them (`native`).
    """
    messages = conversation.messages
    if not messages or messages[-1].role == "assistant":
        raise Fatal("Qwen-VL answers the user: a conversation must not end with a reply")
    start, end = tokenizer.specials[IM_START], tokenizer.specials[IM_END]
    newline = tokenizer.encode("\n")
    ids: list[int] = []
    pictures = 0

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
        if generated and generated[-1] in stop_ids(tokenizer):
            generated = generated[:-1]
        turn("assistant", generated)
        ids.append(end)
    turn("assistant", [])
    return ids


def _body(message: Message, tokenizer: Tokenizer, pictures: int) -> tuple[list[int], int]:
    ids: list[int] = []
    text = ""
    for part in message.shown:
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


SOURCE = "Qwen-VL (arXiv:2308.12966): squeezed to a square of fixed size, 256 vectors"


@dataclass(frozen=True, slots=True, eq=False)
class QwenVLFamily:
    """The tokenizer and the configuration of a checkpoint."""

    config: QwenVLConfig
    tokenizer: Tokenizer
    image_rule: ImageRule
    coordinates: Coordinates | None
    settings: Mapping[str, object] = field(default_factory=dict)
    """Its vocabulary, for the run's record."""

    name = "qwen-vl"
    takes_pictures = True
    opens_thought = False
    together = True

    @property
    def stop_ids(self) -> tuple[int, ...]:
        return stop_ids(self.tokenizer)

    @property
    def pad_id(self) -> int:
        return self.tokenizer.specials[END_OF_TEXT]

    def encode(self, conversation: Conversation, images: Sequence[Image.Image]) -> Encoded:
        ids = encoded(conversation, self.tokenizer)
        wanted = len(conversation.pictures)
        if len(images) != wanted:
            raise Fatal(f"{len(images)} images for a conversation with {wanted} pictures")
        side = self.config.vision.image_size
        pictures = {"pixel_values": pixel_values(images, side)} if images else {}
        return Encoded(torch.tensor(ids), None, pictures)

    def decode(self, ids: Sequence[int]) -> str:
        """Special tokens are left out, but for boxes: `<ref>..</ref><box>(x1,y1),(x2,y2)</box>`."""
        return self.tokenizer.decode(ids)

    def text_tokens(self, text: str) -> int:
        return len(self.tokenizer.encode(text))

    def inputs(self, model: QwenVL, padded: Padded) -> dict[str, Any]:
        """Positions and the NTK alpha from each row's own length, and the rows' pictures."""
        alphas = model.alphas(padded.mask.sum(-1))
        return {"position_ids": positions(padded.mask), "ntk_alpha": alphas, **padded.pictures}


def family_of(options: LocalOptions, checkpoint: Checkpoint) -> QwenVLFamily:
    """Return the family of a checkpoint, without its weights. Raises `Fatal`, also for an option
    that the model does not support."""
    if options.quantization:
        raise Fatal("quantization is not supported for the original Qwen-VL; leave it out")
    folder, config = checkpoint.folder, QwenVLConfig.of(checkpoint.config)
    # Fine-tuned to point: coordinates from 0 to 1.
    named = options.name, options.model, folder.name, str(checkpoint.config.get("_name_or_path"))
    seeclick = any("seeclick" in name.lower() for name in named)
    path, chat = folder / FILE, HUB["qwen-vl"]
    if not path.is_file():
        copy = f"copy {FILE} of {chat} into {folder}"
        if checkpoint.commit is None:
            why = " (SeeClick was published without one)" if seeclick else ""
            raise Fatal(f"{folder}: no {FILE}{why}; {copy}")
        path = downloaded(chat, None, (FILE,), copy) / FILE
    shape = config.vision
    tokenizer = Tokenizer.read(path, shape.queries)
    if tokenizer.specials[IMAGE] != shape.image_start or tokenizer.size > config.vocab_size:
        raise Fatal(
            f"{path} is of another model: <img> is {tokenizer.specials[IMAGE]} of "
            f"{tokenizer.size} ids, config.json says {shape.image_start} of {config.vocab_size}"
        )
    return QwenVLFamily(
        config,
        tokenizer,
        # At full size, since the model itself squeezes every picture to the same square.
        replace(
            pixels(options.max_pixels, lambda width, height: shape.queries, SOURCE),
            seen=lambda width, height: 1.0,
        ),
        OPEN_MODELS["seeclick" if seeclick else "qwen-vl-chat"].coordinates,
        {"vocabulary_sha256": hashlib.sha256(path.read_bytes()).hexdigest()},
    )
