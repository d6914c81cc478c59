"""Checks that a model takes all tensors of a checkpoint, and that no adapter lies next to it.

An adapter (LoRA and its kin) that is not merged is not applied by anything here: replies would be
the base model's. With peft installed, transformers would apply some of them and say nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from adapters.contract import Fatal

ADAPTERS = (
    "adapter_config.json",
    "adapter*.safetensors",
    "adapter*.bin",
    "non_lora_trainables.bin",
)
"""Files of adapters, as peft, MLX and trainers save them."""
_ADAPTER_TENSOR = re.compile(
    r"(^|\.)(lora_|hada_|lokr_|ia3_|vera_|oft_|boft_|base_layer\.|base_model\.model\.)"
)
_MERGE = "merge it into the weights (merge_and_unload of peft) and name that folder"


def adapter_files(folder: Path) -> list[Path]:
    """Return the files of adapters in a folder and below it."""
    return sorted({path for pattern in ADAPTERS for path in folder.rglob(pattern)})


def refuse_adapters(folder: Path) -> None:
    """Raise `Fatal` for a folder with an adapter, alone or next to a model."""
    found = next((path for path in adapter_files(folder) if path.parent == folder), None)
    if found is None:
        return
    if (folder / "config.json").is_file():
        raise Fatal(
            f"{folder} holds an adapter next to the model ({found.name}), which would not be "
            f"applied: {_MERGE}, or move it elsewhere to run the model without it"
        )
    base = ""
    with suppress(OSError, ValueError, AttributeError):
        named = json.loads((folder / ADAPTERS[0]).read_bytes()).get("base_model_name_or_path")
        base = f" of {named[:100]!r}" if isinstance(named, str) and named else ""
    raise Fatal(f"{folder} holds an adapter{base} and no model ({found.name}): {_MERGE}")


def refuse_adapter_tensors(where: object, names: Iterable[str]) -> None:
    """Raise `Fatal` if one of the tensors that a model does not take is an adapter's."""
    found = sorted(name for name in names if _ADAPTER_TENSOR.search(name))
    if found:
        raise Fatal(
            f"{where}: the weights hold an adapter ({len(found)} tensors, the first is "
            f"{found[0]}), which would not be applied: {_MERGE}"
        )


def check_report(
    where: object, architecture: str, report: Mapping[str, Any], spare: str = ""
) -> list[str]:
    """Return a line about tensors that were not used, if there are any.

    Args:
        where: the folder, or the model's name.
        architecture: the class that was loaded.
        report: transformers' `output_loading_info`.
        spare: part of the names of tensors that the caller does not need.

    Raises `Fatal` for tensors of an adapter, and for those that are missing or do not fit.
    """
    unused = sorted(map(str, report["unexpected_keys"]))
    refuse_adapter_tensors(where, unused)
    lacking = sorted(report["missing_keys"]) + sorted(map(str, report["mismatched_keys"]))
    lacking = [name for name in lacking if not (spare and spare in name)]
    if lacking:
        raise Fatal(
            f"{where} is not a complete {architecture}: tensors are missing "
            f"or have another shape ({len(lacking)}, the first is {lacking[0]})"
        )
    if not unused:
        return []
    return [
        f"{where}: {architecture} does not use all of its tensors ({len(unused)} are left over, "
        f"the first is {unused[0]})"
    ]


@contextmanager
def loading_reports() -> Iterator[list[tuple[str, Mapping[str, Any]]]]:
    """Yield the class and the report of every model that transformers loads within.

    For libraries that load models by themselves and keep no report.
    """
    from transformers import PreTrainedModel

    reports: list[tuple[str, Mapping[str, Any]]] = []
    original = PreTrainedModel.__dict__["from_pretrained"]

    def from_pretrained(cls: Any, *args: Any, **options: Any) -> Any:
        options["output_loading_info"] = True
        model, report = original.__func__(cls, *args, **options)
        reports.append((type(model).__name__, report))
        return model

    PreTrainedModel.from_pretrained = classmethod(from_pretrained)
    try:
        yield reports
    finally:
        PreTrainedModel.from_pretrained = original
