"""One small call before the first step, to find out what would end the run anyway."""

from __future__ import annotations

from adapters.contract import Fatal, Request
from adapters.conversation import Conversation, Picture, Reply, user
from harness.engine._errors import GaveUp
from harness.engine.engine import Engine

QUESTION = "Reply with the word: ready"


async def preflight(engine: Engine, picture: Picture | None) -> Reply:
    """Ask the model for a word, showing a picture unless `picture` is None.

    It is sent with the parameters of the run, so that a refused one is found as well, and counts
    towards the cost limit; it is not put on record. Raises `Fatal` with one line when the run
    cannot work, `Stopped` when the cost limit does not even allow for this call.
    """
    parts = [QUESTION] if picture is None else [picture, QUESTION]
    conversation = Conversation((user(*parts),))
    request = Request(conversation, engine.generation, "preflight", "preflight")
    try:
        return await engine.ask_first(request)
    except GaveUp as error:
        raise Fatal(f"the model does not answer: {error}") from error
