"""The record of a verification: what was asked, counted and found, as JSON."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from adapters.contract import AdapterInfo
from adapters.conversation import canonical_json
from adapters.secrets import LEAST, is_secret, masked
from harness import __version__
from harness.verify.report import remedies

if TYPE_CHECKING:
    from harness.verify.probing import Verified

FORMAT, VERSION = "vlm-eval/verify", 1
FOLDER = "verify"
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
    done: Verified,
    verdict: str,
    server: Mapping[str, Any],
    seconds: float,
    effect: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the record of a verification. Keys in replies are masked."""
    probe, judge, info = done.probe, done.judge, done.probe.info()
    checks = judge.checks()
    texts, pictures = judge.texts(), judge.counts()
    made = list(probe.records.values())
    usages = [one.reply.usage for one in made if one.reply.usage is not None]
    costs = [one.cost for one in made]
    points = next((check for check in checks if check.name == "points"), None)
    found = {check.name: check.detail for check in checks}
    fit = judge.fit
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
        "digest": digest(texts, pictures),
        "counts": {"texts": texts, "pictures": pictures},
        "measured": {
            "numbers": judge.unit_of(points.rule, points.detail) if points else None,
            "limit": [fit.kind, fit.least, fit.most] if fit and fit.kind != "published" else None,
            "ladder": list(judge.interval) if judge.interval else None,
            "reading_px": judge.reading_px,
            "batch": "differs" if found.get("repeats") == "depends on the batch" else None,
            "calls_per_minute": round(60 * len(made) / seconds) if seconds else None,
            "thinks": "thinks" in str(found.get("thinking", "")).split()[:1],
        },
        "checks": [
            {
                "name": check.name,
                "verdict": check.verdict,
                "rule": check.rule,
                "detail": _hidden(check.detail),
                "next": list(remedies(check, judge, server["software"])),
                "calls": list(check.calls),
            }
            for check in checks
        ],
        "effect": effect,
        "calls": [
            {
                "id": one.place,
                "picture": [
                    probe.album.digests.get(part.digest, part.digest[:16])
                    for message in probe.ask(one.place).conversation.messages
                    for part in message.pictures
                ],
                "request_sha256": one.request,
                "text": _hidden(one.reply.text),
                "finish": one.reply.finish.value,
                "usage": _usage(one.reply.usage),
                "ms": round(1000 * one.reply.latency_s),
            }
            for one in made
        ],
        "spent": {
            "calls": len(made),
            "input": sum(usage.input for usage in usages),
            "output": sum(usage.output for usage in usages),
            "usd": None if None in costs else round(done.spent, 6),
            "seconds": round(seconds, 1),
        },
    }


def _usage(usage: Any) -> dict[str, int]:
    names = ("input", "cached", "cache_write", "output", "reasoning")
    return {} if usage is None else {name: getattr(usage, name) for name in names}


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


def file_name(record: Mapping[str, Any]) -> str:
    """Return the name of a record's file."""
    name = re.sub(r"[^\w.-]+", "-", str(record["model"]["name"])).strip("-.")[-60:] or "model"
    return f"{name}-{re.sub(r'[^0-9TZ]', '', str(record['at']))}.json"


def written(record: Mapping[str, Any]) -> str:
    """Return a record as text."""
    return json.dumps(record, ensure_ascii=False, indent=1) + "\n"
