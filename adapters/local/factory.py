"""The names of local models as factories: options to what a model declares, and to its adapter."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from adapters.contract import Adapter, Fatal, UnloadedModel
from adapters.local import loading
from adapters.local.checkpoint import locate
from adapters.local.options import HUB, LocalOptions, Seq2SeqOptions, device_of
from adapters.local.processors import check_torchvision
from adapters.options import read_options, signature_of
from adapters.registry import install

INSTALL = install("local")
OLDEST = (5, 20)
EXAMPLES = {
    "hf": "hf:Qwen/Qwen2.5-VL-7B-Instruct",
    "seq2seq": "seq2seq:osunlp/MindAct_ActionPrediction_flan-t5-base",
}
_log = logging.getLogger(__name__)


class Factory:
    """Makes the adapter of a model on this machine, from the options that a class declares.

    describes: returns the declaration and a loader, given the model's name, the options in their
        own types, and whether the model is loaded next. Raises `Fatal`; for one that is loaded
        next, also for anything that would prevent loading.
    """

    def __init__(
        self, declared: type, describes: Callable[[str, Mapping[str, Any], bool], UnloadedModel]
    ) -> None:
        self.declared = declared
        self.__signature__: inspect.Signature = signature_of(declared)
        self._describes = describes

    def __call__(self, model: str, **options: object) -> Adapter:
        """Load the model. Raises `Fatal` with one line."""
        return self.describe(model, loads=True, **options).load()

    def describe(self, model: str, *, loads: bool = False, **options: object) -> UnloadedModel:
        """Return the adapter's declaration and a loader. Raises `Fatal`."""
        return self._describes(model, read_options(self, options), loads)


def local_options(name: str, model: str, read: Mapping[str, Any]) -> LocalOptions:
    """Return the options of a model under one of the names, as far as `LocalOptions` has them.

    Raises `Fatal` without a model.
    """
    model = model or HUB.get(name) or read.get("model_path", "")
    if not model:
        raise Fatal(f"which model? name it like {EXAMPLES[name]} or {name}:FOLDER")
    known = {field.name for field in fields(LocalOptions)}
    return LocalOptions(model, name, **{key: read[key] for key in read if key in known})


def _local(name: str, model: str, read: Mapping[str, Any], loads: bool) -> UnloadedModel:
    return describe(local_options(name, model, read), loads=loads)


def describe(options: LocalOptions, *, loads: bool = False) -> UnloadedModel:
    """Return a local model's declaration and a loader; see `Factory`."""
    check_installed()
    return _unloaded(loading.read(options, device_of(options)), options.batch_size, loads)


def _unloaded(model: loading.TransformersModel, rows: int | None, loads: bool) -> UnloadedModel:
    if loads:
        model.check()
    info, spread = model.declared(), model.options.device_map

    def load() -> Adapter:
        from adapters.local.adapter import opened

        where = f"GPUs ({spread})" if spread else model.device
        _log.info("loading %s on %s ...", info.name, where)
        return opened(info, model.load(), rows)

    return UnloadedModel(info, load)


def _seq2seq(model: str, read: Mapping[str, Any], loads: bool) -> UnloadedModel:
    named, options = local_options("seq2seq", model, read), Seq2SeqOptions(**read)
    check_installed()
    check_torchvision()
    from transformers import AutoModelForSeq2SeqLM

    from adapters.local import seq2seq

    device = device_of(named)
    if named.dtype == "auto" and device.startswith("cuda"):
        # T5 overflows in float16, and is published in float32.
        named = replace(named, dtype="bfloat16")
    checkpoint = locate(named)
    family = seq2seq.family_of(checkpoint, options)
    found = loading.TransformersModel(named, device, checkpoint, family, AutoModelForSeq2SeqLM)
    return _unloaded(found, options.batch_size, loads)


def check_installed(
    packages: Sequence[str] = ("torch", "transformers", "accelerate"), install: str = INSTALL
) -> None:
    """Raises `Fatal` with the line that installs what local models need."""
    for package in packages:
        if find_spec(package) is None:
            raise Fatal(f"local models need the package '{package}': {install}")
    try:
        installed = version("transformers")
    except PackageNotFoundError:  # Run from a checkout of theirs; it will say what it lacks.
        return
    if tuple(int(part) for part in installed.split(".")[:2]) < OLDEST:
        raise Fatal(
            f"local models need transformers 5.20 or newer, {installed} is installed: {install}"
        )


hf, qwen2_vl, qwen2_5_vl, qwen3_vl, qwen_vl, seeclick = (
    Factory(LocalOptions, partial(_local, name))
    for name in ("hf", "qwen2-vl", "qwen2.5-vl", "qwen3-vl", "qwen-vl", "seeclick")
)
seq2seq = Factory(Seq2SeqOptions, _seq2seq)
