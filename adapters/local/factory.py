"""The names of local models as factories: options to what a model declares, and to its adapter."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from adapters.contract import Adapter, Fatal, UnloadedModel
from adapters.conversation import END_TOKEN, Conversation, Text
from adapters.local import loading
from adapters.local.checkpoint import Checkpoint, locate
from adapters.local.contract import Encoded, Padded
from adapters.local.loading import quiet
from adapters.local.options import HUB, LocalOptions, Seq2SeqOptions, device_of, explained
from adapters.local.processors import check_torchvision
from adapters.options import read_options, signature_of
from adapters.registry import install

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True, eq=False)
class Seq2SeqFamily:
    """An encoder-decoder model in text only, such as the Flan-T5 models that MindAct fine-tuned.

    A conversation becomes one input: its texts in order, each cut to `piece_tokens` tokens by
    itself, and the end token. Those models were trained that way (page and question are two pieces
    of at most 512 tokens each), so a long page is cut at its end and the question never is.
    """

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


def seq2seq_family(checkpoint: Checkpoint, options: Seq2SeqOptions) -> Seq2SeqFamily:
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


INSTALL = install("local")
OLDEST = (5, 20)
EXAMPLES = {
    "hf": "hf:Qwen/Qwen2.5-VL-7B-Instruct",
    "seq2seq": "seq2seq:osunlp/MindAct_ActionPrediction_flan-t5-base",
}
_log = logging.getLogger(__name__)


class Factory:
    """Makes the adapter of a model on this machine, from the options that a class declares.

    describes: returns the declaration and a loader, given the model's name, the options in their
        own types, and whether the model is loaded next. Raises `Fatal`; for one that is loaded
        next, also for anything that would prevent loading.
    """

    def __init__(
        self, declared: type, describes: Callable[[str, Mapping[str, Any], bool], UnloadedModel]
    ) -> None:
        self.declared = declared
        self.__signature__: inspect.Signature = signature_of(declared)
        self._describes = describes

    def __call__(self, model: str, **options: object) -> Adapter:
        """Load the model. Raises `Fatal` with one line."""
        return self.describe(model, loads=True, **options).load()

    def describe(self, model: str, *, loads: bool = False, **options: object) -> UnloadedModel:
        """Return the adapter's declaration and a loader. Raises `Fatal`."""
        return self._describes(model, read_options(self, options), loads)


def local_options(name: str, model: str, read: Mapping[str, Any]) -> LocalOptions:
    """Return the options of a model under one of the names, as far as `LocalOptions` has them.

    Raises `Fatal` without a model.
    """
    model = model or HUB.get(name) or read.get("model_path", "")
    if not model:
        raise Fatal(f"which model? name it like {EXAMPLES[name]} or {name}:FOLDER")
    known = {field.name for field in fields(LocalOptions)}
    return LocalOptions(model, name, **{key: read[key] for key in read if key in known})


def _local(name: str, model: str, read: Mapping[str, Any], loads: bool) -> UnloadedModel:
    return describe(local_options(name, model, read), loads=loads)


def describe(options: LocalOptions, *, loads: bool = False) -> UnloadedModel:
    """Return a local model's declaration and a loader; see `Factory`."""
    check_installed()
    return _unloaded(loading.read(options, device_of(options)), options.batch_size, loads)


def _unloaded(model: loading.TransformersModel, rows: int | None, loads: bool) -> UnloadedModel:
    if loads:
        model.check()
    info, spread = model.declared(), model.options.device_map

    def load() -> Adapter:
        from adapters.local.adapter import opened

        where = f"GPUs ({spread})" if spread else model.device
        _log.info("loading %s on %s ...", info.name, where)
        return opened(info, model.load(), rows)

    return UnloadedModel(info, load)


def _seq2seq(model: str, read: Mapping[str, Any], loads: bool) -> UnloadedModel:
    named, options = local_options("seq2seq", model, read), Seq2SeqOptions(**read)
    check_installed()
    check_torchvision()
    from transformers import AutoModelForSeq2SeqLM

    device = device_of(named)
    if named.dtype == "auto" and device.startswith("cuda"):
        # T5 overflows in float16, and is published in float32.
        named = replace(named, dtype="bfloat16")
    checkpoint = locate(named)
    family = seq2seq_family(checkpoint, options)
    found = loading.TransformersModel(named, device, checkpoint, family, AutoModelForSeq2SeqLM)
    return _unloaded(found, options.batch_size, loads)


def check_installed() -> None:
    """Raises `Fatal` with the line that installs what local models need."""
    for package in ("torch", "transformers", "accelerate"):
        if find_spec(package) is None:
            raise Fatal(f"local models need the package '{package}': {INSTALL}")
    try:
        installed = version("transformers")
    except PackageNotFoundError:  # Run from a checkout of theirs; it will say what it lacks.
        return
    if tuple(int(part) for part in installed.split(".")[:2]) < OLDEST:
        raise Fatal(
            f"local models need transformers 5.20 or newer, {installed} is installed: {INSTALL}"
        )


hf, qwen2_vl, qwen2_5_vl, qwen3_vl, qwen_vl, seeclick = (
    Factory(LocalOptions, partial(_local, name))
    for name in ("hf", "qwen2-vl", "qwen2.5-vl", "qwen3-vl", "qwen-vl", "seeclick")
)
seq2seq = Factory(Seq2SeqOptions, _seq2seq)
