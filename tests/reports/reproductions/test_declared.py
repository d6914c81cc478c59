"""Declared reproductions: every command is one that can be run, with the keys of its row."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import click
import pytest

import harness.protocols
from docs.site.reproductions import MARK, PAGE, generated
from harness.benchmarks import open_steps
from harness.commands.main import cli
from harness.runs import open_run
from harness.settings import SETTINGS
from parsers import Average
from reports.published import keys as published_keys
from reports.published.keys import keys_of, what_differs
from reports.reproductions.command import values_of
from reports.reproductions.outcome import (
    FOLDER,
    Reproduction,
    ReproductionError,
    read_reproduction,
    reproductions,
)
from tests.harness.benchmarks import _autowebbench, _snapshots
from tests.harness.commands.tool import call, isolate
from tests.servers import Answer, WireServer

NAMES = sorted(reproductions())


def parsed(one: Reproduction) -> dict[str, object]:
    """The settings of its command, read by the command's own options."""
    with click.Context(cli) as context:
        command = cli.get_command(context, one.command[0])
        assert command is not None
        return values_of(command.make_context("run", list(one.command[1:]), parent=context))


@pytest.fixture(scope="module")
def server() -> Iterator[WireServer]:
    with WireServer(Answer(text="(500, 500)")) as server:
        yield server


@pytest.fixture
def stand_ins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[Reproduction], list[str]]:
    """What takes the place of data, files and local models in a folder of its own."""
    isolate(monkeypatch, tmp_path)

    def replacing(one: Reproduction) -> list[str]:
        benchmark = parsed(one)["--benchmark"]
        words = ["--progress", "off", "--adapter-option=preflight=no"]
        if one.command[2].startswith("seq2seq:"):
            (prompts,) = Path(harness.protocols.__file__).parents[1].glob("prompts/seq2seq.toml")
            shutil.copy(prompts, "mindact.toml")
            words += ["--model", "oracle"]
        if benchmark in ("multimodal-mind2web", "mind2web"):
            Path("scores.json").write_text(json.dumps({"ranker": "mind2web", "ranks": ranks()}))
            return [*words, "--benchmark", "sample", "--split", "dev", "--ranker", "scores.json"]
        if benchmark == "autowebbench":
            return [*words, "--data", str(_autowebbench.write(tmp_path / "prompts"))]
        if benchmark == "mm-mind2web-tilde":
            row = _snapshots.stored(split=one.measured_on)
            return [*words, "--data", str(_snapshots.write(tmp_path / "tilde.parquet", [row]))]
        if benchmark == "androidcontrol":
            return [*words, "--benchmark", "sample-screens", "--split", "dev", *ruled(one)]
        return [*words, "--benchmark", "sample-grounding", "--split", "dev"]

    return replacing


def ruled(one: Reproduction) -> list[str]:
    """The rule of the declared set, which that in its place would judge by another one."""
    return [] if "--rule" in one.command else ["--rule", one.measure]


def ranks() -> dict[str, dict[str, int]]:
    """Ranks of the sample's steps, the acceptable elements first."""
    found = {}
    for row in open_steps("sample", splits=("dev",)).rows():
        candidates = [*row.detail.positives, *row.detail.negatives]
        found[row.unit_id] = {one.id: place for place, one in enumerate(candidates)}
    return found


def test_fifteen_published_rows_are_declared_and_documented() -> None:
    assert len(NAMES) == 15
    written = PAGE.read_text("utf-8").partition(MARK)[2]
    assert written == generated(), "run python -m docs.site.reproductions"
    for one in reproductions().values():
        assert one.differences and 0 < one.published < 1
        # What each run needs of its own is handed on, not declared.
        assert not {"--out", "-o", "--data", "--max-cost"} & set(one.command)
        assert (parsed(one)["--split"] or (one.measured_on,)) == (one.measured_on,)


@pytest.mark.parametrize("name", NAMES[::4])
def test_a_command_is_planned(name: str, stand_ins: Callable[[Reproduction], list[str]]) -> None:
    one = reproductions()[name]
    words = stand_ins(one)
    if one.command[2] == "seeclick":
        words += ["--base-url", "http://localhost:9", "--model", _served(one)]
    done = call("reproduce", name, "--dry-run", "--limit", "1", "--", *words)
    assert done.code == 0, done.err
    assert "calls:" in done.out and "vlm-eval run --model" in done.out
    assert not Path("runs").exists()


@pytest.mark.parametrize("name", NAMES)
def test_a_run_has_the_keys_of_its_row_but_for_those_declared(
    name: str,
    stand_ins: Callable[[Reproduction], list[str]],
    server: WireServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = reproductions()[name]
    words = stand_ins(one)
    if "--model" not in words:
        words += ["--base-url", server.base_url("openai"), "--model", _served(one)]
    done = call("reproduce", name, "--limit", "1", "-o", "run", "--", *words)
    assert done.code == 0, done.err
    run, values = open_run("run"), parsed(one)
    whole = not any(values[SETTINGS[name].option] for name in ("only", "limit", "shard"))
    population = f"{'' if whole else 'a part of '}{values['--benchmark']}"
    monkeypatch.setattr(published_keys, "population_of", lambda *_: population)
    average = one.row.keys["average"]
    keys = keys_of(run, cast(Average, average if average != "any" else "macro"))
    differs = what_differs(keys, one.row.keys, one.row.scope.needed)
    apart = (*differs, *(["split"] if one.measured_on != one.row.split else []))
    assert apart == one.apart


def _served(one: Reproduction) -> str:
    """The declared model, as a server of OpenAI's kind has it."""
    return f"openai:{one.command[2].partition(':')[2] or one.command[2]}"


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('source = "seeact-2"', 'source = "seeact-3"', "no published row seeact-3"),
        ('measure = "step_success"', 'measure = "task_success"', "no task_success"),
        ('"run", ', '"list", ', "vlm-eval run"),
        ("value = 1.0", "value = 100.0", "not a share"),
        ("low = 0.025\n", "", "not a share"),
        ('title = "', 'tilte = "', "cannot be read"),
    ],
)
def test_a_declaration_is_checked(tmp_path: Path, old: str, new: str, named: str) -> None:
    text = (FOLDER / "seeact-choices.toml").read_text("utf-8")
    assert old in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new), "utf-8")
    with pytest.raises(ReproductionError, match=named):
        read_reproduction(path)


def test_real_data_of_autowebbench_is_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = os.environ.get("VLM_EVAL_TEST_DATA")
    if not root:
        pytest.skip("VLM_EVAL_TEST_DATA is not set: no AutoWebBench")
    isolate(monkeypatch, tmp_path)
    data = Path(root) / "autowebbench"
    done = call("reproduce", "gpt-4-autowebbench", "--dry-run", "--data", data)
    assert done.code == 0 and "349 (counted" in done.out
