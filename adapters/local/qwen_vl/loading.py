"""Loads checkpoints of the original Qwen-VL."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from adapters.contract import Fatal
from adapters.conversation import canonical_json
from adapters.local.checkpoint import check_memory
from adapters.local.contract import Loaded
from adapters.local.loading import dtype_of, libraries
from adapters.local.options import LocalOptions, full_precision, line
from adapters.local.qwen_vl.config import QwenVLConfig
from adapters.local.qwen_vl.model import QwenVL
from adapters.local.qwen_vl.prompt import QwenVLFamily, image_rule
from adapters.local.qwen_vl.tokenizer import IMAGE, QwenVLFiles, Tokenizer, fetch_weights, find
from adapters.local.qwen_vl.weights import load_weights
from adapters.open_models import OPEN_MODELS

if TYPE_CHECKING:
    from adapters.local.qwen_vl.model import QwenVL


MAPS = ("auto", "balanced", "sequential")
Plan = Mapping[str, Any]
"""Parts of the model by name, and the GPU (by number) or device that each goes to, as accelerate
writes it."""


def value_count(model: torch.nn.Module) -> int:
    """Count the parameters of a model."""
    return sum(tensor.numel() for tensor in model.state_dict().values())


def spread(model: QwenVL, device_map: str, dtype: torch.dtype) -> Plan:
    """Assign layers to GPUs. Raises `Fatal` if there are no GPUs or too small ones."""
    from accelerate import infer_auto_device_map
    from accelerate.utils import get_balanced_memory

    if device_map not in MAPS:
        raise Fatal(f"device_map={device_map}: choose from {', '.join(MAPS)}")
    if not torch.cuda.is_available():
        raise Fatal("device_map spreads layers over GPUs, and there is none here")
    whole = list(model._no_split_modules)
    memory = None
    if device_map != "sequential":
        memory = get_balanced_memory(model, dtype=dtype, no_split_module_classes=whole)
    plan: Plan = infer_auto_device_map(model, memory, no_split_module_classes=whole, dtype=dtype)
    if left := [name for name, where in plan.items() if where in ("cpu", "disk")]:
        raise Fatal(
            f"the model needs {value_count(model) * dtype.itemsize / 1e9:.1f} GB and does not fit "
            f"on the GPUs: {left[0]} and {len(left) - 1} more parts are left over"
        )
    return plan


def place_in(plan: Plan, name: str) -> str:
    """Return the device of a parameter: that of the smallest part it belongs to.

    >>> place_in({"transformer": 0, "transformer.h.7": 1}, "transformer.h.7.ln_1.weight")
    'cuda:1'
    """
    part = name
    while part and part not in plan:
        part = part.rpartition(".")[0]
    where = plan.get(part, 0)
    return f"cuda:{where}" if isinstance(where, int) else str(where)


def dispatch(model: QwenVL, plan: Plan) -> None:
    """Let every part move its inputs to its own device."""
    from accelerate import dispatch_model

    dispatch_model(model, dict(plan), skip_keys=list(model._skip_keys_device_placement))
    model.hf_device_map = dict(plan)


ATTENTION = "sdpa"


@dataclass(frozen=True, slots=True, eq=False)
class UnloadedQwenVL:
    options: LocalOptions
    device: str
    checkpoint: QwenVLFiles
    config: QwenVLConfig
    family: QwenVLFamily
    dtype: torch.dtype
    attention: str

    @property
    def identity(self) -> str:
        return self.checkpoint.identity

    @property
    def context_tokens(self) -> int:
        """Positions that the configuration allows (8,192), four times the training length."""
        return int(self.config.max_position_embeddings)

    @property
    def settings(self) -> Mapping[str, object]:
        vocabulary = self.checkpoint.vocabulary.read_bytes()
        return {
            # Where it was when the first runs were recorded.
            "implementation": "adapters.qwen_vl",
            "dtype": str(self.dtype).removeprefix("torch."),
            "attention": self.attention,
            "vocabulary_sha256": hashlib.sha256(vocabulary).hexdigest(),
        }

    def check(self) -> None:
        """Memory is checked by `load`, when the number of parameters is known."""

    def load(self) -> Loaded:
        options, device = self.options, self.device
        folder, dtype = self.checkpoint.folder, self.dtype
        full_precision(dtype)
        model = empty_model(self.config, self.attention)
        needed = value_count(model) * dtype.itemsize
        # The size follows from the configuration: known before many gigabytes come from the hub.
        if options.device_map:
            plan: Plan = spread(model, options.device_map, dtype)
        else:
            plan = {"": device}
            advice = "try --adapter-option device_map=auto over several GPUs"
            asked_for = options.devices is not None
            check_memory(needed, device, self.checkpoint.source, advice, asked_for=asked_for)
        fetch_weights(self.checkpoint)
        load_weights(model, folder, dtype, partial(place_in, plan))
        if options.device_map:
            dispatch(model, plan)
        model.config.dtype = dtype
        model.eval()
        facts = {**_facts(self, device), "weights_gb": round(needed / 1e9, 2)}
        return Loaded(model, self.family, device, self.context_tokens, facts)


def described(options: LocalOptions, device: str) -> UnloadedQwenVL:
    """Find the checkpoint that the options name, and read all of it but the weights.

    Raises `Fatal` for missing files, another architecture, or an option that the model does not
    support.
    """
    if options.quantization:
        raise Fatal(
            "quantization is not supported for the original Qwen-VL; leave it out, "
            "or spread it over several GPUs with --adapter-option device_map=auto"
        )
    checkpoint = find(options)
    config = QwenVLConfig.of(checkpoint.config)
    family = QwenVLFamily(
        _tokenizer(checkpoint, config),
        config.vision.image_size,
        image_rule(config.vision.queries, options.max_pixels),
        OPEN_MODELS["seeclick" if checkpoint.seeclick else "qwen-vl-chat"].coordinates,
    )
    dtype = dtype_of(options, config, device)
    return UnloadedQwenVL(
        options, device, checkpoint, config, family, dtype, options.attn or ATTENTION
    )


def _tokenizer(checkpoint: QwenVLFiles, config: QwenVLConfig) -> Tokenizer:
    shape = config.vision
    tokenizer = Tokenizer.read(checkpoint.vocabulary, shape.queries)
    if tokenizer.specials[IMAGE] != shape.image_start or tokenizer.size > config.vocab_size:
        raise Fatal(
            f"{checkpoint.vocabulary} is of another model: <img> is {tokenizer.specials[IMAGE]} of "
            f"{tokenizer.size} ids, config.json says {shape.image_start} of {config.vocab_size}"
        )
    return tokenizer


def empty_model(config: QwenVLConfig, attention: str = ATTENTION) -> QwenVL:
    """Return the model without weights, on the meta device. Raises `Fatal` for an unknown
    attention."""
    config._attn_implementation = attention
    try:
        with torch.device("meta"):
            return QwenVL(config)
    except (ImportError, ValueError) as error:
        raise Fatal(f"attn={attention} is not available here: {line(error)}") from error


def _facts(known: UnloadedQwenVL, device: str) -> dict[str, object]:
    config = canonical_json(known.checkpoint.config).encode()
    return {
        "architecture": "Qwen-VL",
        "identity": known.identity,
        "config_sha256": hashlib.sha256(config).hexdigest(),
        **known.settings,
        **libraries(device),
    }
