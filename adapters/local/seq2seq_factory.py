"""`seq2seq:...` as a factory: options to what a model declares, and to its adapter."""

from __future__ import annotations

import inspect
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

from msgspec import Meta

from adapters.contract import Adapter, Described, Fatal
from adapters.local.factory import check_installed
from adapters.local.options import Count, LocalOptions
from adapters.options import parameters_of, read_options

EXAMPLE = "seq2seq:osunlp/MindAct_ActionPrediction_flan-t5-base"


@dataclass(frozen=True, slots=True)
class Seq2SeqOptions:
    """Which model to load and how; fields as in `LocalOptions`."""

    _: KW_ONLY
    model_path: str | None = None
    revision: str | None = None
    dtype: str = "auto"
    devices: tuple[str, ...] | None = None
    batch_size: Count | None = None
    piece_tokens: Annotated[int, Meta(ge=2)] = 512
    """Tokens to which each text of a conversation is cut by itself, as in training."""


class Seq2SeqFactory:
    """Makes the adapter of an encoder-decoder model, from what `Seq2SeqOptions` declares."""

    __signature__: inspect.Signature = parameters_of(Seq2SeqOptions)

    def __call__(self, model: str, **options: object) -> Adapter:
        """Load the model. Raises `Fatal` with one line."""
        return self.describe(model, loads=True, **options).load()

    def describe(self, model: str, *, loads: bool = False, **options: object) -> Described:
        """What the adapter declares, and how to load it. Raises `Fatal`.

        These models are small: what can be wrong before one is loaded is the same if it `loads`.
        """
        read = Seq2SeqOptions(**read_options(self, options))  # type: ignore[arg-type]
        if not model and read.model_path is None:
            raise Fatal(f"which model? name it like {EXAMPLE} or seq2seq:FOLDER")
        check_installed()
        from adapters.local.checkpoint import fetch_weights, locate
        from adapters.local.devices import devices_of
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
            raise Fatal("seq2seq models run on one device: name one with --devices")
        settings = Settings(
            name=f"seq2seq:{named.model}",
            checkpoint=locate(named, weights=False),
            device=device,
            dtype=dtype_of(read.dtype, device),
            batch_size=read.batch_size or (4 if device == "cpu" else 32),
            piece_tokens=read.piece_tokens,
        )
        tokenizer = tokenizer_of(settings.checkpoint)
        info = declared(settings, tokenizer)

        def load() -> Adapter:
            if settings.checkpoint.commit is not None:
                fetch_weights(named, settings.checkpoint)
            return Seq2SeqAdapter(settings, tokenizer, info)

        return Described(info, load)


seq2seq = Seq2SeqFactory()
