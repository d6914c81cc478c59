"""Metrics of questions against worked cases, other packages and their own properties."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.question import LETTERS, Asked, Right, answered
from parsers.question.metrics import (
    METRICS,
    ROUGES,
    anls,
    contains,
    edit,
    exact,
    f1,
    f1_sets,
    number,
    number_of,
    read_answer,
    relaxed,
    rouge,
    score,
    write_answer,
)
from parsers.records import Prediction, Status
from tests.harness.page.recorded import folder

TEXTS = {"exact": exact, "f1": f1, "f1-sets": f1_sets, "contains": contains}
TEXTS |= {"anls": anls, "edit": edit, "relaxed": relaxed}
OPTIONS = ("Home of lamps", "Basket", "Checkout", "A page about lamps")
OFFERED = tuple("ABCD")


def chosen(reply: str, options: Sequence[str] = OPTIONS) -> str:
    """The letter that a reply chooses, or why there is none."""
    found = read_answer(reply, Asked(prompt="?", metric="choice", options=tuple(options)))
    return str(found.action.arguments["text"]) if found.action else found.status.value


def cases(*sets: str) -> Iterator[Mapping[str, Any]]:
    with (folder().parent / "questions" / "cases.jsonl").open(encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    yield from (one for one in found if one["set"] in sets)


def best(metric: str, case: Mapping[str, Any]) -> float:
    golds = case["gold"] if isinstance(case["gold"], list) else [case["gold"]]
    return max(TEXTS[metric](gold, case["reply"]) for gold in golds)


def test_metrics_are_as_defined() -> None:
    seen = 0
    for case in cases("defined"):
        options, expected, name = case.get("options", {}), case["expect"], case["task"]
        if name == "choice":
            words = {"empty": "empty", "out_of_range": "out of range"}
            said = chosen(case["reply"], options)
            assert (said if said in OFFERED else words.get(said)) == expected, case
        elif name == "number":
            limits = options.get("tol", 0.0), options.get("rel", 0.0)
            assert number(case["gold"], case["reply"], *limits) == expected, case
        elif name == "rouge":
            found = {one: rouge(case["gold"], case["reply"], one) for one in ROUGES}
            assert found == pytest.approx(expected, abs=5e-5), case
        else:
            assert best(name, case) == pytest.approx(expected, abs=5e-5), case
        seen += 1
    assert seen >= 35


def test_texts_are_compared_as_published_functions_do() -> None:
    for case in cases("websrc", "screenqa", "b-number", "b-anls"):
        source, expected = case["source"], case["expect"]
        if "lmms-eval tasks/websrc" in source or "MultiUI" in source:
            assert best("f1-sets", case) == pytest.approx(expected["f1"], abs=5e-5), case
        elif "WebSRC-Baseline" in source or "utils_evaluate" in source:
            assert best("exact", case) == expected["exact"], case
            assert best("f1", case) == pytest.approx(expected["f1"], abs=5e-5), case
        elif "relaxed_correctness" in source:
            assert bool(best("relaxed", case)) is expected, case
        elif "casefolded-by-lower" in source:
            assert best("anls", case) == pytest.approx(expected, abs=5e-5), case


@given(st.text("ab c12.", max_size=30), st.text("ab c12.", max_size=30))
def test_rouge_is_that_of_rouge_score(gold: str, reply: str) -> None:
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(list(ROUGES))
    found = scorer.score(gold, reply)
    for name in ROUGES:
        assert rouge(gold, reply, name) == pytest.approx(found[name].fmeasure)


@given(st.sampled_from(sorted(TEXTS)), st.text(max_size=40), st.text(max_size=40))
def test_scores_lie_between_0_and_1_and_a_text_equals_itself(
    name: str, gold: str, reply: str
) -> None:
    assert 0 <= TEXTS[name](gold, reply) <= 1
    if name != "f1-sets":
        assert TEXTS[name](gold, gold) == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,200", 1200),
        ("about $5.00.", 5),
        ("\u22123 \u00b0C", -3),
        ("-$4", -4),
        ("45 %", 0.45),
        (".5", 0.5),
        ("10-12", None),
        ("B12", None),
        ("1,23", None),
        ("3.5.1", None),
        ("", None),
    ],
)
def test_a_number_is_read_where_there_is_one(text: str, value: float | None) -> None:
    assert number_of(text) == value


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("The answer is (C).", "C"),
        ("Answer: B\nbecause it says so", "B"),
        ("Option A is wrong, so the choice is D", "D"),
        ("b) Basket", "B"),
        ("`A`", "A"),
        ("A webpage about lamps", None),
        ("I am sure", None),
        ("answer", None),
    ],
)
def test_an_option_is_read_where_one_is_chosen(reply: str, letter: str | None) -> None:
    found = chosen(reply)
    assert (found if found in OFFERED else None) == letter


ASKED = st.builds(
    Asked,
    prompt=st.just("?"),
    options=st.integers(2, 26).map(lambda count: tuple(f"option {n}" for n in range(count))),
    metric=st.sampled_from(sorted(METRICS)),
    after=st.sampled_from(["", "Answer:"]),
    no_answer=st.sampled_from(["", "<no answer>"]),
)


@given(ASKED, st.integers(0, 25), st.floats(-1e6, 1e6).map(lambda n: f"{n:.2f}"))
def test_what_is_spelled_is_read_and_right(asked: Asked, place: int, text: str) -> None:
    letter = LETTERS[place % len(asked.options)]
    right = letter if asked.metric == "choice" else text if asked.metric == "number" else "1 lamp"
    gold = Right(answers=(right,))
    found = read_answer(write_answer(right, asked), asked)
    assert found == answered(right)
    assert score(found, asked, gold) == 1


@given(ASKED, st.text(max_size=200), st.sampled_from(["stop", "length", "refusal"]))
def test_any_reply_is_read(asked: Asked, reply: str, finish: str) -> None:
    found = read_answer(reply, asked, finish=finish)
    gold = Right(answers=("A",), unanswerable=bool(asked.no_answer), no_answer=asked.no_answer)
    assert 0 <= score(found, asked, gold) <= 1


@pytest.mark.parametrize(
    ("reply", "finish", "found"),
    [
        ("Answer: 3\nAnswer: lamp", "stop", answered("lamp")),
        ("lamp\nAnswer:", "stop", Prediction(Status.EMPTY)),
        ("<think>lamp", "stop", Prediction(Status.TRUNCATED)),
        ("I look at", "length", Prediction(Status.TRUNCATED)),
        ("", "refusal", Prediction(Status.REFUSAL)),
    ],
)
def test_the_answer_is_what_follows_the_words_for_it(
    reply: str, finish: str, found: Prediction
) -> None:
    assert read_answer(reply, Asked(prompt="?", after="Answer:"), finish=finish) == found


def test_no_answer_is_right_where_there_is_none() -> None:
    asked = Asked(prompt="?", no_answer="<no answer>", metric="f1")
    none = Right(unanswerable=True, no_answer="<no answer>")
    said = read_answer("<No answer>", asked)
    assert score(said, asked, none) == 1
    assert score(said, asked, Right(answers=("answer",), no_answer="<no answer>")) == 0
    assert score(read_answer("lamp", asked), asked, none) == 0
