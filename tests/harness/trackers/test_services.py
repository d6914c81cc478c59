"""The built-in trackers with stand-ins for their packages: what is called, and what is refused."""

from __future__ import annotations

import builtins
import importlib
import sys
import threading
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from harness.trackers.wandb import run_id
from tests.harness.commands.tool import DEV, Called, call, last_lines, summary
from tests.numbers import number

FAKE = Path(__file__).with_name("fake")
OFF = ("wandb", "wandb.sdk", "wandb.sdk.wandb_login", "trackio")


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Modules of these names are imported anew by every test."""
    for name in OFF:
        sys.modules.pop(name, None)
    yield
    for name in OFF:
        sys.modules.pop(name, None)


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FAKE))
    return importlib.import_module("wandb")


@pytest.fixture
def trackio(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FAKE))
    return importlib.import_module("trackio")


def lexical(*args: str, out: str = "run") -> Called:
    return call("-m", "lexical", *DEV, "--progress", "off", "-o", out, *args)


def test_wandb_gets_points_tables_and_the_summary_of_one_run(wandb: Any) -> None:
    done = lexical("--track", "wandb:team/project")
    assert done.code == 0 and "tracker wandb:team/project: https://wandb.ai/me/p/runs/x" in done.err
    [run] = wandb.RUNS
    given = run.given
    assert (given["entity"], given["project"]) == ("team", "project")
    assert given["id"] == given["name"] == "run" and given["resume"] == "allow"
    assert given["config"]["model"] == "lexical"
    assert run.metrics == [("settled", None), ("*", "settled")]
    *points, results = run.logged
    total = len(last_lines("run"))
    assert [point["settled"] for point in points] == [*range(10, total, 10), total]
    value = number(summary("run"), "element")
    assert points[-1]["macro/element"] == run.summary["macro/element"] == value
    assert results["results"].columns[:3] == ["split", "measure", "average"]
    assert run.exit_code == 0


def test_wandb_collects_nothing_by_itself(wandb: Any) -> None:
    assert lexical("--track", "wandb", "--limit", "1").code == 0
    told = wandb.RUNS[0].given["settings"].given
    switched_off = {
        "console": "off",
        "disable_git": True,
        "save_code": False,
        "silent": True,
        "x_disable_meta": True,
        "x_disable_machine_info": True,
        "x_disable_stats": True,
        "x_save_requirements": False,
    }
    assert {name: told[name] for name in switched_off} == switched_off
    assert told["host"] == "[address]"
    # The end of a run waits for 30 seconds, and so must whatever wandb waits for.
    assert told["init_timeout"] < 30 and told["finish_timeout"] < 30


@pytest.mark.parametrize("name", ["wandb", "trackio"])
def test_a_package_is_imported_before_the_run_and_not_beside_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise clients of models stumble over modules that are half imported."""
    monkeypatch.syspath_prepend(str(FAKE))
    called = threading.current_thread()
    done = lexical("--track", name, "--limit", "1")
    assert done.code == 0
    assert sys.modules[name].IMPORTED is called


def test_wandb_is_asked_for_the_project_of_its_variables(
    wandb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lexical("--track", "wandb", "--limit", "1", out="a").code == 0
    monkeypatch.setenv("WANDB_PROJECT", "theirs")
    assert lexical("--track", "wandb", "--limit", "1", out="b").code == 0
    assert [run.given["project"] for run in wandb.RUNS] == ["vlm-eval", "theirs"]
    assert [run.given["entity"] for run in wandb.RUNS] == [None, None]


def test_wandb_without_a_key_is_refused_unless_it_is_offline(wandb: Any) -> None:
    wandb.STATE["key"] = None
    done = lexical("--track", "wandb")
    assert done.code == 2
    assert "no key of Weights & Biases is found; call `wandb login`" in done.complaint
    assert not Path("run").exists()
    wandb.STATE["mode"] = "offline"
    done = lexical("--track", "wandb", "--limit", "1")
    assert done.code == 0
    assert "offline; send it with: wandb sync /somewhere/wandb/offline-run-1" in done.err


def test_wandb_that_cannot_begin_leaves_the_run_alone(wandb: Any) -> None:
    wandb.STATE["fails"] = TimeoutError("no route")
    done = lexical("--track", "wandb", "--limit", "1")
    assert done.code == 0 and summary("run")["complete"]
    [line] = [line for line in done.err.splitlines() if "tracker" in line]
    assert line == "tracker wandb: TimeoutError: no route; the run goes on without it"


@pytest.mark.parametrize("name", ["plain-1.0_x", "a:b", "ä" * 3, "x" * 300, "a b", "..", "#?%"])
def test_ids_are_what_wandb_takes_and_differ_where_names_do(name: str) -> None:
    found = run_id(name)
    assert 0 < len(found) <= 128 and not set(found) & set("/\\#?%: ")
    assert run_id(f"{name}!") != found
    assert (found == name) is (name in ("plain-1.0_x", ".."))


def test_trackio_gets_points_by_step_and_tables(trackio: Any) -> None:
    done = lexical("--track", "trackio:mine")
    assert done.code == 0
    assert 'tracker trackio:mine: look at it with: trackio show --project "mine"' in done.err
    [run] = trackio.RUNS
    assert (run.given["project"], run.given["name"]) == ("mine", "run")
    assert run.given["resume"] == "allow" and run.given["private"] is True
    assert run.given["auto_log_cpu"] is run.given["auto_log_gpu"] is run.given["embed"] is False
    *points, (last, tables) = run.logged
    total = len(last_lines("run"))
    assert [step for step, _ in points] == [*range(10, total, 10), total] and last == total
    assert tables.keys() == {"results"}
    assert run.finished


def test_trackio_prints_nothing_into_the_output_of_a_run(trackio: Any) -> None:
    quiet = lexical("--track", "trackio", "--limit", "1", out="a").out
    assert quiet == lexical("--limit", "1", out="b").out.replace("report b", "report a")
    assert not hasattr(sys.stdout, "_muted")


def test_trackio_has_the_values_of_a_run_that_was_complete_before_once(trackio: Any) -> None:
    assert lexical("--limit", "1").code == 0
    for _ in range(2):
        assert lexical("--limit", "1", "--track", "trackio").code == 0
    first, second = ({name for _, one in run.logged for name in one} for run in trackio.RUNS)
    assert "macro/element" in first and second == {"results"}


@pytest.mark.parametrize("name", ["wandb", "trackio"])
def test_a_package_that_is_missing_is_told_with_the_line_that_installs_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A folder is no package; wandb leaves one of its name where it runs.
    Path(name).mkdir()
    monkeypatch.setattr(
        "harness.trackers.config.find_spec",
        lambda asked: PathFinder.find_spec(asked, [str(Path.cwd())]),
    )
    done = lexical("--track", name)
    assert done.code == 2
    assert done.complaint == (
        f"vlm-eval: --track {name}: the package {name} is missing: "
        f"pip install '.[{name}]' in a clone"
    )


def test_nothing_of_a_service_is_imported_by_a_run_that_names_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    imported = builtins.__import__

    def watching(name: str, *args: Any, **more: Any) -> ModuleType:
        assert name.partition(".")[0] not in ("wandb", "trackio")
        return imported(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", watching)
    assert lexical("--limit", "1").code == 0
