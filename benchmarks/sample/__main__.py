"""`python -m benchmarks.sample build` builds the samples; `check` compares a rebuild with them.

`count` prints statistics of the files. A part's name after the command: only that one. `serve SITE`
serves one of the sites on this machine, to try the recorder.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.sample import places, questions, screens
from benchmarks.sample.build import Part, build, compare, parts, rows_of
from benchmarks.sample.counts import count
from benchmarks.sample.serving import server
from harness.errors import UserError
from harness.sample import SCREENS, WINDOWS, files

PARTS = ("tasks", "conversations", "screens", "windows")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0 on success, 1 if a rebuild differs, 2 if something is missing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sample", description=__doc__)
    parser.add_argument("command", choices=("build", "check", "count", "serve"))
    parser.add_argument("part", nargs="?", help=f"one of {', '.join(PARTS)} (default: all); a site")
    parser.add_argument("--out", type=Path, help="folder of the files (default: the shipped ones)")
    parser.add_argument("--browser", type=Path, help="Chromium to use (default: the one on PATH)")
    parser.add_argument("--port", type=int, default=8000, help="of a served site (8000)")
    chosen = parser.parse_args(arguments)
    if chosen.command == "serve":
        return _serve(chosen.part or "", chosen.port)
    if chosen.part not in (None, *PARTS):
        parser.error(f"{chosen.part} is not one of {', '.join(PARTS)}")
    wanted = [part for part in parts() if chosen.part in (None, part.name)]
    if chosen.out:
        wanted = [part.within(chosen.out) for part in wanted]
    do = {"build": _build, "check": _check, "count": _count}[chosen.command]
    folder = SCREENS if chosen.out is None else chosen.out / SCREENS.name
    try:
        codes = [do(part, chosen.browser) for part in wanted]
        if chosen.part in (None, "screens"):
            codes.append(_screens(chosen.command, folder, chosen.browser))
        if chosen.part in (None, "windows"):
            codes.append(_windows(chosen.command, chosen.out))
        return max(codes)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _serve(site: str, port: int) -> int:
    try:
        with server(site, port) as serving:
            print(f"{site}: http://localhost:{serving.server_port}/ (Ctrl-C ends it)")
            serving.serve_forever()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 0
    return 0


def _screens(command: str, folder: Path, browser: Path | None) -> int:
    if command == "build":
        _print_sizes(
            screens.write(screens.record(screens.episodes(), browser, _print_progress), folder)
        )
        return 0
    _refuse_missing([folder / "steps.jsonl"])
    shipped = screens.lines(folder)
    if command == "count":
        print("\n".join(screens.counts(shipped)))
        return 0
    again = screens.record(screens.episodes(), browser, _print_progress)
    found, moved = screens.differences(shipped, [line for line, _ in again])
    print("\n".join([f"screens: {len(found)} differences, {moved} steps differ", *found]))
    return int(bool(found))


def _windows(command: str, out: Path | None) -> int:
    """Make, or make again and compare, the lines about windows of the recorded tasks."""
    codes = []
    for name, lines in (("places", places.lines), ("questions", questions.lines)):
        recorded = [path if out is None else out / path.name for path in files().values()]
        _refuse_missing(recorded)
        made = [msgspec.json.encode(line) for path in recorded for line in lines(path)]
        path = (WINDOWS if out is None else out / WINDOWS.name) / f"{name}.jsonl"
        if command == "build":
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"".join(line + b"\n" for line in made))
            _print_sizes([path])
            continue
        _refuse_missing([path])
        shipped = path.read_bytes().splitlines()
        differ = len({*made} ^ {*shipped}) or int(made != shipped)
        print(f"{name}: {len(shipped)}" + (f", {differ} differ" if command == "check" else ""))
        codes.append(int(command == "check" and made != shipped))
    return max(codes, default=0)


def _build(part: Part, browser: Path | None) -> int:
    _print_sizes(build(part, browser, _print_progress))
    return 0


def _print_sizes(paths: Sequence[Path]) -> None:
    for path in paths:
        print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")


def _count(part: Part, browser: Path | None) -> int:
    _refuse_missing(_files(part))
    for split, paths in part.files.items():
        sessions = [tasks for tasks in part.sessions if tasks[0].site.split == split]
        turns = "" if part.name == "tasks" else f"{len(sessions)} conversations; turns as "
        size = sum(path.stat().st_size for path in paths) / 1e6
        print(f"{split}: {turns}{count(part.read(*paths))}; {size:.2f} MB")
    return 0


def _files(part: Part) -> list[Path]:
    return [path for found in part.files.values() for path in found]


def _refuse_missing(paths: Sequence[Path]) -> None:
    if missing := [str(path) for path in paths if not path.exists()]:
        raise UserError(f"{', '.join(missing)} missing; run: python -m benchmarks.sample build")


def _check(part: Part, browser: Path | None) -> int:
    _refuse_missing(_files(part))
    rebuilt = rows_of(part.sessions, browser, _print_progress)
    failed = False
    for split, paths in part.files.items():
        comparison = compare(part.read(*paths, without=("screenshot",)), rebuilt.get(split, []))
        found = f"{part.name} of {split}: {len(comparison.differences)} differences"
        print("\n".join([found, *comparison.differences]))
        if comparison.moved:
            print(f"{split}: {comparison.moved} rows differ in candidates, or only in their boxes")
        failed |= bool(comparison.differences)
    return int(failed)


def _print_progress(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
