"""The record of a verification: what was asked, counted and found, as JSON."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from adapters.contract import AdapterInfo
from adapters.conversation import canonical_json
from adapters.secrets import LEAST, is_secret, masked
from harness import __version__
from harness.runs.files import replace_file
from harness.settings import VERIFIED
from harness.verify.calls import CALLS, packed
from harness.verify.probing import Verification
from harness.verify.report import remedies
from harness.verify.words import Check

FORMAT, VERSION = "vlm-eval/verify", 1
_KEY = re.compile(r"\b(?:sk|hf|gsk|xai|AIza|Bearer)[-_ ]?[A-Za-z0-9_-]{16,}")

Counts = Sequence[int | None]


def digest(texts: Counts, pictures: Counts) -> str:
    """Return 12 hex digits of the counted tokens of texts and pictures; none for no counts.

    >>> digest([9, 13, 11], [258, 794, 1249, 1209, 1224])
    '40969b6659c3'
    """
    lists = [None if set(counts) <= {None} else list(counts) for counts in (texts, pictures)]
    told = {"verify": VERSION, "texts": lists[0], "pictures": lists[1]}
    return hashlib.sha256(canonical_json(told).encode()).hexdigest()[:12]


def record_of(
    done: Verification,
    checks: Sequence[Check],
    verdict: str,
    server: Mapping[str, Any],
    effect: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the record of a verification. Keys in replies are masked."""
    probe, info = done.probe, done.probe.info()
    made = list(probe.records.values())
    usages = [one.reply.usage for one in made if one.reply.usage is not None]
    found = {check.name: check.found for check in checks}
    unknown = dict.fromkeys(("numbers", "limit", "ladder", "reading_px", "batch"))
    quantized = [said for name, said in probe.answerer.items() if name.lower().startswith("quant")]
    return {
        "format": FORMAT,
        "version": VERSION,
        "seed": probe.seed,
        "tool": __version__,
        "at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "model": {
            "name": info.model,
            "provider": info.provider,
            "endpoint": endpoint_of(info),
            "reported": sorted({one.reply.model for one in made if one.reply.model}),
            "listed": probe.answerer,
            "settings": masked({**info.settings, **probe.generation.plain()}),
        },
        "server": {"quantization": next(iter(quantized), None), **server},
        "verdict": verdict,
        "complete": not done.failed,
        "ended": _hidden(done.failed),
        "digest": digest(probe.texts(), probe.pictures()),
        "counts": {"texts": probe.texts(), "pictures": probe.pictures()},
        "measured": {
            **unknown,
            **{name: value for one in found.values() for name, value in one.measured.items()},
            "calls_per_minute": round(60 * len(made) / done.seconds) if done.seconds else None,
            "thinks": "thinking" in found and str(found["thinking"].detail).startswith("thinks"),
        },
        "checks": [
            {
                "name": check.name,
                "verdict": check.verdict,
                "rule": check.rule,
                "detail": _hidden(check.detail),
                "next": list(remedies(check, probe.declared, server["software"])),
                "calls": list(check.calls),
            }
            for check in checks
        ],
        "effect": effect,
        "calls": [
            {
                "id": one.place,
                "picture": [packed(what, probe.seed)[1] for what in CALLS[one.place].pictures],
                "request_sha256": one.request,
                "text": _hidden(one.reply.text),
                "finish": one.reply.finish.value,
                "usage": asdict(one.reply.usage) if one.reply.usage else {},
                "ms": round(1000 * one.reply.latency_s),
            }
            for one in made
        ],
        "spent": {
            "calls": len(made),
            "input": sum(usage.input for usage in usages),
            "output": sum(usage.output for usage in usages),
            "usd": None if any(one.cost is None for one in made) else round(done.spent, 6),
            "seconds": round(done.seconds, 1),
        },
    }


def _hidden(value: Any) -> Any:
    """Return a text with keys of the environment, and what looks like one, masked; other values
    as they are."""
    if not isinstance(value, str):
        return value
    for name, key in os.environ.items():
        if is_secret(name) and len(key.strip()) >= LEAST:
            value = value.replace(key.strip(), "[masked]")
    return _KEY.sub("[masked]", value)


def endpoint_of(info: AdapterInfo) -> str:
    """Return host and port of a model's server; the provider's name for its own address."""
    return urlsplit(info.endpoint).netloc or info.endpoint if info.endpoint else info.provider


def written(record: Mapping[str, Any]) -> str:
    """Return a record as text."""
    return json.dumps(record, ensure_ascii=False, indent=1) + "\n"


def write(record: Mapping[str, Any], path: Path | None = None) -> Path:
    """Write a record, to a file of its own in `verify` unless one is named. Returns the file."""
    if path is None:
        name = re.sub(r"[^\w.-]+", "-", str(record["model"]["name"])).strip("-.")[-60:] or "model"
        path = VERIFIED / f"{name}-{re.sub(r'[^0-9TZ]', '', str(record['at']))}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, [written(record).encode("utf-8", "surrogatepass")])
    return path
