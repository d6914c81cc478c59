"""How a tiny checkpoint is described and built."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.local.tiny import CONTEXT, trained

CHATML = """\
{%- for message in messages -%}
<|im_start|>{{ message['role'] }}
{% for part in message['content'] -%}
{%- if part['type'] == 'image' -%}MARK{%- else -%}{{ part['text'] }}{%- endif -%}
{%- endfor -%}
<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}<|im_start|>assistant
{% endif -%}
"""
INSTRUCT = """\
{{- bos_token -}}
{%- if messages[0]['role'] == 'system' -%}{{ raise_exception('no system role') }}{%- endif -%}
{%- for message in messages -%}
{%- if message['role'] == 'user' -%}[INST]{%- endif -%}
{%- for part in message['content'] -%}
{%- if part['type'] == 'image' -%}MARK{%- else -%}{{ part['text'] }}{%- endif -%}
{%- endfor -%}
{%- if message['role'] == 'user' -%}[/INST]{%- else -%}{{ eos_token }}{%- endif -%}
{%- endfor -%}
"""

TEXT: Mapping[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": CONTEXT,
    # The usual 0.02 makes all logits nearly equal at this size.
    "initializer_range": 0.2,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}
VISION: Mapping[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 28,
    "patch_size": 14,
}
NORMAL: Mapping[str, Any] = {
    "do_convert_rgb": True,
    "do_resize": True,
    "do_rescale": True,
    "do_normalize": True,
    "rescale_factor": 1 / 255,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
}


@dataclass(frozen=True)
class Family:
    """How a family's checkpoint is made.

    config: its configuration, from the ids of special tokens by name (and `vocab_size`).
    processor: `processor_class` and settings of the processor.
    pictures: `image_processor_type` and settings of the image processor.
    mark: what the template writes for a picture.
    tokens: special tokens by the names that the processor looks for on the tokenizer.
    others: further special tokens.
    """

    config: Callable[[Mapping[str, int]], Any]
    processor: Mapping[str, Any]
    pictures: Mapping[str, Any]
    mark: str = "<image>"
    tokens: Mapping[str, str] = field(default_factory=dict)
    others: tuple[str, ...] = ()
    template: str = CHATML
    needs_torchvision: bool = False
    more_files: Mapping[str, Any] = field(default_factory=dict)


def build(family: Family, folder: Path, seed: int = 0, *, weights: bool = True) -> Path:
    """A checkpoint of a family, in float32; without `weights` with a tensor that means nothing."""
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForImageTextToText

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer(family)
    tokenizer.save_pretrained(folder)
    vocabulary = tokenizer.get_vocab()
    ids = {**vocabulary, "vocab_size": len(vocabulary)}
    config = family.config(ids)
    config.dtype = "float32"
    if weights:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = AutoModelForImageTextToText.from_config(config)
            for parameter in model.parameters():
                # Families differ in what they begin with, and zeros would hide a picture.
                if parameter.dim() > 1:
                    torch.nn.init.normal_(parameter, std=0.2)
        model.save_pretrained(folder)
    else:
        config.save_pretrained(folder)
        save_file({"a": torch.zeros(1)}, folder / "model.safetensors", {"format": "pt"})
    end = vocabulary["<|im_end|>"]
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": end}))
    (folder / "preprocessor_config.json").write_text(json.dumps({**NORMAL, **family.pictures}))
    (folder / "processor_config.json").write_text(json.dumps(dict(family.processor)))
    for file, content in family.more_files.items():
        (folder / file).write_text(json.dumps(content))
    return folder


def _tokenizer(family: Family) -> Any:
    from tokenizers import AddedToken, Tokenizer
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer.from_str(trained())
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<s>", "[INST]", "[/INST]"]
    specials += [*family.tokens.values(), family.mark, *family.others]
    for special in dict.fromkeys(specials):
        tokenizer.add_special_tokens([AddedToken(special, special=True, normalized=False)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        padding_side="left",
        model_max_length=CONTEXT,
        chat_template=family.template.replace("MARK", family.mark),
        clean_up_tokenization_spaces=False,
        extra_special_tokens=dict(family.tokens),
    )


def text(kind: str, ids: Mapping[str, int], **more: Any) -> dict[str, Any]:
    return {"model_type": kind, **TEXT, "vocab_size": ids["vocab_size"], **more}


def vision(kind: str, **more: Any) -> dict[str, Any]:
    return {"model_type": kind, **VISION, **more}


def configured(name: str, **values: Any) -> Any:
    import transformers

    return getattr(transformers, name)(**{"tie_word_embeddings": False, **values})


def square(side: int) -> dict[str, int]:
    return {"height": side, "width": side}
