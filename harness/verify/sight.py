"""Rules about what a model read in the pictures. Each has a control: a model that cannot read or
point is not accused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import permutations, product
from math import dist, inf, log, sqrt
from statistics import fmean, median, stdev

from harness.verify.scenes import COLORS, HEIGHTS
from harness.verify.words import BROKEN, CANNOT_TELL, OK, SUSPICIOUS, Found

Size = tuple[int, int]
Numbers = tuple[float, float]

# The ladder: odds of reading a digit of h pixels are (h / threshold)^(1 / spread).
THRESHOLDS = tuple(4.0 * 1.06**step for step in range(50))
SPREADS = (0.08, 0.15, 0.3)
GUESSED, SURE = 0.1, 0.98
EVIDENCE = 5.0
"""Difference of log likelihoods from which a shrunk picture explains the readings better."""
INTERVAL = 2.0
WEAKEST = 30.0
"""A model whose threshold is larger, in pixels, reads too little for a judgement."""


def judge_seen(read: Sequence[bool], tokens: Sequence[int | None]) -> Found:
    """Judge codes in four pictures: which were read, and the tokens that each picture added."""
    if sum(read) >= 3:
        return Found(OK, f"{sum(read)} of {len(read)} codes read")
    uncounted = [count is not None and count < 8 for count in tokens]
    if not any(read) and tokens and all(uncounted):
        return Found(BROKEN, "no picture reaches the model: none is read, and none is counted")
    return Found(CANNOT_TELL, f"{sum(read)} of {len(read)} codes read")


def judge_ladder(small: Sequence[int], large: Sequence[int], expected: float = 1.0) -> Found:
    """Judge the digits read in each row of a small and a large picture.

    `expected` is the share to which the family itself shrinks the large one. Measures the range of
    the share that the readings show (`ladder`), and the height in pixels of which half is read in
    the small one (`reading_px`).
    """
    steps: dict[int, float] = {}
    best, threshold = -inf, 0.0
    for spread in SPREADS:
        near, far = (
            [_likelihood(rows, one, spread) for one in THRESHOLDS] for rows in (small, large)
        )
        best, threshold = max((best, threshold), *zip(near, THRESHOLDS, strict=True), key=_first)
        for (i, first), (j, second) in product(enumerate(near), enumerate(far)):
            steps[i - j] = max(steps.get(i - j, -inf), first + second)
    if threshold > WEAKEST:
        return Found(CANNOT_TELL, "too few digits of the small picture are read")
    top = max(steps.values())
    likely = [1.06**step for step, value in steps.items() if value >= top - INTERVAL]
    interval = round(min(likely), 2), round(max(likely), 2)

    def beats(share: float) -> bool:
        others = [value for step, value in steps.items() if 1.06**step >= share * expected]
        return top - max(others, default=-inf) >= EVIDENCE

    verdict = BROKEN if beats(0.6) else SUSPICIOUS if beats(0.85) else OK
    words = f"large pictures are read as if shrunk to {interval[0]:g} to {interval[1]:g}"
    detail = "small digits are read alike in both" if verdict == OK else words
    return Found(verdict, detail, {"ladder": list(interval), "reading_px": round(threshold, 1)})


def _first(pair: tuple[float, float]) -> float:
    return pair[0]


def _likelihood(rows: Sequence[int], threshold: float, spread: float) -> float:
    total = 0.0
    for height, read in zip(HEIGHTS, rows, strict=True):
        chance = GUESSED + (SURE - GUESSED) / (1 + (threshold / height) ** (1 / spread))
        total += read * log(chance) + (6 - read) * log(1 - chance)
    return total


Corners = Sequence[tuple[str, str]]
"""The colour and the digit of each quarter, in reading order."""
_MOVES = {
    "same": (0, 1, 2, 3),
    "left-right": (1, 0, 3, 2),
    "top-bottom": (2, 3, 0, 1),
    "turned 180": (3, 2, 1, 0),
    "turned 90": (2, 0, 3, 1),
    "turned 270": (1, 3, 0, 2),
    "transposed": (0, 2, 1, 3),
    "transposed and turned 180": (3, 1, 2, 0),
}
_NAMED = {**COLORS, "cyan": (40, 206, 240), "magenta": (214, 40, 214)}
_ALSO = {
    **dict.fromkeys(("turquoise", "aqua", "teal", "light"), "cyan"),
    **dict.fromkeys(("purple", "pink", "violet", "fuchsia"), "magenta"),
    **dict.fromkeys(("gray", "black", "white"), "grey"),
    "orange": "yellow",
    "gold": "yellow",
}
COLOR_WORDS = {**{name: name for name in (*_NAMED, "grey")}, **_ALSO}
"""Names of colours in replies, with the name that is used for them here."""


def quarters(text: str) -> list[tuple[str, str]]:
    """Return the colours and digits that a reply names, four of them: "none" where it has fewer."""
    named = re.findall(r"([a-z]+)[^a-z0-9]*(\d)?", text.lower())
    said = [(COLOR_WORDS[word], digit or "-") for word, digit in named if word in COLOR_WORDS]
    return [*said[:4], *[("none", "-")] * (4 - len(said))]


_RIGHT, _WRONG_COLOR, _WRONG_DIGIT = log(0.9), log(0.1 / 5), log(0.1 / 4)
_SUSPECT = log(1000)


def judge_corners(truth: Corners, said: Corners) -> Found:
    """Judge four quarters: are they as sent, or moved, or in other colours?"""

    def misses(expected: Corners) -> tuple[int, int]:
        pairs = list(zip(expected, said, strict=True))
        return sum(a[0] != b[0] for a, b in pairs), sum(a[1] != b[1] for a, b in pairs)

    def score(expected: Corners) -> float:
        colors, digits = misses(expected)
        return colors * (_WRONG_COLOR - _RIGHT) + digits * (_WRONG_DIGIT - _RIGHT)

    if sum(misses(truth)) <= 1:
        return Found(OK, "as sent")
    if misses(truth)[1] == 0 and all(name == "grey" for name, _ in said):
        return Found(SUSPICIOUS, ["same", "no colours"])
    scores = {
        (move, "".join("RGB"[channel] for channel in order)): score(
            [(_through(truth[place][0], order), truth[place][1]) for place in places]
        )
        for move, places in _MOVES.items()
        for order in permutations(range(3))
    }
    # Of explanations that are as good, the one with fewer changes.
    best = max(scores, key=lambda key: (scores[key], (key[0] == "same") + (key[1] == "RGB")))
    if scores[best] - scores["same", "RGB"] >= _SUSPECT:
        return Found(SUSPICIOUS, list(best))
    return Found(CANNOT_TELL, "same")


def _through(color: str, order: Sequence[int]) -> str:
    """The name of a colour whose channels are exchanged."""
    mixed = [COLORS[color][channel] for channel in order]

    def far(name: str) -> int:
        return sum(abs(a - b) for a, b in zip(_NAMED[name], mixed, strict=True))

    return min(_NAMED, key=far)


def judge_coverage(codes: Sequence[str], text: str) -> Found:
    """Judge twelve codes, three rows of four, of which the reply has those that were seen."""
    lost = {place for place, code in enumerate(codes) if code not in text}
    left = len(codes) - len(lost)
    if left >= 11:
        return Found(OK, left)
    lines = [{4 * r + c for c in range(4)} for r in range(3)]
    lines += [{4 * r + c for r in range(3)} for c in range(4)]
    whole = set().union(*(line for line in lines if line <= lost))
    if left >= 3 and whole and len(lost - whole) <= 1:
        return Found(SUSPICIOUS, sorted(whole))
    return Found(CANNOT_TELL, left)


def judge_order(sent: Sequence[str], said: Sequence[str]) -> Found:
    """Judge the codes of several pictures, in order."""
    if list(said) == list(sent):
        return Found(OK, "in order")
    if not said or not set(said) <= set(sent):
        return Found(CANNOT_TELL, "codes not read")
    if len(set(said)) < len(said):
        return Found(SUSPICIOUS, "repeated")
    lost = [place for place, code in enumerate(sent, start=1) if code not in said]
    return Found(SUSPICIOUS, ["lost", lost] if lost else "moved")


def judge_history(sent: Sequence[str], said: Sequence[str], share: float | None) -> Found:
    """Judge codes shown in two turns; `share` is the tokens of both as a multiple of one's."""
    found = judge_order(sent, said)
    if found.verdict != SUSPICIOUS:
        return found
    lacking = share is not None and share < 1.5
    return Found(BROKEN if lacking else SUSPICIOUS, found.detail)


Pointed = Sequence[tuple[Size, Size, Numbers | None]]
"""Of each mark: the picture's size and the mark's middle in pixels, and the numbers of the reply,
x first; None where it has none."""
_SCALES = {"unit": 1.0, "percent": 100.0, "per-mille": 1000.0, "absolute": None}
SCALES = {**_SCALES, "per-999": 999.0}
"""The number of a whole side, by unit; None for pixels."""
NEAR = 0.04


def judge_points(items: Pointed, declared: str) -> Found:
    """Judge eight marks, or four, that were pointed at; `declared` is how a run reads numbers.

    Measures the unit of the numbers (`numbers`).
    """
    is_quick = len(items) < 8
    most, least = (len(items), 0) if is_quick else (6, 2)
    scales = SCALES if declared == "per-999" else _SCALES

    def hits(unit: str, swapped: bool = False) -> int:
        return sum(
            _near(size, mark, _pixels(said[::-1] if swapped else said, scales[unit], size))
            for size, mark, said in items
            if said is not None
        )

    usual = hits(declared)
    if usual >= most:
        shift = None if is_quick else _shift(items, scales[declared])
        measured = {"numbers": declared}
        return (
            Found(SUSPICIOUS, shift, measured)
            if shift
            else Found(OK, [usual, len(items)], measured)
        )
    for swapped, unit in product((False, True), scales):
        if usual <= least and (unit, swapped) != (declared, False) and hits(unit, swapped) >= most:
            return Found(BROKEN, [unit, swapped], {"numbers": unit})
    ratios = {size: _ratios(items, size) for size, _, _ in items}
    if not is_quick and all(x > 0 and y > 0 for x, y in ratios.values()):
        hit = sum(
            _near(size, mark, (said[0] / ratios[size][0], said[1] / ratios[size][1]))
            for size, mark, said in items
            if said is not None
        )
        if hit >= most:
            seen = {f"{w}x{h}": [round(w * x), round(h * y)] for (w, h), (x, y) in ratios.items()}
            changed = any(abs(x / y - 1) > 0.08 for x, y in ratios.values())
            kind = "aspect ratio changed" if changed else "picture seen"
            return Found(BROKEN, [kind, seen], {"numbers": "absolute"})
    return Found(CANNOT_TELL, [usual, len(items)])


def _pixels(said: Numbers, scale: float | None, size: Size) -> Numbers:
    x, y = said
    return (x, y) if scale is None else (x / scale * size[0], y / scale * size[1])


def _near(size: Size, mark: Size, pixels: Numbers) -> bool:
    return dist(pixels, mark) <= NEAR * max(size)


def _ratios(items: Pointed, size: Size) -> Numbers:
    """Numbers per pixel of each axis, in pictures of a size."""
    found = [(said, mark) for one, mark, said in items if one == size and said is not None]
    x, y = (median([s[axis] / m[axis] for s, m in found] or [0.0]) for axis in (0, 1))
    return x, y


def _shift(items: Pointed, scale: float | None) -> str:
    """Say by how much all marks were missed in the same direction; "" if they were not."""
    for axis, name in enumerate("xy"):
        far = [
            (_pixels(said, scale, size)[axis] - mark[axis]) / max(size)
            for size, mark, said in items
            if said is not None
        ]
        far = [one for one in far if abs(one) <= NEAR]
        if len(far) >= 6:
            mean, spread = fmean(far), stdev(far) / sqrt(len(far))
            if abs(mean) >= max(0.004, 5.41 * spread):
                return f"shifted in {name} by {100 * mean:.1f} %"
    return ""


def rows_read(rows: Sequence[str], text: str) -> list[int]:
    """Return how many digits of each row a reply has in place, line by line.

    A reply that leaves a row out is aligned by the best order-preserving match.
    """
    lines = ["".join(filter(str.isdigit, line)) for line in text.splitlines()]
    lines = [line for line in lines if line][: 4 * len(rows)]
    table: list[list[tuple[int, list[int]]]] = [[(0, [])] * (len(lines) + 1)]
    for row in rows:
        before, now = table[-1], list[tuple[int, list[int]]]()
        for j in range(len(lines) + 1):
            best = (before[j][0], [*before[j][1], 0])
            if j:
                alike = sum(a == b for a, b in zip(row, lines[j - 1], strict=False))
                taken = before[j - 1][0] + alike, [*before[j - 1][1], alike]
                left = now[j - 1]
                best = max(taken, best, left, key=lambda one: one[0])
            now.append(best)
        table.append(now)
    return table[-1][-1][1]
