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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--json",), "--json and --details are for one run"),
        (("-m", "nope"), "unknown model or policy 'nope'"),
        (("-m", "random"), "the same run as"),
        (("--redo", "truncated"), "is for one run at a time"),
        (("--temperature", "0.5"), "lexical: --temperature has no effect on the policy 'lexical'"),
        (("-b", "sample-grounding", "-k", "3"), "sample-grounding: --distractors has no effect"),
        (("--protocol-option", "zoom=crop"), "unknown key 'zoom'"),
    ],
)
def test_mistakes_are_one_line(words: tuple[str, ...], said: str) -> None:
    done = call(*TWO, *words)
    assert done.code == 2 and said in done.err and "Traceback" not in done.err
