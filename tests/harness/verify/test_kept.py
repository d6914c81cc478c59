"""What a run knows of a verified deployment, and what reports make of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.runs import open_run
from harness.runs.manifest import another_deployment
from reports.load import deployment_lines, open_runs
from reports.published.keys import Matcher
from reports.published.source import published_rows
from tests.harness.commands.tool import Called, call, isolate
from tests.servers import Answer, Ask, WireServer, error
from tests.servers.deployments import Deployment

BLIND = {"no_pictures": True}
PUBLISHED = [258, 794, 6146, 1602, 2693]
SHRUNK = [258, 794, 1249, 1209, 1224]


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch, tmp_path)


class Counting(WireServer):
    """Answers with a point, and refuses the key from a call on; every call counts `tokens`."""

    def __init__(self, tokens: int = 275, most: int = 1000) -> None:
        self.shown: list[Any] = []

        def respond(ask: Ask) -> Answer:
            self.shown.append(ask.body)
            if ask.number > most:
                return error(401, "no such key")
            return Answer("[500, 500]", usage={"input": tokens, "output": 5})

        super().__init__(respond)


def kept(server: WireServer, name: str = "a", **changes: Any) -> None:
    """Write a record of a verification at a server."""
    record = {
        "format": "vlm-eval/verify",
        "version": 1,
        "seed": 1,
        "at": "2026-11-28T12:00:00Z",
        "model": {"name": "m", "endpoint": server.base_url("openai").split("/")[2]},
        "verdict": "ok",
        "digest": "40969b6659c3",
        "counts": {"texts": [9, 13, 11], "pictures": PUBLISHED},
        "measured": {"numbers": "per-mille"},
        "checks": [],
        "calls": [{"id": "size-a", "usage": {"input": 280, "output": 4}}],
        **changes,
    }
    Path("verify").mkdir(exist_ok=True)
    Path("verify", f"{name}.json").write_text(json.dumps(record), "utf-8")


def run(server: WireServer, out: str, *more: str, model: str = "m") -> Called:
    line = ("-m", f"openai:{model}", "--base-url", server.base_url("openai"), "--out", out)
    asked = ("--benchmark", "sample-grounding", "--limit", "2")
    read = ("--protocol-option", "coordinates=per-mille", "--progress", "off")
    return call("run", *line, *asked, *read, *more)


@pytest.mark.parametrize(("fake", "code", "verdict"), [({}, 0, "ok"), (BLIND, 2, "broken")])
def test_a_run_verifies_its_deployment_first_and_stops_if_it_is_broken(
    fake: dict[str, Any], code: int, verdict: str
) -> None:
    model = "Qwen/Qwen3-VL-8B-Instruct"
    with WireServer(Deployment(fake, "[{x}, {y}]")) as server:
        done = run(server, "a", "--verify", "quick", model=model)
        assert done.code == code, done.err
        (path,) = Path("verify").glob("*.json")
        record = json.loads(path.read_text("utf-8"))
        assert record["verdict"] == verdict
        asked = server.count - len(record["calls"])
        if not code:
            assert asked == 3  # the first call and two units
            assert told("a")["digest"] == record["digest"]
            assert told("a")["confirmed"] is True
            return
        assert asked == 0
        assert f"this deployment is broken ({path}); --verify off goes on" in done.err
        assert run(server, "a", "--verify", "off", model=model).code == 0
        assert told("a") is None


def test_a_verification_that_cannot_be_made_ends_the_run_and_its_calls_are_counted_before() -> None:
    with Counting(most=3) as server:
        done = run(server, "a", "--verify", "quick")
        assert done.code == 2
        assert "--verify quick: " in done.err
        dry = run(server, "b", "--verify", "full", "--dry-run")
    assert "verify:    55 calls" in dry.out


def told(out: str) -> Any:
    return open_run(Path(out)).manifest.sessions[-1].measured.get("deployment")


def test_a_run_confirms_a_record_by_the_call_that_it_makes_anyway() -> None:
    with (counting := Counting()) as server:
        kept(server)
        done = run(server, "a")
        asked = server.count
        assert done.code == 0, done.err
        assert told("a") == {
            "digest": "40969b6659c3",
            "verdict": "ok",
            "verified_at": "2026-11-28T12:00:00Z",
            "confirmed": True,
            "broken": [],
            "counts": {"texts": [9, 13, 11], "pictures": PUBLISHED},
            "numbers": "per-mille",
        }
        Path("verify/a.json").unlink()
        assert run(server, "b").code == 0
        assert server.count == 2 * asked
        assert told("b") is None
    first, without = json.dumps(counting.shown[0]), json.dumps(counting.shown[asked])
    assert "image_url" in first
    assert first != without


@pytest.mark.parametrize(("tokens", "confirmed"), [(275, True), (640, False), (70, False)])
def test_a_count_that_is_not_the_verified_one_is_a_notice(tokens: int, confirmed: bool) -> None:
    with Counting(tokens) as server:
        kept(server)
        done = run(server, "a")
    assert done.code == 0
    assert told("a")["confirmed"] is confirmed
    assert ("the deployment changed since it was verified" in done.err) is not confirmed


def test_without_a_first_call_or_a_count_nothing_is_confirmed() -> None:
    with Counting() as server:
        kept(server)
        assert run(server, "a", "--adapter-option=preflight=no").code == 0
        kept(server, calls=[])
        assert run(server, "b").code == 0
    assert told("a")["confirmed"] is told("b")["confirmed"] is None


def test_the_newest_record_of_the_same_model_and_endpoint_is_taken() -> None:
    with Counting() as server:
        kept(server, "old", at="2026-11-01T12:00:00Z", digest="old")
        kept(server, "new", digest="new")
        kept(server, "other", at="2026-12-01T12:00:00Z", model={"name": "n", "endpoint": "x"})
        for name, text in (("torn", '{"format": "vlm-ev'), ("list", "[]"), ("deep", "[" * 9000)):
            Path("verify", f"{name}.json").write_text(text, "utf-8")
        kept(server, "later", at="2027-01-01T12:00:00Z", version=2)
        kept(server, "odd", at=5)
        assert run(server, "a").code == 0
    assert told("a")["digest"] == "new"


@pytest.mark.parametrize(
    "change",
    [
        {"counts": 5, "measured": [], "checks": {}, "calls": "x"},
        {"counts": {"texts": ["9", True, -1], "pictures": {}}, "measured": {"numbers": 7}},
        {"calls": [5, {"id": "size-a", "usage": {"input": "many"}}], "seed": "one"},
    ],
)
def test_a_damaged_record_ends_no_run(change: dict[str, Any]) -> None:
    with Counting() as server:
        kept(server, **change)
        assert run(server, "a").code == 0
    assert told("a")["verdict"] == "ok"


def test_another_deployment_at_a_resume_is_a_notice() -> None:
    with Counting(most=2) as server:
        kept(server)
        assert run(server, "a", "--concurrency", "1").code == 2
        kept(server, "later", at="2026-11-29T12:00:00Z", counts={"pictures": SHRUNK})
        done = run(server, "a", "--adapter-option=preflight=no")
    said = "another deployment answers than before: 2688x1792 counts 6,146 and 1,249 tokens"
    assert said in done.err


def test_reports_name_two_deployments_of_one_model_and_what_is_broken() -> None:
    with Counting() as server:
        kept(server)
        assert run(server, "a").code == 0
        wrong = [{"name": "sizes", "verdict": "broken"}, {"name": "corners", "verdict": "broken"}]
        kept(server, counts={"texts": [9], "pictures": SHRUNK}, checks=wrong)
        assert run(server, "b").code == 0
        Path("verify/a.json").unlink()
        assert run(server, "c").code == 0
    runs = open_runs(["a", "b", "c"])
    (line,) = deployment_lines(runs)
    assert line.endswith("the same model, two deployments: 2688x1792 counts 6,146 and 1,249 tokens")
    assert line in call("compare", "a", "b").out
    found = [Matcher(one, "macro") for one in runs.values()]
    assert [one.broken for one in found] == [(), ("sizes",), ()]
    row = next(row for row in published_rows() if not row.landmark)
    apart = ["the deployment (sizes is broken)" in one.apart(row) for one in found]
    assert apart == [False, True, False]
    assert [one.unverified for one in found] == [False, False, True]


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ({}, {"counts": {"pictures": SHRUNK}}, ""),
        ({"pictures": [None, 794]}, {"pictures": [258, 794]}, ""),
        ({"pictures": [258, 794]}, {"pictures": [258, None, 7]}, ""),
        ({"texts": [9]}, {"texts": [1010]}, "the first text counts 9 and 1,010 tokens"),
        ({"pictures": None, "texts": "x"}, {"pictures": {}, "texts": [9]}, ""),
    ],
)
def test_what_is_not_known_of_one_is_no_difference(
    before: dict[str, Any], now: dict[str, Any], said: str
) -> None:
    one, two = ({"counts": counts} for counts in (before, now))
    assert another_deployment(one, two) == said


def test_measured_units_are_compared_only_if_both_are_known() -> None:
    assert another_deployment({"numbers": "unit"}, {"numbers": None}) == ""
    assert "numbers are unit and absolute" in another_deployment(
        {"numbers": "unit"}, {"numbers": "absolute"}
    )
