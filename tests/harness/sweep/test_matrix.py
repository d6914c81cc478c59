"""What a file for several runs may say, and what is said of one that is wrong."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UserError
from harness.sweep.planning import Matrix, read_matrix
from tests.harness.commands.tool import call

TWO = """
benchmark = "sample"
limit = 1
out = "here"

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


def read(text: str, **given: list[Any]) -> Matrix:
    return read_matrix(given, tomllib.loads(text), "s.toml")


def labels(text: str, **given: list[Any]) -> list[str]:
    return [cell.label for cell in read(text, **given).cells]


def test_lists_multiply_but_for_options_that_take_one() -> None:
    matrix = read(TWO)
    cells = matrix.cells
    assert [cell.label for cell in cells] == [
        "lexical seed=1",
        "lexical seed=2",
        "random seed=1",
        "random seed=2",
        "openai:m planner=a",
        "openai:m planner=b embedding=lexical",
    ]
    assert matrix.out == Path("here") and matrix.max_cost is None
    assert all(cell.settings.limit == 1 and cell.settings.out is None for cell in cells)
    assert cells[3].settings.seed == 2
    assert cells[4].settings.split == ("test", "dev")
    assert cells[5].settings.role == (("embedding", "lexical"), ("planner", "b"))
    assert cells[4].settings.adapter_option == (("detail", "low"),)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('model = "a"\nmax-tokens = [800, 300]', [(800, 300)]),
        ('model = "a"\nmax-tokens = [[800, 300], [500]]', [(800, 300), (500,)]),
        ('model = "a"\nmax-tokens = "800,300"', [(800, 300)]),
    ],
)
def test_a_list_for_an_option_that_takes_one_is_one_value(text: str, wanted: list[object]) -> None:
    assert [cell.settings.max_tokens for cell in read(text).cells] == wanted


def test_tables_in_a_list_are_several_values_of_pairs() -> None:
    text = 'model = "a"\nadapter-option = [{detail = "low"}, {detail = "high", dtype = "float32"}]'
    low, high = read(text).cells
    assert low.settings.adapter_option == (("detail", "low"),)
    assert high.settings.adapter_option == (("detail", "high"), ("dtype", "float32"))


def test_models_come_first_then_benchmarks_wherever_they_are_written() -> None:
    text = 'seed = [1, 2]\nbenchmark = ["x", "y"]\nmodel = ["a", "b"]'
    assert labels(text) == [
        f"{model} benchmark={benchmark} seed={seed}"
        for model in ("a", "b")
        for benchmark in ("x", "y")
        for seed in (1, 2)
    ]


def test_the_command_line_takes_precedence_pair_by_pair() -> None:
    text = 'model = ["a", "b"]\nseed = [1, 2]\nbenchmark-option = {step_rule = "exact", bag = true}'
    cells = read(text, model=["c", "d"], seed=[7], benchmark_option=[[("step_rule", "f1")]]).cells
    assert [cell.label for cell in cells] == ["c", "d"]
    assert {one.settings.seed for one in cells} == {7}
    options = {one.settings.benchmark_option for one in cells}
    assert options == {(("bag", "true"), ("step_rule", "f1"))}


def test_secrets_are_not_in_labels() -> None:
    text = 'model = "openai:m"\nadapter-option = [["x-token=geheim"], ["x-token=auch"]]'
    assert not any("geheim" in label or "auch" in label for label in labels(text))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("seed = [1, 2]", "s.toml: it names no model"),
        ('run = "lexical"', "s.toml: run is not a table; write [[run]] above its options"),
        (
            '[[run]]\nmodel="a"\n[[run]]\nmodel="a"\nsed = 3',
            "s.toml: [[run]] 2: unknown key 'sed'; did you mean 'seed'?",
        ),
        ('model = "a"\nseed = [1, "x"]', "s.toml: seed: expected a whole number, not 'x'"),
        ('model="a"\nseed = []', "s.toml: seed: an empty list leaves nothing to run"),
        ('model="a"\nredo-from = "x"', "s.toml: --redo-from is for one run at a time"),
        ('model="a"\nbag = true', "s.toml: unknown key 'bag'; give --benchmark-option bag=VALUE"),
        (
            '[[run]]\nmodel="a"\nmax-cost = 3\n[[run]]\nmodel="b"',
            "s.toml: max-cost is for all runs together; give it once",
        ),
        ('model=["a"]\nmax-cost = -3', "s.toml: max-cost: expected a number of at least 0, not"),
        (
            f'model="a"\nseed = {list(range(101))}\nlimit = {list(range(1, 101))}',
            "s.toml: 10,100 runs are more than 10,000",
        ),
    ],
)
def test_a_bad_file_gets_one_line_that_says_where(text: str, complaint: str) -> None:
    with pytest.raises(UserError) as error:
        read(text)
    assert str(error.value).startswith(complaint)
    assert "\n" not in str(error.value)


def written(text: str) -> str:
    Path("s.toml").write_text(text)
    return "s.toml"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[run]\n", "--config s.toml: not TOML: "),
        ('[[run]]\nmodel = "a"\nfoo = 2', "--config s.toml: [[run]] 1: unknown key 'foo'"),
        (
            'benchmark = "sample"\n[[run]]\nmodel = ["random", "lexical"]\n'
            '[[run]]\nmodel = "lexical"\ndistractors = [20, 30]\n',
            "lexical distractors=20: the same run as lexical; leave one of them out",
        ),
        ('benchmark = "sample"\nmodel = ["lexical", "openai:gpt-5.4"]', "openai:gpt-5.4: "),
    ],
)
def test_a_mistake_ends_all_before_anything_is_written(text: str, complaint: str) -> None:
    done = call("run", "--config", written(text), "--out", "o")
    assert done.code == 2
    assert done.err.splitlines()[-1].startswith(f"vlm-eval: {complaint}")
    assert "Traceback" not in done.err and not Path("o").exists()


def test_a_file_for_several_runs_is_for_run_alone() -> None:
    done = call("show", "--config", written('seed = [1, 2]\nbenchmark = "sample"'))
    assert done.code == 2 and "expected one value, not [1, 2]" in done.complaint


def test_the_files_of_the_document_are_what_it_says() -> None:
    text = (Path(__file__).parents[3] / "docs" / "sweeps.md").read_text()
    baselines, models = re.findall(r"^```toml[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert labels(baselines) == [
        f"{model} seed={seed}"
        for model in ("random", "always-click", "lexical")
        for seed in (1, 2, 3)
    ]
    matrix = read(models)
    assert len(matrix.cells) == 5 and matrix.max_cost == 200
    assert matrix.cells[4].settings.with_server == "vllm serve {model} --port {port}"
