"""The software a session ran with: what somebody needs to run it again."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from harness.runs._manifest import Session

DISTRIBUTION = "vlm-web-eval"
GIT_PATIENCE_S = 10


def session(settings: dict[str, Any] | None = None) -> Session:
    """A session that starts now, in this process."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    return Session(started, os.getpid(), settings or {}, environment())


def environment() -> dict[str, Any]:
    """Python, platform, versions of the package and what it needs, commit of a source checkout."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": _packages(),
        "git": _git(Path(__file__).resolve().parents[2]),
    }


def _packages() -> dict[str, str]:
    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        requirements = []
    found = {}
    for name in {DISTRIBUTION, *(re.split(r"[^\w.-]", text)[0] for text in requirements)}:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return dict(sorted(found.items()))


def _git(source: Path) -> dict[str, Any] | None:
    if not (source / ".git").exists():
        return None
    commit = _run_git(source, "rev-parse", "HEAD")
    changes = _run_git(source, "status", "--porcelain", "--untracked-files=no")
    if commit is None or changes is None:
        return None
    return {"commit": commit, "dirty": bool(changes)}


def _run_git(source: Path, *arguments: str) -> str | None:
    # Optional locks off: asking for the status must not get in the way of somebody's commit.
    command = ["git", "--no-optional-locks", "-C", str(source), *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=GIT_PATIENCE_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
