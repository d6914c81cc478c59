"""A judge in three stages: key points, a look at each step, a verdict.

It is an extension that uses nothing internal: it judges a made-up benchmark, while it runs and
afterwards.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import harness
from adapters import Conversation, Fatal, Fault, Reply, Request, user
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
    after = ("three-stages",)


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


def judgment(of: str = "run", number: int = 0) -> Path:
    return sorted(Path(of, "judgments").iterdir())[number]


def verdicts(path: Path) -> dict[str, float | None]:
    return {line["unit_id"]: line["scores"]["succeeded"] for line in last_lines(path)}


RIGHT = {"sign-0": 1.0, "sign-1": 0.0, "sign-2": 1.0}
"""Signs whose answer is a limit."""


def test_units_are_judged_as_they_end_and_the_run_stays_as_it_is() -> None:
    ran = call(*RUN, "--judge", JUDGE)
    assert ran.code == 0 and f"Succeeded 75.0; {judgment()}" in ran.err
    assert verdicts(judgment()) == RIGHT and len(ASKED) == 9
    alone = call(*RUN[:-1], "alone")
    assert alone.code == 0 and not Path("alone/judgments").exists()
    for name in ("kind", "unit_id", "prediction", "scores", "calls", "cost"):
        both = [[line[name] for line in last_lines(run)] for run in ("run", "alone")]
        assert both[0] == both[1]
    kept = call("report", judgment(), "--format", "json")
    (row,) = (row for row in json.loads(kept.out)["rows"] if row["line"] == "valid")
    assert (row["succeeded_macro"], row["kept_median"]) == (0.75, 1.0)
    assert "0 of 3 predictions read differently" in call("score", judgment()).out


def test_neither_reward_nor_right_answer_nor_agent_reach_the_judge() -> None:
    script = "scripted:tests.extensions.test_judge:mistaken"
    call("run", "-m", script, "-b", "judged-signs", "-o", "run", "--judge", JUDGE)
    assert set(verdicts(judgment()).values()) == {0.0}
    sent = "\n".join(m.text for one in ASKED for m in one.conversation.messages)
    assert "yield" in sent and "a 50" in sent  # what was answered and asked
    for secret in ("stop", "limit", "mistaken", "scripted", "named", "speed"):
        assert secret not in sent


def mistaken(request: Request) -> str:
    return "yield"


def test_a_finished_run_is_judged_by_others_next_to_the_first() -> None:
    call(*RUN, "--judge", JUDGE)
    before = {path: path.read_bytes() for path in Path("run").rglob("*") if path.is_file()}
    data = "judgment:three-stages:run"
    again = call("run", "-m", JUDGE, "-b", data)
    assert again.code == 0 and len(ASKED) == 9  # the same judgement, which is complete
    strict = ("--protocol-option", "threshold=5", "--repeats", "2")
    other = call("run", "-m", JUDGE, "-b", data, *strict, "-o", "run/judgments/strict")
    assert other.code == 0 and "Kept" in other.out
    assert {name.name for name in Path("run/judgments").iterdir()} >= {"strict"}
    assert len(last_lines("run/judgments/strict")) == 6
    changed = {path for path, data in before.items() if path.read_bytes() != data}
    assert {path.name for path in changed} <= {"manifest.json"}  # sessions of the first judgement
    assert all("judgments" in path.parts for path in changed)


def test_an_interrupted_judgement_goes_on_with_the_same_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tests.extensions.test_judge.LAST", 5)
    first = call(*RUN, "--judge", JUDGE)
    assert first.code == 1 and "the judge is asleep; run the same line again" in first.err
    assert "complete: run" in first.err and summary("run")
    done = len(ASKED)
    monkeypatch.setattr("tests.extensions.test_judge.LAST", 0)
    second = call(*RUN, "--judge", JUDGE)
    assert second.code == 0 and verdicts(judgment()) == RIGHT
    assert len({(one.unit_id, one.place) for one in ASKED}) == 9 and len(ASKED) == 10 > done


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("-b", "sample", "--judge", "gpt-5.4"),
            "sample names no method; write --judge METHOD=",
        ),
        (("-b", "sample", "--judge", "nobody=gpt-5.4"), "unknown protocol 'nobody'"),
        (("-b", "sample", "--judge", "seeact-two-rounds=x"), "judges no trajectories"),
        (
            ("-b", "judged-signs", "--judge", "three-stages.base_url=x"),
            "'three-stages' is named; add --judge three-stages=MODEL",
        ),
        (
            ("-b", "judged-signs", "--judge", JUDGE, "--judge", "three-stages.limit=3"),
            f"--judge three-stages={JUDGE}: limit is not a setting of a model",
        ),
        (
            ("-b", "judged-signs", "--judge", JUDGE, "--judge", "three-stages.max_tokens=many"),
            "max_tokens",
        ),
        (("-b", "judgment:three-stages:nowhere"), "nowhere is not a run"),
        (("-b", "judgment:three-stages"), "names a judging protocol and a run"),
        (("-b", "judgment", "--protocol", "three-stages"), "by which method? Write judgment:"),
    ],
)
def test_mistakes_are_a_line(words: tuple[str, ...], said: str) -> None:
    told = call("run", "-m", "oracle", *words)
    assert told.code == 2 and said in told.complaint


def test_a_mistake_that_only_the_plan_of_a_judgement_shows_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    told = call(*RUN, "--judge", "gpt-5.4", "--judge", "three-stages.mood=calm")
    assert told.code == 2 and "mood" in told.err.splitlines()[-1] and not Path("run").exists()


def test_an_unfinished_run_and_a_judgement_are_not_judged_later() -> None:
    call(*RUN, "--judge", JUDGE)
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
        kept = "--max-cost", "99", "--cache", "--preflight"
        again = call(*at(server, *data, "-o", "run/judgments/c", *kept))
        assert (first.code, again.code) == (0, 0) and server.count == asked + 1
    assert summary("run/judgments/b")["cost"] == pytest.approx((asked - before) * 0.12)
    assert summary("run/judgments/c")["cost"] == 0
    assert "9 of 9 replies reused from" in again.out and summary("run")["cost"] == spent


def asleep(request: Request) -> str:
    raise Fatal("the judge is asleep")


def away(request: Request) -> str:
    """Answer all but one call, which may be answered another time."""
    if request.place == "verdict" and request.unit_id == "sign-1":
        raise Fault("server", "the judge is away")
    return judge(request)


def broken(request: Request) -> str:
    raise LookupError("no such word")


@pytest.mark.parametrize("of", ["asleep", "away", "broken"])
def test_a_judgement_that_is_not_complete_ends_the_line_with_a_code(of: str) -> None:
    named = f"scripted:tests.extensions.test_judge:{of}"
    words = ("--judge", JUDGE, "--judge", named, "--adapter-option", "attempts=1", "--json")
    done = call(*RUN, *words)
    assert done.code == 1 and "Succeeded 75.0" in done.err and "same line again" in done.err
    assert json.loads(done.out)["complete"] is True
    assert call(*RUN, "--judge", JUDGE).code == 0


def test_a_judge_has_a_server_and_settings_of_its_own() -> None:
    said = Answer("Status: success")
    with WireServer([said]) as server, WireServer([Answer("limit 50")]) as agents:
        own = (f"base_url={server.base_url('openai')}", "max_tokens=77", "temperature=0.5")
        words = [word for one in own for word in ("--judge", f"three-stages.{one}")]
        agent = ("-b", "judged-signs", "-o", "run", "--judge", "openai:judge", *words)
        done = call("run", *at(agents, *agent))
        assert done.code == 0, done.err
        assert {ask.body["model"] for ask in server.asks} == {"judge"} and server.count == 9
        assert {ask.body["temperature"] for ask in server.asks} == {0.5}
        assert all(77 in ask.body.values() for ask in server.asks)
        assert {ask.body["model"] for ask in agents.asks} == {"m"}
        assert call("run", *at(agents, *agent)).code == 0 and server.count == 9
    assert verdicts(judgment()) == dict.fromkeys(RIGHT, 1.0)


def test_a_judgement_goes_on_where_the_judged_run_was_stopped() -> None:
    """What had ended is judged, and the exit code says that the rest is left."""
    script = "scripted:tests.extensions.test_judge:tired"
    first = call("run", "-m", script, *RUN[3:], "--judge", JUDGE, "--concurrency", "1")
    assert first.code == 2 and "not complete, run the same line again" in first.err
    assert len(last_lines(judgment())) == len(last_lines("run")) == 1


def tired(request: Request) -> str:
    if request.unit_id != "sign-0":
        raise Fatal("the agent is tired")
    return "limit 50"


def test_from_python_a_judge_is_told_and_its_run_is_opened() -> None:
    run = harness.evaluate("oracle", benchmark="judged-signs", out="run", judge=JUDGE)
    assert run.complete and verdicts(judgment()) == RIGHT


def test_a_cost_limit_needs_the_price_of_the_judge_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At a private address, too: gateways that bill stand there."""
    script = "scripted:tests.extensions.test_judge:mistaken"
    with WireServer(Answer("success")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url("openai"))
        line = ("run", "-m", script, "-b", "judged-signs", "-o", "run", "--judge", "openai:judge")
        limited = call(*line, "--max-cost", "1")
        assert limited.code == 2
        assert "--max-cost needs a price for openai:judge" in limited.err
        assert server.count == 0
