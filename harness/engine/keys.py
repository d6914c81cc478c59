"""The hash of everything that a reply depends on.

It is the `request` of a recorded call, and finds a reply in the cache. These count: provider,
model, revision, endpoint, everything the adapter declares in `settings`, every generation parameter
(the seed among them), the repeat index, the sample, the trial where an episode was started anew,
and the conversation, whose digest covers texts, native parts, and pictures by source digest and
recipe. Where decoding is not known to be greedy, the unit and the name of the call count, too:
equal calls of a run are all made, and a later run may reuse their replies. API keys, time limits,
concurrency and marks for the provider's prompt cache do not count.
"""

from __future__ import annotations

import hashlib

from adapters.contract import Generation, ModelInfo
from adapters.conversation import canonical_json

FORM = 1
"""Version of the key, raised when a request gets another hash or a stored reply another meaning."""


def model_key(info: ModelInfo, generation: Generation | None = None) -> str:
    """Return the part of the key that all calls of a model share, with this generation if any."""
    return canonical_json(
        {
            "form": FORM,
            "provider": info.provider,
            "model": info.model,
            "revision": info.revision,
            "endpoint": info.endpoint,
            "settings": dict(info.settings),
            **({"generation": generation.plain()} if generation else {}),
        }
    )


def request_key(
    model: str, conversation: str, repeat: int, trial: int = 0, sample: int = 0, of: str = ""
) -> str:
    """Return the hash of a call, from its `model_key` and the conversation's digest.

    `of` is whose call it is, where decoding is not known to be greedy: equal calls differ by it.
    """
    attempt = f"\n{trial}" if trial else ""
    drawn = f"\nsample {sample} {of}" if sample or of else ""
    text = f"{model}\n{conversation}\n{repeat}{attempt}{drawn}"
    return hashlib.sha256(text.encode()).hexdigest()
