"""Break the source in small ways, and see what notices: the tests, or `same_results.py`.

    python benchmarks/mutations.py draw                 # write mutations.json anew
    python benchmarks/mutations.py apply 17 TREE        # the source tree with mutation 17
    python benchmarks/mutations.py try FILE.json --mutations 1-60 -- pytest -q -x -n 2 -m core
    python benchmarks/mutations.py try FILE.json --mutations 61-70 --net random-repeats ...
    python benchmarks/mutations.py try FILE.json --recorded   # only the test that caught it before

`draw` takes SEED, 15 mutations from each of four areas and 10 from the code of means, intervals,
parents, repeats and chance: a comparison, a number or truth value, a `not`, an `if`, a returned
value. `try` makes a worktree of HEAD, applies one mutation after the other and runs the command in
it. FILE.json then has for each whether it was caught (the command failed and names what), was not,
is gone from the source, or broke the command itself. With a FILE.json that exists it goes on.

`mutations_caught.json` says what notices each of the first 60: `default`, a test that README's
command runs; `complete`, a test that only the complete suite runs; `gone`, where its code is no
longer there; or, where nothing notices it, `equivalent` or `unnoticed` with the reason.
"""

from __future__ import annotations

import argparse
import ast  # noqa: TID251 -- reads our own source
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_suffix(".json")
CAUGHT = LIST.with_name("mutations_caught.json")
SEED = 20261128
NUMBERS = [f"parsers/{name}.py" for name in ("averages", "counting", "estimates", "parts", "rates")]
CHANCE = ["harness/benchmarks/scoring.py", "harness/benchmarks/step/extras.py"]
AREAS: Mapping[str, tuple[list[str], list[str], int]] = {
    "parsers": (["parsers/**/*.py"], NUMBERS, 3),
    "engine and runs": (["harness/engine/**/*.py", "harness/runs/**/*.py"], [], 3),
    "aggregation": (NUMBERS, [], 3),
    "adapters": (
        ["adapters/**/*.py"],
        ["adapters/local/**/*.py", "adapters/vllm.py", "adapters/embedders.py"],
        3,
    ),
    "numbers": ([*NUMBERS, *CHANCE], [], 2),
}
"""By name: patterns of files, patterns that are left out, and how many mutations of each kind."""
KINDS = ("comparison", "constant", "not", "if", "returned value")
OTHER = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change of whole lines of a file, from `before` to `after`.

    number: its number in the list.
    line: where the lines were when it was drawn; they are looked for nearby.
    """

    number: int
    area: str
    kind: str
    file: str
    line: int
    before: str
    after: str

    def apply(self, tree: Path) -> bool:
        """Change the file in a tree; False if the lines are not there any more."""
        path = tree / self.file
        text = path.read_text("utf-8") if path.exists() else ""
        starts = [at for at in range(len(text)) if text.startswith(self.before, at)]
        starts = [at for at in starts if at == 0 or text[at - 1] == "\n"]
        if not starts:
            return False
        nearest = min(starts, key=lambda at: abs(text.count("\n", 0, at) + 1 - self.line))
        end = nearest + len(self.before)
        path.write_text(text[:nearest] + self.after + text[end:], "utf-8")
        return True


def places(tree: ast.Module) -> Iterator[tuple[str, ast.expr, str]]:
    """Kind, expression and what it becomes; `{}` stands for its source."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            skipped.update(map(id, ast.iter_child_nodes(node)))
            continue
        # Annotations, decorators and assertions decide on nothing.
        for name in ("annotation", "returns", "decorator_list"):
            value = getattr(node, name, None) or []
            skipped.update(map(id, value if isinstance(value, list) else [value]))
        if isinstance(node, ast.Assert | ast.Raise):
            skipped.update(map(id, ast.iter_child_nodes(node)))
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = node.left, node.comparators[0]
            yield "comparison", node, f"{{{id(left)}}} {OTHER[type(node.ops[0])]} {{{id(right)}}}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield "constant", node, str(not node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            yield "constant", node, repr(node.value + 1)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield "not", node, f"({{{id(node.operand)}}})"
        elif isinstance(node, ast.If | ast.IfExp):
            yield "if", node.test, "not ({})"
        elif isinstance(node, ast.Return) and not _none(node.value):
            yield "returned value", cast(ast.expr, node.value), "None"


def _none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def mutations_of(path: Path, area: str) -> Iterator[Mutation]:
    """Every mutation of a file, as `number` 0."""
    text = path.read_text("utf-8")
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    tree = ast.parse(text)
    nodes = {str(id(node)): node for node in ast.walk(tree) if isinstance(node, ast.expr)}
    for kind, node, becomes in places(tree):
        for key, inner in nodes.items():
            if f"{{{key}}}" in becomes:
                becomes = becomes.replace(f"{{{key}}}", ast.get_source_segment(text, inner) or "")
        becomes = becomes.replace("{}", ast.get_source_segment(text, node) or "")
        assert node.end_lineno is not None and node.end_col_offset is not None
        block = lines[node.lineno - 1 : node.end_lineno]
        head, tail = block[0][: node.col_offset], block[-1][node.end_col_offset :]
        after = (head + becomes.encode() + tail).decode()
        try:
            ast.parse(text.replace(b"".join(block).decode(), after, 1))
        except SyntaxError:  # a comparison over lines, without the brackets that it stood in
            continue
        file = str(path.relative_to(ROOT))
        yield Mutation(0, area, kind, file, node.lineno, b"".join(block).decode(), after)


def draw() -> list[Mutation]:
    """The list, which follows from the source and SEED."""
    drawn: list[Mutation] = []
    for area, (wanted, unwanted, of_each) in AREAS.items():
        left_out = {path for pattern in unwanted for path in ROOT.glob(pattern)}
        files = {path for pattern in wanted for path in ROOT.glob(pattern)} - left_out
        every = [one for path in sorted(files) for one in mutations_of(path, area)]
        for kind in KINDS:
            known = {(one.file, one.line, one.after) for one in drawn}
            of_kind = [
                one
                for one in every
                if one.kind == kind and (one.file, one.line, one.after) not in known
            ]
            drawn += random.Random(f"{SEED} {area} {kind}").sample(of_kind, of_each)
    return [
        Mutation(**{**asdict(one), "number": number}) for number, one in enumerate(drawn, start=1)
    ]


def recorded() -> list[Mutation]:
    return [Mutation(**one) for one in json.loads(LIST.read_text("utf-8"))]


def catching() -> dict[int, str]:
    """Return the test that is recorded for each mutation that one notices."""
    found: dict[str, dict[str, str]] = json.loads(CAUGHT.read_text("utf-8"))
    tests = {
        int(number): one.get("default") or one.get("complete") for number, one in found.items()
    }
    return {number: test for number, test in tests.items() if test}


def attempt(
    mutations: list[Mutation],
    command: list[str],
    tests: Mapping[int, str],
    net: list[str],
    target: Path,
    timeout_s: float,
) -> None:
    """Apply each to a worktree and run a command there; what came out is written after each.

    tests: the test that is added to the command for each mutation; without one, all of them.
    """
    found: dict[str, dict[str, object]] = {}
    if target.exists():
        found = json.loads(target.read_text("utf-8"))
    with tempfile.TemporaryDirectory(prefix="mutations-") as name:
        tree = Path(name) / "tree"
        git(ROOT, "worktree", "add", "--quiet", "--detach", str(tree), "HEAD")
        try:
            if net:
                own = [sys.executable, "-m", "benchmarks.same_results", str(ROOT), str(tree)]
                command = [*own, "--only", *net]
            for mutation in [None, *mutations]:
                key = str(mutation.number) if mutation else "none"
                if key in found:
                    continue
                began = time.monotonic()
                if mutation and not mutation.apply(tree):
                    outcome, said = "gone", ""
                else:
                    named = [tests[mutation.number]] if mutation and tests else tests.values()
                    outcome, said = _outcome([*command, *named], ROOT if net else tree, timeout_s)
                if mutation is None and outcome != "not caught":
                    sys.exit(f"the command fails without any mutation:\n{said}")
                git(tree, "checkout", "--quiet", "--", ".")
                found[key] = {
                    "outcome": outcome,
                    "seconds": round(time.monotonic() - began),
                    "said": said,
                }
                target.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
                print(f"{key:>4} {outcome:<10} {mutation.file if mutation else ''}", flush=True)
        finally:
            git(ROOT, "worktree", "remove", "--force", str(tree))


def _outcome(command: list[str], folder: Path, timeout_s: float) -> tuple[str, str]:
    """`caught`, `not caught` or `broken`, with what the command printed about it.

    The packages in the folder go before those that are installed.
    """
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout_s,
        )
    except subprocess.TimeoutExpired:
        return "caught", f"no end after {timeout_s:g} s"
    told = ("FAILED", "ERROR", "DIFFERS", "!!!!")  # the last is pytest that a signal has ended
    lines = [line for line in done.stdout.splitlines() if line.startswith(told)]
    said = "\n".join(lines[:3]) or (done.stdout + done.stderr)[-400:]
    if not done.returncode:
        return "not caught", said
    return ("caught" if lines else "broken"), said


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True)


def numbers_in(text: str) -> set[int]:
    """The numbers of `1-15,20`."""
    numbers: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    does = parser.add_subparsers(dest="does", required=True)
    does.add_parser("draw")
    once = does.add_parser("apply")
    once.add_argument("number", type=int)
    once.add_argument("tree", type=Path)
    many = does.add_parser("try")
    many.add_argument("target", type=Path, help="a file that is gone on with, if there is one")
    many.add_argument("--mutations", default="1-60")
    many.add_argument("--net", nargs="*", default=[], help="cases of same_results.py")
    many.add_argument("--recorded", action="store_true", help="run the test that noticed each")
    many.add_argument("--timeout", type=float, default=3600.0, help="seconds for each")
    given, command = sys.argv[1:], list[str]()
    if "--" in given:
        given, command = given[: given.index("--")], given[given.index("--") + 1 :]
    options = parser.parse_args(given)
    if options.does == "draw":
        drawn = [asdict(one) for one in draw()]
        LIST.write_text(json.dumps(drawn, indent=1) + "\n", "utf-8")
        return
    by_number = {one.number: one for one in recorded()}
    if options.does == "apply":
        if not by_number[options.number].apply(options.tree):
            sys.exit(f"{by_number[options.number].file} has not these lines any more")
        return
    chosen = [by_number[number] for number in sorted(numbers_in(options.mutations))]
    tests = catching() if options.recorded else {}
    if tests:
        chosen = [one for one in chosen if one.number in tests]
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    attempt(chosen, command, tests, options.net, options.target, options.timeout)


if __name__ == "__main__":
    main()
