"""Models and benchmarks that are given several times to `run`: a sweep without a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.commands.tool import call, isolate

TWO = ("run", "-m", "lexical", "-m", "random", "-b", "sample", "--limit", "1")


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    isolate(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_model_is_asked_about_every_benchmark(place: Path) -> None:
    done = call(*TWO, "-b", "mt-sample", "--progress", "off")
    assert done.code == 0, done.err
    (sweep,) = (place / "sweeps").iterdir()
    assert sweep.name.startswith("lexical-random-sample-mt-sample-")
    found = [json.loads(path.read_text()) for path in sweep.glob("*/manifest.json")]
    asked = {(one["config"]["model"], one["config"]["benchmark"]) for one in found}
    names = ("sample", "mt-sample")
    assert asked == {(model, name) for model in ("lexical", "random") for name in names}
    # The same line finds all of it done.
    again = call(*TWO, "-b", "mt-sample", "--progress", "off")
    assert again.code == 0 and "4 complete" in again.err


def test_the_price_of_all_is_told_before(place: Path) -> None:
    done = call(*TWO, "--dry-run")
    assert done.code == 0 and "all runs" in done.out
    assert not (place / "sweeps").exists()


MIXED = ("run", "-m", "random", "-m", "oracle", "-b", "sample", "-b", "sample-grounding")


@pytest.mark.parametrize(
    ("option", "written", "where"),
    [
        (("--distractors", "3"), "--distractors", "sample-grounding"),
        (("--history", "none"), "--history", "sample-grounding"),
        (("--protocol-option", "pack=seeclick"), "--protocol-option pack", "sample"),
        (
            ("--benchmark-option", "step_rule=exact"),
            "--benchmark-option step_rule",
            "sample-grounding",
        ),
    ],
)
def test_an_option_is_left_out_where_it_has_no_effect(
    place: Path, option: tuple[str, ...], written: str, where: str
) -> None:
    done = call(*MIXED, *option, "--dry-run")
    assert done.code == 0, done.err
    labels = f"random benchmark={where}, oracle benchmark={where}"
    assert f"without {written}, which has no effect there: {labels}\n" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--temperature", "0.5"), "--temperature has no effect on the policy 'lexical'"),
        (("--protocol-option", "zoom=crop"), "unknown key 'zoom'"),
        (("--benchmark-option", "size=3"), "--benchmark-option size: sample has no such option"),
    ],
)
def test_an_option_has_to_have_an_effect_on_one_of_them(words: tuple[str, str], said: str) -> None:
    done = call(*TWO, *words)
    assert done.code == 2 and said in done.complaint
    assert done.complaint.endswith("(as in every other run)")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--json",), "--json and --details are for one run"),
        (("-m", "nope"), "unknown model or policy 'nope'"),
        (("-m", "random"), "the same run as"),
        (("--redo", "truncated"), "is for one run at a time"),
    ],
)
def test_mistakes_are_one_line(words: tuple[str, ...], said: str) -> None:
    done = call(*TWO, *words)
    assert done.code == 2 and said in done.err and "Traceback" not in done.err


def test_of_pairs_the_ones_with_an_effect_are_kept(place: Path) -> None:
    pairs = ("--protocol-option", "pack=seeclick", "--protocol-option", "order=text-first")
    done = call(*MIXED, *pairs, "--limit", "1", "--out", "here", "--progress", "off")
    assert done.code == 0, done.err
    found = [json.loads(path.read_text()) for path in (place / "here").glob("*/manifest.json")]
    options = {one["config"]["benchmark"]: one["config"]["protocol_option"] for one in found}
    assert {name: one["order"] for name, one in options.items()} == dict.fromkeys(
        ("sample", "sample-grounding"), "text-first"
    )
    assert options["sample-grounding"]["pack"] == "seeclick" and "pack" not in options["sample"]
    assert len(found) == 4
