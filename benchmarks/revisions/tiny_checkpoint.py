"""Make a tiny Qwen2-VL with random weights: a model on this machine that answers in no time.

    python benchmarks/revisions/tiny_checkpoint.py FOLDER

Imports nothing of this project, so that any revision's environment can run it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
PICTURE = ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
SAMPLE = "Decide on the next action: ELEMENT: A ACTION: CLICK VALUE: None. <button id=1> Search"
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
    "{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for part in m['content'] %}"
    "{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bytes_of_text = Tokenizer(models.BPE())
    bytes_of_text.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_of_text.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=alphabet, show_progress=False, special_tokens=SPECIALS
    )
    bytes_of_text.train_from_iterator([SAMPLE], trainer)
    bytes_of_text.add_special_tokens(PICTURE)
    return PreTrainedTokenizerFast(
        tokenizer_object=bytes_of_text,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        padding_side="left",
        model_max_length=16_384,
        chat_template=TEMPLATE,
    )


def build(folder: Path) -> None:
    import torch
    from transformers import AutoModelForImageTextToText, Qwen2VLConfig, Qwen2VLImageProcessorPil

    words = tokenizer()
    ids = words.get_vocab()
    config = Qwen2VLConfig(
        text_config={
            "vocab_size": len(ids),
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 16_384,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 1e4,
                "mrope_section": [2, 3, 3],
            },
            "initializer_range": 0.2,
        },
        vision_config={
            "depth": 2,
            "num_heads": 2,
            "embed_dim": 32,
            "hidden_size": 64,
            "mlp_ratio": 2,
            "initializer_range": 0.2,
        },
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
        tie_word_embeddings=False,
        initializer_range=0.2,
        dtype="float32",
    )
    torch.manual_seed(0)
    AutoModelForImageTextToText.from_config(config).save_pretrained(folder)
    words.save_pretrained(folder)
    size = {"shortest_edge": 4 * 28**2, "longest_edge": 256 * 28**2}
    Qwen2VLImageProcessorPil(size=size, patch_size=14, merge_size=2).save_pretrained(folder)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
