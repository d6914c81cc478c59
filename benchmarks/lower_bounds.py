"""Can the lowest versions that pyproject.toml allows be installed, and do they run the sample?

    pip install uv && python benchmarks/lower_bounds.py [--smoke]

Resolves every extra from wheels alone: at its lowest on the Pythons that have been tried, at its
newest on those that are only allowed, for four platforms. `--smoke` also installs the lowest
versions of the package alone, for each of these Pythons that uv finds, and runs a task of the
sample. Exit status 1 if anything fails. For the whole suite at its lowest, install what
`--write DIR` writes for `test,local,rank`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRIED = ("3.11", "3.12", "3.13")
ALLOWED = ("3.14",)
PLATFORMS = ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "macos", "windows")
FROM_SOURCE = ("jieba",)
"""Packages of Python alone that have no wheel."""
TOGETHER = ("test,local,rank",)
"""Extras that are installed together, in addition to each alone."""


@dataclass(frozen=True)
class Case:
    """A set of requirements to resolve: extras (none: the package alone), and their purpose."""

    extras: str
    python: str
    platform: str = ""

    def command(self, lowest: bool) -> list[str]:
        """Return uv's command. Only declared packages are lowered; the rest are the newest."""
        words = ["uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate"]
        words += ["pyproject.toml", "--python-version", self.python, "--only-binary", ":all:"]
        for name in FROM_SOURCE:
            words += ["--no-binary", name]
        for extra in filter(None, self.extras.split(",")):
            words += ["--extra", extra]
        if lowest:
            words += ["--resolution", "lowest-direct"]
        return words + (["--python-platform", self.platform] if self.platform else [])


def cases(extras: Sequence[str]) -> Iterator[Case]:
    """Everything that is resolved: tried Pythons here, allowed ones on every platform."""
    for names in ("", *extras, *TOGETHER):
        yield from (Case(names, python) for python in TRIED)
        yield from (Case(names, python, platform) for python in ALLOWED for platform in PLATFORMS)


def reason(error: str) -> str:
    """Extract the cause of a failure from uv's output, in one line."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    found = [line for line in lines if line.startswith(("cause:", "×", "╰─▶"))] or lines
    return re.sub(r"\s+", " ", found[0] if found else "no reason given")


def resolve(case: Case) -> tuple[str, str]:
    """The pins of a case, or why there are none."""
    command = case.command(lowest=case.python in TRIED)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return (done.stdout, "") if done.returncode == 0 else ("", reason(done.stderr))


def smoke(python: str, pins: str, folder: Path) -> str:
    """Install pins for a Python and run the sample's first task; the failure, or nothing."""
    (folder / "pins.txt").write_text(pins, "utf-8")
    at = folder / "env"
    command = at / ("Scripts" if sys.platform == "win32" else "bin") / "vlm-eval"
    uv = ["uv", "pip", "install", "--quiet", "--python", str(at)]
    options = ["--model", "lexical", "-b", "sample", "--limit", "1", "--progress", "off"]
    steps = [
        ["uv", "venv", "--quiet", "--no-python-downloads", "--python", python, str(at)],
        [*uv, "-r", str(folder / "pins.txt")],
        [*uv, "--no-deps", str(ROOT)],
        [str(command), *options, "--out", "run"],
    ]
    for words in steps:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            return reason(done.stderr or done.stdout)
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--smoke", action="store_true", help="install and run the lowest versions")
    parser.add_argument("--write", type=Path, metavar="DIR", help="where to write the pins")
    options = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    failed = 0
    wanted = list(cases(list(project["optional-dependencies"])))
    with ThreadPoolExecutor(8) as pool:
        resolved = list(pool.map(resolve, wanted))
    for case, (pins, why) in zip(wanted, resolved, strict=True):
        what = f"[{case.extras}]" if case.extras else "alone"
        told = f"Python {case.python} {case.platform}".strip()
        if case.python in TRIED and not case.extras and pins and options.smoke:
            with tempfile.TemporaryDirectory() as folder:
                why = smoke(case.python, pins, Path(folder))
            told += ", run"
        print(f"{what}, {told}: {why or 'ok'}", flush=True)
        failed += bool(why)
        if options.write and pins:
            options.write.mkdir(parents=True, exist_ok=True)
            name = "-".join(
                filter(None, [case.extras.replace(",", "-"), case.python, case.platform])
            )
            (options.write / f"{name}.txt").write_text(pins, "utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
