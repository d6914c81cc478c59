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

from adapters.contract import AdapterInfo, Fatal, unless_sampled
from adapters.local.checkpoint import (
    Checkpoint,
    check_files,
    check_memory,
    check_report,
    fetch_weights,
    locate,
    weight_bytes,
)
from adapters.local.contract import Loaded
from adapters.local.families import QWEN, HuggingFaceFamily, family_of
from adapters.local.options import HUB, LocalOptions, explained, full_precision, line
from adapters.local.processors import check_torchvision, load_processor
from adapters.thinking import Thinking, thinking_of

if TYPE_CHECKING:
    import torch

_OUTSIDE = ("cpu", "disk")
ELSEWHERE = "let a server run it (--model openai:NAME --base-url URL)"
"""The way out for a model that cannot be run here."""
ORIGINALS = ("qwen-vl", "seeclick")
"""Names of models that our own implementation runs."""


@dataclass(frozen=True, slots=True, eq=False)
class TransformersModel:
    """A model on one device, read except for its weights."""

    options: LocalOptions
    device: str
    """With a device map, where prompts go."""
    checkpoint: Checkpoint
    family: Any
    """A `ModelFamily` with its `config`, and with the `settings` that change replies."""
    kind: Any = None
    """The class that loads the weights. None: transformers' own for pictures and text."""

    @property
    def context_tokens(self) -> int | None:
        config = self.family.config
        if config.is_encoder_decoder:
            return None  # Its reply takes no room of the prompt.
        value = getattr(config.get_text_config(), "max_position_embeddings", None)
        return value if isinstance(value, int) else None

    @property
    def dtype(self) -> str:
        """The type to compute in. `auto`: the published one on a GPU, float32 on a CPU, which is
        slow at others."""
        if self.options.dtype != "auto":
            return self.options.dtype
        published = str(getattr(self.family.config, "dtype", None)).removeprefix("torch.")
        known = published in ("bfloat16", "float16", "float32")
        return "float32" if self.device.startswith("cpu") else published if known else "bfloat16"

    def declared(self) -> AdapterInfo:
        """Return the model's declaration."""
        options, family, identity = self.options, self.family, self.checkpoint.identity
        # A folder may hold anything, under any name and in any place.
        in_folder = identity.startswith("sha256:")
        alone = options.model == HUB.get(options.name)
        names = filter(None, (options.model, options.model_path))
        thinks = any(thinking_of(str(name)).by_default for name in names)
        return AdapterInfo(
            name=options.name if alone else f"{options.name}:{options.model}",
            model=f"{family.name}@{identity[7:19]}" if in_folder else options.model,
            provider="local",
            revision=identity,
            weights_known=True,
            takes_pictures=family.takes_pictures,
            context_tokens=self.context_tokens,
            thinking=Thinking(thinks or family.opens_thought),
            image_rule=family.image_rule,
            coordinates=family.coordinates,
            text_tokens=family.text_tokens,
            greedy=unless_sampled,
            settings={
                "family": family.name,
                "max_pixels": options.max_pixels,
                "dtype": self.dtype,
                "attention": options.attn or "default",
                "quantization": options.quantization or self.checkpoint.quantization,
                **family.settings,
            },
        )

    def check(self) -> None:
        """Raise `Fatal` for files that are damaged, and for a device that is too small."""
        options, checkpoint = self.options, self.checkpoint
        there = [path.is_file() for path in checkpoint.weights_named]
        # Files of the hub may still have to come.
        if checkpoint.commit is None or (there and all(there)):
            check_files(checkpoint)
        needed = weight_bytes(checkpoint, self.dtype, options.quantization)
        if needed is None or options.device_map is not None:
            return
        source, asked_for = options.model_path or options.model, options.devices is not None
        check_memory(needed, self.device, source, asked_for=asked_for)

    def load(self) -> Loaded:
        """Raises `Fatal`."""
        # Before many gigabytes are downloaded or read.
        self.check()
        if self.checkpoint.commit is not None:
            fetch_weights(self.options, self.checkpoint)
            self.check()
        full_precision(self.dtype)
        model, notices = _model(self)
        facts = _facts(self.checkpoint, model)
        return Loaded(model, self.family, str(model.device), self.context_tokens, facts, notices)


def read(options: LocalOptions, device: str) -> TransformersModel:
    """Read all of a model but its weights, to be loaded on `device` (of torch: `cuda:0`, `cpu`).

    A folder's files are read for their digest when that is asked for. Raises `Fatal`.
    """
    check_torchvision()
    checkpoint = locate(options)
    original = checkpoint.is_original_qwen_vl
    named = QWEN.get(checkpoint.model_type, "hf")
    if options.name not in ("hf", *(ORIGINALS if original else (named,))):
        raise Fatal(
            f"{checkpoint.folder} is a checkpoint of "
            f"{'the original Qwen-VL' if original else checkpoint.architecture}, not of "
            f"{options.name}: name it with --model {'qwen-vl, or seeclick' if original else named}"
        )
    if not original:
        return TransformersModel(options, device, checkpoint, family(options, checkpoint))
    from adapters.local.qwen_vl.model import QwenVL
    from adapters.local.qwen_vl.prompt import family_of as original_family

    quiet()
    return TransformersModel(
        options, device, checkpoint, original_family(options, checkpoint), QwenVL
    )


def family(options: LocalOptions, checkpoint: Checkpoint) -> HuggingFaceFamily:
    """Return the family of a checkpoint, without its weights. Raises `Fatal`."""
    from transformers import AutoConfig

    check_kind(checkpoint)
    quiet()
    folder = checkpoint.folder
    with explained(f"{folder}/config.json cannot be used"):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    if config.is_encoder_decoder:
        raise Fatal(
            f"{folder} is a checkpoint of {checkpoint.architecture}, an encoder-decoder "
            f"model, which cannot go on with a conversation: name another model, or {ELSEWHERE}"
        )
    with explained(f"{folder}: its processor cannot be loaded"):
        processor = load_processor(folder, config)
    ends = stop_ids(checkpoint, config, processor)
    with explained(f"{folder}: prompts for {checkpoint.architecture} cannot be written"):
        return family_of(config, processor, ends, options.max_pixels, options.known)


def check_kind(checkpoint: Checkpoint) -> None:
    """Raise `Fatal` for a checkpoint that needs its own code, or does not take pictures and
    text."""
    from transformers import __version__
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

    kind, where = checkpoint.model_type, checkpoint.folder
    if kind not in CONFIG_MAPPING:
        if checkpoint.config.get("auto_map"):
            raise Fatal(
                f"{where} ({checkpoint.architecture}) brings its own code, which is never run "
                f"here: {ELSEWHERE}"
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


def _model(read: TransformersModel) -> tuple[Any, list[str]]:
    import torch
    from transformers import AutoModelForImageTextToText, GenerationConfig

    options, checkpoint, config = read.options, read.checkpoint, read.family.config
    dtype = getattr(torch, read.dtype)
    arguments: dict[str, Any] = {
        "config": config,
        "dtype": dtype,
        "device_map": options.device_map or {"": read.device},
        # Said outright: transformers would ask on the terminal.
        "trust_remote_code": False,
        "weights_only": True,
        "output_loading_info": True,
    }
    if options.attn is not None:
        arguments["attn_implementation"] = options.attn
    if options.quantization is not None:
        arguments["quantization_config"] = _quantization(options.quantization, dtype)
    kind = read.kind or AutoModelForImageTextToText
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


def _quantization(name: str, dtype: torch.dtype) -> Any:
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


def _facts(checkpoint: Checkpoint, model: Any) -> dict[str, object]:
    """Return facts about the loaded model for the run's record."""
    import PIL
    import torch
    import transformers

    plain = json.dumps(checkpoint.config, sort_keys=True).encode()
    on_gpu = model.device.type == "cuda"
    return {
        "architecture": checkpoint.architecture,
        "identity": checkpoint.identity,
        "config_sha256": hashlib.sha256(plain).hexdigest(),
        "dtype": str(model.dtype).removeprefix("torch."),
        "attention": model.config._attn_implementation,
        "device": torch.cuda.get_device_name(model.device) if on_gpu else "cpu",
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
