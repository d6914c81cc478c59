"""Tiny checkpoints of the Qwen families with random weights, built on the spot.

They have the layout of published checkpoints (config.json, preprocessor_config.json, tokenizer,
chat template, safetensors) and every peculiarity of their architecture, in a few hundred kB.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

FAMILIES = ("qwen2-vl", "qwen2.5-vl", "qwen3-vl")
SPECIALS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
ADDED = "<tool_call>"
"""An added token that is not special, as published checkpoints have them."""
CONTEXT = 16_384

TEMPLATE = """\
{%- if messages[0]['role'] != 'system' -%}
<|im_start|>system
You are a helpful assistant.<|im_end|>
{% endif -%}
{%- for message in messages -%}
<|im_start|>{{ message['role'] }}
{% if message['content'] is string -%}
{{ message['content'] }}
{%- else -%}
{%- for part in message['content'] -%}
{%- if part['type'] == 'image' -%}
<|vision_start|><|image_pad|><|vision_end|>
{%- else -%}
{{ part['text'] }}
{%- endif -%}
{%- endfor -%}
{%- endif -%}
<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% endif -%}
"""

CORPUS = (
    "You are asked to complete the following task: book a flight from Oslo to Bergen.",
    "system user assistant Previous actions: None. The next proposed action is to click.",
    "ELEMENT: A. ACTION: CLICK VALUE: None. If none of these elements match your target",
    '<button id=1> Search </button> <input type="text"> [link] Add to cart -> CLICK',
)


def build(family: str, folder: Path, seed: int = 0, *, wide: bool = False) -> Path:
    """A checkpoint of one of `FAMILIES`, in float32 with logits that differ, in `folder`.

    Heads have 16 dimensions or, if `wide`, 64, which is the least that inference engines take.
    Its generation_config.json samples and punishes repetition, as the published ones do.
    """
    import torch
    from transformers import AutoModelForImageTextToText

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer()
    tokenizer.save_pretrained(folder)
    config = configuration(family, tokenizer.get_vocab(), wide=wide)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = AutoModelForImageTextToText.from_config(config)
    model.save_pretrained(folder)
    ends = tokenizer.convert_tokens_to_ids(["<|im_end|>", "<|endoftext|>"])
    generation = {
        "do_sample": True,
        "temperature": 5.0,
        "repetition_penalty": 1.5,
        "max_length": 31,
        "eos_token_id": ends,
    }
    (folder / "generation_config.json").write_text(json.dumps(generation))
    _processor(family).save_pretrained(folder)
    return folder


@cache
def trained() -> str:
    """A tokenizer of a few merges, as JSON."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    trained.train_from_iterator(CORPUS, trainer)
    return str(trained.to_str())


def _tokenizer() -> Any:
    from tokenizers import AddedToken, Tokenizer
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer.from_str(trained())
    tokenizer.add_special_tokens([AddedToken(s, special=True) for s in SPECIALS])
    tokenizer.add_tokens([AddedToken(ADDED, special=False, normalized=False)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        padding_side="left",
        model_max_length=CONTEXT,
        chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
    )


def _processor(family: str) -> Any:
    from transformers import Qwen2VLImageProcessorPil

    patch = 16 if family == "qwen3-vl" else 14
    size = {"shortest_edge": 4 * (2 * patch) ** 2, "longest_edge": 256 * (2 * patch) ** 2}
    return Qwen2VLImageProcessorPil(size=size, patch_size=patch, merge_size=2)


def configuration(family: str, vocabulary: Mapping[str, int], *, wide: bool = False) -> Any:
    """The configuration of a tiny model, with the picture token ids of a vocabulary."""
    from transformers import Qwen2_5_VLConfig, Qwen2VLConfig, Qwen3VLConfig

    third = family == "qwen3-vl"
    rope: dict[str, object] = {"rope_type": "default", "rope_theta": 1e4}
    times = 4 if wide else 1
    section = [4, 2, 2] if third else [2, 3, 3]
    rope["mrope_section"] = [times * part for part in section]
    if third:
        rope["mrope_interleaved"] = True
    hidden = 64 * times
    text: dict[str, object] = {
        "vocab_size": len(vocabulary),
        "hidden_size": hidden,
        "intermediate_size": 2 * hidden,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": CONTEXT,
        "rope_parameters": rope,
        # The usual 0.02 makes all logits nearly equal at this size.
        "initializer_range": 0.2,
        "bos_token_id": None,
        "eos_token_id": None,
        "pad_token_id": None,
    }
    vision: dict[str, object] = {"depth": 2, "num_heads": 2, "initializer_range": 0.2}
    if family == "qwen2-vl":
        vision |= {"embed_dim": 32, "hidden_size": hidden, "mlp_ratio": 2}
    elif family == "qwen2.5-vl":
        vision |= {
            "hidden_size": 32,
            "out_hidden_size": hidden,
            "intermediate_size": 64,
            "window_size": 56,
            "fullatt_block_indexes": [1],
        }
    else:
        text["head_dim"] = 16 * times
        vision |= {
            "hidden_size": 32,
            "out_hidden_size": hidden,
            "intermediate_size": 64,
            "patch_size": 16,
            "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0],
        }
    kind = {"qwen2-vl": Qwen2VLConfig, "qwen2.5-vl": Qwen2_5_VLConfig, "qwen3-vl": Qwen3VLConfig}
    return kind[family](
        text_config=text,
        vision_config=vision,
        image_token_id=vocabulary["<|image_pad|>"],
        video_token_id=vocabulary["<|video_pad|>"],
        vision_start_token_id=vocabulary["<|vision_start|>"],
        vision_end_token_id=vocabulary["<|vision_end|>"],
        tie_word_embeddings=False,
        initializer_range=0.2,
        dtype="float32",
    )
