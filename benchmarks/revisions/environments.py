"""A revision that can be run: a source tree and an interpreter that has what it needs."""

from __future__ import annotations

import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FORKS = Path(__file__).with_name("forks.py")
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")
PACKAGES = ("adapters", "harness", "parsers", "reports")
EXTRAS = "local,rank,miniwob,zh"


@dataclass(frozen=True, slots=True)
class Revision:
    """One side of the comparison."""

    side: str
    """`base` or `head`."""
    label: str
    """What the user asked for: a revision of git, or a folder."""
    python: Path
    path: Sequence[Path]
    """What goes first on the import path: the source tree, and its entry points."""
    home: Path
    spellings: Mapping[str, str] = field(default_factory=dict)
    """Words of a command line, as the cases have them, and as this side has them. Words that end
    with "=", "." or a space are the beginning of others."""
    idle: queue.SimpleQueue[Forks] = field(default_factory=queue.SimpleQueue)

    def spelled(self, line: str) -> str:
        """Write a case's command line as this side spells it."""
        for words, here in self.spellings.items():
            end = "" if words.endswith(("=", ".", " ")) else r"(?!\S)"
            pattern = rf"(?<!\S){re.escape(words)}{end}"
            line = here.join(re.split(pattern, line))
        return line

    def command(self, arguments: Sequence[str]) -> list[str]:
        return [str(self.python), "-P", "-m", "harness", *arguments]

    def environment(self, client: str, folder: Path) -> dict[str, str]:
        """Variables of a run: caches in `folder`, no network, and `client` as the API key."""
        own: Mapping[str, str] = {
            "HOME": str(folder),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "HF_HUB_OFFLINE": "1",
            "COLUMNS": "100",
            "TERM": "dumb",
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(map(str, self.path)),
            **dict.fromkeys(KEYS, client),
        }
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        return {**kept, **own}

    @contextmanager
    def forks(self) -> Iterator[Forks]:
        """A process that carries out commands, for one caller at a time."""
        try:
            free = self.idle.get_nowait()
        except queue.Empty:
            free = Forks(self)
        yield free
        if free.alive:
            self.idle.put(free)

    def close(self) -> None:
        while not self.idle.empty():
            self.idle.get_nowait().close()


class Forks:
    """A running `forks.py` of a revision."""

    def __init__(self, revision: Revision) -> None:
        self._process = subprocess.Popen(
            [str(revision.python), "-P", str(FORKS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=revision.environment("", revision.home),
            start_new_session=True,
        )

    @property
    def alive(self) -> bool:
        """False after a command that was killed."""
        return self._process.poll() is None

    def __call__(self, job: Mapping[str, Any], patience_s: float) -> int:
        """Carry out a command and return its exit code; it is killed after `patience_s`."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        late = threading.Timer(patience_s, os.killpg, (process.pid, signal.SIGKILL))
        late.start()
        try:
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            return int(process.stdout.readline() or -1)
        finally:
            late.cancel()

    def close(self) -> None:
        self._process.communicate(timeout=60)


def prepared(
    side: str,
    wanted: str,
    python: Path | None,
    work: Path,
    spelled: Iterable[Mapping[str, Any]] = (),
) -> Revision:
    """A revision of git or a folder, with an interpreter that has the packages it needs.

    `spelled` are tables of spellings (`words`), for source trees `without` a file, or a `text` in
    it.

    A revision becomes a worktree below `work`; a folder is copied there, so that it can be edited
    meanwhile. This interpreter runs it, or the one given, where the revision declares the packages
    of this source tree. Otherwise a virtual environment is made, which takes minutes. The source
    tree goes first on the import path.
    """
    tree = work / f"{side}-source"
    if (Path(wanted) / "pyproject.toml").is_file():
        for name in PACKAGES:
            shutil.copytree(Path(wanted, name), tree / name)
        for name in ("pyproject.toml", "constraints.txt"):
            shutil.copy(Path(wanted, name), tree)
    else:
        git("worktree", "add", "--quiet", "--force", "--detach", str(tree), wanted)
    project = _project(tree)
    if python is None and _needed(project) == _needed(_project(ROOT)):
        python = Path(sys.executable)
    if python is None:
        place = work / f"{side}-environment"
        print(f"{wanted} needs other packages: making an environment for it", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        python = place / "bin" / "python"
        install = [str(python), "-m", "pip", "install", "--quiet", f"{tree}[{EXTRAS}]"]
        subprocess.run([*install, "-c", str(tree / "constraints.txt")], check=True)
    spellings: dict[str, str] = {}
    for table in spelled:
        file = tree / table["without"]
        if not file.exists() or table.get("text", "") not in file.read_text("utf-8"):
            spellings |= table["words"]
    points = _entry_points(project, work / f"{side}-entry-points")
    # Not resolved: a virtual environment's interpreter is a link to the one it was made from.
    return Revision(side, wanted, python.absolute(), (points, tree), work / "home", spellings)


def _project(tree: Path) -> dict[str, Any]:
    text = (tree / "pyproject.toml").read_text("utf-8")
    return dict(tomllib.loads(text)["project"])


def _needed(project: Mapping[str, Any]) -> list[Any]:
    """The packages that a source tree declares for what the cases use."""
    extras = project["optional-dependencies"]
    wanted = [extras.get(extra) for extra in EXTRAS.split(",")]
    return [project["requires-python"], project["dependencies"], *wanted]


def _entry_points(project: Mapping[str, Any], folder: Path) -> Path:
    """The revision's own entry points, which hide those of an installed one, and a judge's."""
    judges = {"vlm_eval.protocols": {"looks-done": "same_results_judge:LooksDone"}}
    packages = {project["name"]: project.get("entry-points", {}), "same-results-judge": judges}
    for name, groups in packages.items():
        info = folder / f"{name.replace('-', '_')}-0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n")
        lines = [
            line
            for group, points in groups.items()
            for line in (f"[{group}]", *(f"{point} = {to}" for point, to in points.items()))
        ]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    shutil.copy(Path(__file__).with_name("judge.py"), folder / "same_results_judge.py")
    return folder


def discard(work: Path) -> None:
    """Take back the worktrees below `work`."""
    for tree in work.glob("*-source/.git"):
        git("worktree", "remove", "--force", str(tree.parent))


def git(*arguments: str) -> None:
    subprocess.run(["git", "-C", str(ROOT), *arguments], check=True)
