"""A server's facts about the model that it serves, in its list of models (`GET /v1/models`).

A server of the user's own may serve other weights tomorrow under the same name and address. Its
list says some of what they are: vLLM and SGLang give the checkpoint (`root`) and the base of a LoRA
adapter (`parent`), llama.cpp the size of the weights, LM Studio and Ollama how they are quantised,
and many the time of the model's creation.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from adapters.checks import plain_json

LIMIT_S = 10.0
"""Seconds that a server has to send its list."""
FACTS = ("id", "name", "root", "parent", "version", "created", "created_at")
WEIGHTS = ("n_params", "size")
"""Facts in an object inside, such as some about quantisation."""
_LONGEST = 300
_SAME_TIME_S = 2


def said_of(model: str, body: bytes, headers: Mapping[str, str]) -> dict[str, str]:
    """Return what a list of models says of one; {} if it is not listed, or this is not a list.

    Where a list has a single model, that is taken for it: such servers ignore the name in requests.

    >>> said_of("m", b'{"data": [{"id": "m", "root": "/ckpt/2000", "owned_by": "vllm"}]}', {})
    {'id': 'm', 'root': '/ckpt/2000'}
    """
    try:
        answer = plain_json(body)
    except ValueError:
        return {}
    entry = _entry(model, answer)
    found = {name: entry[name] for name in FACTS if name in entry}
    for place in (entry, entry.get("meta"), entry.get("details")):
        for name, value in place.items() if isinstance(place, dict) else ():
            if name.lower().startswith("quant") or (place is not entry and name in WEIGHTS):
                found[name] = value
    if _is_time_of_answer(found.get("created"), headers.get("date", "")):
        del found["created"]
    return {name: str(value)[:_LONGEST] for name, value in found.items() if _is_plain(value)}


def _entry(model: str, answer: Any) -> dict[str, Any]:
    listed = answer.get("data", answer.get("models")) if isinstance(answer, dict) else None
    entries = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    names = (model, f"models/{model}")
    named = [one for one in entries if one.get("id", one.get("name")) in names]
    return (named or entries)[0] if len(named or entries) == 1 else {}


def _is_plain(value: object) -> bool:
    return isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))


def _is_time_of_answer(created: object, date: str) -> bool:
    """Return whether a server gives the time of its answer, as vLLM and llama.cpp do, which says
    nothing of the model."""
    if isinstance(created, bool) or not isinstance(created, (int, float)):
        return False
    try:
        now = parsedate_to_datetime(date).timestamp()
    except ValueError:
        now = time.time()
    return abs(created - now) <= _SAME_TIME_S
