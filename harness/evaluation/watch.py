"""What a run knows about its own dialogues while they go on."""

from __future__ import annotations

from collections.abc import Generator
from typing import cast

from adapters import AdapterInfo
from harness.dialogue import Ask, Asks, Dialogue, Replies
from harness.evaluation.model import tokens_of
from parsers.records import Prediction


def measured(dialogue: Dialogue, info: AdapterInfo, longest: list[int]) -> Dialogue:
    """The dialogue, with the estimated tokens of each prompt appended to `longest`.

    Played-back dialogues are measured like new ones, so that a resumed run has the same numbers.
    """

    def watch() -> Generator[Asks, Replies, Prediction]:
        try:
            asks = next(dialogue)
            while True:
                for ask in (asks,) if isinstance(asks, Ask) else asks:
                    longest.append(tokens_of(ask.conversation, info))
                asks = dialogue.send((yield asks))
        except StopIteration as stop:
            return cast(Prediction, stop.value)
        finally:
            dialogue.close()

    return watch()
