"""Real GPT-4V replies of the SeeAct example, from text to score."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from parsers import Gold, Prediction, Status, read_answer, score


@pytest.fixture(scope="module")
def example() -> Path:
    root = os.environ.get("VLM_EVAL_TEST_DATA")
    if root is None:
        pytest.skip("VLM_EVAL_TEST_DATA is not set: no SeeAct example")
    folder = Path(root) / "seeact-example"
    assert folder.is_dir(), f"{folder} is missing"
    return folder


def load(example: Path) -> tuple[dict[str, Any], list[dict[str, Any]], list[str]]:
    expected = json.loads((example / "expected.json").read_text())
    folder = example / "textual_choice" / expected["sample_id"]
    queries = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    lines = (folder / "prediction-4api.jsonl").read_text().splitlines()
    return expected, queries, [json.loads(line)["gpt_output"][1] for line in lines]


def test_stored_replies_read_and_score_as_expected(example: Path) -> None:
    expected, queries, replies = load(example)
    gold = Gold(
        expected["gold"]["op"], expected["gold"]["value"], tuple(expected["gold"]["positive_ids"])
    )
    chosen = []
    for batch, query, reply in zip(expected["batches"], queries, replies, strict=True):
        options = [text for _, text in query["choices"]]
        answer = read_answer(reply, options, none_letter=batch["none_letter"])
        assert answer.operation == batch["answer_action"]
        assert (answer.value, answer.flags) == ("", ())
        element = None if answer.option is None else batch["choice_ids"][answer.option]
        assert element == batch["chosen_id"]
        assert answer.status is (Status.NONE if element is None else Status.ANSWERED)
        chosen.append(Prediction.of(answer.status, element=element, operation=answer.operation))
    metrics = expected["expected_metrics"]
    scores = score(chosen[0], gold)
    assert scores["element"] == metrics["element_correct"]
    assert {v for n, v in scores.items() if n.startswith("operation_f1.")} == {
        metrics["operation_f1"]
    }
    assert scores["success"] == metrics["step_success"]
    # The other batches hold no positive: None is a wrong element with a right operation.
    for prediction in chosen[1:]:
        assert not score(prediction, gold)["element"]
        assert score(prediction, gold)["operation_f1.mind2web"] == 1.0


def test_description_part_of_the_stored_reply_has_one_answer(example: Path) -> None:
    _, _, replies = load(example)
    answer = read_answer(replies[0], ["x"] * 16, none_letter="Q")
    assert (answer.option, answer.flags) == (7, ())
