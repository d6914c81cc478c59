"""The names of local models as factories: options to what a model declares, and to its adapter."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from adapters.contract import Adapter, Described, Fatal
from adapters.local.options import HUB, LocalOptions, Seq2SeqOptions
from adapters.options import parameters_of, read_options
from adapters.registry import install

INSTALL = install("local")
OLDEST = (5, 20)
EXAMPLES = {
    "hf": "hf:Qwen/Qwen2.5-VL-7B-Instruct",
    "seq2seq": "seq2seq:osunlp/MindAct_ActionPrediction_flan-t5-base",
}


class LocalFactory:
    """Makes the adapter of a local model, from the options that `LocalOptions` declares."""

    __signature__: inspect.Signature = parameters_of(LocalOptions)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, model: str, **options: object) -> Adapter:
        """Load the model. Raises `Fatal` with one line."""
        return self.describe(model, loads=True, **options).load()

    def describe(self, model: str, *, loads: bool = False, **options: object) -> Described:
        """Return the adapter's declaration and a loader. Raises `Fatal`; if the model is loaded
        next (`loads`), also for anything that would prevent loading."""
        return describe(self.options(model, **options), loads=loads)

    def options(self, model: str, **options: object) -> LocalOptions:
        """Return the options in their own types. Raises `Fatal` for a value of another type."""
        read = read_options(self, options)
        if not model and self.name == "hf" and "model_path" not in read:
            raise Fatal(f"which model? name it like {EXAMPLES['hf']} or hf:FOLDER")
        named = model or HUB.get(self.name) or str(read["model_path"])
        return LocalOptions(named, self.name, **read)  # type: ignore[arg-type]


class Seq2SeqFactory:
    """Makes the adapter of an encoder-decoder model, from what `Seq2SeqOptions` declares."""

    __signature__: inspect.Signature = parameters_of(Seq2SeqOptions)

    def __call__(self, model: str, **options: object) -> Adapter:
        """Load the model. Raises `Fatal` with one line."""
        return self.describe(model, loads=True, **options).load()

    def describe(self, model: str, *, loads: bool = False, **options: object) -> Described:
        """Return the adapter's declaration and a loader. Raises `Fatal`.

        These models are small: what can be wrong before one is loaded is the same if it `loads`.
        """
        read = Seq2SeqOptions(**read_options(self, options))  # type: ignore[arg-type]
        if not model and read.model_path is None:
            raise Fatal(f"which model? name it like {EXAMPLES['seq2seq']} or seq2seq:FOLDER")
        check_installed()
        from adapters.local.checkpoint import fetch_weights, locate
        from adapters.local.options import devices_of
        from adapters.local.processors import check_torchvision
        from adapters.local.seq2seq import (
            Seq2SeqAdapter,
            Settings,
            declared,
            dtype_of,
            tokenizer_of,
        )

        check_torchvision()
        named = LocalOptions(
            model or str(read.model_path),
            "seq2seq",
            model_path=read.model_path,
            revision=read.revision,
            devices=read.devices,
        )
        device = devices_of(named)[0]
        if read.devices and len(read.devices) > 1:
            raise Fatal("seq2seq models run on one device: name one with --adapter-option devices")
        settings = Settings(
            name=f"seq2seq:{named.model}",
            checkpoint=locate(named),
            device=device,
            dtype=dtype_of(read.dtype, device),
            batch_size=read.batch_size or (4 if device == "cpu" else 32),
            piece_tokens=read.piece_tokens,
            end_tokens=read.end_tokens,
        )
        tokenizer = tokenizer_of(settings.checkpoint)
        info = declared(settings, tokenizer)

        def load() -> Adapter:
            if settings.checkpoint.commit is not None:
                fetch_weights(named, settings.checkpoint)
            return Seq2SeqAdapter(settings, tokenizer, info)

        return Described(info, load)


hf = LocalFactory("hf")
qwen2_vl = LocalFactory("qwen2-vl")
qwen2_5_vl = LocalFactory("qwen2.5-vl")
qwen3_vl = LocalFactory("qwen3-vl")
qwen_vl = LocalFactory("qwen-vl")
seeclick = LocalFactory("seeclick")
seq2seq = Seq2SeqFactory()


def describe(options: LocalOptions, *, loads: bool = False) -> Described:
    """Return a local model's declaration and a loader; see `LocalFactory.describe`."""
    check_installed()
    from adapters.local.options import devices_of
    from adapters.local.unloaded import declared, read

    model = read(options, devices_of(options)[0])
    if loads:
        model.check()
    info = declared(options, model)

    def load() -> Adapter:
        from adapters.local.start import start

        return start(options, info, model)

    return Described(info, load)


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
