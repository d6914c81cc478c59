"""What `python -m build` makes: an sdist, the wheel from it, and how PyPI would show them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path

import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager
from markdown_it import MarkdownIt
from packaging.metadata import Metadata

import harness
from hatch_build import long_description

ROOT = Path(__file__).parents[1]
PACKAGES = ("adapters", "harness", "parsers", "reports")
STAYS = (".ci/", ".pre-commit-config.yaml", "mkdocs.yml")
"""What is under version control and not in the sdist."""
PLANTED = (
    "harness/.env",
    "harness/__pycache__/x.cpython-311.pyc",
    "reports/.DS_Store",
    "tests/.hypothesis/examples/x",
    "runs/mine/calls.jsonl",
    "shared/data/rows.parquet",
    "private.key",
)
"""Files that may lie about in a checkout."""


@dataclass(frozen=True)
class Built:
    """Both archives, the sdist unpacked."""

    sdist: Path
    wheel: Path
    unpacked: Path

    def in_sdist(self) -> set[str]:
        """Its files, without the folder that they are in."""
        with tarfile.open(self.sdist) as archive:
            return {entry.name.partition("/")[2] for entry in archive if entry.isfile()}

    def in_wheel(self) -> set[str]:
        with zipfile.ZipFile(self.wheel) as archive:
            return set(archive.namelist())

    def metadata(self) -> str:
        """The metadata of the wheel, as they are written in it."""
        with zipfile.ZipFile(self.wheel) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            return archive.read(name).decode()


def build(kind: str, tree: Path, to: Path) -> Path:
    """Build an archive by the backend, as an installer calls it: in a process, in the tree."""
    code = f"import sys; from hatchling.build import build_{kind} as b; print(b(sys.argv[1]))"
    words = [sys.executable, "-c", code, str(to)]
    done = subprocess.run(words, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    name: str = done.stdout.splitlines()[-1]
    return to / name


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The archives of a copy of the checkout in which more lies about."""
    folder = tmp_path_factory.mktemp("built")
    tree = folder / "tree"
    tree.mkdir()
    for path in shipped_from(ROOT):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, tree / path)
    for name in PLANTED:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(b"not for others")
    sdist = build("sdist", tree, folder)
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    unpacked = folder / sdist.name.removesuffix(".tar.gz")
    return Built(sdist, build("wheel", unpacked, folder), unpacked)


def shipped_from(root: Path) -> set[str]:
    """The files of a source tree that belong to the project, by git where there is a repository."""
    if (root / ".git").exists():
        words = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(words, cwd=root, capture_output=True, text=True, check=True).stdout
        names = {name for name in listed.splitlines() if (root / name).is_file()}
        return {name for name in names if not name.startswith(STAYS)}
    settings = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]
    tops = [*settings["targets"]["sdist"]["only-include"], ".gitignore", "pyproject.toml"]
    found = {path for top in tops for path in (root / top, *(root / top).rglob("*"))}
    files = {path.relative_to(root) for path in found if path.is_file()}
    return {
        path.as_posix() for path in files if not {"__pycache__", ".hypothesis"} & set(path.parts)
    }


def test_the_sdist_has_all_that_belongs_to_the_project_and_nothing_else(built: Built) -> None:
    assert built.in_sdist() == shipped_from(ROOT) | {"PKG-INFO"}


def test_the_wheel_from_the_sdist_has_the_packages_whole(built: Built) -> None:
    info = f"vlm_web_eval-{harness.__version__}.dist-info/"
    packaged = {name for name in built.in_wheel() if not name.startswith(info)}
    assert packaged == {name for name in shipped_from(ROOT) if name.startswith(PACKAGES)}
    assert packaged >= {
        "harness/benchmarks/episode/browsergym/gym_worker.py",
        "harness/prompts/seeact.toml",
        "harness/sample/data/test.parquet",
        "reports/published/mind2web.toml",
        "reports/view/templates/index.html",
        *(f"{package}/py.typed" for package in PACKAGES),
    }


def test_the_builder_of_the_sample_stays_in_the_source(built: Built) -> None:
    shipped = {name for name in built.in_wheel() if name.startswith("harness/sample/")}
    assert {name for name in shipped if not name.startswith("harness/sample/data/")} == {
        "harness/sample/__init__.py"
    }
    assert built.in_sdist() >= {
        "benchmarks/sample/build.py",
        "benchmarks/sample/tasks/library.toml",
    }


def test_the_metadata_are_valid_and_tell_the_version(built: Built) -> None:
    told = Metadata.from_email(built.metadata(), validate=True)
    assert (told.name, str(told.version)) == ("vlm-web-eval", harness.__version__)
    assert told.description_content_type == "text/markdown"
    assert told.license_expression == "Apache-2.0" and told.license_files == ["LICENSE"]
    assert (built.unpacked / "PKG-INFO").read_text("utf-8") == built.metadata()


def addresses(markdown: str) -> Iterator[tuple[str, str]]:
    """The pictures and links of a text, each with its address."""
    for block in MarkdownIt("commonmark").enable("table").parse(markdown):
        for token in block.children or ():
            if token.type == "image":
                yield "picture", str(token.attrs["src"])
            elif token.type == "link_open":
                yield "link", str(token.attrs["href"])


def words_of(markdown: str) -> list[str]:
    """The words that a reader sees, code included."""
    blocks = MarkdownIt("commonmark").enable("table").parse(markdown)
    texts = []
    for block in blocks:
        inner = [token for token in block.children or [block] if token.type != "image"]
        texts.append("".join(token.content or " " * (token.type == "softbreak") for token in inner))
    return " ".join(texts).split()


def test_on_pypi_no_picture_or_link_is_broken_and_no_word_is_missing(built: Built) -> None:
    shown = Parser().parsestr(built.metadata()).get_payload()
    assert isinstance(shown, str)
    assert all(re.match("https?://", address) for _, address in addresses(shown))
    readme = (ROOT / "README.md").read_text("utf-8")
    assert any(kind == "picture" for kind, _ in addresses(readme))
    assert words_of(shown) == words_of(readme)


def test_once_the_source_has_an_address_pictures_and_links_lead_there(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "README.md", "LICENSE", "hatch_build.py", "harness/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    project = (tmp_path / "pyproject.toml").read_text("utf-8")
    urls = '[project.urls]\nSource = "https://git.example/we/vlm-eval/"\n\n[project.scripts]\n'
    assert "[project.urls]" not in project
    (tmp_path / "pyproject.toml").write_text(project.replace("[project.scripts]\n", urls), "utf-8")
    shown = ProjectMetadata(str(tmp_path), PluginManager()).core.readme
    readme = (ROOT / "README.md").read_text("utf-8")
    assert words_of(shown) == words_of(readme)
    led = {(kind, link) for kind, link in addresses(readme) if not re.match("https?:|#", link)}
    assert led and all((ROOT / link.partition("#")[0]).exists() for _, link in led)
    at = {"picture": "raw", "link": "blob"}
    tag = f"v{harness.__version__}"
    assert set(addresses(shown)) - set(addresses(readme)) == {
        (kind, f"https://git.example/we/vlm-eval/{at[kind]}/{tag}/{link}") for kind, link in led
    }


@pytest.mark.parametrize(
    ("readme", "without", "with_address"),
    [
        ("[a](b.md#c)", "a", "[a](S/blob/v1/b.md#c)"),
        ("![a](b.png) c", " c", "![a](S/raw/v1/b.png) c"),
        ("[![a](b.png)](c.md)", "", "[![a](S/raw/v1/b.png)](S/blob/v1/c.md)"),
        ("[a](#b) [c](https://d.example/e)", None, None),
        ("```\n[a](b)\n```", None, None),
    ],
)
def test_what_becomes_of_an_address(
    readme: str, without: str | None, with_address: str | None
) -> None:
    assert long_description(readme, "", "1") == (readme if without is None else without)
    assert long_description(readme, "S", "1") == (readme if with_address is None else with_address)


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel, beside the dependencies that are here."""
    pytest.importorskip("pip", reason="pip is not installed")
    folder = tmp_path_factory.mktemp("installed")
    words = ["-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([sys.executable, *words, "--target", folder, built.wheel], check=True)
    return folder


def called(folder: Path, words: Sequence[str | Path], cwd: Path) -> str:
    """What the installed command prints, called from somewhere else."""
    done = subprocess.run(
        [sys.executable, folder / "bin" / "vlm-eval", *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(folder), "XDG_CACHE_HOME": str(cwd / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_installed_command_runs_the_sample_from_another_directory(
    installed: Path, tmp_path: Path
) -> None:
    run = ["--model", "lexical", "-b", "sample", "--split", "dev", "--limit", "1"]
    called(installed, [*run, "--out", "run", "--progress", "off"], tmp_path)
    assert json.loads((tmp_path / "run/summary.json").read_text("utf-8"))["complete"]
    assert "Step SR" in called(installed, ["report", "run", "--published"], tmp_path)
    called(installed, ["view", "run", "--out", "page"], tmp_path)
    assert list((tmp_path / "page").rglob("*.html"))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_fresh_environment_builds_checks_and_installs_it_and_collects_its_tests(
    built: Built, tmp_path: Path
) -> None:
    def done(*words: str | Path, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            words, cwd=cwd, env=environment, capture_output=True, text=True, check=False
        )

    assert done(sys.executable, "-m", "venv", tmp_path / "env").returncode == 0
    at = tmp_path / "env" / "bin"
    pinned = ("-c", built.unpacked / "constraints.txt")
    for wanted in (["build", "twine"], [*pinned, f"{built.sdist}[test]"]):
        fetched = done(at / "pip", "install", "-q", *wanted)
        if fetched.returncode:
            pytest.skip(f"packages cannot be installed here: {fetched.stderr.strip()[-200:]}")
    made = done(at / "python", "-m", "build", "--outdir", tmp_path / "dist", built.unpacked)
    assert made.returncode == 0, made.stderr
    archives = sorted((tmp_path / "dist").iterdir())
    assert [path.name for path in archives] == sorted([built.sdist.name, built.wheel.name])
    checked = done(at / "twine", "check", "--strict", *archives)
    assert checked.returncode == 0 and checked.stdout.count("PASSED") == 2, checked.stdout
    ran = done(at / "vlm-eval", "--model", "lexical", "--benchmark", "sample", "--out", "run")
    assert ran.returncode == 0 and "Ele. Acc     51.5" in ran.stdout, ran.stderr
    collected = done(at / "pytest", "--collect-only", "-q", cwd=built.unpacked)
    assert collected.returncode == 0, collected.stdout[-2000:]
