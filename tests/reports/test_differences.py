"""What is told of runs that were not measured alike."""

from __future__ import annotations

from pathlib import Path

import pytest

import harness
from harness.benchmarks import BENCHMARKS, benchmark
from harness.benchmarks.step.options import StepOptions
from harness.runs import open_run
from harness.settings import FIELDS, SETTINGS, declared_by
from reports.comparability import BY_OWN_NAME, FACTS, OF_ADAPTER, OF_PROTOCOL, TABLE, row_of
from reports.formats import render
from reports.frames.runs import runs_frame
from reports.load import open_runs
from reports.published.source import setting_keys
from reports.settings import Setting, compare, difference_lines, settings_of, unranked
from reports.tables import main_table
from tests.reports.runs import setup, worked, write

PROTOCOLS = {"a": "seeact-choice", "b": "mindact-choice", "c": "seeact-choice"}
DIGESTS = {"a": "ab" * 32, "b": "cd" * 32, "c": "ab" * 32}


def test_what_goes_with_the_protocol_is_told_once_per_protocol() -> None:
    lines = difference_lines(
        {
            "model": {"a": "m1", "b": "m1", "c": "m2"},
            "protocol": PROTOCOLS,
            "image_policy": {"a": "candidates", "b": "none", "c": "candidates"},
            "pictures": {"a": "candidates", "b": "none", "c": "candidates"},
            "prompts_sha256": DIGESTS,
            "protocol_option.seed": {"a": None, "b": 42, "c": None},
            "seed": {"a": 1, "b": 1, "c": 2},
        }
    )
    assert lines == [
        "differs: model: m1 (a, b); m2 (c)",
        "differs: protocol: seeact-choice (a, c): image_policy=candidates, "
        "prompts_sha256=abababababab...",
        "differs: protocol: mindact-choice (b): image_policy=none, "
        "prompts_sha256=cdcdcdcdcdcd..., protocol_option.seed=42",
        "differs: seed: 1 (a, b); 2 (c)",
    ]


def test_runs_that_differ_in_their_model_only_may_be_ranked() -> None:
    models = {"a": "m1", "b": "m2"}
    assert unranked({"model": models, "model.provider": models}) == []
    policies = {"a": "none", "b": "full"}
    told = unranked({"model": models, "image_policy": policies, "pictures": policies})
    assert told == ["not ranked: the runs were not measured alike, but differ in image_policy"]


def test_what_follows_from_a_setting_is_not_told_beside_it() -> None:
    pools = {"a": "snapshot", "b": "ranker"}
    differences: dict[str, dict[str, Setting]] = {
        "model": {"a": "m1", "b": "m2"},
        "model.provider": {"a": "acme", "b": "acme2"},
        "model.settings.temperature": {"a": 0, "b": None},
        "candidates": {**pools},
        "distractors": {"a": 20, "b": None},
        "ranker_sha256": {"a": None, "b": "ab" * 32},
    }
    assert difference_lines(differences) == [
        "differs: model: m1 (a); m2 (b)",
        "differs: candidates: snapshot (a); ranker (b)",
    ]
    assert unranked(differences)[0].endswith("but differ in candidates")
    # Runs of one model, or of one kind of candidates, differ in more than that.
    alone = {n: v for n, v in differences.items() if n not in ("model", "candidates")}
    assert len(difference_lines(alone)) == 4
    assert unranked(alone)[0].endswith("but differ in distractors, ranker_sha256")
    # The texts are told apart by their digest; the name of their file forbids nothing.
    texts: dict[str, dict[str, Setting]] = {
        "prompts": {"a": "a.toml", "b": "b.toml"},
        "prompts_sha256": {"a": "ab" * 32, "b": "cd" * 32},
    }
    assert unranked(texts)[0].endswith("but differ in prompts_sha256")


def test_every_setting_that_changes_the_question_stands_against_a_ranking() -> None:
    # Texts and runs are told apart by their digests, and asking batches at once asks the same.
    same = {"prompts", "history_from", "protocol_option.eager"}
    asks = [
        *(name for name, one in SETTINGS.items() if one.group in ("Question", "Scoring")),
        *(
            name
            for name, one in declared_by(StepOptions).items()
            if one.group in ("Question", "Scoring")
        ),
    ]
    assert {"protocol_option", "seed", "repeats", "top_k", "image_policy", "history"} <= set(asks)
    for name in (*asks, *OF_PROTOCOL, *same, "max_pixels", "prompts_sha256", "ranker_sha256"):
        told = unranked({name: {"a": "1", "b": "2"}})
        assert told == [] if name in same else name in told[0]


def test_every_setting_on_record_has_a_row_and_every_row_is_of_something_on_record() -> None:
    """A new setting is not forgotten: whoever adds one decides what it means for a ranking."""
    settings = {name for name, one in SETTINGS.items() if one.identity and name != "data"}
    options = {
        name
        for source in map(
            benchmark, (*BENCHMARKS.names().keys() - {"browsergym"}, "browsergym:miniwob.*")
        )
        for name, one in declared_by(source.Options).items()
        if one.identity
    }
    told = settings | options | {*OF_ADAPTER, *OF_PROTOCOL, "protocol_option.eager"}
    assert TABLE.keys() == told, "say in reports/comparability.py what they mean"
    assert all(row_of(name).about != "session" for name in TABLE)
    assert FACTS.keys() == {
        *(
            "model.provider",
            "model.stand_in",
            "model.revision",
            "role_models",
            "pictures",
            "redone",
            "reading",
        ),
        *("prompts_sha256", "ranker_sha256", "history_from_sha256"),
        *("benchmark_object", "protocol_class", "dataset", "dataset.files", "dataset.revision"),
    }
    followed = {source for row in (*TABLE.values(), *FACTS.values()) for source in row.follows}
    assert followed <= TABLE.keys()


@pytest.mark.parametrize("benchmark", ["sample", "sample-grounding", "sample-screens"])
def test_every_fact_on_record_has_a_row(benchmark: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    harness.evaluate(model="random", benchmark=benchmark, out=out, limit=1, progress="off")
    known = settings_of(open_run(out).manifest)
    assert {"model.provider", "dataset.files", "reading", "seed"} <= known.keys()
    assert [name for name in known if not {name, name.partition(".")[0]} & {*TABLE, *FACTS}] == []


@pytest.mark.parametrize("owner", ["adapter", "benchmark", "protocol"])
def test_an_option_that_no_row_tells_of_is_ranked_only_if_it_is_the_models(
    owner: str, tmp_path: Path
) -> None:
    runs = {}
    for mood in ("calm", "bold"):
        made = setup(**{f"{owner}_option": {"mood": mood}})
        runs[mood] = open_run(write(tmp_path / mood, worked(), made))
    differences = compare(runs).differences
    named = f"{owner}_option.mood"
    told = unranked(differences)
    assert told == [] if owner == "adapter" else told[0].endswith(f"but differ in {named}")
    # Runs of other units may be compared in those that they share.
    assert bool(unranked(differences, common=True)) == (owner == "protocol")
    assert named not in setting_keys()


@pytest.mark.parametrize("owner", ["adapter", "benchmark", "protocol"])
def test_an_option_never_stands_for_a_setting_or_for_an_option_of_another_owner(
    owner: str, tmp_path: Path
) -> None:
    named = [name for name in BY_OWN_NAME if not name.startswith(owner)]
    foreign = {*FIELDS, *(one for name in named for one in BY_OWN_NAME[name])}
    odd = setup(**{f"{owner}_option": dict.fromkeys(sorted(foreign), "odd")})
    usual = settings_of(open_run(write(tmp_path / "usual", worked())).manifest)
    found = settings_of(open_run(write(tmp_path / "odd", worked(), odd)).manifest)
    assert {name: found[name] for name in usual} == usual
    assert all(found[f"{owner}_option.{name}"] == "odd" for name in foreign)


def test_a_name_that_nobody_knows_stands_against_a_ranking() -> None:
    differences: dict[str, dict[str, Setting]] = {
        "mood": {"a": "calm", "b": "bold"},
        "mood.depth": {"a": 1, "b": 2},
    }
    assert unranked(differences)[0].endswith("but differ in mood, mood.depth")
    assert difference_lines(differences)[0] == "differs: mood: calm (a); bold (b)"


def test_a_model_has_one_name_in_settings(tmp_path: Path) -> None:
    named = {"name": "acme:m1", "model": "m1", "provider": "acme"}
    runs = [
        write(tmp_path / "a", worked(), setup(model=named, called="m1")),
        write(tmp_path / "b", worked(), setup(model={**named, "name": "acme:m2", "model": "m2"})),
    ]
    found = compare(open_runs(runs))
    assert found.differences["model"] == {"a": "acme:m1", "b": "acme:m2"}
    known = {*found.constants, *found.differences}
    assert {name for name in known if name.startswith("model")} == {"model", "model.provider"}
    frame = runs_frame(runs)
    assert [name for name in frame.columns if "model" in name] == ["model", "setting.model"]
    assert frame["model"].tolist() == frame["setting.model"].tolist() == ["acme:m1", "acme:m2"]
    text = render(main_table(runs))
    assert "differs: model: acme:m1 (a); acme:m2 (b)" in text and "model." not in text
