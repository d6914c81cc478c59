"""A judge in three stages: key points, a look at each step, a verdict.

It is an extension that uses nothing internal: it judges a finished run of a made-up benchmark.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from adapters import Conversation, Fatal, Reply, Request, user
from harness.benchmarks import BENCHMARKS
from harness.dialogue import Ask, Dialogue
from harness.judging import JudgingProtocol, TrajectoryView, judged, seen
from harness.protocols import PROTOCOLS
from parsers import Measure, Status
from tests.extensions.made_up import known
from tests.harness.commands.tool import at, call, isolate, last_lines, summary
from tests.servers import Answer, WireServer
from tests.test_made_up_kind import ReadTheSign, RoadSigns


@dataclass(frozen=True)
class ThreeStages(JudgingProtocol):
    """Key points of the task, a score of each step, and a verdict over both."""

    threshold: int = 3
    """Least score of a step that the verdict is shown."""

    name = "three-stages"
    measures = (
        Measure("succeeded", "Succeeded", "the judge says that the task is done", main=True),
        Measure("kept", "Kept", "steps shown for the verdict", averages=("quartiles",)),
    )

    def calls(self, count: int) -> tuple[int, int]:
        return 2, 52

    def dialogue(self, view: TrajectoryView) -> Dialogue:
        tried = view.content
        points = yield Ask(_about(f"Task: {tried.goal}\nList its key points."), "points")
        looks = yield tuple(
            Ask(
                _about(*seen(view, step), f"{step.action or step.said}\nScore 1 to 5?"),
                f"step-{at}",
            )
            for at, step in enumerate(tried.steps)
        )
        assert isinstance(looks, tuple)
        scores = [int((re.findall("[1-5]", _text(one)) or "0")[0]) for one in looks]
        rated = zip(tried.steps, scores, strict=True)
        kept = [step.action for step, score in rated if score >= self.threshold]
        lines = (f"Points: {_text(points)}", *kept, f"Answer: {tried.answer}", "Status?")
        verdict = yield Ask(_about("\n".join(lines)), "verdict")
        word = _text(verdict).strip().rpartition("Status: ")[2].lower()
        values: dict[str, float | None] = {"kept": float(len(kept))}
        said = {"scores": ",".join(map(str, scores))}
        if word not in ("success", "failure"):
            return judged(values, said, Status.PARSE_ERROR)
        return judged({**values, "succeeded": float(word == "success")}, said)


def _about(*parts: Any) -> Conversation:
    return Conversation((user(*parts),))


def _text(reply: object) -> str:
    return reply.text if isinstance(reply, Reply) else ""


@dataclass(frozen=True)
class JudgedSigns(RoadSigns):
    name: str = "judged-signs"


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)
    for registry, name, thing in (
        (BENCHMARKS, "judged-signs", JudgedSigns),
        (PROTOCOLS, "read-the-sign", ReadTheSign),
        (PROTOCOLS, "three-stages", ThreeStages),
    ):
        known(monkeypatch, registry, name, thing)
    ASKED.clear()


ASKED: list[Request] = []


LAST = 0
"""The number of the call at which the judge falls asleep; 0 for never."""


def judge(request: Request) -> str:
    """Find that a task is done if the answer is a limit."""
    ASKED.append(request)
    if len(ASKED) == LAST:
        raise Fatal("the judge is asleep")
    text = request.conversation.messages[-1].text
    if request.place == "verdict":
        return f"Status: {'success' if 'Answer: limit' in text else 'failure'}"
    return "4, say" if request.place.startswith("step") else "that it is read"


JUDGE = "scripted:tests.extensions.test_judge:judge"
RUN = ("run", "-m", "oracle", "-b", "judged-signs", "-o", "run")
JUDGED = ("run", "-m", JUDGE, "-b", "judgment:three-stages:run")


def judgment(of: str = "run", number: int = 0) -> Path:
    return sorted(Path(of, "judgments").iterdir())[number]


def verdicts(path: Path) -> dict[str, float | None]:
    return {line["unit_id"]: line["scores"]["succeeded"] for line in last_lines(path)}


RIGHT = {"sign-0": 1.0, "sign-1": 0.0, "sign-2": 1.0}
"""Signs whose answer is a limit."""


def test_a_finished_run_is_judged_and_stays_as_it_is() -> None:
    call(*RUN)
    before = {path: path.read_bytes() for path in Path("run").rglob("*") if path.is_file()}
    ran = call(*JUDGED)
    assert ran.code == 0 and "Succeeded" in ran.out and f"complete: {judgment()}" in ran.err
    assert verdicts(judgment()) == RIGHT and len(ASKED) == 9
    assert all(path.read_bytes() == data for path, data in before.items())
    kept = call("report", judgment(), "--format", "json")
    (row,) = (row for row in json.loads(kept.out)["rows"] if row["line"] == "valid")
    assert (row["succeeded_macro"], row["kept_median"]) == (0.75, 1.0)
    assert "0 of 3 predictions read differently" in call("score", judgment()).out


def test_neither_reward_nor_right_answer_nor_agent_reach_the_judge() -> None:
    script = "scripted:tests.extensions.test_judge:mistaken"
    call("run", "-m", script, "-b", "judged-signs", "-o", "run")
    call(*JUDGED)
    assert set(verdicts(judgment()).values()) == {0.0}
    sent = "\n".join(m.text for one in ASKED for m in one.conversation.messages)
    assert "yield" in sent and "a 50" in sent  # what was answered and asked
    for secret in ("stop", "limit", "mistaken", "scripted", "named", "speed"):
        assert secret not in sent


def mistaken(request: Request) -> str:
    return "yield"


def test_others_judge_next_to_the_first() -> None:
    call(*RUN)
    call(*JUDGED)
    again = call(*JUDGED)
    assert again.code == 0 and len(ASKED) == 9  # the same judgement, which is complete
    strict = ("--protocol-option", "threshold=5", "--repeats", "2")
    other = call(*JUDGED, *strict, "-o", "run/judgments/strict")
    assert other.code == 0 and "Kept" in other.out
    assert {name.name for name in Path("run/judgments").iterdir()} >= {"strict"}
    assert len(last_lines("run/judgments/strict")) == 6


def test_an_interrupted_judgement_goes_on_with_the_same_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    call(*RUN)
    monkeypatch.setattr("tests.extensions.test_judge.LAST", 5)
    first = call(*JUDGED)
    assert first.code == 2 and "the judge is asleep" in first.err
    done = len(ASKED)
    monkeypatch.setattr("tests.extensions.test_judge.LAST", 0)
    second = call(*JUDGED)
    assert second.code == 0 and verdicts(judgment()) == RIGHT
    assert len({(one.unit_id, one.place) for one in ASKED}) == 9 and len(ASKED) == 10 > done


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-b", "judgment:nobody:run"), "unknown protocol 'nobody'"),
        (("-b", "judgment:seeact-two-rounds:run"), "judges no trajectories"),
        (("-b", "judgment:three-stages:nowhere"), "nowhere is not a run"),
        (("-b", "judgment:three-stages"), "names a judging protocol and a run"),
        (("-b", "judgment", "--protocol", "three-stages"), "by which method? Write judgment:"),
    ],
)
def test_mistakes_are_a_line(words: tuple[str, ...], said: str) -> None:
    told = call("run", "-m", "oracle", *words)
    assert told.code == 2 and said in told.complaint


def test_an_unfinished_run_and_a_judgement_are_not_judged_later() -> None:
    call(*RUN)
    call(*JUDGED)
    twice = call("run", "-m", JUDGE, "-b", f"judgment:three-stages:{judgment()}")
    assert twice.code == 2 and "is a judgement" in twice.complaint
    Path("run/summary.json").unlink()
    told = call("run", "-m", JUDGE, "-b", "judgment:three-stages:run", "-o", "other")
    assert told.code == 2 and "is not finished" in told.complaint


def test_a_judgement_is_priced_limited_and_cached_by_itself() -> None:
    call(*RUN)
    spent = summary("run")["cost"]
    Path("prices.toml").write_text('["openai:m"]\ninput = 1000.0\noutput = 2000.0\n')
    said = Answer("Status: success", usage={"input": 100, "output": 10})
    with WireServer([said]) as server:
        data = ("-b", "judgment:three-stages:run", "--prices", "prices.toml")
        limited = call(*at(server, *data, "-o", "run/judgments/a", "--max-cost", "0.1"))
        assert limited.code == 1 and "cost limit" in limited.err
        before = server.count
        first = call(*at(server, *data, "-o", "run/judgments/b", "--max-cost", "99"))
        asked = server.count
        kept = "--max-cost", "99", "--cache"
        again = call(*at(server, *data, "-o", "run/judgments/c", *kept, preflight=True))
        assert (first.code, again.code) == (0, 0) and server.count == asked + 1
    assert summary("run/judgments/b")["cost"] == pytest.approx((asked - before) * 0.12)
    assert summary("run/judgments/c")["cost"] == 0
    assert "9 of 9 replies reused from" in again.out and summary("run")["cost"] == spent
