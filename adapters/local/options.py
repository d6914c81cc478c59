"""The options of a local model, each declared once. What changes replies is part of a run's
identity."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal

from msgspec import Meta

from adapters.open_models import OpenModel, open_model
from adapters.options import Count

HUB = {
    "qwen-vl": "Qwen/Qwen-VL-Chat",
    "seeclick": "cckevinn/SeeClick",
    "qwen2-vl": "Qwen/Qwen2-VL-7B-Instruct",
    "qwen2.5-vl": "Qwen/Qwen2.5-VL-7B-Instruct",
    "qwen3-vl": "Qwen/Qwen3-VL-8B-Instruct",
}
"""Value of a name that is given alone."""


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """The model to load and its options: the fields after `name` are those that a user may give."""

    model: str
    """A model id of the hub, or a folder."""
    name: str = "hf"
    """The name that the user gave (`hf`, `qwen2.5-vl`, ...): the family, but for `hf`."""
    _: KW_ONLY
    model_path: str | None = None
    """A folder to load in place of `model`."""
    revision: str | None = None
    """Commit, branch or tag on the hub."""
    dtype: str = "auto"
    """The type of the weights: a name of torch's, or `auto` (as published; on a CPU float32)."""
    device_map: str | None = None
    """Spread of one model over several GPUs, in accelerate's words."""
    devices: tuple[str, ...] | None = None
    """Torch's names, a worker each, so one that is named twice has two. None: every GPU, or the
    CPU."""
    attn: str | None = None
    """The implementation of attention, in transformers' words."""
    max_pixels: Count | None = None
    """The most pixels of a picture."""
    batch_size: Count | None = None
    """None (`auto`): as many as memory allows."""
    trust_remote_code: bool = False
    """True if code that comes with the checkpoint may run."""
    quantization: str | None = None
    """`4bit` or `8bit`."""
    kv_reuse: bool = True
    """True if a second round builds on the keys and values of the first."""

    @property
    def known(self) -> OpenModel | None:
        """Facts known about the model by its name or its folder's name."""
        return open_model(self.model) or open_model(self.model_path or "")


@dataclass(frozen=True, slots=True)
class Seq2SeqOptions:
    """The model to load and its options; fields as in `LocalOptions`."""

    _: KW_ONLY
    model_path: str | None = None
    revision: str | None = None
    dtype: str = "auto"
    devices: tuple[str, ...] | None = None
    batch_size: Count | None = None
    piece_tokens: Annotated[int, Meta(ge=2)] = 512
    """Tokens to which each text of a conversation is cut by itself, as in training."""
    end_tokens: Literal["last", "pieces"] = "last"
    """End tokens of an input: at its end only, or after each text but pages, as Self-MAP's were
    trained."""
