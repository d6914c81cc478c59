"""The command line as tests call it, and what a run leaves behind."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from harness.commands.main import run
from tests.pictures import keep_processes
from tests.programs import Program
from tests.servers import Answer, Ask, Reaction, WireServer
from tests.units import flat

DEV = ("--benchmark", "sample", "--split", "dev")
ONE_TASK = (*DEV, "--limit", "1")
TEXT_ONLY = ("--image-policy", "none")
CLICK_A = "ELEMENT: A\nACTION: CLICK\nVALUE: None"
KEYS = (
    *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY"),
    *("GEMINI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"),
)


class Called(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The one line on standard error."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        return lines[0]


def isolate(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    """Work in `place`, with no key, no cache and no settings of the user's.

    Pictures are prepared in processes of the runs before.
    """
    keep_processes(monkeypatch)
    monkeypatch.chdir(place)
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(place / "cache-home"))
    monkeypatch.setenv("HF_HOME", str(place / "hub"))
    monkeypatch.setenv("COLUMNS", "80")


def call(*args: str | Path) -> Called:
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as stopped,
    ):
        run([str(arg) for arg in args])
    assert isinstance(stopped.value.code, int)
    return Called(stopped.value.code, out.getvalue(), err.getvalue())


def start(*args: str | Path, **environment: str) -> Program:
    """Run a command in a process of its own, in the current folder."""
    return Program("-m", "harness", *args, heard=True, environment=environment)


NO_PREFLIGHT = "--adapter-option=preflight=no"


def at(server: WireServer, *args: str | Path, preflight: bool = False) -> tuple[str, ...]:
    """The arguments of a run that asks `server` in OpenAI's way, without a call beforehand."""
    model = () if "--model" in args else ("--model", "openai:m")
    first = () if preflight else (NO_PREFLIGHT,)
    fixed = (*model, "--base-url", server.base_url("openai"), *first)
    line = (*fixed, "--progress", "off", *map(str, args))
    return line if "--json" in line else (*line, "--details")


def benchmark_options(*pairs: str) -> tuple[str, ...]:
    """The arguments that give options of the benchmark: `top_k=5`, ..."""
    return tuple(part for pair in pairs for part in ("--benchmark-option", pair))


def replying(
    second: str | Callable[[Ask], str] = CLICK_A, *, usage: Mapping[str, int] | None = None
) -> Reaction:
    """A server that describes an action in round 1 and answers round 2 with `second`."""

    def react(ask: Ask) -> Answer:
        text = "I would click it."
        if ask.rounds:
            text = second if isinstance(second, str) else second(ask)
        return Answer(text=text, usage=usage or {"input": 100, "cached": 0, "output": 10})

    return react


def whole_text(ask: Ask) -> str:
    """All text of a request."""
    texts = []
    for message in ask.messages:
        content = message.get("content", "")
        parts = [{"text": content}] if isinstance(content, str) else content
        texts += [str(part.get("text", "")) for part in parts]
    return "\n".join(texts)


def steps(run: str | Path) -> list[dict[str, Any]]:
    """What `steps.jsonl` says of recorded steps, the last line of each, with flat names."""
    return [flat(line) for line in last_lines(run)]


def is_right(step: dict[str, Any], choice: dict[str, Any]) -> bool:
    """Whether a choice of a step of `steps` is acceptable."""
    return choice["id"] in step["gold"]["elements"]


def last_lines(run: str | Path) -> list[dict[str, Any]]:
    """The lines of `steps.jsonl`, the last one of each unit, without their checksums."""
    lines = _lines(run, "steps.jsonl")
    return list({(line["unit_id"], line["repeat"]): line for line in lines}.values())


def calls(run: str | Path) -> list[dict[str, Any]]:
    """The lines of `calls.jsonl`, without their checksums."""
    return _lines(run, "calls.jsonl")


def _lines(run: str | Path, name: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (Path(run) / name).read_text().splitlines()]
    for line in lines:
        # Tests write some of them anew.
        line.pop("checksum", None)
    return lines


def summary(run: str | Path) -> dict[str, Any]:
    """`summary.json`."""
    found: dict[str, Any] = json.loads((Path(run) / "summary.json").read_text())
    return found


def macro(lines: list[dict[str, Any]], value: Callable[[dict[str, Any]], float]) -> float:
    """The mean over tasks of the mean over their valid steps, by plain arithmetic."""
    tasks: dict[str, list[float]] = {}
    for line in lines:
        if line["invalid"] is None:
            tasks.setdefault(line["task_id"], []).append(value(line))
    means = [sum(own) / len(own) for own in tasks.values()]
    return sum(means) / len(means)


def table(output: str) -> str:
    """The result table of an output, with the lines below it up to the last count."""
    return output[: output.index("\nrows: ")].strip()
