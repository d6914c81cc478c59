"""Encoder-decoder models in text only, such as the Flan-T5 models that MindAct fine-tuned.

A conversation becomes one input: its texts in order, each cut to `piece_tokens` tokens by itself,
and the end token. Those models were trained that way (page and question are two pieces of at most
512 tokens each), so a long page is cut at its end and the question never is. With `end_tokens` of
`pieces`, an end token also follows each text that says so (`END_TOKEN`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adapters.contract import Fatal
from adapters.conversation import END_TOKEN, Conversation, Text
from adapters.local.checkpoint import Checkpoint
from adapters.local.contract import Encoded, Padded
from adapters.local.loading import quiet
from adapters.local.options import Seq2SeqOptions, explained

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True, eq=False)
class Seq2SeqFamily:
    """The tokenizer of a model, and where its texts are cut."""

    config: Any
    tokenizer: Any
    piece_tokens: int
    marked: bool
    """True if an end token follows each text that says so."""

    name = "seq2seq"
    image_rule = None
    coordinates = None
    opens_thought = False
    together = True
    takes_pictures = False

    @property
    def stop_ids(self) -> tuple[int, ...]:
        return (self.config.eos_token_id,)

    @property
    def pad_id(self) -> int:
        return int(self.config.pad_token_id)

    @property
    def settings(self) -> dict[str, object]:
        ends = {"end_tokens": "pieces"} if self.marked else {}
        return {"piece_tokens": self.piece_tokens, **ends}

    def encode(self, conversation: Conversation, images: Sequence[Image]) -> Encoded:
        """Encode the input.

        Raises `Fatal` for a conversation with a picture, and for one without end tokens where each
        piece should have one.
        """
        import torch

        if conversation.pictures:
            raise Fatal("an encoder-decoder model takes no pictures")
        parts = [p.text for m in conversation.messages for p in m.shown if isinstance(p, Text)]
        ends = [self.marked and text.endswith(END_TOKEN) for text in parts]
        if self.marked and len(parts) > 1 and not any(ends):
            raise Fatal("end_tokens=pieces: the protocol does not mark where they go; leave it out")
        ends[-1] = True
        # Page text must not become an end token; `unk` marks unknown characters.
        special = set(self.tokenizer.all_special_ids) - {self.tokenizer.unk_token_id}
        pieces = [
            [token for token in ids if token not in special]
            for ids in self.tokenizer(parts, add_special_tokens=False)["input_ids"]
        ]
        # A piece shares its room with its end token.
        rooms = [self.piece_tokens - end for end in ends]
        ids = [
            token
            for piece, room, end in zip(pieces, rooms, ends, strict=True)
            for token in (*piece[:room], *(self.stop_ids if end else ()))
        ]
        cut = any(len(piece) > room for piece, room in zip(pieces, rooms, strict=True))
        notice = (
            f"texts longer than {self.piece_tokens} tokens are cut, as in training "
            "(option piece_tokens)"
        )
        return Encoded(torch.tensor(ids), None, notices=[notice] if cut else [])

    def decode(self, ids: Sequence[int]) -> str:
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True))

    def text_tokens(self, text: str) -> int:
        return len(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def inputs(self, model: Any, padded: Padded) -> dict[str, Any]:
        return {}


def family_of(checkpoint: Checkpoint, options: Seq2SeqOptions) -> Seq2SeqFamily:
    """Return the family of a checkpoint. Raises `Fatal`, also for a model of another kind."""
    from transformers import AutoConfig, AutoTokenizer

    quiet()
    folder = checkpoint.folder
    if not checkpoint.config.get("is_encoder_decoder"):
        raise Fatal(
            f"{folder} is not an encoder-decoder model ({checkpoint.architecture}): "
            "name it with hf:..."
        )
    with explained(f"the tokenizer of {folder} cannot be loaded"):
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
    return Seq2SeqFamily(config, tokenizer, options.piece_tokens, options.end_tokens == "pieces")
