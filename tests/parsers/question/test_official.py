"""Scores of published sets against those that their own code gave (worked cases)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from parsers.question import Asked, Right, answered
from parsers.question.metrics import f1_sets, screenqa, websrc_exact, websrc_f1
from parsers.question.webbench import CHOICES, Unscored, letter_of, read, rouges, score, unframed
from parsers.records import Prediction, Status
from tests.parsers.question.test_metrics import cases


def units(case: Mapping[str, Any]) -> list[dict[str, float | None]]:
    """The scores of the questions of a case, which may have several."""
    gold, reply = case["gold"], case["reply"]
    several = isinstance(reply, list)
    golds = gold if several else [gold]
    replies = reply if several else [reply]
    found = []
    for one, said in zip(golds, replies, strict=True):
        asked = Asked(prompt="", task=case["task"])
        # The published code takes a text in place of a list letter by letter.
        right = tuple(one) if case["task"] == "webqa" else (one,)
        found.append(dict(score(answered(said), asked, Right(answers=right))))
    return found


def test_visualwebbench_texts_are_scored_as_executed() -> None:
    seen = 0
    for case in cases("vwb", "diff"):
        task, expect, reply = case["task"], case["expect"], case["reply"]
        if task in CHOICES:
            continue
        seen += 1
        if "Recursion" in str(expect):  # Long texts are scored here.
            assert rouges("Home page", "Home " * 1200)[2] > 0
        elif isinstance(expect, str):
            with pytest.raises(Unscored):
                rouges("Home", reply)
        elif "screensuite" in case["source"]:
            found = units(case)[0]["score.screensuite"]
            assert found == pytest.approx(expect, abs=1e-4), case["id"]
        else:
            _as_executed(units(case), case)
    assert seen > 30


def _as_executed(found: list[dict[str, float | None]], case: Mapping[str, Any]) -> None:
    values = [value for one in found if (value := one["as_executed"]) is not None]
    expect = case["expect"]
    wanted = expect.get("f1", expect.get("rouge_l"))
    assert 100 * sum(values) / len(values) == pytest.approx(wanted, abs=1e-3), case["id"]
    if "rouge_1" in expect:
        first = sum(one["score.rouge-1"] or 0 for one in found) / len(found)
        assert 100 * first == pytest.approx(expect["rouge_1"], abs=1e-3), case["id"]


def test_visualwebbench_letters_are_read_as_published() -> None:
    read_ones = [case for case in cases("vwb") if "letter" in case]
    for case in read_ones:
        assert (letter_of(case["reply"]) or "z") == case["letter"], case["id"]
    assert len(read_ones) > 10


def test_visualwebbench_frames_are_those_of_the_adapter_of_gpt() -> None:
    for case in cases("vwb-adapter"):
        if case["source"].endswith("openai_adapter.py"):
            assert unframed(case["reply"], case["task"], "published") == case["expect"]


@pytest.mark.parametrize(
    ("task", "reply", "text"),
    [
        (
            "web_caption",
            ' <meta name="description" content="Buy "big" lamps"/>\n',
            'Buy "big" lamps',
        ),
        ("web_caption", "Meta Description: Buy lamps", "Meta Description: Buy lamps"),
        ("element_ocr", "The text content within the red bounding box is: Add: now", "Add: now"),
        ("element_ocr", "Time 10:30", "Time 10:30"),
    ],
)
def test_known_frames_are_removed_and_nothing_else(task: str, reply: str, text: str) -> None:
    assert unframed(reply, task, "known") == text
    assert unframed(reply, task, "none") == reply


def test_what_has_no_answer_is_wrong_and_stays() -> None:
    asked, gold = Asked(prompt="", task="webqa"), Right(answers=("Home. ",))
    found = score(Prediction(Status.REFUSAL), asked, gold)
    assert found["score.rouge-l"] == 0.0
    dots = score(answered("..."), asked, Right(answers=("7",)))
    assert dots["score.rouge-l"] == 0.0 and dots["as_executed"] is None


@pytest.mark.parametrize(
    ("reply", "strict", "published"),
    [("A page, so B", "B", "B"), ("B) ", "B", None), ("**B**", "B", None), ("Z", None, None)],
)
def test_readers_of_letters(reply: str, strict: str | None, published: str | None) -> None:
    asked = Asked(prompt="", metric="choice", options=tuple("ABCDEFGH"), task="action_ground")
    for reader, letter in (("strict", strict), ("published", published)):
        found = read(reply, asked, reader=reader, frames="known", finish="stop")  # type: ignore[arg-type]
        said = found.action.arguments["text"] if found.action else None
        assert said == letter
    assert read("", asked, reader="published", frames="known", finish="stop").status is Status.EMPTY


def test_websrc_and_screenqa() -> None:
    seen = 0
    for case in cases("websrc", "screenqa"):
        gold, reply, expect = case["gold"], case["reply"], case["expect"]
        golds = gold if isinstance(gold, list) else [gold]
        seen += 1
        if "exact" not in expect:
            found: tuple[float, ...] = (max(f1_sets(one, reply) for one in golds),)
        elif case["set"] == "screenqa":
            found = screenqa(golds, reply, "<no answer>")
        else:
            found = websrc_exact(gold, reply), websrc_f1(gold, reply)
        wanted = tuple(expect[name] for name in ("exact", "f1") if name in expect)
        assert found == pytest.approx(wanted, abs=1e-4), case["id"]
    assert seen >= 25
