"""The names of local models as factories: options to what a model declares, and to its adapter."""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from adapters.contract import Adapter, Fatal, UnloadedModel
from adapters.local import unloaded
from adapters.local.checkpoint import fetch_weights, locate
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
LONG_S = 2.0
"""Seconds of loading after which a log line says what is being loaded."""
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
    known = {option: value for option, value in read.items() if option in LocalOptions.__slots__}
    return LocalOptions(model, name, **known)


def _local(name: str, model: str, read: Mapping[str, Any], loads: bool) -> UnloadedModel:
    return describe(local_options(name, model, read), loads=loads)


def describe(options: LocalOptions, *, loads: bool = False) -> UnloadedModel:
    """Return a local model's declaration and a loader; see `Factory`."""
    check_installed()
    device = device_of(options)
    model = unloaded.read(options, device)
    if loads:
        model.check()
    info = unloaded.declared(options, model)

    def load() -> Adapter:
        from adapters.local.adapter import opened

        where = f"GPUs ({options.device_map})" if options.device_map else device
        with announced(info.name, where):
            return opened(info, model.load(), options.batch_size)

    return UnloadedModel(info, load)


def _seq2seq(model: str, read: Mapping[str, Any], loads: bool) -> UnloadedModel:
    """These models are small: what can be wrong before one is loaded is the same if it `loads`."""
    named, options = local_options("seq2seq", model, read), Seq2SeqOptions(**read)
    check_installed()
    from adapters.local import seq2seq

    check_torchvision()
    device = device_of(named)
    dtype, checkpoint = seq2seq.dtype_of(options.dtype, device), locate(named)
    family = seq2seq.family_of(f"seq2seq:{named.model}", checkpoint, options)
    info = seq2seq.declared(family, checkpoint, device, dtype)

    def load() -> Adapter:
        from adapters.local.adapter import opened

        if checkpoint.commit is not None:
            fetch_weights(named, checkpoint)
        rows = options.batch_size or (4 if device == "cpu" else 32)
        model = seq2seq.loaded(family, checkpoint, device, dtype)
        return opened(info, model, rows)

    return UnloadedModel(info, load)


@contextmanager
def announced(name: str, where: str) -> Iterator[None]:
    """Log what is being loaded if that takes long."""
    long = threading.Timer(LONG_S, _log.info, ("loading %s on %s ...", name, where))
    long.daemon = True
    long.start()
    try:
        yield
    finally:
        long.cancel()


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
