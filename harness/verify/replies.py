"""Rules about texts, limits and counts: everything that needs no picture to be read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from statistics import median
from typing import Literal, NamedTuple

from harness.verify.sizes import UNCOUNTED
from harness.verify.words import BROKEN, CANNOT_TELL, OK, SUSPICIOUS, Found

SHARE = 0.2
"""Share of replies from which thoughts are judged."""


class Thought(NamedTuple):
    """The thoughts that a reply shows. `tokens` are None where none are counted."""

    thoughts: str
    tokens: int | None
    text: str
    finish: str


def judge_copy(asked: str, said: str, others: Sequence[str], known: Sequence[str]) -> Found:
    """Judge the copy of a text; `others` are replies to short questions with `known` words."""
    words, here = _words(said), _words(asked)
    if words == here:
        return Found(OK, "copied")
    speaks = any(word in known for other in others for word in _words(other))
    if len({*here} & {*words}) < 4 < len(words) and not speaks:
        return Found(CANNOT_TELL, "the replies have no known words")
    for pieces, enough in ((words, 8), ("".join(said.split()), 16)):
        if len(pieces) >= enough:
            piece, count = Counter(pieces).most_common(1)[0]
            if 2 * count > len(pieces):
                return Found(BROKEN, f"the reply repeats '{piece[:20]}'")
    return Found(CANNOT_TELL, "a text was not copied")


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def judge_template(expected: Sequence[int] | None, counted: Sequence[int | None]) -> Found:
    """Judge the prompt tokens of three texts against those of the checkpoint's own template."""
    numbers = [number for number in counted if number is not None]
    if len(numbers) < len(counted):
        return Found(CANNOT_TELL, "no usage")
    if expected is None:
        return Found(CANNOT_TELL, "no tokenizer at hand (--checkpoint)")
    more = [a - b for a, b in zip(numbers, expected, strict=True)]
    if not any(more):
        return Found(OK, 0)
    if len(set(more)) > 1:
        return Found(SUSPICIOUS, ["another tokenizer", more])
    if more[0] == 1:
        return Found(SUSPICIOUS, "one token more in every prompt")
    return Found(SUSPICIOUS, f"{more[0]:+} tokens in every prompt")


def judge_system(said: bool, with_it: int | None, without: int | None, expected: int) -> Found:
    """Judge a system text whose pass word is asked for, by the prompt tokens with and without."""
    if said:
        return Found(OK, "read")
    if with_it is None or without is None:
        return Found(CANNOT_TELL, "not read, and no usage")
    share = (with_it - without) / expected
    if share > 0.6:
        return Found(CANNOT_TELL, "the pass word is not said")
    words = f"{100 * max(share, 0):.0f} % of a system text reach the model"
    return Found(BROKEN if share < 0.2 else SUSPICIOUS, words)


def judge_context(
    keys: Sequence[str], said: str, counted: int | None, expected: int, error: str | None
) -> Found:
    """Judge numbers at the beginning, in the middle and at the end of a long text."""
    if error:
        return Found(SUSPICIOUS, f"refuses {expected:,} tokens: {error}")
    if all(key in said for key in keys):
        return Found(OK, f"{counted or expected:,} tokens")
    if keys[0] not in said and counted is not None and counted < 0.7 * expected:
        return Found(BROKEN, f"cuts a prompt of {expected:,} tokens to {counted:,}")
    if keys[0] not in said and keys[-1] in said:
        return Found(SUSPICIOUS, f"the beginning of {expected:,} tokens is lost")
    return Found(CANNOT_TELL, "the numbers are not read")


def judge_output(limit: int, reached: int, finish: str, tokens: int | None, goal: int) -> Found:
    """Judge a count up to `goal` under a limit of reply tokens."""
    counted = tokens or 0
    if max(counted, reached) > 1.1 * limit + 4:
        return Found(BROKEN, "max_tokens ignored")
    if finish == "length":
        short = 0 < counted < 0.9 * limit
        return Found(BROKEN, ["cut at", counted]) if short else Found(OK, "cut where asked")
    if reached >= goal:
        return Found(OK, goal)
    if counted >= 0.95 * limit:
        return Found(BROKEN, "a cut reply is said to be whole")
    return Found(CANNOT_TELL, "did not count so far")


def judge_thinking(
    replies: Sequence[Thought], declared: str, told: Literal["off", "budget"] | None
) -> Found:
    """Judge what replies show of thoughts.

    Args:
        declared: "always", "never" or another word of the model's declaration.
        told: what the request says of thoughts; None if nothing.
    """

    def often(found: Iterable[bool]) -> bool:
        return bool(replies) and sum(found) >= SHARE * len(replies)

    thinks = often(bool(one.thoughts.strip()) or (one.tokens or 0) > 0 for one in replies)
    if thinks and told == "off":
        return Found(BROKEN, "thinks although told not to")
    empty = [one.finish for one in replies if one.thoughts.strip() and not one.text.strip()]
    if often(finish == "stop" for finish in empty):
        return Found(BROKEN, "answers lie in the thoughts")
    # Other models are asked with less room than a run gives them.
    if often(finish == "length" for finish in empty) and declared != "never":
        return Found(BROKEN, "thoughts use up the limit")
    if thinks:
        if declared == "never":
            return Found(SUSPICIOUS, "thinks although only the table of names says never")
        return Found(OK, "thinks")
    if declared != "always":
        return Found(OK, "does not think")
    none = bool(replies) and all(one.tokens == 0 for one in replies)
    return Found(SUSPICIOUS if told == "budget" and none else OK, "no thoughts seen")


def judge_bytes(few: int | None, many: int | None) -> Found:
    """Judge the prompt tokens of two pictures of one size, of few and of many bytes."""
    if few is None or many is None:
        return Found(CANNOT_TELL, "no usage")
    if many > few + 64:
        return Found(BROKEN, f"a picture is sent as text: {few:,} and {many:,} tokens")
    return Found(OK, "a picture counts by its size")


def judge_usage(
    plain: Sequence[int | None], pictured: Sequence[int | None], counts_one: bool = False
) -> Found:
    """Judge prompt tokens of texts and of the same text with a picture.

    `counts_one`: the family's pictures count a token each.
    """
    texts, shown = ([n for n in counts if n is not None] for counts in (plain, pictured))
    if not texts + shown:
        return Found(SUSPICIOUS, "missing")
    if not any(texts + shown):
        return Found(BROKEN, "zeros")
    if texts and shown and max(shown) - min(texts) < UNCOUNTED and not counts_one:
        return Found(SUSPICIOUS, "pictures are not counted")
    return Found(OK, "counted")


def judge_repeats(
    alone: Sequence[str],
    at_once: Sequence[str],
    likeliest: bool | None,
    *,
    greedy: bool,
) -> Found:
    """Judge replies to one question, asked alone and at once.

    `likeliest` is whether each token was the likeliest, where the server says so.
    """
    if not greedy:
        return Found(CANNOT_TELL, "this model always samples: use `--repeats`")
    if likeliest is False:
        return Found(BROKEN, "a token was not the likeliest")
    if len(set(alone)) == 1:
        if set(at_once) <= set(alone):
            return Found(OK, "same replies")
        return Found(OK, "depends on the batch", {"batch": "differs"})
    different = len(alone) >= 4 and len({*alone}) == len(alone)
    common = [_alike(*pair) for pair in combinations(alone, 2)]
    if different and likeliest is None and median(common) <= 2:
        return Found(BROKEN, "sampled")
    return Found(SUSPICIOUS, "not repeatable")


def _alike(first: str, second: str) -> int:
    """Characters that two texts begin with alike."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(first), len(second)))
