"""The tokenizer of the original Qwen-VL, from a checkpoint's own `qwen.tiktoken`."""

from __future__ import annotations

import base64
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import tiktoken

from adapters.contract import Fatal

FILE: Final = "qwen.tiktoken"
END_OF_TEXT, IM_START, IM_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
REF, REF_END = "<ref>", "</ref>"
BOX, BOX_END = "<box>", "</box>"
QUAD, QUAD_END = "<quad>", "</quad>"
IMAGE, IMAGE_END, IMAGE_PAD = "<img>", "</img>", "<imgpad>"
MARKUP: Final = frozenset({REF, REF_END, BOX, BOX_END, QUAD, QUAD_END})
# Their ids follow the ranks in this order (151643 and on in the published vocabulary).
SPECIALS: Final = (
    END_OF_TEXT,
    IM_START,
    IM_END,
    *(f"<|extra_{number}|>" for number in range(205)),
    *(REF, REF_END, BOX, BOX_END, QUAD, QUAD_END, IMAGE, IMAGE_END, IMAGE_PAD),
)
# Where a text is cut before bytes are merged. Unlike in later Qwen, digits are never joined.
CUT: Final = "|".join(
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
        r"[^\r\n\p{L}\p{N}]?\p{L}+",
        r"\p{N}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)


class Tokenizer:
    """Converts texts to ids and back. Stateless after loading; used from several threads."""

    def __init__(self, ranks: dict[bytes, int], queries: int = 256) -> None:
        """Build it from merge ranks (0, 1, 2, ...) and the number of ids per picture."""
        specials = {name: len(ranks) + place for place, name in enumerate(SPECIALS)}
        self.specials = specials
        self.queries = queries
        self._encoding = tiktoken.Encoding(
            "qwen", pat_str=CUT, mergeable_ranks=ranks, special_tokens=specials
        )
        self._hidden = {specials[name] for name in SPECIALS if name not in MARKUP}

    @classmethod
    def read(cls, path: Path, queries: int = 256) -> Tokenizer:
        """Read a `qwen.tiktoken`: a line for each token, its bytes in base64 and its rank.

        Raises `Fatal` for a file of another format.
        """
        lines = (line.split() for line in path.read_bytes().splitlines() if line)
        try:
            ranks = {base64.b64decode(token, validate=True): int(rank) for token, rank in lines}
        except ValueError as error:
            raise Fatal(f"{path}: a line is not a token in base64 and its rank") from error
        whole = sorted(ranks.values()) == list(range(len(ranks)))
        if not whole or any(bytes([byte]) not in ranks for byte in range(256)):
            raise Fatal(f"{path}: a rank (0, 1, 2, ...) or a single byte is missing")
        return cls(ranks, queries)

    @property
    def size(self) -> int:
        """Ids in use, special ones included."""
        return self._encoding.n_vocab

    def encode(self, text: str) -> list[int]:
        """Encode a text, composed first (NFC). Special tokens in it are plain text."""
        return self._encoding.encode_ordinary(unicodedata.normalize("NFC", text))

    def image_span(self) -> list[int]:
        """Return a picture's ids: start, `queries` places, end.

        The original writes the picture's path into the places, byte by byte, and opens the file
        that they name. Here pictures travel separately from the ids, and the places are padding.
        """
        padding = [self.specials[IMAGE_PAD]] * self.queries
        return [self.specials[IMAGE], *padding, self.specials[IMAGE_END]]

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids. Special tokens and ids beyond the vocabulary are left out, but for `<ref>`,
        `<box>`, `<quad>` and their ends."""
        shown = [number for number in ids if number not in self._hidden and 0 <= number < self.size]
        return self._encoding.decode(shown, errors="replace")
