"""What can be compared, and what stands against it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.runs import Run, RunError, open_run
from reports.comparison.compare import compare_runs
from reports.comparison.settings import check_comparable
from tests.reports.runs import setup, worked, write


def _check(folder: Path, one: dict[str, Any], other: dict[str, Any], **more: Any) -> str:
    runs: list[tuple[str, Run]] = []
    for name, config in (("a", one), ("b", other)):
        runs.append((name, open_run(write(folder / name, worked(), setup(**config)))))
    return check_comparable(runs[0], runs[1], **more)


def test_models_are_compared(tmp_path: Path) -> None:
    found = _check(tmp_path, {"model": {"name": "m-1"}}, {"model": {"name": "m-2"}})
    assert found == "model"


def test_one_setting_of_the_question_is_compared_with_the_same_model(tmp_path: Path) -> None:
    found = _check(tmp_path, {"history": None}, {"history": 0})
    assert found == "history (not set against 0)"


def test_what_follows_from_a_setting_is_not_counted_beside_it(tmp_path: Path) -> None:
    first = write(tmp_path / "a", worked(), setup(image_policy="full"))
    made = setup(image_policy="none")
    other = write(tmp_path / "b", worked(), type(made)(**{**_fields(made), "prompts": "other"}))
    found = check_comparable(("a", open_run(first)), ("b", open_run(other)))
    assert found == "image_policy (full against none)"


def _fields(made: Any) -> dict[str, Any]:
    return {name: getattr(made, name) for name in made.__dataclass_fields__}


def test_two_settings_at_once_are_refused_and_named(tmp_path: Path) -> None:
    with pytest.raises(RunError) as caught:
        _check(tmp_path, {"history": None, "none": "last"}, {"history": 0, "none": "off"})
    said = str(caught.value)
    assert "a and b cannot be compared: they differ in" in said
    assert "history (not set and 0)" in said
    assert "none (last and off)" in said
    assert "--vary history --vary none" in said


def test_a_model_and_a_setting_at_once_are_refused_unless_asked_for(tmp_path: Path) -> None:
    one = {"model": {"name": "m-1"}, "distractors": 20}
    other = {"model": {"name": "m-2"}, "distractors": 5}
    with pytest.raises(RunError, match=r"from the model they differ in distractors \(20 and 5\)"):
        _check(tmp_path / "x", one, other)
    found = _check(tmp_path / "y", one, other, vary=["distractors"])
    assert found == "model, distractors"


def test_how_a_model_is_run_belongs_to_it(tmp_path: Path) -> None:
    one = {"model": {"name": "m-1"}, "temperature": 0.0}
    assert str(_check(tmp_path, one, {"model": {"name": "m-2"}, "temperature": 1.0})) == "model"


def test_a_temperature_can_be_what_is_compared(tmp_path: Path) -> None:
    found = _check(tmp_path, {"temperature": 0.0}, {"temperature": 1.0})
    assert found == "temperature (0.0 against 1.0)"


def test_the_same_settings_twice(tmp_path: Path) -> None:
    runs = [write(tmp_path / name, worked(), setup()) for name in "ab"]
    (found,) = compare_runs(runs).others
    assert found.subject == "nothing: both runs have the same settings"


def test_the_selection_does_not_matter(tmp_path: Path) -> None:
    found = _check(tmp_path, {"limit": 5, "split": ["test_task"]}, {"limit": None, "split": []})
    assert found == ""


def test_rules_of_scoring_must_agree_or_be_given(tmp_path: Path) -> None:
    one, other = {"f1": "mind2web"}, {"f1": "cl100k-lc"}
    with pytest.raises(
        RunError, match=r"different rules \(f1 \(mind2web and cl100k-lc\)\): give --f1"
    ):
        _check(tmp_path / "x", one, other)
    assert _check(tmp_path / "y", one, other, overridden=["f1"]) == ""
    rules: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"step_rule": "f1"}, {"step_rule": "exact"}),
        ({"unattempted": "exclude"}, {"unattempted": "fail"}),
        ({"exclude_status": []}, {"exclude_status": ["refusal"]}),
        ({"bag": False}, {"bag": True}),
    ]
    for name, (own, theirs) in enumerate(rules):
        with pytest.raises(RunError, match="run one of them again"):
            _check(tmp_path / f"z{name}", own, theirs)


def test_another_benchmark_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"different benchmarks \(one, two\)"):
        _check(tmp_path, {"dataset": {"benchmark": "one"}}, {"dataset": {"benchmark": "two"}})


def test_other_files_are_refused(tmp_path: Path) -> None:
    changed = {"dataset": {"files": [{"name": "part-0", "sha256": "cd" * 32}]}}
    with pytest.raises(RunError, match="part-0 is not the same file"):
        _check(tmp_path / "x", {}, changed)
    foreign = {"dataset": {"files": [{"name": "part-9", "sha256": "ab" * 32}]}}
    with pytest.raises(RunError, match="share no file"):
        _check(tmp_path / "y", {}, foreign)


def test_more_files_of_the_same_data_are_fine(tmp_path: Path) -> None:
    files = [{"name": f"part-{n}", "sha256": "ab" * 32} for n in range(2)]
    assert _check(tmp_path, {}, {"dataset": {"files": files}}) == ""


def test_settings_of_one_protocol_only_follow_the_protocol(tmp_path: Path) -> None:
    lists = {"protocol": "seeact-two-rounds", "none": "last", "first_of_many": False}
    groups = {"protocol": "mindact-choice", "protocol_option": {"reader": "strict"}}
    found = _check(tmp_path, lists, {**groups, "none": None, "first_of_many": None})
    assert found == "protocol (seeact-two-rounds against mindact-choice)"


def test_a_ranker_is_one_setting(tmp_path: Path) -> None:
    drawn = {"candidates": "snapshot", "ranker": None, "top_k": None, "shuffles": 1}
    own = {"ranker": "lexical", "ranker_sha256": "1", "top_k": 50, "missed": "zero"}
    ranked = {"candidates": "ranker", "distractors": None, **own}
    found = _check(tmp_path / "y", drawn, {**drawn, **ranked})
    assert found == "candidates (snapshot against ranker)"
    other = {**ranked, "ranker": "mind2web", "ranker_sha256": "2"}
    assert str(_check(tmp_path / "z", ranked, other)) == "ranker (lexical against mind2web)"
