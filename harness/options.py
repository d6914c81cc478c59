"""Declares settings of a run, and options of a benchmark, as fields of a dataclass.

`harness.settings` makes options of the command line, keys of files and refusals of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any

from msgspec import Meta

AtLeastZero = Annotated[int, Meta(ge=0)]


def setting(default: Any, help: str, **facts: Any) -> Any:
    """Declare a setting as a field; `facts` are attributes of `harness.settings.Setting`."""
    return field(default=default, metadata={"help": help, **facts})


SHORT: Mapping[str, Mapping[str, Any]] = {
    "distractors": {
        "default": 20,
        "help": "Negative candidates listed with the positive.",
        "group": "Question",
        "short": "-k",
    },
    "ranker": {
        "default": None,
        "help": "Ranker of the candidates: lexical, another registered one, or a file of ranks.",
        "group": "Question",
    },
    "image_policy": {
        "default": None,
        "help": "Part of the screenshot to show. One of full, viewport, tiles, candidates, none, "
        "oracle-target. Default: the protocol's.",
        "group": "Question",
    },
    "f1": {
        "default": "mind2web",
        "help": "Variant of operation F1 in the headline; all are stored.",
        "group": "Scoring",
    },
    "rule": {
        "default": None,
        "help": "Published rule of the headline (docs/screen-steps.md). Default: that of the set.",
        "group": "Scoring",
        "metavar": "NAME",
    },
}
"""Options of benchmarks that the command line has by themselves, too."""


def short_form(name: str, of: str = "") -> Any:
    """Declare such an option: of a benchmark, or as a short form `of` that."""
    return setting(**SHORT[name], of=of)
