"""Why replies end: the providers' words for it, in one table.

Gateways pass on the words of other providers, so one table serves all. A word that is not here is
not an end: servers also report their own failures in this field, next to half a reply.
"""

from __future__ import annotations

from collections.abc import Iterable

from adapters.conversation import Finish

_ENDS = {
    Finish.STOP: (
        *("stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "completed"),
        *("tool_calls", "function_call", "tool_use", "pause_turn", "compaction"),
    ),
    Finish.LENGTH: (
        *("length", "max_tokens", "max_output_tokens", "model_length"),
        *("model_context_window_exceeded", "continuation", "repetition"),
    ),
    Finish.CONTENT_FILTER: (
        *("content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii"),
        *("language", "image_safety", "image_prohibited_content", "image_recitation"),
        *("escalation", "model_armor"),
    ),
    Finish.REFUSAL: ("refusal",),
}
ALIKE = 3
"""A run stops if so many first replies of a model end with the same unknown word; one that ends as
usual does not count, since the call that tries a model out asks for a single word."""


def _plain(word: str) -> str:
    """Return a word without what providers spell differently.

    >>> _plain("Content-Filter"), _plain("MAX_TOKENS")
    ('contentfilter', 'maxtokens')
    """
    return word.lower().replace("-", "").replace("_", "")


_TABLE = {_plain(word): finish for finish, words in _ENDS.items() for word in words}
_CONTEXT_FULL = {_plain("model_length"), _plain("model_context_window_exceeded")}


class UnknownEnd(Exception):
    """A reply ended with a word that is not known to be an end.

    is_final: true if all replies so far but one, and at least `ALIKE`, ended with it.
    """

    def __init__(self, word: str, is_final: bool) -> None:
        super().__init__(word)
        self.word = word
        self.is_final = is_final


class Ends:
    """The ends of one model's replies.

    declared: further words that end a reply.
    """

    def __init__(self, declared: Iterable[str] = ()) -> None:
        self._table = _TABLE | dict.fromkeys(map(_plain, declared), Finish.STOP)
        self._known = 0
        self._unknown: list[str] = []

    def finish(self, word: str | None, text: str) -> Finish | None:
        """Return why a reply with this text ended, None if its provider gives no reason.

        Raises `UnknownEnd`.
        """
        plain = _plain(word or "")
        finish = self._table.get(plain)
        if finish is Finish.LENGTH and plain in _CONTEXT_FULL and not text:
            finish = Finish.TOO_LONG
        if finish is not None or not plain:
            self._known += 1
            return finish
        if len(self._unknown) < ALIKE:
            self._unknown.append(plain)
        alike = self._unknown == [plain] * ALIKE
        raise UnknownEnd(word or "", alike and self._known <= 1)
