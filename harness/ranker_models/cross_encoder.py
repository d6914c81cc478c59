"""A cross-encoder as a ranker: it reads a candidate and the query together and gives one score.

    open_ranks("cross-encoder:path/or/repo,device=cuda,dtype=bfloat16")

The texts are those that Mind2Web's DeBERTa was trained with (Deng et al. 2023, section 3.1). The
model is loaded when the first step is scored. Code that comes with a checkpoint is never run.
"""

from __future__ import annotations

import hashlib
import importlib
import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from adapters.contract import Fatal
from adapters.decoding import convert_to, decode_json
from adapters.faults import first_line
from adapters.hub import downloaded
from adapters.local.checkpoint import (
    check_report,
    loading_reports,
    refuse_adapter_tensors,
    refuse_adapters,
)
from adapters.options import Count
from adapters.registry import install
from harness.data_files import DataFile, fingerprint
from harness.errors import DataError, UserError
from harness.page import Page
from harness.rankers import ByScore
from harness.records import Row

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

MAX_TOKENS = 512
"""Longest pair in the training of the paper's ranker, in tokens."""
RECIPE = "mindact-1"
"""Version of the two texts below; part of every digest, because another wording ranks otherwise."""
HISTORY = 3


def query(task: str, history: Sequence[str]) -> str:
    """Write the query: the task and the last three actions.

    >>> query("Book a room", ["[a]  Rooms -> CLICK"])
    'task is: Book a room\\nPrevious actions: [a]  Rooms -> CLICK'
    """
    return f"task is: {task}\nPrevious actions: {'; '.join(history[-HISTORY:])}"


def document(page: Page, node_id: str) -> str:
    """Write a candidate: the last 50 words of the path to it and the first 100 words inside it."""
    text = page.ranking_text(node_id)
    return f"ancestors: {text.ancestors}\ntarget: {text.target}"


_TOKENIZERS = (
    *("tokenizer.json", "vocab.txt", "vocab.json", "spm.model", "spiece.model"),
    *("sentencepiece.bpe.model", "tokenizer.model"),
)
_DECISIVE = ("*.json", "*.safetensors", "*.bin", "*.txt", "*.model")


_Text = Annotated[str, msgspec.Meta(min_length=1)]


class RankerCheckpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A checkpoint's location and options.

    path: a folder, or the name of a repository on the hub.
    revision: branch, tag or commit of the repository.
    device: torch's name of the device; None: the best available one.
    dtype: precision; DeBERTa overflows in float16.
    batch_size: number of pairs per batch.
    """

    path: _Text
    revision: _Text | None = None
    device: _Text | None = None
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    batch_size: Count = 64

    @classmethod
    def read(cls, argument: str) -> RankerCheckpoint:
        """Read `PATH,name=value,...`. Raises `UserError` for an unknown name or a bad value."""
        path, *settings = argument.split(",")
        if not path:
            raise UserError("name the checkpoint: cross-encoder:PATH, a folder or a hub name")
        pairs = (setting.partition("=") for setting in settings)
        given = {name.replace("-", "_"): value for name, _, value in pairs}
        try:
            return convert_to({**given, "path": path}, cls, strict=False)
        except msgspec.ValidationError as error:
            known = "revision=, device=, dtype= and batch-size="
            raise UserError(f"{argument}: {error}; settings are {known}") from error


def located(checkpoint: RankerCheckpoint) -> Path:
    """Return the folder of the files; downloads them if needed.

    Raises `UserError` for a missing package, checkpoint or tokenizer, and for a checkpoint with an
    adapter, which would not be applied.
    """
    try:
        for package in ("sentence_transformers", "sentencepiece", "google.protobuf"):
            importlib.import_module(package)  # DeBERTa-v3's tokenizer needs the last two.
    except ImportError as error:
        hint = f"a cross-encoder needs the extra rank: {install('rank')}"
        raise UserError(f"{hint} ({error})") from error
    path, revision, folder = checkpoint.path, checkpoint.revision, Path(checkpoint.path)
    if folder.is_dir() and revision is not None:
        raise UserError(f"{path} is a folder, which has no revisions; leave out the revision")
    try:
        if not folder.is_dir():
            otherwise = "nor does a folder of that name exist"
            folder = downloaded(path, revision, _DECISIVE, otherwise)
        refuse_adapters(folder)
    except Fatal as error:
        raise DataError(str(error)) from error
    if not any((folder / file).exists() for file in _TOKENIZERS):
        # transformers would continue with an empty vocabulary.
        raise DataError(f"{path} has no tokenizer (none of {', '.join(_TOKENIZERS)})")
    return folder


def checked(checkpoint: RankerCheckpoint) -> Path:
    """Return the folder of a model with one score, going by its configuration; reads no weights.

    Raises as `located` does, and `DataError` for another model: its head would be random.
    """
    folder, name = located(checkpoint), checkpoint.path
    try:
        config = decode_json((folder / "config.json").read_bytes(), dict[str, Any])
    except (OSError, msgspec.MsgspecError, RecursionError) as error:
        raise DataError(f"{name} has no readable config.json: {error}") from error
    stated = config.get("architectures")
    found = ", ".join(map(str, stated)) if isinstance(stated, list) else "no architecture named"
    if "ForSequenceClassification" not in found:
        raise DataError(
            f"{name} is not a cross-encoder ({found}); fine-tune one: vlm-eval rankers train"
        )
    labels = config.get("id2label")
    count = len(labels) if isinstance(labels, dict) else config.get("num_labels") or 2
    if count != 1:
        raise DataError(f"{name} gives {count} labels; a ranker needs exactly one score")
    return folder


def loaded(
    checkpoint: RankerCheckpoint, folder: Path, *, new_head: bool = False, **arguments: Any
) -> CrossEncoder:
    """Load the files in a folder onto the checkpoint's device, without progress bars.

    `new_head` accepts weights that lack the layer of the score. `arguments` are `CrossEncoder`'s.
    Raises `DataError` if they do not load, or lack other tensors.
    """
    import torch
    from sentence_transformers import CrossEncoder
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with loading_reports() as reports:
            model = CrossEncoder(
                str(folder),
                device=checkpoint.device,
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"dtype": getattr(torch, checkpoint.dtype)},
                **arguments,
            )
        for architecture, report in reports:
            if new_head:
                refuse_adapter_tensors(folder, map(str, report["unexpected_keys"]))
            else:
                check_report(folder, architecture, report)
        return model
    except Exception as error:  # weights, tokenizers and configurations raise errors of many kinds
        raise DataError(f"{checkpoint.path} cannot be loaded: {first_line(error)}") from error


class CrossEncoderRanks(ByScore):
    """The ranker `cross-encoder`."""

    def __init__(self, argument: str) -> None:
        """`argument` is `PATH,name=value,...`. Raises as `checked` does."""
        self._checkpoint = RankerCheckpoint.read(argument)
        # Kept: a branch on the hub may move.
        self._folder = checked(self._checkpoint)

    @property
    def name(self) -> str:
        path = self._checkpoint.path
        return f"cross-encoder:{Path(path).resolve().name if Path(path).is_dir() else path}"

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the texts' version, the length limit, the checkpoint's files and precision."""
        paths = sorted({path for pattern in _DECISIVE for path in self._folder.glob(pattern)})
        files = [DataFile(path, None, path.name, path.stat().st_size) for path in paths]
        digests = [f"{file['name']}:{file['sha256']}" for file in fingerprint(files)]
        of_files = "\n".join([self._checkpoint.dtype, *digests])
        parts = f"{RECIPE}\n{MAX_TOKENS}\n{hashlib.sha256(of_files.encode()).hexdigest()}"
        return hashlib.sha256(parts.encode()).hexdigest()

    @cached_property
    def model(self) -> CrossEncoder:
        """The model, loaded on first use."""
        model = loaded(self._checkpoint, self._folder)
        model.max_seq_length = min(model.max_seq_length or MAX_TOKENS, MAX_TOKENS)
        return model

    def scores(self, row: Row, page: Page, ids: Sequence[str]) -> list[float]:
        """Score the candidates; scores are logits: a sigmoid would round many to the same value.

        The last digits of a score depend on the rest of the batch, so no batch has candidates of
        several steps.
        """
        import torch

        about = query(row.goal, row.detail.history)
        pairs = [(document(page, node_id), about) for node_id in ids]
        if not pairs:
            return []
        logits = self.model.predict(
            pairs,
            batch_size=self._checkpoint.batch_size,
            show_progress_bar=False,
            activation_fn=torch.nn.Identity(),
            convert_to_tensor=True,
        )
        scores: list[float] = logits.float().cpu().tolist()
        if not all(map(math.isfinite, scores)):
            hint = "" if self._checkpoint.dtype == "float32" else "; try dtype=float32"
            where = f"in {self._checkpoint.dtype}, in step {row.unit_id}"
            raise DataError(f"{self.name} gives scores that are not finite {where}{hint}")
        return scores
