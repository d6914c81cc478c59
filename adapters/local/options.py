"""The options of a local model, each declared once. What changes replies is part of a run's
identity. The devices that a model runs on, and errors of other libraries in one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal

from msgspec import Meta

from adapters.contract import Fatal
from adapters.open_models import OpenModel, open_model
from adapters.options import Count

LONGEST = 300
"""Characters of an error of another library that are shown."""
_SENTENCE = re.compile(r"[.!?](?=\s)")


def line(error: BaseException) -> str:
    """Return an error in one line: its first sentences, as many as fit into `LONGEST` characters.

    >>> line(ValueError("No such backend. See\\nhttps://example.org. " + 300 * "x"))
    'No such backend. See https://example.org.'
    """
    text = " ".join(str(error).split()) or type(error).__name__
    if len(text) <= LONGEST:
        return text
    ends = [match.end() for match in _SENTENCE.finditer(text[:LONGEST])]
    return text[: ends[-1]].rstrip() if ends else text[: LONGEST - 4].rpartition(" ")[0] + " ..."


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Raise `Fatal` with these words before whatever a library raises within; it may be anything
    for a file, a package or a model that nobody has tried."""
    try:
        yield
    except Fatal:
        raise
    except Exception as error:
        raise Fatal(f"{what}: {line(error)}") from error


def model_failed(device: str, error: BaseException) -> str:
    """Explain an error that a model raised when it was called."""
    return f"the model failed on {device}: {type(error).__name__}: {line(error)}"


HUB = {
    "qwen-vl": "Qwen/Qwen-VL-Chat",
    "seeclick": "cckevinn/SeeClick",
    "qwen2-vl": "Qwen/Qwen2-VL-7B-Instruct",
    "qwen2.5-vl": "Qwen/Qwen2.5-VL-7B-Instruct",
    "qwen3-vl": "Qwen/Qwen3-VL-8B-Instruct",
}
"""Value of a name that is given alone."""

Dtype = Literal["auto", "bfloat16", "float16", "float32"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """Options of every model on this machine that transformers runs."""

    model_path: str | None = None
    """A folder to load in place of the model's id."""
    revision: str | None = None
    """Commit, branch or tag on the hub."""
    dtype: Dtype = "auto"
    """The type of the weights: a name of torch's, or `auto` (as published; on a CPU float32)."""
    devices: tuple[str, ...] | None = None
    """Torch's name of the device. None: the first GPU, or the CPU."""
    batch_size: Count | None = None
    """Number of calls answered at a time; None (`auto`): at most 64 on a GPU, 4 on a CPU."""


@dataclass(frozen=True, slots=True)
class LocalOptions(CommonOptions):
    """The model to load and its options: those by keyword are those that a user may give."""

    model: str
    """A model id of the hub, or a folder."""
    name: str = "hf"
    """The name that the user gave (`hf`, `qwen2.5-vl`, ...): the family, but for `hf`."""
    _: KW_ONLY
    device_map: str | None = None
    """Spread of one model over several GPUs, in accelerate's words."""
    attn: str | None = None
    """The implementation of attention, in transformers' words."""
    max_pixels: Count | None = None
    """The most pixels of a picture."""
    quantization: Literal["4bit", "8bit"] | None = None
    """Quantise the weights on loading, to `4bit` or `8bit`."""

    @property
    def known(self) -> OpenModel | None:
        """Facts known about the model by its name or its folder's name."""
        return open_model(self.model) or open_model(self.model_path or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seq2SeqOptions(CommonOptions):
    """Options of an encoder-decoder model."""

    piece_tokens: Annotated[int, Meta(ge=2)] = 512
    """Tokens to which each text of a conversation is cut by itself, as in training."""
    end_tokens: Literal["last", "pieces"] = "last"
    """End tokens of an input: at its end only, or after each text but pages, as Self-MAP's were
    trained."""


def device_of(options: LocalOptions) -> str:
    """Return torch's device that the user named, else the first GPU, else the CPU.

    With a device map that is where prompts go. Raises `Fatal` for an unknown device, and for
    several.
    """
    import torch

    if len(options.devices or ()) > 1:
        raise Fatal(
            "devices: a model runs on one device here. For several GPUs, run a part of the steps "
            "on each (--shard 1/2 with CUDA_VISIBLE_DEVICES=0), or spread the model over them "
            "(--adapter-option device_map=auto)"
        )
    if options.device_map is not None:
        if options.devices is not None:
            raise Fatal("device_map spreads one model over all GPUs: leave devices out")
        if not torch.cuda.is_available():
            raise Fatal("device_map spreads a model over GPUs, and torch sees none here")
    if options.devices is None:
        if torch.cuda.is_available():
            return "cuda:0"
        return "mps" if torch.backends.mps.is_available() else "cpu"
    (name,) = options.devices
    _check(name)
    return name


def full_precision(dtype: str) -> None:
    """For a model in float32, turn TF32 off: CUDA's libraries would round its numbers to 10 bits.

    cuDNN, which prepares pictures' patches, does so unless told otherwise.
    """
    if dtype == "float32":
        import torch

        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_tf32 = False


def _check(name: str) -> None:
    import torch

    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise Fatal(f"unknown device '{name}' (examples: cuda:0, cpu, mps)") from error
    if device.type == "cuda":
        count = torch.cuda.device_count()
        if (device.index or 0) >= count:
            raise Fatal(f"no device '{name}': torch sees {count or 'no'} GPUs here")
    elif device.type == "mps" and not torch.backends.mps.is_available():
        raise Fatal(f"no device '{name}' on this machine")
    elif device.type not in ("cpu", "mps", "xpu", "npu"):
        raise Fatal(f"unsupported device '{name}' (examples: cuda:0, cpu, mps)")
