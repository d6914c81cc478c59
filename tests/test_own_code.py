"""Code that is named as `module:Class`: like what a package registers, and only by users."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from adapters import ADAPTERS, MODELS, Registry, UnknownName, allow
from harness.settings import allow_code
from reports.exports import EXPORTS
from tests.harness.commands.tool import ONE_TASK, call, isolate
from tests.test_entry_points import FORMS, KINDS

REGISTRIES = [registry for registry, _ in KINDS.values()] + [EXPORTS]


@pytest.mark.parametrize(("kind", "form"), FORMS)
def test_code_that_the_user_names_is_made_as_what_a_package_registers(kind: str, form: str) -> None:
    registry, name = KINDS[kind][0], f"tests.test_entry_points:{form}"
    allow(name)
    assert registry.split(name) == (name, "")
    assert registry.split(f"{name}:a:b") == (name, "a:b")
    handed = ("",) if kind in ("model", "embedder", "ranker") else ()
    made = registry.make(name, *handed)
    assert all(hasattr(made, needed) for needed in registry.has) and not isinstance(made, type)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    isolate(monkeypatch, tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("own_")]:
        del sys.modules[name]


BROKEN = {
    "own_fails": ("x = 1\ny = undefined\n", "NameError: name 'undefined' is not defined .*line 2"),
    "own_deep": ("import json\njson.loads('{')\n", r"JSONDecodeError: .*\(own_deep, line 2\)"),
    "own_form": ("x = 1\ndef (:\n", r"SyntaxError: .*\(own_form.py, line 2\)"),
    "own_ends": ("raise SystemExit(3)\n", r"SystemExit: 3 \(own_ends, line 1\)"),
    "own_needs": ("import no_such_module\n", r"No module named .*\(own_needs, line 1\)"),
    "own_lacks": ("class Other: ...\n", "module 'own_lacks' has no attribute 'Thing'"),
    "own_bare": ("class Thing: ...\n", "is not an? .*: it has no '"),
    "tokenize": ("class Thing: ...\n", "tokenize.py is hidden by .*: give it another name"),
}


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.kind)
@pytest.mark.parametrize("module", BROKEN)
def test_code_that_is_no_such_thing_is_one_line(
    registry: Registry[Any], module: str, folder: Path
) -> None:
    text, message = BROKEN[module]
    (folder / f"{module}.py").write_text(text)
    allow(f"{module}:Thing")
    with pytest.raises(UnknownName, match=message) as caught:
        registry.make(*registry.split(f"{module}:Thing"))
    assert str(caught.value).startswith(f"{registry.kind} '{module}:Thing' ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.kind)
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_none:Thing", "there is no file own_none.py here, nor a module 'own_none'"),
        ("own.none:Thing", "there is no file own/none.py here, nor a module 'own.none'"),
        ("own_none.py:Thing", "code is named own_none:Thing, in the folder of its file"),
        ("some/own_none.py:Thing", "code is named own_none:Thing, in the folder of its file"),
        ("own_none:", "neither a name nor module:Class"),
    ],
)
def test_code_that_is_not_here_is_an_unknown_name(
    registry: Registry[Any], name: str, message: str, folder: Path
) -> None:
    (folder / "own_none").mkdir()  # A folder is no module.
    allow(name)
    with pytest.raises(UnknownName, match=f"unknown {registry.kind} '{name}'; .*{message}"):
        registry.split(name)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("ranker", "own_given:Thing:device=cuda"),
        ("role", ["planner=own_given:Thing"]),
        ("role", {"planner": "own_given:Thing", "planner.seed": 1}),
        ("role", (("planner", "own_given:Thing"),)),
        ("benchmark", "own_given:Thing"),
        ("model", "own_given:Thing:a:b"),
        ("protocol", "own_given:Thing"),
    ],
)
def test_a_setting_names_code(setting: str, value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed: set[str] = set()
    monkeypatch.setattr("adapters.entry_points._allowed", allowed)
    allow_code({setting: value, "out": "own_other:Thing"})
    assert "own_given:Thing" in allowed and "own_other:Thing" not in allowed


def test_a_registered_name_wins_over_a_file(folder: Path) -> None:
    (folder / "openai.py").write_text("raise SystemExit")
    allow("openai:Model")
    assert ADAPTERS.split("openai:Model") == ("openai", "Model")


def test_a_tag_of_a_server_s_model_is_no_code(folder: Path) -> None:
    allow("qwen_own:latest")
    server = "http://localhost:11434/v1"
    assert MODELS.resolve("qwen_own:latest", base_url=server).name == "openai:qwen_own:latest"


def test_a_name_that_the_user_has_not_written_loads_nothing(folder: Path) -> None:
    (folder / "own_quiet.py").write_text("raise SystemExit")
    for registry in REGISTRIES:
        with pytest.raises(UnknownName, match="only if you name it: add --allow own_quiet:Thing"):
            registry.split("own_quiet:Thing:more")
        with pytest.raises(UnknownName, match="only if you name it"):
            registry.get("own_quiet:Thing")


NAMED = ("benchmark", "protocol", "model", "ranker", "role")
COMMANDS_ON_RUNS = (
    ("report", "run", "--details"),
    ("list", "."),
    ("errors", "run"),
    ("view", "run", "-o", "page"),
    ("compare", "run", "run"),
    ("export", "run", "--to", "csv"),
    ("score", "run"),
    ("score", "run", "--allow", "own_other:Thing"),
    ("show", "UNIT", "--run", "run", "--answer"),
    ("merge", "run", "-o", "merged"),
    ("run", "--redo-from", "run", "--redo", "truncated", "--max-tokens", "9000", "-o", "redone"),
    ("batches", "run"),
)


@pytest.fixture(scope="module")
def a_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        isolate(patch, place)
        assert call("run", "-m", "lexical", *ONE_TASK, "-o", "run").code == 0
    return place / "run"


@pytest.mark.parametrize("command", COMMANDS_ON_RUNS, ids=" ".join)
def test_what_a_run_on_disk_names_is_not_loaded(
    command: Sequence[str], folder: Path, a_run: Path
) -> None:
    (folder / "own_evil.py").write_text("open('loaded', 'w').close()\n")
    shutil.copytree(a_run, folder / "run")
    path = folder / "run/manifest.json"
    manifest = json.loads(path.read_text())
    evil = "own_evil:Thing:argument"
    manifest["config"] |= dict.fromkeys(NAMED, evil) | {"role": {"planner": evil}}
    manifest["dataset"]["benchmark"] = evil
    path.write_text(json.dumps(manifest))
    unit = json.loads((folder / "run/steps.jsonl").read_text().splitlines()[0])["unit_id"]
    called = call(*(word.replace("UNIT", unit) for word in command))
    assert not Path("loaded").exists()
    assert "Traceback" not in called.err and called.code in (0, 2), called.err


def test_a_command_may_be_a_file_and_allow_needs_a_name(folder: Path) -> None:
    (folder / "own_words.py").write_text(
        "import click\n@click.command()\ndef hello(): click.echo('hello')\n"
    )
    assert call("own_words:hello").out == "hello\n"
    assert "has no attribute 'hullo'" in call("own_words:hullo").complaint
    for wrong in ((), ("own_words",), ("own_words:hello:more",), ("",)):
        assert "as module:Class" in call("list", "--allow", *wrong).complaint
    assert call("--allow=own_words:hello", "own_words:hello").out == "hello\n"
