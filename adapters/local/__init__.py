"""Models that run on this machine: loaded and asked in batches.

Only the settings are here: naming a local model costs no import of torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from adapters.options import Count as AtLeastOne
from adapters.options import LeafSettings, PathText, setting

_local = partial(
    setting,
    group="Models on this machine",
    under="--adapter-option",
    about="model",
    recorded="when set",
    needs=("local model",),
    fills="adapter",
)
_device = partial(_local, about="session", recorded="never")


def _auto(text: str) -> int | None:
    """Parse `auto` or a number."""
    if text == "auto":
        return None
    if not text.isdigit() or not int(text):
        raise ValueError(f"'{text}' is neither auto nor a number of steps")
    return int(text)


@dataclass(frozen=True, kw_only=True)
class LocalSettings(LeafSettings):
    """Settings that load a model, and its devices."""

    model_path: PathText | None = _local(
        None, "Folder with the model's checkpoint.", recorded="never"
    )
    revision: str | None = _local(None, "Commit, branch or tag of the model on the hub.")
    dtype: Literal["auto", "bfloat16", "float16", "float32"] | None = _local(
        None, "Number format of the weights; auto: as published, float32 on a CPU."
    )
    attn: str | None = _local(
        None, "Attention implementation (sdpa, eager, flash_attention_2).", metavar="NAME"
    )
    quantization: Literal["4bit", "8bit"] | None = _local(None, "Quantise the weights on loading.")
    trust_remote_code: bool = _local(False, "Run Python code that the checkpoint brings along.")
    batch_size: AtLeastOne | None = _device(
        None,
        "Number of steps answered in one batch. Default: as memory allows (auto).",
        parse=_auto,
        metavar="auto|N",
    )
    devices: str | None = _device(
        None,
        "Device that runs the model (cuda:0 or cpu); of vllm, the GPUs that it is spread over.",
        metavar="NAMES",
    )
    device_map: str | None = _device(
        None, "Spread one model over several GPUs (auto, balanced, ...).", metavar="NAME"
    )
