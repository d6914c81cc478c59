"""A cross-encoder as a ranker: it reads a candidate and the query together and gives one score.

    open_ranks("cross-encoder:path/or/repo,device=cuda,dtype=bfloat16")

The texts are those that Mind2Web's DeBERTa was trained with (Deng et al. 2023, section 3.1). The
files of a checkpoint are checked first, and the model is loaded when the first step is scored. Code
that comes with a checkpoint is never run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adapters.contract import Fatal
from adapters.faults import first_line
from adapters.hub import downloaded
from adapters.local.tensors import loading_reports, refuse_adapter_tensors, refuse_adapters
from adapters.registry import install
from harness.data_files import DataFile, fingerprint
from harness.errors import DataError, UserError
from harness.page import Page
from harness.rankers import ByScore, Ranks
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
    text = page.ranking_text(node_id, ancestor_words=50, target_words=100)
    return f"ancestors: {text.ancestors}\ntarget: {text.target}"


DTYPES = ("float32", "bfloat16", "float16")
_HINT = f"a cross-encoder needs the extra rank: {install('rank')}"
_TOKENIZERS = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "spm.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tokenizer.model",
)
_DECISIVE = ("*.json", "*.safetensors", "*.bin", "*.txt", "*.model")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint's location and options."""

    path: str
    """A folder, or the name of a repository on the hub."""
    revision: str | None = None
    """Branch, tag or commit of the repository."""
    device: str | None = None
    """torch's name of the device; None: the best available one."""
    dtype: str = "float32"
    """Precision. DeBERTa overflows in float16."""
    batch_size: int = 64
    """Number of pairs per batch."""

    @classmethod
    def read(cls, argument: str) -> Checkpoint:
        """Read `PATH,name=value,...`. Raises `UserError` for an unknown name or a bad value."""
        path, *settings = argument.split(",")
        if not path:
            raise UserError("name the checkpoint: cross-encoder:PATH, a folder or a hub name")
        known = {field.name.replace("_", "-"): field.name for field in fields(cls)[1:]}
        read = cls(path)
        for setting in settings:
            name, sign, value = setting.partition("=")
            if not sign or name not in known or not value:
                raise UserError(
                    f"cross-encoder: '{setting}' is not a setting; "
                    f"expected {'=, '.join(sorted(known))}="
                )
            counts = name == "batch-size"
            if counts and (not value.isdigit() or int(value) < 1):
                raise UserError(
                    f"cross-encoder: batch-size is {value}, not a positive whole number"
                )
            changed: dict[str, Any] = {known[name]: int(value) if counts else value}
            read = replace(read, **changed)
        if read.dtype not in DTYPES:
            raise UserError(
                f"cross-encoder: dtype is {read.dtype}; expected one of {', '.join(DTYPES)}"
            )
        return read

    @property
    def is_local(self) -> bool:
        return Path(self.path).is_dir()


def library() -> Any:
    """Import sentence_transformers. Raises `UserError` that says what to install."""
    try:
        import sentence_transformers
    except ImportError as error:
        raise UserError(f"{_HINT} ({error})") from error
    return sentence_transformers


def load(checkpoint: Checkpoint) -> CrossEncoder:
    """Load the model onto its device.

    Raises:
        UserError: the extra is not installed.
        DataError: no such checkpoint, it does not load, or is not a cross-encoder with one score.
    """
    # Load the checked files: a branch on the hub may move in between.
    folder = checked(checkpoint)
    model = opened(checkpoint, folder)
    _check_head(checkpoint.path, folder, model)
    return model


def checked(checkpoint: Checkpoint) -> Path:
    """Return the folder of a checkpoint after checking its configuration; reads no weights.

    Raises:
        UserError: the extra is not installed.
        DataError: no such checkpoint, or not a cross-encoder with one score.
    """
    library()
    folder = located(checkpoint)
    _check(checkpoint.path, folder)
    check_tokenizer(checkpoint.path, folder)
    return folder


def opened(
    checkpoint: Checkpoint, folder: Path, *, what: str = "", **arguments: Any
) -> CrossEncoder:
    """Load the files in a folder onto the checkpoint's device, without progress bars.

    `what` goes into the message of the `DataError` for files that do not load.
    """
    import torch
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars
    from sentence_transformers import CrossEncoder
    from transformers.utils import logging

    if not are_progress_bars_disabled():
        disable_progress_bars()
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
        for _, report in reports:
            refuse_adapter_tensors(folder, map(str, report["unexpected_keys"]))
        return model
    except Exception as error:  # weights, tokenizers and configurations raise errors of many kinds
        line = f"{checkpoint.path} cannot be loaded{what}: {first_line(error)}"
        raise DataError(line) from error


def located(checkpoint: Checkpoint) -> Path:
    """Return the folder of the files; downloads them if needed.

    Raises `DataError`, also for a folder with an adapter, which would not be applied.
    """
    path, revision = checkpoint.path, checkpoint.revision
    if checkpoint.is_local and revision is not None:
        raise UserError(f"{path} is a folder, which has no revisions; leave out the revision")
    if not checkpoint.is_local and (path.startswith((".", "/", "~")) or path.count("/") > 1):
        raise DataError(f"no such folder: {path}")
    otherwise = "nor does a folder of that name exist"
    try:
        is_local = checkpoint.is_local
        folder = Path(path) if is_local else downloaded(path, revision, _DECISIVE, otherwise)
        refuse_adapters(folder)
    except Fatal as error:
        raise DataError(str(error)) from error
    return folder


def check_tokenizer(name: str, folder: Path) -> None:
    """Raise if the tokenizer is missing, or a package that it needs (DeBERTa-v3's)."""
    if not any((folder / file).exists() for file in _TOKENIZERS):
        # transformers would continue with an empty vocabulary.
        raise DataError(f"{name} has no tokenizer (none of {', '.join(_TOKENIZERS)})")
    if (folder / "tokenizer.json").exists() or not (folder / "spm.model").exists():
        return
    for package in ("sentencepiece", "google.protobuf"):
        try:
            spec = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            spec = None
        if spec is None:
            raise UserError(
                f"the tokenizer of {name} needs {package.rpartition('.')[2]}: {install('rank')}"
            )


def _check(name: str, folder: Path) -> None:
    """Reject models that were not trained to give one score: their head would be random."""
    config = _json(folder / "config.json")
    if config is None:
        raise DataError(f"{name} has no config.json; is it the checkpoint of a cross-encoder?")
    stated = config.get("architectures")
    architectures = [str(name) for name in stated] if isinstance(stated, list) else []
    if not any(name.endswith("ForSequenceClassification") for name in architectures):
        kind = ", ".join(architectures) or "no architecture named"
        raise DataError(
            f"{name} is not a cross-encoder ({kind}); fine-tune one: vlm-eval train-ranker"
        )
    labels = config.get("id2label")
    count = len(labels) if isinstance(labels, dict) else config.get("num_labels") or 2
    if count != 1:
        raise DataError(f"{name} gives {count} labels; a ranker needs exactly one score")


def _check_head(name: str, folder: Path, model: CrossEncoder) -> None:
    """Reject weights without the layer that gives the score: it was initialised at random."""
    stored = _stored_names(folder)
    prefix = f"{getattr(model.model, 'base_model_prefix', '')}."
    head = [key for key in model.model.state_dict() if not key.startswith(prefix)]
    absent = [key for key in head if key not in stored]
    if stored and absent:
        raise DataError(
            f"{name} is not a cross-encoder: its weights lack the layer that gives the score "
            f"({absent[0]}); fine-tune it: vlm-eval train-ranker"
        )


def _stored_names(folder: Path) -> set[str]:
    """Return the names of the stored weights; empty if they are in an unknown format."""
    from safetensors import safe_open

    names: set[str] = set()
    for path in folder.glob("*.safetensors"):
        with safe_open(str(path), framework="pt") as file:
            names.update(file.keys())
    if not names:
        import torch

        for path in folder.glob("pytorch_model*.bin"):
            names.update(torch.load(path, map_location="meta", weights_only=True))
    return names


def _json(path: Path) -> dict[str, Any] | None:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return config if isinstance(config, dict) else None


class CrossEncoderScorer:
    """The scorer of the ranker `cross-encoder`."""

    parallel = False

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint

    @property
    def name(self) -> str:
        path = self._checkpoint.path
        return f"cross-encoder:{Path(path).resolve().name if self._checkpoint.is_local else path}"

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the texts' version, the length limit, the checkpoint's files and precision."""
        folder = located(self._checkpoint)
        paths = sorted({path for pattern in _DECISIVE for path in folder.glob(pattern)})
        files = [DataFile(path, None, path.name, path.stat().st_size) for path in paths]
        digests = [f"{file['name']}:{file['sha256']}" for file in fingerprint(files)]
        of_files = "\n".join([self._checkpoint.dtype, *digests])
        parts = f"{RECIPE}\n{MAX_TOKENS}\n{hashlib.sha256(of_files.encode()).hexdigest()}"
        return hashlib.sha256(parts.encode()).hexdigest()

    @cached_property
    def model(self) -> CrossEncoder:
        """The model, loaded on first use; raises as `checkpoint.load` does."""
        model = load(self._checkpoint)
        limit = model.max_seq_length or MAX_TOKENS
        model.max_seq_length = min(limit, MAX_TOKENS)
        return model

    def scores(self, steps: Sequence[tuple[Row, Page, Sequence[str]]]) -> list[list[float]]:
        """Scores are logits: a sigmoid would round many to the same value."""
        return [self._step(row, page, ids) for row, page, ids in steps]

    def _step(self, row: Row, page: Page, ids: Sequence[str]) -> list[float]:
        """Score one step by itself.

        The last digits of a score depend on the rest of the batch, and the order of a step must not
        depend on the other ranked steps.
        """
        import torch

        query_text = query(row.goal, row.detail.history)
        pairs = [(document(page, node_id), query_text) for node_id in ids]
        if not pairs:
            return []
        logits = self.model.predict(
            pairs,
            batch_size=self._checkpoint.batch_size,
            show_progress_bar=False,
            activation_fn=torch.nn.Identity(),
            convert_to_tensor=True,
        )
        scores = [float(score) for score in logits.float().cpu().tolist()]
        if not all(map(math.isfinite, scores)):
            hint = "" if self._checkpoint.dtype == "float32" else "; try --dtype float32"
            raise DataError(
                f"{self.name} gives scores that are not finite in {self._checkpoint.dtype}, in "
                f"step {row.unit_id}{hint}"
            )
        return scores


def cross_encoder(argument: str) -> Ranks:
    """Return the ranker `cross-encoder` for `PATH,name=value,...`.

    Raises:
        UserError: a bad setting, or the extra is not installed.
        DataError: not the checkpoint of a cross-encoder.
    """
    checkpoint = Checkpoint.read(argument)
    checked(checkpoint)
    return ByScore(CrossEncoderScorer(checkpoint))
