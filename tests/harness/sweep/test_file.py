"""What a sweep's file may say, and what is said of one that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import UserError
from harness.serve import ServerSettings
from harness.sweep.file import read_sweep
from tests.harness.commands.tool import call

TWO = """
[defaults]
benchmark = "sample"
limit = 1

[[run]]
model = ["lexical", "random"]
seed = [1, 2]

[[run]]
model = "openai:m"
base-url = "http://127.0.0.1:9/v1"
split = ["test", "dev"]
role = [["planner=a"], ["planner=b", "embedding=lexical"]]
adapter-option = {detail = "low"}
"""


def written(text: str) -> str:
    Path("s.toml").write_text(text)
    return "s.toml"


def test_lists_multiply_but_for_options_that_take_one() -> None:
    cells = read_sweep(written(TWO)).cells
    assert [cell.label for cell in cells] == [
        "lexical seed=1",
        "lexical seed=2",
        "random seed=1",
        "random seed=2",
        "openai:m role=planner=a",
        "openai:m role=planner=b,embedding=lexical",
    ]
    assert all(cell.settings.limit == 1 for cell in cells)
    assert cells[3].settings.seed == 2
    assert cells[4].settings.splits == ("test", "dev")
    assert cells[5].settings.roles == (("embedding", "lexical"), ("planner", "b"))
    assert cells[4].settings.adapter_options == (("detail", "low"),)


def test_secrets_are_not_in_labels() -> None:
    text = '[[run]]\nmodel = "openai:m"\nadapter-option = [["x-token=geheim"], ["x-token=auch"]]'
    with pytest.raises(StopIteration):
        next(c for c in read_sweep(written(text)).cells if "geheim" in c.label or "auch" in c.label)


def test_what_all_may_cost_together_is_no_option_of_a_run() -> None:
    text = '[defaults]\nmax-cost-total = 2.5\n[[run]]\nmodel = "lexical"'
    read = read_sweep(written(text))
    assert read.max_cost_total == 2.5
    assert "max-cost-total" not in read.cells[0].options


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[run]\n", "s.toml: not TOML: "),
        ("", "s.toml: it has no [[run]], so there is nothing to run"),
        ('run = "lexical"', "s.toml: it has no [[run]], so there is nothing to run"),
        ("[[run]]\nseed = 1", "s.toml: [[run]] 1: it names no model"),
        ('[default]\n[[run]]\nmodel="a"', "s.toml: unknown key 'default'; did you mean 'defaults'"),
        (
            '[[run]]\nmodel="a"\n[[run]]\nmodel="a"\nsed = 3',
            "s.toml: [[run]] 2: unknown key 'sed'; did you mean 'seed'?",
        ),
        (
            '[defaults]\nseed = [1, "x"]\n[[run]]\nmodel="a"',
            "s.toml: [defaults]: seed: expected a whole number, not 'x'",
        ),
        (
            '[[run]]\nmodel="a"\nseed = []',
            "s.toml: [[run]] 1: seed: an empty list leaves nothing to run",
        ),
        ('[[run]]\nmodel="a"\nout = "x"', "s.toml: [[run]] 1: out: the sweep names"),
        ('[[run]]\nmodel="a"\nrepair = true', "s.toml: [[run]] 1: repair: it is for one run"),
        (
            '[[run]]\nmodel="a"\nmax-cost-total = 3',
            "s.toml: [[run]] 1: max-cost-total is of the whole sweep; put it under [defaults]",
        ),
        (
            '[defaults]\nmax-cost-total = -3\n[[run]]\nmodel="a"',
            "s.toml: [defaults] max-cost-total: expected a number of at least 0, not '-3'",
        ),
        (
            f'[[run]]\nmodel="a"\nseed = {list(range(101))}\norder = {list(range(100))}',
            "s.toml: 10,100 runs are more than 10,000",
        ),
    ],
)
def test_a_bad_file_gets_one_line_that_says_where(text: str, complaint: str) -> None:
    with pytest.raises(UserError) as error:
        read_sweep(written(text))
    assert str(error.value).startswith(complaint)
    assert "\n" not in str(error.value)


def test_a_bad_file_is_bad_input() -> None:
    done = call("sweep", written('[[run]]\nmodel = "a"\nfoo = 2'), "--out", "o")
    assert done.code == 2
    assert done.complaint == "vlm-eval: s.toml: [[run]] 1: unknown key 'foo'"
    assert not Path("o").exists()


def test_equal_runs_are_refused_by_name_before_anything_starts() -> None:
    text = """
[defaults]
benchmark = "sample"
[[run]]
model = ["random", "lexical"]
[[run]]
model = "lexical"
distractors = [20, 30]
"""
    done = call("sweep", written(text), "--out", "o")
    assert done.code == 2
    assert done.err.splitlines()[-1] == (
        "vlm-eval: s.toml: [[run]] 2 (lexical distractors=20): the same run as [[run]] 1 "
        "(lexical), whatever they say of distractors; leave one of them out"
    )
    assert not Path("o").exists()


def test_a_run_that_cannot_be_planned_ends_the_sweep_before_it_begins() -> None:
    text = '[defaults]\nbenchmark = "sample"\n[[run]]\nmodel = ["lexical", "openai:gpt-5.4"]'
    done = call("sweep", written(text), "--out", "o")
    assert done.code == 2
    assert done.err.splitlines()[-1].startswith("vlm-eval: s.toml: [[run]] 1 (openai:gpt-5.4): ")
    assert "OPENAI_API_KEY" in done.err
    assert not Path("o").exists()


def test_the_files_of_the_document_are_what_it_says() -> None:
    text = (Path(__file__).parents[3] / "docs" / "sweeps.md").read_text()
    baselines, models = (block.partition("```")[0] for block in text.split("```toml\n")[1:])
    assert len(baselines.splitlines()) == 8
    assert [cell.label for cell in read_sweep(written(baselines)).cells] == [
        f"{model} seed={seed}"
        for model in ("random", "always-click", "lexical")
        for seed in (1, 2, 3)
    ]
    read = read_sweep(written(models))
    assert len(read.cells) == 5 and read.max_cost_total == 200
    server = ServerSettings.of(read.cells[4].settings)
    assert server.with_server == "vllm serve {model} --port {port}"
