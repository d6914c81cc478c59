"""Opening a cross-encoder: options, the extra that it needs, and what is no cross-encoder.

The weights stay on this machine; code that a checkpoint brings along is never run.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adapters.hub import hub_error
from harness.benchmarks.files import DataFile, fingerprint
from harness.errors import DataError, UserError

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

DTYPES = ("float32", "bfloat16", "float16")
_HINT = "a cross-encoder needs the extra rank: pip install 'vlm-web-eval[rank]'"
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
    """A folder, or a repository on the hub, and how to run it.

    DeBERTa overflows in float16, hence float32 unless asked otherwise.
    """

    path: str
    revision: str | None = None
    device: str | None = None
    dtype: str = "float32"
    batch_size: int = 64

    @classmethod
    def read(cls, argument: str) -> Checkpoint:
        """From `PATH,name=value,...`. Raises `UserError`."""
        path, *settings = argument.split(",")
        if not path:
            raise UserError("name the checkpoint: cross-encoder:PATH, a folder or of the hub")
        known = {field.name.replace("_", "-"): field.name for field in fields(cls)[1:]}
        found = cls(path)
        for setting in settings:
            name, sign, value = setting.partition("=")
            if not sign or name not in known or not value:
                raise UserError(
                    f"cross-encoder: '{setting}' is none of {'=, '.join(sorted(known))}="
                )
            if name == "batch-size":
                if not value.isdigit() or int(value) < 1:
                    raise UserError(f"cross-encoder: batch-size is {value}, not a number from 1")
                found = replace(found, batch_size=int(value))
            else:
                changed: dict[str, Any] = {known[name]: value}
                found = replace(found, **changed)
        if found.dtype not in DTYPES:
            raise UserError(f"cross-encoder: dtype is {found.dtype}, not {', '.join(DTYPES)}")
        return found

    @property
    def is_local(self) -> bool:
        return Path(self.path).is_dir()


def library() -> Any:
    """sentence_transformers. Raises `UserError` with what to install."""
    try:
        import sentence_transformers
    except ImportError as error:
        raise UserError(f"{_HINT} ({error})") from error
    return sentence_transformers


def load(checkpoint: Checkpoint) -> CrossEncoder:
    """The model, on its device.

    Raises:
        UserError: the extra is not installed, or the device is not there.
        DataError: there is no such checkpoint, or it is no cross-encoder with one score.
    """
    # The model is what was looked at: a branch may move between two questions to the hub.
    folder = checked(checkpoint)
    import torch
    from sentence_transformers import CrossEncoder

    model = _opened(checkpoint.path, folder, CrossEncoder, torch, checkpoint)
    _check_head(checkpoint.path, folder, model)
    return model


def checked(checkpoint: Checkpoint) -> Path:
    """The folder of what its files say is a cross-encoder; no weights are read.

    Raises:
        UserError: the extra is not installed.
        DataError: there is no such checkpoint, or it is no cross-encoder with one score.
    """
    library()
    folder = located(checkpoint)
    _check(checkpoint.path, folder)
    check_tokenizer(checkpoint.path, folder)
    return folder


def _opened(name: str, folder: Path, cls: Any, torch: Any, checkpoint: Checkpoint) -> CrossEncoder:
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars
    from transformers.utils import logging

    if not are_progress_bars_disabled():
        disable_progress_bars()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        model: CrossEncoder = cls(
            str(folder),
            device=checkpoint.device,
            trust_remote_code=False,
            local_files_only=True,
            model_kwargs={"dtype": getattr(torch, checkpoint.dtype)},
        )
    except (
        Exception
    ) as error:  # weights, tokenizers and configurations each have errors of their own
        raise DataError(f"{name} cannot be loaded: {_first_line(error)}") from error
    return model


def located(checkpoint: Checkpoint) -> Path:
    """The folder of the files, fetched from the hub if need be. Raises `DataError`."""
    if checkpoint.is_local:
        if checkpoint.revision is not None:
            raise UserError(f"{checkpoint.path} is a folder, which has no revisions")
        return Path(checkpoint.path)
    if checkpoint.path.startswith((".", "/", "~")) or checkpoint.path.count("/") > 1:
        raise DataError(f"no such folder: {checkpoint.path}")
    from huggingface_hub import snapshot_download

    try:
        folder = snapshot_download(
            checkpoint.path, revision=checkpoint.revision, allow_patterns=list(_DECISIVE)
        )
    except Exception as error:  # the hub's own errors, those of its HTTP library, and ValueError
        otherwise = "there is no folder of that name either"
        reason = hub_error(error, checkpoint.path, "model", checkpoint.revision, otherwise)
        raise DataError(reason) from error
    return Path(folder)


def check_tokenizer(name: str, folder: Path) -> None:
    """Raise where there is no tokenizer, or one (DeBERTa-v3's) that takes a package not there."""
    if not any((folder / file).exists() for file in _TOKENIZERS):
        # transformers would go on with one that knows no word.
        raise DataError(f"{name} has no tokenizer (none of {', '.join(_TOKENIZERS)})")
    if (folder / "tokenizer.json").exists() or not (folder / "spm.model").exists():
        return
    for package in ("sentencepiece", "google.protobuf"):
        try:
            found = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            found = None
        if found is None:
            raise UserError(
                f"the tokenizer of {name} takes {package.rpartition('.')[2]}: "
                "pip install 'vlm-web-eval[rank]'"
            )


def digest_of(checkpoint: Checkpoint) -> str:
    """What decides the scores: every file's SHA-256, and the precision."""
    import hashlib

    folder = located(checkpoint)
    paths = sorted({path for pattern in _DECISIVE for path in folder.glob(pattern)})
    files = [DataFile(path, None, path.name, path.stat().st_size) for path in paths]
    told = [f"{one['name']}:{one['sha256']}" for one in fingerprint(files)]
    return hashlib.sha256("\n".join([checkpoint.dtype, *told]).encode()).hexdigest()


def _check(name: str, folder: Path) -> None:
    """Refuse what would load with a random head: any model that was not trained to give a score."""
    config = _json(folder / "config.json")
    if config is None:
        raise DataError(f"{name} has no config.json; is it a checkpoint of a cross-encoder?")
    told_kinds = config.get("architectures")
    kinds = [str(kind) for kind in told_kinds] if isinstance(told_kinds, list) else []
    if not any(kind.endswith("ForSequenceClassification") for kind in kinds):
        told = ", ".join(kinds) or "nothing that says so"
        raise DataError(
            f"{name} is no cross-encoder ({told}); fine-tune one: vlm-eval train-ranker"
        )
    labels = config.get("id2label")
    count = len(labels) if isinstance(labels, dict) else config.get("num_labels") or 2
    if count != 1:
        raise DataError(f"{name} gives {count} labels, where a ranker has one score")


def _check_head(name: str, folder: Path, model: CrossEncoder) -> None:
    """Refuse a file without the layer that gives the score, which was then drawn at random."""
    stored = _stored_names(folder)
    prefix = f"{getattr(model.model, 'base_model_prefix', '')}."
    head = [key for key in model.model.state_dict() if not key.startswith(prefix)]
    absent = [key for key in head if key not in stored]
    if stored and absent:
        raise DataError(
            f"{name} is no cross-encoder: its weights lack the layer that gives the score "
            f"({absent[0]}); fine-tune it: vlm-eval train-ranker"
        )


def _stored_names(folder: Path) -> set[str]:
    """The names of the weights in the files; none where they are in another format."""
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
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
