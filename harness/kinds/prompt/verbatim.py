"""A finished prompt, sent unchanged and answered with a call of one of AutoWebGLM's functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from adapters.conversation import Conversation, Reply, user
from harness.dialogue import Ask, Dialogue
from harness.protocols.contract import AskingProtocol, Needs
from harness.records import Item
from parsers.autowebbench import reference
from parsers.autowebglm import FUNCTIONS, Order, read, spell
from parsers.records import Prediction

PLACE = "answer"
CHATGLM = "Q: {}\n\nA: "
"""How ChatGLM's own code wraps a question."""


@dataclass(frozen=True)
class Verbatim(AskingProtocol):
    """One user message that is the prompt; text only."""

    wrapping: Literal["plain", "chatglm"] = "plain"
    """`chatglm` writes the prompt between `Q: ` and `A: `, as AutoWebGLM was trained with it."""
    order: Order = "position"
    """Which of several calls counts: the first (`position`), or the one whose function the released
    runner looks for first (`reference`)."""

    name = "verbatim"
    kind = "prompt"
    paper = "Lai et al. 2024 (AutoWebGLM), AutoWebBench"
    places = (PLACE,)
    needs = Needs(pictures="none", picture_policy="none")
    actions = FUNCTIONS

    def dialogue(self, item: Item[str]) -> Dialogue:
        """Send the prompt and read the call."""
        text = item.content if self.wrapping == "plain" else CHATGLM.format(item.content)
        reply = yield Ask(Conversation((user(text),)), PLACE)
        assert isinstance(reply, Reply)
        said = read(reply.text, finish=reply.finish.value, order=self.order)
        return replace(said, parsed=reference(reply.text))

    def spell(self, item: Item[str], prediction: Prediction) -> Mapping[str, str]:
        """Spell the reply with the call; no text without an action."""
        return {PLACE: spell(prediction.action) if prediction.action else ""}
