"""A checkpoint's processor, with torchvision and without it.

Transformers requires torchvision for processors with a video part, which nothing here needs. So
processors are loaded without that part, and pictures are always prepared by the Pillow backend:
with torchvision the pixels would differ by up to 1/255.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import warnings
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from adapters.contract import Fatal

VIDEO = "video_processor"
DESCRIBED = ("processor_config.json", "preprocessor_config.json")
BROKEN_TORCHVISION = (
    "the torchvision that is installed does not work with torch {torch} ({why}): remove it "
    "(pip uninstall torchvision), which nothing here needs, or install the one made for this torch"
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
        why = (str(error) or type(error).__name__).splitlines()[0]
        raise Fatal(BROKEN_TORCHVISION.format(torch=torch.__version__, why=why)) from error


def load_processor(folder: Path, config: Any, trust_remote_code: bool) -> Any:
    """The processor of a checkpoint, for pictures and text. Raises `Fatal`."""
    if not any((folder / name).is_file() for name in DESCRIBED):
        raise Fatal(f"{folder} has no {DESCRIBED[-1]}, which says how to prepare its pictures")
    base = _class(folder, config, trust_remote_code)
    if VIDEO in base.get_attributes():
        base = image_only(base)
    options = {"trust_remote_code": trust_remote_code}
    processor = base.from_pretrained(folder, **options)
    for part in ("tokenizer", "image_processor"):
        if getattr(processor, part, None) is None:
            raise Fatal(f"the checkpoint has no {part.replace('_', ' ')}: {folder}")
    _use_pillow(processor, folder, options)
    # Older checkpoints keep it with the tokenizer.
    processor.chat_template = processor.chat_template or processor.tokenizer.chat_template
    if not processor.chat_template:
        raise Fatal(
            f"the checkpoint has no chat template, so it is unknown how to prompt it: put its "
            f"chat_template.jinja into {folder}"
        )
    return processor


def image_only(base: Any) -> Any:
    """A processor class that neither loads nor has its part for video."""
    place = base.get_attributes().index(VIDEO)

    class Tolerant(base):  # type: ignore[misc]
        def check_argument_for_proper_class(self, name: str, argument: Any) -> Any:
            if name == VIDEO and argument is None:
                return type(None)
            return super().check_argument_for_proper_class(name, argument)

    class ImageOnly(Tolerant):
        @classmethod
        def get_attributes(cls) -> list[str]:
            """The names of the parts: what is loaded, and looked through later."""
            return [name for name in super().get_attributes() if name != VIDEO]

        @classmethod
        def from_args_and_dict(
            cls, args: list[Any], settings: dict[str, Any], **options: Any
        ) -> Any:
            # A constructor takes its parts by position, so None stands in for the missing one.
            parts = [*args[:place], None, *args[place:]]
            made = Tolerant.from_args_and_dict(parts, settings, **options)
            made.__class__ = cls
            return made

    # A processor's name stands in what it saves and in what transformers compares.
    Tolerant.__name__ = ImageOnly.__name__ = base.__name__
    return ImageOnly


def _class(folder: Path, config: Any, trust_remote_code: bool) -> Any:
    from transformers.models.auto import processing_auto

    description = _class_description(folder)
    custom = description.get("auto_map", {}).get("AutoProcessor")
    if custom is not None and trust_remote_code:
        from transformers.dynamic_module_utils import get_class_from_dynamic_module

        return get_class_from_dynamic_module(custom, str(folder))
    try:
        return processing_auto.PROCESSOR_MAPPING[type(config)]
    except KeyError:
        named = processing_auto.processor_class_from_name(str(description.get("processor_class")))
    if named is None:
        raise Fatal(
            f"transformers has no processor for '{config.model_type}' checkpoints: {folder}"
        )
    return named


def _class_description(folder: Path) -> Mapping[str, Any]:
    """The first of a checkpoint's files that names its processor's class."""
    for name in (*DESCRIBED, "tokenizer_config.json"):
        with contextlib.suppress(OSError, ValueError):
            content = json.loads((folder / name).read_bytes())
            if isinstance(content, dict) and {"processor_class", "auto_map"} & content.keys():
                return content
    return {}


def _use_pillow(processor: Any, folder: Path, options: Mapping[str, Any]) -> None:
    if not type(processor.image_processor).__name__.endswith("Pil"):
        from transformers import AutoImageProcessor

        try:
            processor.image_processor = AutoImageProcessor.from_pretrained(
                folder, backend="pil", **options
            )
        except (ImportError, OSError, ValueError):
            return  # It has no such backend; the run's record names the one that it has.
