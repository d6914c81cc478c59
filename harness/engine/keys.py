"""The hash of everything that a reply depends on.

It is the `request` of a recorded call, and finds a reply in the cache. These count: provider,
model, revision, endpoint, everything the adapter declares in `settings`, every generation parameter
(the seed among them), the repeat index, the sample, the trial where an episode was started anew,
and the conversation, whose digest covers texts, native parts, and pictures by source digest and
recipe. Where decoding is not known to be greedy, the unit and the name of the call count, too:
equal calls of a run are all made, and a later run may reuse their replies. API keys, time limits,
concurrency and marks for the provider's prompt cache do not count.

Replies of other runs are kept under it where it settles the weights. Elsewhere the key that they
are kept under (`Answerer.kept_as`) says who answered, too.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping

from adapters.contract import Fault, Generation, ModelInfo, ModelLister
from adapters.conversation import canonical_json
from harness.runs.answerers import REPLY

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


class Answerer:
    """Known facts about the models behind a lane.

    reuses: whether replies of other runs may answer them.
    listed: what the server's list of models says of this one.
    name: the model that the last reply named; "" before the first.
    """

    def __init__(self, model: object, info: ModelInfo, *, reuses: bool) -> None:
        self.reuses = reuses or info.weights_known
        self.listed: Mapping[str, str] = {}
        self.name = ""
        self._info = info
        self._lists = model if isinstance(model, ModelLister) and not info.weights_known else None

    async def look(self) -> Mapping[str, str]:
        """Return what the server says of the model, in its list of models and in the last reply.

        The list is asked for once, and only where nothing else settles the weights.
        """
        lists, self._lists = self._lists, None
        if lists is not None:
            with contextlib.suppress(Fault):
                self.listed = await lists.listed()
        return {**self.listed, **({REPLY: self.name} if self.name else {})}

    def kept_as(self, key: str, name: str = "") -> str:
        """Return the key of a kept reply or vector; "" while it is not known who answers.

        `name` is the model that a reply to be kept names; for one to be found, the last one heard.
        """
        if self._info.weights_known:
            return key
        name = name or self.name
        return f"{self._mark(name)}-{key}" if name else ""

    @property
    def mark(self) -> str:
        """The beginning of the keys of replies that this model has given; "" if there is none."""
        return self._mark(self.name) if self.name and not self._info.weights_known else ""

    def _mark(self, name: str) -> str:
        facts = {"model": model_key(self._info), "name": name, "listed": dict(self.listed)}
        return hashlib.sha256(canonical_json(facts).encode()).hexdigest()[:32]
