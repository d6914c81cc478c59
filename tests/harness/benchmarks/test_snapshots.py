"""Files as rabbit's data set card describes them, without any column of ours."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from harness.benchmarks import StepDataset, benchmark_of, open_steps
from harness.errors import DataError, UserError
from harness.settings import read_settings
from tests.harness.benchmarks._files import picture
from tests.harness.benchmarks._snapshots import SERIES, element, stored, write


def opened(path: Path, *splits: str) -> StepDataset:
    return open_steps("mm-mind2web-tilde", splits=splits or None, data=path)


def test_prompts_candidates_and_targets_are_taken_as_stored(tmp_path: Path) -> None:
    (step,) = opened(write(tmp_path / "x.parquet", [stored(step=3)])).rows()
    question = step.detail.stored
    assert question is not None
    assert question.first == (
        {"role": "system", "content": [{"type": "text", "text": "What next?"}]},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What next?"},
                {"type": "image_url", "image_url": {}},
            ],
        },
    )
    assert question.second == (
        {"role": "user", "content": [{"type": "text", "text": "Which one?"}]},
    )
    assert [(c.letter, c.id, c.tag) for c in question.choices] == [
        ("A", "10", "button"),
        ("B", "20", "button"),
        ("C", "30", "button"),
    ]
    assert question.choices[1].text == element(20)
    assert question.pictures == (picture(),)
    assert step.detail.screenshot == picture()
    assert step.detail.gold.elements == ("20", "40")
    assert [c.id for c in step.detail.negatives] == ["10", "30"]
    assert (step.position, step.total, step.invalid) == (3, 4, None)
    assert step.unit_id == "t_3"


@pytest.mark.parametrize(
    ("changes", "invalid", "problems"),
    [
        ({"is_valid": "True"}, None, ()),
        ({"is_valid": "False"}, "marked_invalid", ()),
        ({"is_valid": False, "target_elements": []}, "no_positive", ("no_positive",)),
        ({"is_valid": True, "target_elements": []}, "no_positive", ("no_positive",)),
    ],
)
def test_validity_is_as_flagged_and_never_better_than_the_row(
    tmp_path: Path, changes: dict[str, Any], invalid: str | None, problems: tuple[str, ...]
) -> None:
    keep = stored(step=1, is_valid="True" if isinstance(changes["is_valid"], str) else True)
    path = write(tmp_path / "x.parquet", [stored(**changes), keep])
    step = next(opened(path).rows())
    assert (step.invalid, step.detail.problems) == (invalid, problems)


def test_a_flagged_row_without_a_picture_lost_it(tmp_path: Path) -> None:
    bare = [{"role": "user", "content": [{"type": "text", "text": "What next?"}]}]
    path = write(tmp_path / "x.parquet", [stored(is_valid=False, prompt_0=bare)])
    (step,) = opened(path).rows()
    assert (step.invalid, step.detail.screenshot) == ("no_screenshot", None)


def test_the_stray_shard_is_read_once_with_a_warning(tmp_path: Path) -> None:
    first, second = [stored("a", 0), stored("a", 1)], [stored("b", 0)]
    write(tmp_path / SERIES.format(0, 2), first)
    write(tmp_path / SERIES.format(1, 2), second)
    write(tmp_path / SERIES.format(1, 1), [*second, stored("c", 0)])
    dataset = opened(tmp_path)
    assert sorted(e.unit_id for e in dataset.entries) == ["a_0", "a_1", "b_0", "c_0"]
    assert len(dataset.notices) == 1
    assert "duplicate rows were skipped" in dataset.notices[0]


def test_splits_are_those_of_the_column(tmp_path: Path) -> None:
    rows = [stored("a"), stored("b", split="test_domain"), stored("c", split="other")]
    path = write(tmp_path / "x.parquet", rows)
    assert [e.parents["task"] for e in opened(path).entries] == ["a", "b"]
    assert [e.parents["task"] for e in opened(path, "test_domain").entries] == ["b"]
    with pytest.raises(DataError, match="the data has no split 'test_website'"):
        opened(path, "test_website")


def test_targets_without_ids_are_matched_by_their_text(tmp_path: Path) -> None:
    plain = ["<a>one</a>", "<a>two</a>"]
    rows = [stored(candidates=plain, target_elements=["<a>two</a>", "<a>three</a>"])]
    (step,) = opened(write(tmp_path / "x.parquet", rows)).rows()
    assert step.detail.stored is not None
    assert step.detail.gold.elements == (step.detail.stored.choices[1].id, "target-1")


@pytest.mark.parametrize("url", ["https://example.org/x.jpg", "data:image/jpeg;base64,###"])
def test_a_picture_that_is_not_in_the_file_is_an_error(tmp_path: Path, url: str) -> None:
    prompt = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]
    path = write(tmp_path / "x.parquet", [stored(prompt_0=prompt)])
    with pytest.raises(DataError, match="row 1: column 'prompt_0'"):
        list(opened(path).rows())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"distractors": 5}, "--distractors"),
        ({"seed": 1}, "--seed"),
        ({"image_policy": "tiles"}, "--image-policy"),
        ({"ranker": "lexical"}, "--ranker"),
        ({"history": 2}, "--history"),
        ({"benchmark_option": "order=1"}, "--benchmark-option order"),
        ({"benchmark_option": "positives=original"}, "--benchmark-option positives"),
        ({"benchmark_option": "lost_rows=yes"}, "--benchmark-option lost_rows"),
        ({"protocol_option": "prompts=own.toml"}, "--protocol-option prompts"),
        ({"protocol_option": "none=first"}, "--protocol-option none"),
        ({"protocol_option": "form=bnid"}, "--protocol-option form"),
    ],
)
def test_what_the_data_fixes_is_refused(given: dict[str, Any], said: str) -> None:
    why = f"{said} has no effect on mm-mind2web-tilde, whose data fixes it; leave it out"
    with pytest.raises(UserError, match=re.escape(why)):
        benchmark_of(read_settings({"benchmark": "mm-mind2web-tilde", **given}))
    benchmark_of(read_settings({"benchmark": "multimodal-mind2web", **given}))


@pytest.mark.parametrize(
    "given",
    [
        {"f1": "cl100k-lc"},
        {"benchmark_option": "step_rule=exact"},
        {"protocol_option": ["first_of_many=yes", "value_style=seeact"]},
    ],
)
def test_how_answers_to_stored_questions_are_read_and_scored_is_free(given: dict[str, Any]) -> None:
    benchmark_of(read_settings({"benchmark": "mm-mind2web-tilde", **given}))
