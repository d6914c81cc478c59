"""What a new user gets wrong, one line each: what is wrong, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.commands.tool import DEV, call, isolate


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of steps, one of grounding, and a text file."""
    folder = tmp_path_factory.mktemp("mistakes")
    with pytest.MonkeyPatch.context() as patch:
        isolate(patch, folder)
        few = ("--split", "dev", "--limit", "1", "--progress", "off")
        for model, name, out in (("lexical", "sample", "a"), ("random", "sample-grounding", "g")):
            assert call("-m", model, "-b", name, *few, "-o", f"runs/{out}").code == 0
        Path("notes.txt").write_text("hello")
    return folder


MISTAKES = {
    "run": "name a model with --model: `vlm-eval models` lists them",
    "rnu -m lexical": "unknown command 'rnu'; did you mean 'run'?",
    "run -m lexical --banchmark sample": "'--benchmark'",
    "run -m lexical -b sample extra": "unexpected extra argument (extra)",
    "run -m lexical -b sample --protocol seeact": "did you mean 'seeact-two-rounds' or",
    "run -m lexical -b sample --data notes.txt": "to read notes.txt, name its --benchmark",
    "run -m lexical -b sample --only colour=red": "known: domain, subdomain, task, website",
    "run -m lexical -b sample --protocol-option prompts=notes.txt": "notes.txt: not TOML",
    "run -m lexical -b sample --json --details": "--json=full has every figure of --details",
    "models gtp": "unknown model 'gtp'; known: anthropic",
    "protocols seeact": "did you mean 'seeact-two-rounds' or",
    "benchmarks sample extra": "unexpected extra argument (extra)",
    "report notes.txt": "notes.txt is not a run directory",
    "report runs/a --average max": "'max' is not one of 'macro', 'micro', 'cells'",
    "report runs/a -o runs": "cannot write runs: Is a directory",
    "compare runs/a runs/a": "a comparison needs two different runs",
    "errors runs/g --by operation": "g cannot be counted by operation: expected split or website",
    "analyse positions runs/g": "g: no positions for items, only where there are choices",
    "analyse nothing runs/a": "No such command 'nothing'",
    "view runs/a -o notes.txt": "notes.txt is a file: give a folder with --out",
    "view runs/a --serve --port 99999": "99999 is not in the range",
    "show nope -b sample": "no step 'nope' among the 158 selected; the first is",
    "rank -b sample": "unknown command 'rank'; did you mean 'rankers'?",
    "environments plya": "Did you mean 'play'?",
    "rankers rank -b sample": "Missing option '--out'",
    "environments check nowhere": "'nowhere' is no suite of BrowserGym; known: assistantbench",
    "run --config nope.toml --status": "--config nope.toml: No such file",
    "launch": "Missing option '--shards'",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_one_line(line: str, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch, runs)
    called = call(*line.split())
    assert (called.code, called.out) == (2, "")
    assert MISTAKES[line] in called.complaint


def test_a_file_in_place_of_a_run_is_named(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch, runs)
    called = call("run", "-m", "lexical", *DEV, "-o", "notes.txt/deep")
    assert called.code == 2
    assert called.err.splitlines()[-1].endswith("cannot create notes.txt/deep: notes.txt is a file")
