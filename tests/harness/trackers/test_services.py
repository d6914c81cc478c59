"""The built-in tracker with a stand-in for its package: what is called, and what is refused."""

from __future__ import annotations

import builtins
import importlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from harness.trackers.wandb import run_id
from tests.harness.commands.tool import DEV, Called, call, last_lines, summary
from tests.numbers import number

FAKE = Path(__file__).with_name("fake")
OFF = ("wandb", "wandb.sdk", "wandb.sdk.wandb_login")


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


def test_the_package_is_imported_before_the_run_and_not_beside_it(wandb: Any) -> None:
    """Otherwise clients of models stumble over modules that are half imported."""
    sys.modules.pop("wandb")
    assert lexical("--track", "wandb", "--limit", "1").code == 0
    assert sys.modules["wandb"].IMPORTED is threading.current_thread()


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


@pytest.mark.parametrize("name", ["plain-1.0_x", "a:b", "ä" * 3, "x" * 300, "a b", "..", "#?%"])
def test_ids_are_what_wandb_takes_and_differ_where_names_do(name: str) -> None:
    found = run_id(name)
    assert 0 < len(found) <= 128 and not set(found) & set("/\\#?%: ")
    assert run_id(f"{name}!") != found
    assert (found == name) is (name in ("plain-1.0_x", ".."))


@pytest.mark.parametrize("there", [None, ModuleType("wandb")], ids=["nothing", "a folder"])
def test_a_package_that_is_missing_is_told_with_the_line_that_installs_it(
    there: ModuleType | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", there)
    done = lexical("--track", "wandb")
    assert done.code == 2
    assert done.complaint == (
        "vlm-eval: --track wandb: the package wandb is missing: pip install '.[wandb]' in a clone"
    )


def test_nothing_of_a_service_is_imported_by_a_run_that_names_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    imported = builtins.__import__

    def watching(name: str, *args: Any, **more: Any) -> ModuleType:
        assert name.partition(".")[0] != "wandb"
        return imported(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", watching)
    assert lexical("--limit", "1").code == 0
