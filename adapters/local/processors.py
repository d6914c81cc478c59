"""A checkpoint's processor, with torchvision and without it.

Transformers requires torchvision for processors with a video part, which nothing here needs. So
processors are loaded without that part, and pictures are prepared by the Pillow backend wherever
there is one: with torchvision the pixels would differ by up to 1/255.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from adapters.contract import Fatal
from adapters.local.options import line

UNUSED = ("video_processor", "feature_extractor", "audio_processor")
"""Parts of processors for video and sound."""
VIDEO_PACKAGES = ("num2words",)
"""Packages that modules of processors import for their part for video, and hold None without."""
DESCRIBED = ("processor_config.json", "preprocessor_config.json")
BROKEN_TORCHVISION = (
    "the torchvision that is installed does not work with torch {torch} ({why}): install the one "
    "made for this torch (https://pytorch.org/get-started/locally), or remove it (pip uninstall "
    "torchvision), since few models need it"
)
NO_TORCHVISION = (
    "{folder}: its pictures are prepared by {processor}, which needs torchvision, and that is not "
    "installed: install the one made for torch {torch} (https://pytorch.org/get-started/locally)"
)


@cache
def check_torchvision() -> None:
    """Raise `Fatal` if torchvision is installed but cannot be imported: transformers would fail."""
    if find_spec("torchvision") is None:
        return
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module("torchvision")
    except Exception as error:
        message = BROKEN_TORCHVISION.format(torch=torch.__version__, why=line(error))
        raise Fatal(message) from error


def load_processor(folder: Path, config: Any) -> Any:
    """Load the processor of a checkpoint, for pictures and text. Raises `Fatal`."""
    if not any((folder / name).is_file() for name in DESCRIBED):
        raise Fatal(f"{folder} has no {DESCRIBED[-1]}, which says how to prepare its pictures")
    base = _class(folder, config)
    try:
        base = image_only(base)
        processor = base.from_pretrained(folder, trust_remote_code=False)
    except (ImportError, ValueError) as error:
        if find_spec("torchvision") is None and "torchvision" in str(error).lower():
            raise Fatal(_without_torchvision(folder, base)) from error
        raise
    for part in ("tokenizer", "image_processor"):
        if getattr(processor, part, None) is None:
            raise Fatal(f"the checkpoint has no {part.replace('_', ' ')}: {folder}")
    if not type(processor.image_processor).__name__.endswith("Pil"):
        from transformers import AutoImageProcessor

        # Where there is no such backend, the run's record names the one that there is.
        with contextlib.suppress(ImportError, OSError, ValueError):
            processor.image_processor = AutoImageProcessor.from_pretrained(
                folder, backend="pil", trust_remote_code=False
            )
    # Older checkpoints keep it with the tokenizer.
    processor.chat_template = processor.chat_template or processor.tokenizer.chat_template
    if not processor.chat_template:
        raise Fatal(
            f"the checkpoint has no chat template, so it is unknown how to prompt it: put its "
            f"chat_template.jinja into {folder}"
        )
    return processor


class NoPart(dict[str, object]):
    """An empty placeholder for a part of a processor, without settings to copy from it."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)


def image_only(base: Any) -> Any:
    """Return a processor class that neither loads nor has its parts for video and sound."""
    parts = base.get_attributes()
    if "image_processor" not in parts or not set(UNUSED).intersection(parts):
        return base
    module = sys.modules[base.__module__]
    for package in VIDEO_PACKAGES:
        if getattr(module, package, True) is None:
            setattr(module, package, _only_for_video)

    class Tolerant(base):  # type: ignore[misc]
        def check_argument_for_proper_class(self, name: str, argument: Any) -> Any:
            if name in UNUSED and isinstance(argument, NoPart):
                return NoPart
            return super().check_argument_for_proper_class(name, argument)

    class ImageOnly(Tolerant):
        @classmethod
        def get_attributes(cls) -> list[str]:
            """Return the names of the parts: what is loaded, and looked through later."""
            return [name for name in super().get_attributes() if name not in UNUSED]

        @classmethod
        def from_args_and_dict(
            cls, args: list[Any], settings: dict[str, Any], **options: Any
        ) -> Any:
            # A constructor takes its parts by position, so a missing one needs a placeholder.
            loaded = iter(args)
            whole = [NoPart() if name in UNUSED else next(loaded) for name in parts]
            made = Tolerant.from_args_and_dict(whole, settings, **options)
            made.__class__ = cls
            return made

    # A processor writes its name into its files, and transformers compares it.
    Tolerant.__name__ = ImageOnly.__name__ = base.__name__
    return ImageOnly


def _only_for_video(*_: object, **__: object) -> None:
    raise NotImplementedError("nothing here prepares videos")


def _without_torchvision(folder: Path, base: Any) -> str:
    """Explain that a processor, or an image processor, needs torchvision."""
    import torch

    missing = "torchvision" in getattr(base, "_backends", ())
    name = base.__name__ if missing else _described(folder, "image_processor_type")
    return NO_TORCHVISION.format(
        folder=folder, processor=name or base.__name__, torch=torch.__version__
    )


def _class(folder: Path, config: Any) -> Any:
    """Return a checkpoint's own processor class, else that of its model type. Raises `Fatal`.

    A model type may have several: Pixtral is published in the layout of LLaVA.
    """
    from transformers.models.auto import processing_auto

    name = _described(folder, "processor_class")
    named = processing_auto.processor_class_from_name(str(name)) if name else None
    if named is None and type(config) in processing_auto.PROCESSOR_MAPPING:
        named = processing_auto.PROCESSOR_MAPPING[type(config)]
    if named is None:
        raise Fatal(
            f"{folder}: transformers has no processor for '{config.model_type}' checkpoints, and "
            "without one their pictures cannot be prepared"
        )
    return named


def _described(folder: Path, key: str) -> Any:
    """Return a value from the first of a checkpoint's files that has it, None if none has."""
    for name in (*DESCRIBED, "tokenizer_config.json"):
        with contextlib.suppress(OSError, ValueError):
            content = json.loads((folder / name).read_bytes())
            inner = content.get("image_processor") if isinstance(content, dict) else None
            for part in (content, inner):
                if isinstance(part, dict) and part.get(key):
                    return part[key]
    return None
