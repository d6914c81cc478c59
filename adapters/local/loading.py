"""Loads checkpoints that transformers supports."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adapters.contract import Fatal
from adapters.local.checkpoint import (
    Checkpoint,
    check_files,
    check_memory,
    fetch_weights,
    weight_bytes,
)
from adapters.local.contract import Loaded
from adapters.local.families import QWEN, HuggingFaceFamily, family_of
from adapters.local.options import LocalOptions, full_precision, line
from adapters.local.processors import load_processor
from adapters.local.tensors import check_report

if TYPE_CHECKING:
    import torch

HALF = "bfloat16"
QUANTIZATIONS = ("4bit", "8bit")
_OUTSIDE = ("cpu", "disk")
SPREAD_OR_QUANTIZE = "try --adapter-option quantization=4bit, or device_map=auto over several GPUs"
ELSEWHERE = "let a server run it (--model openai:NAME --base-url URL)"
"""The way out for a model that cannot be run here."""


@dataclass(frozen=True, slots=True, eq=False)
class TransformersModel:
    options: LocalOptions
    device: str
    checkpoint: Checkpoint
    family: HuggingFaceFamily

    @property
    def identity(self) -> str:
        return self.checkpoint.identity

    @property
    def context_tokens(self) -> int | None:
        value = getattr(self.family.config.get_text_config(), "max_position_embeddings", None)
        return int(value) if isinstance(value, int) else None

    @property
    def settings(self) -> Mapping[str, object]:
        options = self.options
        dtype = dtype_of(options, self.family.config, self.device)
        return {
            "dtype": str(dtype).removeprefix("torch."),
            "attention": options.attn or "default",
            "image_processor": self.family.image_processor,
            "quantization": options.quantization or _brought(self.checkpoint),
            "trust_remote_code": options.trust_remote_code,
            **({"special_tokens": True} if self.family.keeps_special_tokens else {}),
        }

    def check(self, advice: str = SPREAD_OR_QUANTIZE) -> None:
        """`advice` is part of the error if a GPU is too small."""
        options, checkpoint = self.options, self.checkpoint
        there = [path.is_file() for path in checkpoint.weights_named]
        # Files of the hub may still have to come.
        if checkpoint.commit is None or (there and all(there)):
            check_files(checkpoint)
        dtype = str(dtype_of(options, self.family.config, self.device)).removeprefix("torch.")
        needed = weight_bytes(checkpoint, dtype, options.quantization)
        if needed is None or options.device_map is not None:
            return
        source, asked_for = options.model_path or options.model, options.devices is not None
        check_memory(needed, self.device, source, advice, asked_for=asked_for)

    def load(self) -> Loaded:
        # Before many gigabytes are downloaded or read.
        self.check()
        if self.checkpoint.commit is not None:
            fetch_weights(self.options, self.checkpoint)
            self.check()
        family, checkpoint = self.family, self.checkpoint
        dtype = dtype_of(self.options, family.config, self.device)
        full_precision(dtype)
        model, notices = _model(self.options, checkpoint, family.config, dtype, self.device)
        facts = _facts(checkpoint, model, family)
        return Loaded(model, family, str(model.device), self.context_tokens, facts, notices)


def family(options: LocalOptions, checkpoint: Checkpoint) -> HuggingFaceFamily:
    """Return the family of a checkpoint, without its weights. Raises `Fatal`."""
    check_kind(checkpoint, options)
    quiet()
    config = configuration(checkpoint, options)
    if config.is_encoder_decoder:
        raise Fatal(
            f"{checkpoint.folder} is a checkpoint of {checkpoint.architecture}, an encoder-decoder "
            f"model, which cannot go on with a conversation: name another model, or {ELSEWHERE}"
        )
    processor = _processor(options, checkpoint, config)
    ends = stop_ids(checkpoint, config, processor)
    try:
        return family_of(config, processor, ends, options.max_pixels, options.known)
    except Fatal:
        raise
    except Exception as error:
        # Processors of untested models may lack anything that others have.
        raise Fatal(
            f"{checkpoint.folder}: prompts for {checkpoint.architecture} cannot be written: "
            f"{line(error)}"
        ) from error


def check_kind(checkpoint: Checkpoint, options: LocalOptions) -> None:
    """Raise `Fatal` for a checkpoint that is not of the named family, needs its own code that
    was not allowed, or does not take pictures and text."""
    from transformers import __version__
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

    kind, where = checkpoint.model_type, checkpoint.folder
    if options.name != "hf" and QWEN.get(kind) != options.name:
        named = QWEN.get(kind, "hf")
        raise Fatal(
            f"{where} is a checkpoint of {checkpoint.architecture}, not of {options.name}: "
            f"name it with --model {named}"
        )
    if options.trust_remote_code and checkpoint.config.get("auto_map"):
        return
    if kind not in CONFIG_MAPPING:
        if checkpoint.config.get("auto_map"):
            raise Fatal(
                f"{where} ({checkpoint.architecture}) brings its own code, which is not run unless "
                "you trust it: read it, then give --adapter-option trust_remote_code=yes"
            )
        raise Fatal(
            f"{where} is a checkpoint of {checkpoint.architecture}, which transformers "
            f"{__version__} does not know: update transformers, or {ELSEWHERE}"
        )
    if kind not in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES:
        raise Fatal(
            f"{where} is a checkpoint of {checkpoint.architecture}, which does not take pictures "
            f"with text, or does not answer in text: name another model, or {ELSEWHERE}"
        )


def configuration(checkpoint: Checkpoint, options: LocalOptions) -> Any:
    """Load transformers' configuration object. Raises `Fatal`."""
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(
            checkpoint.folder, trust_remote_code=options.trust_remote_code
        )
    except (ImportError, OSError, ValueError, KeyError, TypeError) as error:
        raise Fatal(f"{checkpoint.folder}/config.json cannot be used: {line(error)}") from error


def model_class(config: Any, trust_remote_code: bool) -> Any:
    """Return the class that loads a checkpoint."""
    import transformers

    listed = getattr(config, "auto_map", None) or {}
    if trust_remote_code:
        for name in ("AutoModelForImageTextToText", "AutoModelForCausalLM", "AutoModel"):
            if name in listed:
                return getattr(transformers, name)
    return transformers.AutoModelForImageTextToText


def quiet() -> None:
    """Silence transformers' own messages and progress bars."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def stop_ids(checkpoint: Checkpoint, config: Any, processor: Any) -> tuple[int, ...]:
    """Return the ids that end a reply, all that is used of a generation_config.json.

    Such files enable sampling and a repetition penalty, which a benchmark must not do unasked.
    """
    end_ids: list[object] = []
    path = checkpoint.folder / "generation_config.json"
    for source in (_json(path), config.to_dict(), config.get_text_config().to_dict()):
        value = source.get("eos_token_id")
        end_ids += value if isinstance(value, list) else [value]
        if any(isinstance(token, int) for token in end_ids):
            break
    end_ids.append(processor.tokenizer.eos_token_id)
    return tuple(dict.fromkeys(token for token in end_ids if isinstance(token, int)))


def dtype_of(options: LocalOptions, config: Any, device: str) -> torch.dtype:
    """Return the type that a model computes in. `auto`: the published one on a GPU, float32 on a
    CPU, which is slow at others. Raises `Fatal`."""
    import torch

    known = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
    if options.dtype == "auto":
        published = str(getattr(config, "dtype", None)).removeprefix("torch.")
        return known["float32"] if device.startswith("cpu") else known.get(published, known[HALF])
    if options.dtype not in known:
        raise Fatal(f"dtype={options.dtype}: choose from auto, {', '.join(known)}")
    return known[options.dtype]


def _processor(options: LocalOptions, checkpoint: Checkpoint, config: Any) -> Any:
    try:
        return load_processor(checkpoint.folder, config, options.trust_remote_code)
    except Fatal:
        raise
    except Exception as error:
        # Processors of so many families may raise anything for a missing file or package.
        raise Fatal(
            f"{checkpoint.folder}: its processor cannot be loaded: {line(error)}"
        ) from error


def _model(
    options: LocalOptions, checkpoint: Checkpoint, config: Any, dtype: torch.dtype, device: str
) -> tuple[Any, list[str]]:
    from transformers import GenerationConfig

    arguments: dict[str, Any] = {
        "config": config,
        "dtype": dtype,
        "device_map": options.device_map or {"": device},
        "trust_remote_code": options.trust_remote_code,
        "weights_only": True,
        "output_loading_info": True,
    }
    if options.attn is not None:
        arguments["attn_implementation"] = options.attn
    if options.quantization is not None:
        arguments["quantization_config"] = _quantization(options.quantization, dtype)
    kind = model_class(config, options.trust_remote_code)
    try:
        model, report = kind.from_pretrained(checkpoint.folder, **arguments)
    except Exception as error:
        # Loaders of many formats may raise anything for a bad file.
        raise Fatal(_failure(options, checkpoint, error)) from error
    notices = check_report(checkpoint.folder, checkpoint.architecture, report)
    outside = [name for name, at in getattr(model, "hf_device_map", {}).items() if at in _OUTSIDE]
    if options.device_map is not None and outside:
        raise Fatal(
            f"{checkpoint.folder} does not fit into the GPUs: {len(outside)} parts are left over, "
            f"the first is {outside[0]}; try --adapter-option quantization=4bit"
        )
    model.eval().requires_grad_(False)
    model.generation_config = GenerationConfig(do_sample=False)
    return model, notices


def _brought(checkpoint: Checkpoint) -> str | None:
    """Return the quantization that a checkpoint was stored in."""
    config = checkpoint.config.get("quantization_config")
    return str(config.get("quant_method", "unnamed")) if isinstance(config, dict) else None


def _quantization(name: str, dtype: torch.dtype) -> Any:
    if name not in QUANTIZATIONS:
        raise Fatal(f"quantization={name}: choose from {', '.join(QUANTIZATIONS)}")
    if find_spec("bitsandbytes") is None:
        raise Fatal(f"quantization={name} needs bitsandbytes: pip install bitsandbytes")
    from transformers import BitsAndBytesConfig

    if name == "8bit":
        return BitsAndBytesConfig(load_in_8bit=True)
    return BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype
    )


def _failure(options: LocalOptions, checkpoint: Checkpoint, error: Exception) -> str:
    import torch

    reason = line(error)
    if isinstance(error, torch.OutOfMemoryError):
        return (
            f"{checkpoint.folder} does not fit into the device's memory: try --adapter-option "
            f"quantization=4bit, "
            f"device_map=auto over several GPUs, or a GPU that nothing else uses ({reason})"
        )
    if isinstance(error, pickle.UnpicklingError):
        return (
            f"{checkpoint.folder}: a .bin file can hold objects as well as tensors and is never "
            "loaded, since they may run code: convert it to safetensors"
        )
    if options.attn is not None and ("attn" in reason.lower() or "attention" in reason.lower()):
        return f"attn={options.attn} cannot be used here: {reason}"
    return f"{checkpoint.folder} cannot be loaded: {reason}"


def _facts(checkpoint: Checkpoint, model: Any, family: HuggingFaceFamily) -> dict[str, object]:
    """Return facts about the loaded model for the run's record."""
    plain = json.dumps(checkpoint.config, sort_keys=True).encode()
    return {
        "architecture": checkpoint.architecture,
        "identity": checkpoint.identity,
        "config_sha256": hashlib.sha256(plain).hexdigest(),
        "dtype": str(model.dtype).removeprefix("torch."),
        "attention": model.config._attn_implementation,
        "image_processor": family.image_processor,
        **libraries(model.device),
    }


def libraries(device: torch.device | str) -> dict[str, object]:
    """Return the device's name, and the versions of what computes on it and prepares pictures for
    it."""
    import PIL
    import torch
    import transformers

    on_gpu = torch.device(device).type == "cuda"
    return {
        "device": torch.cuda.get_device_name(device) if on_gpu else "cpu",
        "torch": str(torch.__version__),
        "transformers": transformers.__version__,
        "pillow": PIL.__version__,
    }


def _json(path: Path) -> Mapping[str, Any]:
    try:
        values: object = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}
