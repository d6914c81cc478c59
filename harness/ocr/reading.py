"""Read the text of pictures with rapidocr, in child processes.

The models are part of rapidocr's package: nothing is downloaded.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adapters.processes.child import Receive, Send

Found = tuple[str, float, float, float, float]
"""A line of text with its left, top, right and bottom, in pixels."""

TILE = 2_000, 1_000
"""Widest and tallest part that is read at once, in pixels: rapidocr shrinks what is larger."""
OVERLAP = 100
"""Pixels that tiles share, so each line is whole in one of them."""
SURE = 0.5
"""Least confidence of a line."""
PARAMETERS = {
    "Global.log_level": "critical",
    "Global.use_cls": False,
    # Each process reads on one thread: the pool has one process per processor.
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}


@cache
def edition() -> str:
    """Return what the lines of a picture depend on, as a short hash: rapidocr and the settings."""
    text = f"{version('rapidocr')} {TILE} {OVERLAP} {SURE} {PARAMETERS}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def serve(receive: Receive, send: Send) -> None:
    """Read one encoded picture after the other.

    The answer to a picture is its lines, each a text with left, top, right and bottom in pixels,
    and ""; or () and the reason why it cannot be read.
    """
    from rapidocr import RapidOCR

    engine = RapidOCR(params=PARAMETERS)
    while True:
        try:
            answer = lines(engine, receive()), ""
        except EOFError:
            return
        except Exception as error:  # whatever it is, it must not end the process
            answer = (), str(error) or type(error).__name__
        send(answer)


def lines(engine: Any, data: bytes) -> tuple[Found, ...]:
    """Return the lines of a picture from top to bottom, tile by tile."""
    import numpy as np

    from harness.pictures.imaging import decoded

    pixels = np.asarray(decoded(data))[:, :, ::-1]  # rapidocr takes BGR
    found: list[Found] = []
    for left, top in _corners(pixels.shape[1], pixels.shape[0]):
        read = engine(pixels[top : top + TILE[1], left : left + TILE[0]])
        if read.boxes is None:
            continue
        for text, corners, score in zip(read.txts, read.boxes, read.scores, strict=True):
            if score >= SURE:
                x, y = corners[:, 0] + left, corners[:, 1] + top
                line = text, float(x.min()), float(y.min()), float(x.max()), float(y.max())
                _add(found, line)
    return tuple(sorted(found, key=lambda line: (line[2], line[1])))


def _corners(width: int, height: int) -> Iterator[tuple[int, int]]:
    for top in range(0, max(1, height - OVERLAP), TILE[1] - OVERLAP):
        for left in range(0, max(1, width - OVERLAP), TILE[0] - OVERLAP):
            yield left, top


def _add(found: list[Found], line: Found) -> None:
    """Add a line, unless another tile has more of it."""
    for number, other in enumerate(found):
        across = min(line[3], other[3]) - max(line[1], other[1])
        down = min(line[4], other[4]) - max(line[2], other[2])
        smaller = min(_area(line), _area(other))
        if across > 0 and down > 0 and across * down > smaller / 2:
            if _area(line) > _area(other):
                found[number] = line
            return
    found.append(line)


def _area(line: Found) -> float:
    return (line[3] - line[1]) * (line[4] - line[2])
