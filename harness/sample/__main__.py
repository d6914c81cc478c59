"""`python -m harness.sample build` makes the sample; `check` compares a rebuild with it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.errors import UserError
from harness.sample import columns, files
from harness.sample.build import build, rows_of
from harness.sample.compare import compare
from harness.sample.trajectories import load


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 if all went well, 1 if a rebuild differs, 2 if something is missing."""
    parser = argparse.ArgumentParser(prog="python -m harness.sample", description=__doc__)
    parser.add_argument("command", choices=("build", "check"))
    parser.add_argument("--out", type=Path, help="folder of the files (default: the shipped ones)")
    parser.add_argument("--browser", type=Path, help="Chromium to use (default: on the path)")
    chosen = parser.parse_args(arguments)
    try:
        return _build(chosen) if chosen.command == "build" else _check(chosen)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _build(chosen: argparse.Namespace) -> int:
    out = chosen.out or files()["dev"].parent
    for path in build(load(), out, chosen.browser, _tell):
        print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
    return 0


def _check(chosen: argparse.Namespace) -> int:
    shipped = files()
    if chosen.out:
        shipped = {split: chosen.out / path.name for split, path in shipped.items()}
    if absent := [str(path) for path in shipped.values() if not path.exists()]:
        raise UserError(f"nothing to compare with: {', '.join(absent)} missing")
    rebuilt = rows_of(load(), chosen.browser, _tell)
    failed = False
    for split, path in shipped.items():
        found = compare(columns.read(path, without=("screenshot",)), rebuilt.get(split, []))
        print("\n".join([f"{split}: {len(found.differences)} differences", *found.differences]))
        if found.moved:
            print(f"{split}: {found.moved} rows differ in candidates, or only in their boxes")
        failed |= bool(found.differences)
    return int(failed)


def _tell(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
