"""`vlm-eval export`: what it refuses in one line, and what it leaves behind."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from adapters.conversation import Reply
from adapters.registry import Entry
from harness.runs import Run, RunError
from harness.runs.places import without_places
from reports.exports import EXPORTS, ExportError, ExportFolder, export, file_name, option
from reports.exports.command import options_by_format
from tests.harness.commands.tool import call
from tests.reports.exports.runs import made_up
from tests.reports.runs import call as answer
from tests.reports.runs import setup, step, worked, write


@dataclass(frozen=True, slots=True)
class Names:
    """A format of somebody else's package."""

    loud: bool = option(False, "Write capitals.")
    ending: str = option("", "What each name ends with.", metavar="TEXT")

    def write(self, runs: Mapping[str, Run], folder: ExportFolder) -> Iterable[str]:
        for label in runs:
            text = label.upper() if self.loud else label
            folder.path("names", f"{file_name(label)}.txt").write_text(text + self.ending)
            if self.ending == "break":
                raise ExportError("it broke")
        return ["upload them"]


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(EXPORTS._entries, "names", Entry("names", Names, "names of runs"))
    made_up(Path("a"))
    return tmp_path


def test_a_format_of_another_package_has_its_own_options(
    named: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = call("export", "a", "--to", "names", "--loud", "--ending", "!", "-o", "out")
    assert done == (0, "out/names/a.txt\n", done.err) and "upload them" in done.err
    assert Path("out/names/a.txt").read_text() == "A!"


@pytest.mark.parametrize(
    ("to", "options"),
    [
        ("hub", {"dataset_id": "me/data"}),
        ("eee", {"organisation": "Lab", "relationship": "other", "developer": "us"}),
        ("inspect", {}),
    ],
)
def test_neither_folders_nor_addresses_are_handed_on(
    to: str, options: dict[str, Any], tmp_path: Path
) -> None:
    if to == "inspect":
        pytest.importorskip("inspect_ai", reason="needs the extra [inspect]")
    folder, server = "/home/somebody/models/mine", "http://10.1.2.3:8000/v1"
    made = setup(
        model={"name": f"openai:{folder}", "model": folder, "provider": "openai"},
        base_url=server,
        adapter_option={"extra_body": f'{{"lora": "{folder}"}}'},
        ranker=f"{folder}.parquet",
        prompts=f"{folder}.toml",
        dataset={"rows": 2, "data": folder},
    )
    failed = f"{server} answered 500: no {folder}"
    lost = step("A", 1, True, settled=False, total_steps=2, scores=None, error=failed)
    right = step("A", 0, True, total_steps=2, calls=("A_0/0/round-1",))
    asked = replace(answer(right, "B"), reply=Reply("B", model=folder))
    write(tmp_path / "run", [right, lost], made, calls=[asked], complete=False)
    done = export([tmp_path / "run"], to, tmp_path / "out", unfinished=True, **options)
    texts = {path.name: _content(path) for path in done.files}
    for private in ("somebody", "10.1.2.3"):
        assert [name for name, text in texts.items() if private in text] == []
    assert any("mine" in text for text in texts.values())


@pytest.mark.parametrize("statuses", [5, "refusal,empty", [["refusal"]], {"a": 1}])
def test_settings_that_nobody_could_have_given_are_told_in_a_line(
    tmp_path: Path, statuses: object
) -> None:
    made = setup(exclude_status=statuses)
    with pytest.raises(RunError, match="leaves out an unknown status"):
        export([write(tmp_path / "run", worked(), made)], "csv", tmp_path / "out")


def _content(path: Path) -> str:
    if path.suffix != ".eval":
        return path.read_text()
    pytest.importorskip("inspect_ai", reason="needs the extra [inspect]")
    from inspect_ai.log import read_eval_log

    return read_eval_log(str(path)).model_dump_json()


def _command() -> object:
    from reports.exports.command import export as command

    return command


def test_an_option_of_another_format_is_refused(named: Path) -> None:
    refused = call("export", "a", "--to", "hub", "--with-steps")
    assert refused.code == 2 and not Path("export").exists()
    assert refused.complaint == "vlm-eval: --with-steps is for --to csv and parquet, not hub"


def test_an_option_of_several_formats_is_the_same_in_all() -> None:
    for name, known in options_by_format().items():
        facts = [{k: v for k, v in one.items() if k != "help"} for one in known.values()]
        assert all(one == facts[0] for one in facts), name


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("a", "--to", "csvv"), "unknown export format 'csvv'; did you mean 'csv'?"),
        (("nowhere", "--to", "csv"), "nowhere is not a run directory (no manifest.json)"),
        (("a",), "Missing option '--to'"),
        (("a", "--to", "csv", "-o", "a/manifest.json"), "a/manifest.json is a file"),
    ],
)
def test_bad_input_is_one_line(named: Path, arguments: tuple[str, ...], complaint: str) -> None:
    done = call("export", *arguments)
    assert done.code == 2 and complaint in done.complaint
    assert [path.name for path in named.iterdir()] == ["a"]


def test_unfinished_runs_are_exported_only_when_asked_for(named: Path) -> None:
    made_up(Path("half"), complete=False)
    refused = call("export", "a", "half", "--to", "names")
    assert refused.code == 2 and "half is not finished" in refused.complaint
    assert not Path("export").exists()
    assert call("export", "a", "half", "--to", "names", "--unfinished").code == 0
    assert sorted(path.name for path in Path("export/names").iterdir()) == ["a.txt", "half.txt"]


def test_a_damaged_run_is_not_exported(named: Path) -> None:
    lines = Path("a/steps.jsonl").read_bytes().splitlines(keepends=True)
    Path("a/steps.jsonl").write_bytes(lines[0].replace(b"left", b"lost") + b"".join(lines[1:]))
    done = call("export", "a", "--to", "csv")
    assert done.code == 2 and "a/steps.jsonl" in done.complaint
    assert not Path("export").exists()


def test_nothing_is_replaced_unasked_and_an_error_leaves_all_as_it_was(named: Path) -> None:
    assert call("export", "a", "--to", "names").code == 0
    made_up(Path("b"))
    refused = call("export", "b", "a", "--to", "names")
    assert refused.complaint.endswith("export/names/a.txt exists already: --overwrite replaces it")
    with pytest.raises(ExportError, match="it broke"):
        export(["b", "a"], "names", "export", overwrite=True, ending="break")
    assert [path.name for path in Path("export").rglob("*")] == ["names", "a.txt"]
    assert export(["b", "a"], "names", "export", overwrite=True, ending=".").notes
    assert Path("export/names/a.txt").read_text() == "a."


def test_help_lists_the_formats_and_loads_nothing_heavy(named: Path) -> None:
    code = "import sys\nfrom harness.commands.main import run\ntry:\n    run(['export', '-h'])\n"
    code += "finally:\n    print(sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "csv: tables for spreadsheets and pandas" in " ".join(done.stdout.split())
    for heavy in ("pandas", "scipy", "datasets", "torch", "inspect_ai", "huggingface_hub"):
        assert f"'{heavy}'" not in done.stderr


def test_an_export_that_is_killed_leaves_no_file_of_its_own(tmp_path: Path) -> None:
    made_up(tmp_path / "a")
    code = """
import sys
from reports.exports import EXPORTS, export

class Slow:
    def write(self, runs, folder):
        folder.path("whole.txt").write_text("whole")
        print("written", flush=True)
        sys.stdin.readline()
        return []

EXPORTS.add("slow", Slow)
export(["a"], "slow", "out")
"""
    running = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert running.stdout and running.stdin
    with running, running.stdout, running.stdin:
        assert running.stdout.readline() == "written\n"
        running.kill()
    assert not (tmp_path / "out").exists()
    done = call("export", tmp_path / "a", "--to", "csv", "-o", tmp_path / "out")
    assert done.code == 0 and "results.csv" in done.out
    assert not (tmp_path / ".out.part").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("https://me:w)x@host:8000/v1?key=1 answered 500", "[address] answered 500"),
        ("no file ~/models/x.bin, or '/data/me/y'", "no file x.bin, or 'y'"),
        ("refused by ('10.1.2.3', 8000)", "refused by ('[address]', 8000)"),
        ("owner/name and 3/4, 1/2/3", "owner/name and 3/4, 1/2/3"),
    ],
)
def test_messages_say_no_places(text: str, told: str) -> None:
    assert without_places(text) == told
