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

from adapters.contract import AdapterInfo, Fatal, unless_sampled
from adapters.conversation import END_TOKEN, Conversation, Text
from adapters.local.checkpoint import Checkpoint
from adapters.local.contract import Encoded, Loaded, Padded
from adapters.local.options import Seq2SeqOptions, full_precision, line
from adapters.local.tensors import check_report

if TYPE_CHECKING:
    from PIL.Image import Image

_DTYPES = ("auto", "float32", "bfloat16", "float16")


@dataclass(frozen=True, slots=True, eq=False)
class Seq2SeqFamily:
    """The tokenizer of a model, and where its texts are cut."""

    name: str
    tokenizer: Any
    piece_tokens: int
    marked: bool
    """True if an end token follows each text that says so."""
    pad_id: int
    end_id: int

    image_rule = None
    coordinates = None
    opens_thought = False
    together = True
    takes_pictures = False

    @property
    def stop_ids(self) -> tuple[int, ...]:
        return (self.end_id,)

    def encode(self, conversation: Conversation, images: Sequence[Image]) -> Encoded:
        """Encode the input.

        Raises `Fatal` for a conversation with a picture, and for one without end tokens where each
        piece should have one.
        """
        import torch

        if conversation.pictures:
            raise Fatal(f"{self.name} takes no pictures")
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
            for token in (*piece[:room], *([self.end_id] if end else []))
        ]
        cut = any(len(piece) > room for piece, room in zip(pieces, rooms, strict=True))
        notice = (
            f"{self.name}: texts longer than {self.piece_tokens} tokens are cut, as in training "
            "(option piece_tokens)"
        )
        return Encoded(torch.tensor(ids), None, notices=[notice] if cut else [])

    def decode(self, ids: Sequence[int]) -> str:
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True))

    def text_tokens(self, text: str) -> int:
        return len(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def inputs(self, model: Any, padded: Padded) -> dict[str, Any]:
        return {}


def declared(family: Seq2SeqFamily, checkpoint: Checkpoint, device: str, dtype: str) -> AdapterInfo:
    """Return the adapter's declaration."""
    import torch
    import transformers

    return AdapterInfo(
        name=family.name,
        model=family.name.partition(":")[2],
        provider="local",
        revision=checkpoint.identity,
        weights_known=True,
        takes_pictures=False,
        greedy=unless_sampled,
        text_tokens=family.text_tokens,
        settings={
            "architecture": checkpoint.architecture,
            "dtype": dtype,
            "device": torch.device(device).type,
            "piece_tokens": family.piece_tokens,
            **({"end_tokens": "pieces"} if family.marked else {}),
            "torch": str(torch.__version__),
            "transformers": transformers.__version__,
        },
    )


def dtype_of(wanted: str, device: str) -> str:
    """Return the name of a dtype: on a GPU bfloat16, which T5 needs (float16 overflows), else
    float32."""
    if wanted not in _DTYPES:
        raise Fatal(f"dtype '{wanted}': expected {', '.join(_DTYPES)}")
    if wanted == "auto":
        return "bfloat16" if device.startswith("cuda") else "float32"
    return wanted


def family_of(name: str, checkpoint: Checkpoint, options: Seq2SeqOptions) -> Seq2SeqFamily:
    """Return the family of a checkpoint. Raises `Fatal`, also for a model of another kind."""
    from transformers import AutoConfig, AutoTokenizer

    from adapters.local.loading import quiet

    quiet()
    if not checkpoint.config.get("is_encoder_decoder"):
        raise Fatal(
            f"{checkpoint.folder} is not an encoder-decoder model ({checkpoint.architecture}): "
            "name it with hf:..."
        )
    try:
        tokenizer = AutoTokenizer.from_pretrained(checkpoint.folder, local_files_only=True)
        config = AutoConfig.from_pretrained(checkpoint.folder, local_files_only=True)
    except Exception as error:
        raise Fatal(f"the tokenizer of {_failed(checkpoint, error)}") from error
    marked = options.end_tokens == "pieces"
    ids = config.pad_token_id, config.eos_token_id
    return Seq2SeqFamily(name, tokenizer, options.piece_tokens, marked, *ids)


def loaded(family: Seq2SeqFamily, checkpoint: Checkpoint, device: str, dtype: str) -> Loaded:
    """Load the model on its device. Raises `Fatal` for weights that are missing or damaged."""
    import torch
    from transformers import AutoModelForSeq2SeqLM

    missing = [path for path in checkpoint.weights if not path.is_file()]
    if missing:
        raise Fatal(f"missing weights: {missing[0]}")
    torch_dtype = getattr(torch, dtype)
    full_precision(torch_dtype)
    try:
        model, report = AutoModelForSeq2SeqLM.from_pretrained(
            checkpoint.folder, dtype=torch_dtype, local_files_only=True, output_loading_info=True
        )
    except Exception as error:
        raise Fatal(_failed(checkpoint, error)) from error
    notices = check_report(checkpoint.folder, checkpoint.architecture, report)
    return Loaded(model.to(device).eval(), family, device, None, {}, notices)


def _failed(checkpoint: Checkpoint, error: Exception) -> str:
    return f"{checkpoint.folder} cannot be loaded: {type(error).__name__}: {line(error)}"
