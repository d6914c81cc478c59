"""Tiny original Qwen-VL checkpoints with random weights, in the published layout.

`config.json`, `qwen.tiktoken`, and weights either as numbered .bin shards with an index or as one
.safetensors. Their training length and queries are small, so that short prompts leave it.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

RANKS = 299
SPECIALS = 217
"""Special tokens behind the ranks: endoftext, 2 of ChatML, 205 extras, 9 of pictures and boxes."""
WORDS = (" the", " click", "ELEMENT", "ACTION", "VALUE", " button", "Picture", "assistant")

CONFIG: dict[str, Any] = {
    "architectures": ["QWenLMHeadModel"],
    "attn_dropout_prob": 0.0,
    "auto_map": {"AutoConfig": "configuration_qwen.QWenConfig"},
    "bf16": True,
    "emb_dropout_prob": 0.0,
    "hidden_size": 128,
    "initializer_range": 0.02,
    "intermediate_size": 256,
    "kv_channels": 32,
    "layer_norm_epsilon": 1e-06,
    "max_position_embeddings": 8192,
    "model_type": "qwen",
    "no_bias": True,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "onnx_safe": None,
    "rotary_emb_base": 10000,
    "rotary_pct": 1.0,
    "scale_attn_weights": True,
    "seq_length": 128,
    "tie_word_embeddings": False,
    "tokenizer_type": "QWenTokenizer",
    "torch_dtype": "bfloat16",
    "transformers_version": "4.31.0",
    "use_cache": True,
    "use_dynamic_ntk": True,
    "use_flash_attn": False,
    "use_logn_attn": True,
    "visual": {
        "heads": 2,
        "image_size": 56,
        "image_start_id": RANKS + SPECIALS - 3,
        "layers": 2,
        "mlp_ratio": 4.9231,
        "n_queries": 16,
        "output_dim": 128,
        "patch_size": 14,
        "width": 32,
    },
    "vocab_size": 520,
}


def build(folder: Path, weights: str = "bin", seed: int = 0, **changes: Any) -> Path:
    """A checkpoint with `weights` as "bin" (two shards) or "safetensors", in `folder`.

    `changes` go into `config.json`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    config = {**CONFIG, **changes}
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    vocabulary(folder / "qwen.tiktoken")
    save(folder, state(config, seed), weights)
    return folder


def vocabulary(path: Path) -> None:
    """A vocabulary of every byte and of beginnings of a few words, `RANKS` ranks."""
    tokens = [bytes([byte]) for byte in range(256)]
    for word in WORDS:
        tokens += [word[:end].encode() for end in range(2, len(word) + 1)]
    tokens = list(dict.fromkeys(tokens))[:RANKS]
    assert len(tokens) == RANKS
    lines = (f"{base64.b64encode(token).decode()} {rank}" for rank, token in enumerate(tokens))
    path.write_text("\n".join(lines) + "\n")


def empty_model(config: dict[str, Any]) -> Any:
    """The model without weights."""
    import torch

    from adapters.local.qwen_vl.config import QwenVLConfig
    from adapters.local.qwen_vl.model import QwenVL

    with torch.device("meta"):
        return QwenVL(QwenVLConfig.of(config))


def state(config: dict[str, Any], seed: int = 0) -> dict[str, torch.Tensor]:
    """Random weights under the published names, spread so that logits differ."""
    import torch

    source = torch.Generator().manual_seed(seed)
    tensors: dict[str, torch.Tensor] = {}
    for name, empty in empty_model(config).state_dict().items():
        drawn = torch.randn(empty.shape, generator=source)
        norm = empty.ndim == 1 and name.endswith("weight")
        tensors[name] = (1 + 0.1 * drawn if norm else 0.15 * drawn).to(torch.bfloat16)
    return tensors


def save(folder: Path, tensors: dict[str, torch.Tensor], weights: str) -> None:
    """Write weights as published: numbered .bin shards with an index, or one .safetensors."""
    import torch
    from safetensors.torch import save_file

    if weights == "safetensors":
        save_file(tensors, folder / "model.safetensors")
        return
    names = sorted(tensors)
    halves = names[: len(names) // 2], names[len(names) // 2 :]
    places: dict[str, str] = {}
    for number, half in enumerate(halves, 1):
        shard = f"pytorch_model-{number:05}-of-00002.bin"
        torch.save({name: tensors[name] for name in half}, folder / shard)
        places |= dict.fromkeys(half, shard)
    total = sum(tensor.nbytes for tensor in tensors.values())
    index = {"metadata": {"total_size": total}, "weight_map": places}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index))
