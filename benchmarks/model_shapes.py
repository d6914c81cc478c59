"""Models of published shapes with random weights, and tokenizers trained on the texts at hand.

Nothing is downloaded: what a model computes does not change with its weights, only what it says.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from adapters.local.contract import Loaded
from benchmarks.shape_figures import ENDOFTEXT, HF, ORIGINAL, Numbers
from tests.local.tiny import SPECIALS, TEMPLATE

MERGES = 8_000
"""Ids learned from the texts: enough that a token has about as many letters as usual."""
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def build(
    shape: str, texts: Sequence[str], folder: Path, device: str, dtype: Any, max_pixels: int
) -> Loaded:
    """A model of a shape on a device. Nothing stops its replies but their limit."""
    if shape in ORIGINAL:
        return _original(*ORIGINAL[shape], texts, folder, device, dtype, full=shape == "qwen-vl")
    return _hugging_face(*HF[shape], texts, folder, device, dtype, max_pixels)


def _hugging_face(
    family: str,
    text: Numbers,
    vision: Numbers,
    texts: Sequence[str],
    folder: Path,
    device: str,
    dtype: Any,
    max_pixels: int,
) -> Loaded:
    import torch
    from transformers import (
        AutoModelForImageTextToText,
        PreTrainedTokenizerFast,
        Qwen2_5_VLConfig,
        Qwen2VLConfig,
        Qwen2VLImageProcessorPil,
        Qwen3VLConfig,
    )

    from adapters.local.families import family_of
    from adapters.local.processors import load_processor

    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=_filled(_trained(texts), int(text["vocab_size"])),
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        padding_side="left",
        chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
    )
    ids = tokenizer.get_vocab()
    ends: Numbers = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"))
    kinds: Mapping[str, Callable[..., Any]] = {
        "qwen2-vl": Qwen2VLConfig,
        "qwen2.5-vl": Qwen2_5_VLConfig,
        "qwen3-vl": Qwen3VLConfig,
    }
    config = kinds[family](
        text_config={**text, **ends},
        vision_config=dict(vision),
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
        tie_word_embeddings=False,
        dtype=dtype,
    )
    patch = int(vision.get("patch_size", 14))
    size = {"shortest_edge": 4 * (2 * patch) ** 2, "longest_edge": max_pixels}
    config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    Qwen2VLImageProcessorPil(size=size, patch_size=patch, merge_size=2).save_pretrained(folder)
    torch.manual_seed(0)
    with torch.device(device):
        model = AutoModelForImageTextToText.from_config(config, dtype=getattr(torch, dtype))
    model.eval().requires_grad_(False)
    own = family_of(config, load_processor(folder, config), (), max_pixels)
    return Loaded(model, own, device, int(text["max_position_embeddings"]), {"dtype": dtype})


def _original(
    text: Numbers,
    visual: Numbers,
    texts: Sequence[str],
    folder: Path,
    device: str,
    dtype: Any,
    *,
    full: bool,
) -> Loaded:
    import torch

    from adapters.local.loading import read
    from adapters.local.options import LocalOptions
    from adapters.local.qwen_vl.model import QwenVL

    ranks = _ranks(texts, ENDOFTEXT if full else MERGES)
    lines = (f"{base64.b64encode(token).decode()} {rank}" for rank, token in enumerate(ranks))
    (folder / "qwen.tiktoken").write_text("\n".join(lines) + "\n")
    config = {
        "architectures": ["QWenLMHeadModel"],
        "model_type": "qwen",
        "torch_dtype": dtype,
        **text,
        "visual": {**visual, "image_start_id": len(ranks) + 214},
        "vocab_size": len(ranks) + 293,
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").touch()
    known = read(LocalOptions("qwen-vl", model_path=str(folder), dtype=dtype), device)
    with torch.device("meta"):
        model = QwenVL(known.family.config)
    model = model.to_empty(device=device).to(getattr(torch, dtype))
    generator = torch.Generator(device).manual_seed(0)
    for name, values in model.state_dict().items():
        if values.ndim == 1 and name.endswith("weight"):
            values.fill_(1)
        else:
            values.normal_(0, 0.02, generator=generator)
    model.config.dtype = getattr(torch, dtype)
    return Loaded(model.eval(), known.family, device, known.context_tokens, {"dtype": dtype})


def _trained(texts: Sequence[str]) -> Any:
    """A byte-level tokenizer of `MERGES` ids at most."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trained.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=MERGES, initial_alphabet=alphabet, show_progress=False, min_frequency=2
    )
    trained.train_from_iterator(texts, trainer)
    return trained


def _filled(tokenizer: Any, size: int) -> Any:
    """The tokenizer with as many ids as the model, the special ones last.

    A model with random weights writes any id, and replies with ids of no token are not built on.
    """
    from tokenizers import AddedToken, Tokenizer

    plain = json.loads(tokenizer.to_str())
    vocabulary = plain["model"]["vocab"]
    plain["added_tokens"] = []
    # Nothing merges into these.
    for number in range(len(vocabulary), size - len(SPECIALS)):
        vocabulary[f"\ue000{number}"] = number
    filled = Tokenizer.from_str(json.dumps(plain))
    filled.add_special_tokens([AddedToken(text, special=True) for text in SPECIALS])
    return filled


def _ranks(texts: Sequence[str], count: int) -> list[bytes]:
    """A vocabulary of `count` byte strings: every byte, what was learned, and some never used."""
    from tokenizers import pre_tokenizers

    # The byte-level alphabet writes printable bytes as themselves and the others from U+0100 on.
    letters = {letter: ord(letter) for letter in pre_tokenizers.ByteLevel.alphabet()}
    others = sorted(letter for letter, code in letters.items() if code > 255)
    hidden = (byte for byte in range(256) if byte not in letters.values())
    letters.update(zip(others, hidden, strict=True))
    learned = json.loads(_trained(texts).to_str())["model"]["vocab"]
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [bytes(map(letters.__getitem__, t)) for t in sorted(learned, key=learned.__getitem__)]
    tokens = list(dict.fromkeys(tokens))[:count]
    return tokens + [b"\xff" + rank.to_bytes(3, "big") for rank in range(count - len(tokens))]
