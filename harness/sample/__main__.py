"""`python -m harness.sample build` builds the sample; `check` compares a rebuild with it.

`count` prints statistics of the files.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.errors import UserError
from harness.sample import columns, files
from harness.sample.build import build, compare, rows_of
from harness.sample.counts import count
from harness.sample.trajectories import load


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0 on success, 1 if a rebuild differs, 2 if something is missing."""
    parser = argparse.ArgumentParser(prog="python -m harness.sample", description=__doc__)
    parser.add_argument("command", choices=("build", "check", "count"))
    parser.add_argument("--out", type=Path, help="folder of the files (default: the shipped ones)")
    parser.add_argument("--browser", type=Path, help="Chromium to use (default: the one on PATH)")
    chosen = parser.parse_args(arguments)
    try:
        return {"build": _build, "check": _check, "count": _count}[chosen.command](chosen)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _build(chosen: argparse.Namespace) -> int:
    out = chosen.out or files()["dev"].parent
    for path in build(load(), out, chosen.browser, _print_progress):
        print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
    return 0


def _count(chosen: argparse.Namespace) -> int:
    for split, path in _existing(chosen).items():
        print(f"{split}: {count(columns.read(path))}; {path.stat().st_size / 1e6:.2f} MB")
    return 0


def _existing(chosen: argparse.Namespace) -> dict[str, Path]:
    paths = files()
    if chosen.out:
        paths = {split: chosen.out / path.name for split, path in paths.items()}
    if missing := [str(path) for path in paths.values() if not path.exists()]:
        raise UserError(f"{', '.join(missing)} missing; run: python -m harness.sample build")
    return paths


def _check(chosen: argparse.Namespace) -> int:
    shipped = _existing(chosen)
    rebuilt = rows_of(load(), chosen.browser, _print_progress)
    failed = False
    for split, path in shipped.items():
        comparison = compare(columns.read(path, without=("screenshot",)), rebuilt.get(split, []))
        print(
            "\n".join(
                [f"{split}: {len(comparison.differences)} differences", *comparison.differences]
            )
        )
        if comparison.moved:
            print(f"{split}: {comparison.moved} rows differ in candidates, or only in their boxes")
        failed |= bool(comparison.differences)
    return int(failed)


def _print_progress(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
