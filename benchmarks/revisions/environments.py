"""A revision that can be run: a source tree and an interpreter that has what it needs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).resolve().parents[2]
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")
EXTRAS = "local,rank"


@dataclass(frozen=True, slots=True)
class Revision:
    """One side of the comparison."""

    side: str
    """`base` or `head`."""
    label: str
    """What the user asked for: a revision of git, or a folder."""
    python: Path
    tree: Path | None
    """Source tree that goes first on the import path; None where a wheel is installed."""
    spellings: Mapping[str, str] = field(default_factory=dict)
    """Words of a command line, as the cases have them, and as this side has them."""

    def spelled(self, line: str) -> str:
        """Write a case's command line as this side spells it."""
        for words, here in self.spellings.items():
            pattern = rf"(?<!\S){re.escape(words)}(?!\S)"
            line = here.join(re.split(pattern, line))
        return line

    def command(self, arguments: Sequence[str]) -> list[str]:
        return [str(self.python), "-m", "harness", *arguments]

    def environment(self, client: str, folder: Path) -> dict[str, str]:
        """Variables of a run: caches in `folder`, no network, and `client` as the API key."""
        own: Mapping[str, str] = {
            "HOME": str(folder),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "HF_HUB_OFFLINE": "1",
            "COLUMNS": "100",
            "TERM": "dumb",
            "OMP_NUM_THREADS": "1",
            **dict.fromkeys(KEYS, client),
        }
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        return {**kept, **own, **({"PYTHONPATH": str(self.tree)} if self.tree else {})}


def prepared(
    side: str,
    wanted: str,
    python: Path | None,
    work: Path,
    spellings: Mapping[str, str] = MappingProxyType({}),
) -> Revision:
    """A revision of git or a folder, with the interpreter given or in an environment of its own.

    A revision becomes a worktree below `work`. With an interpreter its packages are used and the
    source tree is put on the import path; without, a virtual environment is made and the wheel is
    installed, extras included, which takes minutes.
    """
    tree = Path(wanted)
    if not (tree / "pyproject.toml").is_file():
        tree = work / f"{side}-source"
        git("worktree", "add", "--quiet", "--force", "--detach", str(tree), wanted)
    tree = tree.resolve()
    if python is not None:
        # Not resolved: a virtual environment's interpreter is a link to the one it was made from.
        return Revision(side, wanted, python.absolute(), tree, spellings)
    place = work / f"{side}-environment"
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    interpreter = place / "bin" / "python"
    install = [str(interpreter), "-m", "pip", "install", "--quiet", f"{tree}[{EXTRAS}]"]
    subprocess.run([*install, "-c", str(tree / "constraints.txt")], check=True)
    return Revision(side, wanted, interpreter, None, spellings)


def discard(work: Path) -> None:
    """Take back the worktrees below `work`."""
    for tree in work.glob("*-source"):
        git("worktree", "remove", "--force", str(tree))


def git(*arguments: str) -> None:
    subprocess.run(["git", "-C", str(ROOT), *arguments], check=True)
