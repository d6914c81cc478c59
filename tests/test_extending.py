"""The examples on extending run as they are printed, named as files and installed as packages."""

from __future__ import annotations

import base64
import json
import os
import re
import runpy
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import pytest
from PIL import Image

import harness
from tests.numbers import counts, number
from tests.programs import completed

HOUSE = Path(__file__).resolve().parent.parent
PAGES = ("docs/extending.md", "docs/judging.md", "tests/extensions/packages.md")
SHARED = {
    *("harness", "harness.benchmarks.sample", "harness.runs", "harness.settings", "harness.tables"),
    *("adapters.options", "parsers.records"),
}
"""Modules whose exported names examples use, but of which the page says nothing as a whole."""
FENCE = re.compile(r'^```\w+ title="(\S+)"\n(.*?)^```$', re.M | re.S)
"""A fenced file: language and name on the first line."""
LINKED = re.compile(r"^\[(\w+\.py)\]\(examples/\1\)", re.M)
"""A file of the page that lies in `docs/examples`: a link that begins its paragraph."""


@dataclass(frozen=True)
class Example:
    """The files of a section of the document, installed in a folder."""

    folder: Path

    def run(self, *arguments: str) -> str:
        """What `vlm-eval` prints with these arguments, called in the folder."""
        called = self._call(*arguments)
        assert called.returncode == 0, called.stderr
        return called.stdout

    def fail(self, *arguments: str) -> str:
        """What `vlm-eval` says is wrong with these arguments."""
        called = self._call(*arguments)
        assert called.returncode == 2, called.stderr
        return called.stderr

    def _call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        places = (self.folder, HOUSE)
        environment = {"PYTHONPATH": os.pathsep.join(map(str, places))}
        environment |= {"XDG_CACHE_HOME": str(self.folder / "cache"), "COLUMNS": "200"}
        return completed(
            "-m", "harness", *arguments, cwd=self.folder, fresh=True, environment=environment
        )

    def evaluate(self, *arguments: str) -> dict[str, Any]:
        """The summary of a run on one task of the sample."""
        rest = ("--benchmark", "sample", "--split", "dev", "--limit", "1", "--progress", "off")
        self.run("run", *arguments, *rest, "--out", "run")
        summary: dict[str, Any] = json.loads((self.folder / "run/summary.json").read_text("utf-8"))
        return summary

    def manifest(self) -> dict[str, Any]:
        """The configuration on record of that run."""
        manifest = json.loads((self.folder / "run/manifest.json").read_text("utf-8"))
        config: dict[str, Any] = manifest["config"]
        return config


def read(page: str) -> str:
    return (HOUSE / page).read_text("utf-8")


def named_files(text: str) -> dict[str, str]:
    """The files that a text has or begins a paragraph with, by name."""
    linked = {name: read(f"docs/examples/{name}") for name in LINKED.findall(text)}
    return dict(FENCE.findall(text)) | linked


def files_of(heading: str) -> dict[str, str]:
    """The files under a heading of a page ("A protocol"), by name."""
    (document,) = (page for page in map(read, PAGES) if f"\n## {heading}\n" in page)
    section = re.split(r"^## ", document.partition(f"\n## {heading}\n")[2], flags=re.M)[0]
    files = named_files(section)
    assert files, f"no files under '{heading}'"
    return files


def write_files(heading: str, folder: Path) -> Example:
    """Write the files under a heading of a page to `folder`."""
    for name, text in files_of(heading).items():
        (folder / name).write_text(text, "utf-8")
    return Example(folder)


def install(heading: str, folder: Path) -> Example:
    """Install the files under a heading of a page in `folder`."""
    example = write_files(heading, folder)
    register(folder)
    return example


def register(folder: Path) -> None:
    """Write the entry points of a `pyproject.toml` as an installer writes them."""
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    metadata = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    metadata.mkdir()
    named = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (metadata / "METADATA").write_text(named)
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture
def example(request: pytest.FixtureRequest, tmp_path: Path) -> Example:
    """The example under the heading that the test names: `parametrize(..., indirect=True)`."""
    return install(request.param, tmp_path)


class Clicks(BaseHTTPRequestHandler):
    """A server that clicks on the first choice, whatever it is shown.

    The second call is one too many.
    """

    bodies: ClassVar[list[dict[str, Any]]] = []
    numbers: ClassVar[Iterator[int]] = count(1)

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.bodies.append(json.loads(self.rfile.read(length)))
        text = "ELEMENT: A\nACTION: CLICK\nVALUE: None"
        counts = {"input_tokens": 900, "output_tokens": 20, "cut": True}
        content = json.dumps({"text": text, **counts}).encode()
        if next(self.numbers) == 2:
            self.send_response(429)
            self.send_header("Retry-After", "1")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""


def test_examples_of_several_modules_name_them_for_pip() -> None:
    """The package of the page has all of its files; pip installs none of them otherwise."""
    files = named_files(read("docs/extending.md"))
    named = tomllib.loads(files["pyproject.toml"])["tool"]["setuptools"]["py-modules"]
    assert sorted(named) == sorted(name[:-3] for name in files if name.endswith(".py"))


@pytest.fixture
def own(tmp_path: Path) -> Example:
    """All files of the page, side by side in a folder with the pictures of three icons."""
    for name, text in named_files(read("docs/extending.md")).items():
        if name.endswith(".py"):
            (tmp_path / name).write_text(text, "utf-8")
    for program, word in (("editor", "save"), ("editor", "search"), ("shop", "basket")):
        place = tmp_path / "pictures" / program / f"{word}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (32, 32), (len(word) * 20, 90, 90)).save(place)
    return Example(tmp_path)


ICONS = ("-b", "icons:Icons", "--data", "pictures")


def test_a_benchmark_and_a_protocol_are_files(own: Example) -> None:
    assert "test: 3 icons; 3 valid" in own.run("data", "check", *ICONS)
    assert "program editor (test)" in own.run("data", "list", *ICONS)
    out = own.run("run", "-m", "oracle", *ICONS, "--details", "--out", "run")
    assert "micro, 3 icons" in out and "rows: 3 valid" in out
    config = own.manifest()
    assert (config["benchmark"], config["protocol"]) == ("icons:Icons", "name_it:NameIt")
    line = json.loads((own.folder / "run/steps.jsonl").read_text("utf-8").splitlines()[0])
    assert line["benchmark"] == "icons:Icons"
    think = ("--protocol", "name_it:NameIt", "--protocol-option", "think=yes")
    own.run("run", "-m", "oracle", *ICONS, *think, "--out", "run2")
    assert len((own.folder / "run2/calls.jsonl").read_text("utf-8").splitlines()) == 6
    assert "think" in own.run("protocols", "name_it:NameIt")


def test_a_run_on_disk_runs_no_code_that_the_user_does_not_name(own: Example) -> None:
    own.run("run", "-m", "oracle", *ICONS, "--out", "run")
    marked = own.folder / "icons.py"
    marked.write_text(marked.read_text("utf-8") + "open('ran', 'w').close()\n", "utf-8")
    assert "100.0" in own.run("report", "run")
    own.run("view", "run", "--out", "page")
    own.run("errors", "run")
    named = "add --allow icons:Icons"
    assert named in own.fail("score", "run")
    assert not (own.folder / "ran").exists()
    score = ("score", "run", "--allow", "icons:Icons")
    assert "0 of 3 predictions read differently" in own.run(*score)
    assert (own.folder / "ran").exists()
    marked.unlink()
    assert "there is no file icons.py here" in own.fail(*score)
    assert "100.0" in own.run("report", "run")


def test_a_provider_is_a_file(own: Example) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Clicks) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        summary = own.evaluate("--model", "plain_server:PlainServer:mine", "--base-url", address)
        server.shutdown()
    assert summary["complete"]
    assert summary["model"]["name"] == "plain:mine"
    assert own.manifest()["model"] == "plain_server:PlainServer:mine"
    assert counts(summary)["statuses"] == {"answered": 7}
    calls = [json.loads(line) for line in (own.folder / "run/calls.jsonl").open()]
    assert {call["reply"]["finish"] for call in calls} == {"length"}
    assert {call["reply"]["usage"]["input"] for call in calls} == {900}
    assert len(Clicks.bodies) == len(calls) + 2  # a first call, and one refused
    images = [image for body in Clicks.bodies for image in body["images"]]
    assert any(base64.b64decode(image).startswith(b"\xff\xd8") for image in images)  # a JPEG


def test_a_measure_a_policy_a_command_and_an_export_are_files(own: Example) -> None:
    like = ("-b", "likeness:LikeIcons", "--data", "pictures")
    out = own.run("run", "-m", "always:AlwaysSave", *like, "-o", "run")
    assert any(line.split()[:1] == ["Like"] for line in out.splitlines())
    config = own.manifest()
    assert (config["benchmark"], config["model"]) == ("likeness:LikeIcons", "always:AlwaysSave")
    assert own.run("statuses:statuses", "run") == "answered: 3\n"
    card = ("--to", "card_export:CardExport", "--heading", "Evaluation")
    assert own.run("export", "run", *card) == "export/run.md\n"
    assert (own.folder / "export/run.md").read_text("utf-8").startswith("## Evaluation\n")


def test_the_same_files_are_a_package(own: Example) -> None:
    (own.folder / "pyproject.toml").write_text(files_of("A package")["pyproject.toml"])
    register(own.folder)
    assert "plain" in own.run("models") and "always-save" in own.run("models")
    out = own.run("run", "-m", "always-save", "-b", "icons", "--data", "pictures", "-o", "run")
    assert "25.0" in out  # the mean over programs
    assert "0 of 3 predictions read differently" in own.run("score", "run")
    assert own.run("statuses", "run") == "answered: 3\n"
    assert "[card] Heading of the section." in own.run("export", "--help")


@pytest.mark.parametrize("example", ["An embedder"], indirect=True)
def test_an_embedder_of_another_package_is_listed_and_asked(example: Example) -> None:
    assert "words" in example.run("models")
    (example.folder / "none.jsonl").write_text('{"default": true, "text": ""}')
    options = ("--model", "scripted:none.jsonl", "--protocol", "nearest")
    summary = example.evaluate(*options, "--role", "embedding=words:vectors.txt")
    assert summary["complete"]
    assert {role: part["calls"] for role, part in summary["by_role"].items()} == {"embedding": 7}
    role = example.manifest()["role_models"]["embedding"]
    assert (role["name"], len(role["revision"])) == ("words:vectors.txt", 64)
    assert "0 of 7 predictions read differently" in example.run("score", "run")


@pytest.mark.parametrize("example", ["A protocol of steps"], indirect=True)
def test_a_protocol_of_another_package_is_listed_and_asked(example: Example) -> None:
    assert "one-question" in example.run("protocols")
    options = ("--history", "3", "--protocol-option", "form_first=yes")
    summary = example.evaluate("--model", "oracle", "--protocol", "one-question", *options)
    assert number(summary, "success") == 1.0
    config = example.manifest()
    assert config["protocol_option"] == {"form_first": True, "history": 3}
    assert "0 of 7 predictions read differently" in example.run("score", "run")


def test_a_panel_of_judges_asks_all_of_them_and_counts_their_answers(tmp_path: Path) -> None:
    panel = runpy.run_path(str(HOUSE / "docs/examples/panel.py"))["Panel"]
    task: dict[str, Any] = {"benchmark": "sample", "split": "dev", "limit": 1, "progress": "off"}
    right, drawn = (
        harness.evaluate(model=model, protocol=panel(), out=tmp_path / model, **task)
        for model in ("oracle", "random")
    )
    assert right.scores.success.value == 1.0
    votes = [unit.prediction.votes for unit in drawn.records() if unit.asked and unit.prediction]
    assert [sum(of) for of in votes] == [5] * 7
    assert len(set(votes)) > 1
    assert len(list(drawn.calls())) == 5 * 7


@pytest.mark.parametrize("example", ["A policy of steps"], indirect=True)
def test_a_policy_of_another_package_is_listed_and_run(example: Example) -> None:
    assert "shortest-text" in example.run("models")
    summary = example.evaluate("--model", "shortest-text", "--image-policy", "none")
    assert summary["complete"]


@pytest.mark.parametrize("example", ["Steps in a file"], indirect=True)
def test_one_s_own_steps_under_a_name_of_their_own_are_checked_and_run(example: Example) -> None:
    assert "lamp-shop" in example.run("benchmarks")
    checked = example.run("data", "check", "--benchmark", "lamp-shop")
    assert "local: 2 rows, 1 task; 1 CLICK, 1 TYPE, 2 valid" in checked
    options = ("--image-policy", "none", "--distractors", "2", "--out", "run")
    out = example.run("run", "--model", "oracle", "--benchmark", "lamp-shop", *options)
    assert "2 steps of 1 task" in out and "not scored" not in out


@pytest.mark.parametrize("example", ["A benchmark of another kind"], indirect=True)
def test_a_benchmark_of_another_kind_is_listed_shown_and_run(example: Example) -> None:
    assert "1 call per icon; pictures: none" in example.run("protocols")
    assert "test: 3 icons; 3 valid" in example.run("data", "check", "-b", "icons")
    assert "program editor (test)" in example.run("data", "list", "-b", "icons")
    shown = example.run("show", "glass", "-b", "icons", "--answer")
    assert "A button shows a magnifying glass." in shown and "right: search()" in shown
    out = example.run("run", "--model", "oracle", "-b", "icons", "--details", "--out", "run")
    assert "micro, 3 icons" in out and "rows: 3 valid" in out
    assert "0 of 3 predictions read differently" in example.run("score", "run")


@pytest.mark.parametrize("example", ["A benchmark of episodes"], indirect=True)
def test_a_benchmark_of_episodes_is_a_world_and_its_tasks(example: Example) -> None:
    assert "lamp=cellar" in example.run("data", "list", "-b", "lamps")
    for protocol in ("autowebglm", "mindact-choice"):
        options = (
            "-b",
            "lamps",
            "--protocol",
            protocol,
            "--benchmark-option",
            "max_steps=3",
            "--out",
            protocol,
        )
        out = example.run("run", "-m", "lexical", "--details", *options)
        assert "micro, 3 episodes  100.0" in out
        assert "0 of 3 predictions read differently" in example.run("score", protocol)


@pytest.mark.parametrize("example", ["A place on a picture"], indirect=True)
def test_a_point_on_the_sent_picture_gets_to_the_original(example: Example) -> None:
    (example.folder / "points.jsonl").write_text('{"default": true, "text": "41.667, 62.5"}')
    example.run("run", "-m", "scripted:points.jsonl", "-b", "corners", "-o", "run")
    lines = (example.folder / "run/steps.jsonl").read_text("utf-8").splitlines()
    found = {line["unit_id"]: line for line in map(json.loads, lines)}
    sent = found["top-left"]["pictures"][0]
    assert (sent["width"], sent["height"]) == (600, 400)  # of 1,200 x 800
    x, y = found["top-left"]["prediction"]["action"]["point"]
    assert (x, y) == pytest.approx((1200 * 0.041667, 800 * 0.0625))
    assert {name: line["scores"]["hit"] for name, line in found.items()} == {
        "top-left": 1.0,
        "bottom-right": 0.0,
    }
    out = example.run("run", "-m", "oracle", "-b", "corners", "-o", "oracle")
    assert "100.0" in out and "Off" in out
    assert "cannot be asked without" in example.fail(
        "run", "-m", "oracle", "-b", "corners", "--image-policy", "none"
    )


def test_a_benchmark_says_which_answers_a_vote_counts_together(tmp_path: Path) -> None:
    install("A benchmark of another kind", tmp_path)
    example = install("A vote", tmp_path)
    words = ('{"text": "basket"}', '{"text": "Search."}', '{"text": "save"}')
    (tmp_path / "words.jsonl").write_text("\n".join(words))
    asked = ("-b", "programs", "--only", "program=shop", "--temperature", "0.7")
    example.run("run", "-m", "scripted:words.jsonl", *asked, "--samples", "3", "-o", "run")
    (line,) = map(json.loads, (tmp_path / "run/steps.jsonl").read_text("utf-8").splitlines())
    assert line["prediction"]["action"]["name"] == "search"
    assert line["prediction"]["votes"] == [2, 1]


def test_predictions_about_a_kind_of_another_package_are_scored(tmp_path: Path) -> None:
    example = install("A benchmark of another kind", tmp_path)
    (tmp_path / "theirs.jsonl").write_text('{"unit": "glass", "action": {"name": "search"}}')
    assert "100.0" in example.run("score", "--predictions", "theirs.jsonl", "-b", "icons")


def test_examples_use_nothing_internal() -> None:
    stable = read("docs/extending.md").partition("## What is stable")[2]
    named = set(re.findall(r"`((?:adapters|harness|parsers|reports)[.a-z_]*)", stable)) | SHARED
    imported = {
        module
        for page in PAGES
        for text in named_files(read(page)).values()
        for module in re.findall(r"^from ((?:adapters|harness|parsers)\S*) import", text, re.M)
    }
    exported = {name.rpartition(".")[0] for name in named}  # `harness.protocols` of its contract
    assert len(imported) >= 20 and imported - named - exported == {"adapters", "parsers"} - exported


def test_a_method_of_another_package_judges_episodes(tmp_path: Path) -> None:
    install("A benchmark of episodes", tmp_path)
    example = install("A method", tmp_path)
    (tmp_path / "judge.jsonl").write_text('{"default": true, "text": "It is lit.\\nYES"}')
    judge = "looks-done=scripted:judge.jsonl"
    example.run("run", "-m", "random", "-b", "lamps", "--judge", judge, "-o", "run")
    (path,) = (tmp_path / "run/judgments").iterdir()
    calls = [json.loads(line) for line in (path / "calls.jsonl").read_text("utf-8").splitlines()]
    sent = [call["messages"][-1]["parts"][-1] for call in calls]
    assert len(sent) == 3 and all("[button]" in text and "reward" not in text for text in sent)
    assert "Task: Light the " in sent[0] and "random" not in "".join(sent)
    assert "100.0" in example.run("report", str(path.relative_to(tmp_path)))


@pytest.mark.parametrize("example", ["A measure of steps"], indirect=True)
def test_a_measure_is_one_function_and_one_declaration(example: Example) -> None:
    asked = ("-b", "typed-values", "--split", "dev", "--limit", "2", "--progress", "off")
    printed = example.run("run", "-m", "lexical", *asked, "--out", "lexical")
    example.run("run", "-m", "oracle", *asked, "--out", "oracle")
    lines = (example.folder / "lexical/steps.jsonl").read_text("utf-8").splitlines()
    tasks: dict[str, list[bool]] = {}
    for line in map(json.loads, lines):
        gold, said = line["detail"]["gold"], line["prediction"]
        if line["invalid"] is None and gold["operation"] != "CLICK":
            value = said["action"].get("arguments", {}).get("value", "")
            tasks.setdefault(line["parents"]["task"], []).append(value == gold["value"])
    means = [sum(right) / len(right) for right in tasks.values()]
    rate = sum(means) / len(means)
    assert 0 < rate < 1
    assert any(line.split()[0] == "Value" for line in printed.splitlines() if line)
    assert f"{100 * rate:.1f}" in printed
    table = json.loads(example.run("report", "lexical", "--format", "json"))
    (row,) = (row for row in table["rows"] if row["line"] == "valid")
    assert row["value_right_macro"] == pytest.approx(rate)


def test_a_metric_is_computed_from_stored_runs(tmp_path: Path) -> None:
    example = write_files("A metric of stored runs", tmp_path)
    example.evaluate("--model", "oracle")
    places = os.pathsep.join(map(str, (tmp_path, HOUSE)))
    called = subprocess.run(
        [sys.executable, "value_given_element.py", "run"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": places},
        capture_output=True,
        text=True,
        check=True,
    )
    assert called.stdout == "run: 100.0 [100.0, 100.0]\n"


def test_a_tracker_in_a_file_is_told(tmp_path: Path) -> None:
    example = write_files("A tracker", tmp_path)
    track = "jsonl_tracker:JsonLines:course.jsonl"
    summary = example.evaluate("--model", "lexical", "--track", track)
    told = [json.loads(line) for line in (example.folder / "course.jsonl").read_text().splitlines()]
    assert [one["event"] for one in told] == ["start", "point", "end"]
    assert {one["run"] for one in told} == {"run"}
    assert told[0]["config"]["model"] == "lexical"
    macro = number(summary, "element")
    assert told[1]["values"]["macro/element"] == macro
    assert told[2]["complete"]
    assert {row["measure"] for row in told[2]["results"]} >= {"element", "task_success"}


def test_every_run_of_a_sweep_is_tracked_by_itself(tmp_path: Path) -> None:
    example = write_files("A tracker", tmp_path)
    (example.folder / "two.toml").write_text(
        'benchmark = "sample"\nsplit = "dev"\nlimit = 1\n'
        'track = ["jsonl_tracker:JsonLines:course.jsonl"]\nmodel = ["random", "lexical"]\n'
    )
    example.run("run", "--config", "two.toml")
    told = [json.loads(line) for line in (example.folder / "course.jsonl").read_text().splitlines()]
    runs = {one["run"] for one in told}
    assert len(runs) == 2
    for run in runs:
        events = [one["event"] for one in told if one["run"] == run]
        assert events == ["start", "point", "end"]
