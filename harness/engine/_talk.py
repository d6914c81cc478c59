"""A protocol's generator, one turn at a time, with whatever goes wrong in it named."""

from __future__ import annotations

from collections.abc import Callable

from harness.dialogue import Ask, Asks, Dialogue, Replies
from harness.engine._errors import ProtocolError
from parsers.records import Prediction


class Talk:
    """`name` says whose dialogue it is, for messages. Raises `ProtocolError` throughout."""

    def __init__(self, name: str, begin: Callable[[], Dialogue]) -> None:
        self._name = name
        try:
            self._dialogue = begin()
        except Exception as error:
            raise self._failed(error) from error

    def advance(self, replies: Replies | None) -> Asks | Prediction:
        """What the protocol asks next, or its prediction. `replies` is None for the first turn."""
        try:
            turn = next(self._dialogue) if replies is None else self._dialogue.send(replies)
        except StopIteration as stop:
            if isinstance(stop.value, Prediction):
                return stop.value
            raise ProtocolError(
                f"{self._name}: the protocol returned {type(stop.value).__name__}, no prediction"
            ) from None
        # Protocols come from anywhere, so anything may come out of them. It ends the run, and the
        # step is what its author needs to know first.
        except Exception as error:
            raise self._failed(error) from error
        if isinstance(turn, Ask) or (
            isinstance(turn, tuple) and all(isinstance(ask, Ask) for ask in turn)
        ):
            return turn
        raise ProtocolError(f"{self._name}: the protocol yielded {type(turn).__name__}, no Ask")

    def close(self) -> None:
        """End the dialogue wherever it is."""
        try:
            self._dialogue.close()
        except Exception as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> ProtocolError:
        return ProtocolError(f"{self._name}: the protocol raised {type(error).__name__}: {error}")
