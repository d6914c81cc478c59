"""What a reply depends on, as a hash: the cache's key and the `request` of a call on record.

In it: provider, model, revision, endpoint, everything an adapter declares in `settings`, every
generation parameter (the seed among them), the repeat index and the conversation, whose digest
covers texts, native parts and pictures by source digest and recipe. Not in it: the key to the
account, time limits, concurrency, and what is marked for the provider's prompt cache.
"""

from __future__ import annotations

import hashlib

from adapters.contract import AdapterInfo, Generation
from adapters.conversation import canonical_json

FORM = 1
"""Rises when the same request gets another hash, or a stored reply another meaning."""


def model_key(info: AdapterInfo, generation: Generation) -> str:
    """The part that all calls of a run share."""
    return canonical_json(
        {
            "form": FORM,
            "provider": info.provider,
            "model": info.model,
            "revision": info.revision,
            "endpoint": info.endpoint,
            "settings": dict(info.settings),
            "generation": generation.plain(),
        }
    )


def request_key(model: str, conversation: str, repeat: int) -> str:
    """The hash of a call, from `model_key` and the conversation's digest."""
    return hashlib.sha256(f"{model}\n{conversation}\n{repeat}".encode()).hexdigest()


def call_id(step_id: str, repeat: int, place: str) -> str:
    """The name of a call, unique within a run."""
    return f"{step_id}/{repeat}/{place}"
