"""A local model before its weights are loaded: what kind it is of, and what it declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapters.contract import AdapterInfo, Fatal, unless_sampled
from adapters.local import loading
from adapters.local.checkpoint import Checkpoint, locate
from adapters.local.options import HUB, LocalOptions
from adapters.local.processors import check_torchvision
from adapters.thinking import Thinking, thinking_of

if TYPE_CHECKING:
    from adapters.local.qwen_vl.loading import UnloadedQwenVL

    Unloaded = loading.TransformersModel | UnloadedQwenVL
    """A model on one device, read except for its weights. `settings` are those that change replies,
    for the run's record."""

NATIVE = ("qwen-vl", "seeclick")
"""Names of models that our own implementation runs."""


def read(options: LocalOptions, device: str) -> Unloaded:
    """Read all of a model but its weights, to be loaded on `device` (of torch: `cuda:0`, `cpu`).

    A folder's files are read for their digest when that is asked for. With a device map `device`
    is where prompts go. Raises `Fatal` with one line.
    """
    check_torchvision()
    if options.name not in NATIVE:
        checkpoint = locate(options)
        if not _is_original(checkpoint, options):
            family = loading.family(options, checkpoint)
            return loading.TransformersModel(options, device, checkpoint, family)
    from adapters.local.qwen_vl.loading import described

    return described(options, device)


def declared(options: LocalOptions, model: Unloaded) -> AdapterInfo:
    """Return a model's declaration."""
    family, identity = model.family, model.identity
    name = options.model
    if identity.startswith("sha256:"):
        # A folder may hold anything, under any name and in any place.
        name = f"{family.name}@{identity[7:19]}"
    return AdapterInfo(
        name=options.name
        if options.model == HUB.get(options.name)
        else f"{options.name}:{options.model}",
        model=name,
        provider="local",
        revision=identity,
        weights_known=True,
        context_tokens=model.context_tokens,
        thinking=_thinking(options, model),
        image_rule=family.image_rule,
        coordinates=family.coordinates,
        text_tokens=family.text_tokens,
        greedy=unless_sampled,
        settings={"family": family.name, "max_pixels": options.max_pixels, **model.settings},
    )


def _thinking(options: LocalOptions, model: Unloaded) -> Thinking:
    names = filter(None, (options.model, options.model_path))
    known = any(thinking_of(str(name)).by_default for name in names)
    return Thinking(known or model.family.opens_thought)


def _is_original(checkpoint: Checkpoint, options: LocalOptions) -> bool:
    """Return whether a checkpoint is Qwen-VL of 2023. Raises `Fatal` if another was named."""
    if checkpoint.is_original_qwen_vl and options.name != "hf":
        raise Fatal(
            f"{checkpoint.folder} is a checkpoint of the original Qwen-VL, not of {options.name}: "
            "name it with --model qwen-vl, or seeclick"
        )
    return checkpoint.is_original_qwen_vl
