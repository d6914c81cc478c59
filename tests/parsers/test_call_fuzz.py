"""Replies put together at random: a few here, a million under the marker `slow`."""

from __future__ import annotations

import warnings

import pytest

from parsers import Status
from parsers.actions import is_readable
from parsers.autowebbench import reference, scores
from parsers.autowebglm import FUNCTIONS, read, spell
from parsers.settling import settled
from tests.parsers.call_texts import replies

TARGETS = ("click('A')", "type_string('A', 'Ohio', False)", "finish('x y')", "finish()")


@pytest.mark.parametrize(
    ("seed", "number_of_replies"),
    [(0, 25_000), *(pytest.param(seed, 100_000, marks=pytest.mark.slow) for seed in range(1, 11))],
)
def test_no_reply_does_any_harm(
    seed: int, number_of_replies: int, capfd: pytest.CaptureFixture[str]
) -> None:
    answered = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number, text in enumerate(replies(seed, number_of_replies)):
            found = read(text, finish="length" if number % 10 == 0 else "stop")
            assert (found.action is not None) == (found.status is Status.ANSWERED), text
            parsed = reference(text)
            assert all(map(is_readable, parsed.values())), text
            if number % 10:
                continue
            kept = settled(found, FUNCTIONS)
            assert settled(kept, FUNCTIONS) == kept, text
            if kept.status is Status.ANSWERED and kept.action:
                assert settled(read(spell(kept.action)), FUNCTIONS).action == kept.action, text
                answered += 1
            for target in TARGETS:
                found_scores = scores(kept, target).values()
                assert all(score is None or 0 <= score <= 1 for score in found_scores), text
    assert answered > number_of_replies * 0.03
    assert capfd.readouterr() == ("", "")
