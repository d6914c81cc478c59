"""`vlm-eval reproduce`: what it prints, hands on, and says of the result."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.registry import Entry
from harness.benchmarks import BENCHMARKS, Items, SplitSize
from harness.runs import open_run
from parsers.estimates import Estimate
from parsers.grounding import GroundingDetail
from parsers.rates import Interval
from reports.reproductions.outcome import Reproduced, reproductions
from tests.grounding import SIZES, TARGETS, Screens, picture_bytes
from tests.harness.benchmarks import _autowebbench
from tests.harness.commands.tool import call, isolate
from tests.servers import Answer, WireServer

PROMPTS = "gpt-4-autowebbench"
SAYS = "scripted:says.jsonl"
QUIET = ("--progress", "off", "--adapter-option=preflight=no")


@pytest.fixture
def prompts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Made-up rows of AutoWebBench, in a folder to work in."""
    isolate(monkeypatch, tmp_path)
    says = {"default": True, "text": "click('SD')"}
    Path("says.jsonl").write_text(json.dumps(says), "utf-8")
    return str(_autowebbench.write(tmp_path / "prompts"))


def figure(value: float, low: float | None, high: float | None) -> Estimate:
    reach = None if low is None or high is None else Interval(low, high, "wilson", 50, few=False)
    return Estimate("hit", "macro", "valid", value, reach)


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_without_a_name_all_are_listed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)
    done = call("reproduce")
    assert done.code == 0
    for name in reproductions():
        assert name in done.out
    assert "52.0" in done.out and "OPENAI_API_KEY" in done.out and "$31" in done.out
    assert "test data" not in done.out


@pytest.mark.parametrize(
    "name", [n for n, one in reproductions().items() if "mind2web.parquet" in one.command]
)
def test_a_file_that_is_missing_is_named_with_the_command_that_writes_it(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    done = call("reproduce", name, "--dry-run")
    [said] = done.err.splitlines()
    assert done.code == 2
    assert "no mind2web.parquet" in said
    assert said.endswith(
        "first run: vlm-eval rankers convert scores_all_data.pkl -o mind2web.parquet"
    )
    done = call("reproduce", name, "--dry-run", "--", "--ranker", "other.parquet")
    assert "mind2web.parquet" not in done.err


def test_a_run_stands_beside_the_published_row(prompts: str) -> None:
    words = ("--data", prompts, *QUIET, "--model", SAYS)
    done = call("reproduce", PROMPTS, *words)
    assert done.code == 0, done.err
    said = one_line(done.out)
    assert "published: Ref. all (inferred) 38.6" in said
    assert "keys: population: autowebbench, average: micro" in said
    assert "differs: gpt-4 was shut down" in said
    assert f"changed: --model {SAYS} (declared: openai:gpt-4o-2024-08-06)" in said
    assert "Ref. all (inferred) 38.6 50.0" in said
    # Four made-up rows are no whole split.
    assert "population: a part of autowebbench here, autowebbench there" in said
    verdict = said[said.index("not comparable") :]
    assert f"the model is {SAYS}, given on the command line" in verdict
    assert "differs from the published row in population" in verdict
    run = open_run(Path("runs") / PROMPTS)
    assert run.complete and run.manifest.config["temperature"] == 0.95
    # The same line finds everything done.
    again = call("reproduce", PROMPTS, *words)
    assert again.code == 0 and len(run.manifest.sessions) == 1
    assert "Ref. all (inferred) 38.6 50.0" in one_line(again.out)


class Whole(Screens):
    """The items of `Screens` in both of its roles, as all that there is of ScreenSpot."""

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        units = (
            self.unit(
                f"{name}-{role}",
                GroundingDetail(asked=asked, gold=target, size=SIZES[picture]),
                parents={"picture": picture},
                labels={"role": role},
                goal=asked,
            )
            for role in ("control", "place")
            for name, (picture, asked, target) in TARGETS.items()
        )
        return Items.of(units, pictures=lambda unit: (picture_bytes(unit.parents["picture"]),))


def test_a_whole_run_with_the_keys_of_its_row_is_compared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    whole = Whole(name="screenspot", sizes=(SplitSize("test", 2, 10),))
    monkeypatch.setitem(BENCHMARKS._entries, "screenspot", Entry("", whole))
    # The search field, in thousandths: one of five in each role.
    with WireServer(Answer(text="(746, 315)")) as server:
        words = ("--", *QUIET, "--base-url", server.base_url("openai"))
        done = call("reproduce", "uground-screenspot", *words)
    assert done.code == 0, done.err
    assert open_run("runs/uground-screenspot").complete
    said = one_line(done.out)
    assert "compares: yes" in said and "changed: --base-url" in said
    shown = said[said.index("standard setting: test") :]
    assert "Hit 86.3 20.0 [" in shown and " there" not in shown
    assert ("inside: " in shown) != ("outside: " in shown) and "not comparable" not in shown


def test_options_that_are_given_replace_declared_ones(prompts: str) -> None:
    words = ("--data", prompts, "--limit", "1", "--", *QUIET, "--model", SAYS)
    done = call("reproduce", PROMPTS, *words, "--split", "zh-ood")
    assert done.code == 0, done.err
    said = one_line(done.out)
    # That split has a row of its own, so that it is no change; the limit is one.
    assert "zh-ood" in said and "36.3" in said and "38.6" not in said
    assert "changed: --split" not in said
    assert "changed: --limit 1 (declared: none)" in said
    run = open_run(Path("runs") / f"{PROMPTS}-limit-1")
    assert run.manifest.config["split"] == ["zh-ood"]
    assert call("reproduce", PROMPTS, *words, "-o", "mine").code == 0
    assert open_run("mine").complete


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (
            ("gpt-5",),
            "unknown reproduction 'gpt-5'; choose one of agentcpm-gui-8b-",
        ),
        ((PROMPTS, "--limit", "x"), "expected a whole number of at least 1, not 'x'"),
        ((PROMPTS, "--model"), "requires an argument"),
        ((PROMPTS, "--no-such-option"), "No such option"),
        (("--dry-run",), "unknown reproduction '--dry-run'"),
        ((PROMPTS, "--dry-run", "--data", "nowhere"), "nowhere"),
    ],
)
def test_bad_input_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...], complaint: str
) -> None:
    isolate(monkeypatch, tmp_path)
    done = call("reproduce", *words)
    assert (done.code, complaint in done.complaint) == (2, True), done.err
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def held() -> Callable[..., str]:
    """The verdict on a figure of UGround's reproduction, whose published figure is 86.3."""

    def verdict(low: float | None, high: float | None, **more: object) -> str:
        reproduction = reproductions()["uground-screenspot"]
        outcome = Reproduced(reproduction, {"hit": figure(0.87, low, high)}, apart={})
        return replace(outcome, **more).verdict  # type: ignore[arg-type]

    return verdict


def test_the_verdict_says_no_more_than_the_interval_does(held: Callable[..., str]) -> None:
    inside = held(0.85, 0.89)
    assert inside.startswith("inside: ") and "below about 2.0 points would not" in inside
    assert held(0.863, 0.89).startswith("inside: ")
    assert "published figure lies above our" in held(0.80, 0.862)
    assert "published figure lies below our" in held(0.864, 0.9)
    assert held(None, None) == "not comparable: our figure has no interval"
    apart = held(0.85, 0.89, apart={"prompt": "ours here, own there", "zoom": ""})
    assert apart == "not comparable: the run differs from the published row in prompt, zoom"
    # What else was changed is told above the verdict, and leaves it to the keys.
    assert held(0.85, 0.89, changed=("--batch-size 2",)) == inside
    assert held(0.85, 0.89, model="x").startswith("not comparable: the model is x")
    assert held(0.85, 0.89, ours={}).startswith("nothing to compare yet: no result on test")


def test_secrets_are_not_printed(prompts: str) -> None:
    header = 'extra_headers={"Authorization": "Bearer hidden"}'
    words = ("--model", "openai:m", "--adapter-option", header, "--base-url", "http://localhost:9")
    done = call("reproduce", PROMPTS, "--data", prompts, "--dry-run", "--", *words)
    assert "[masked]" in done.out and "extra_headers" in done.out
    assert "hidden" not in done.out + done.err


def test_a_stand_in_is_never_compared() -> None:
    one = reproductions()[PROMPTS]
    outcome = Reproduced(one, {one.measure: figure(0.386, 0.3, 0.4)}, apart={})
    assert outcome.verdict == ("not comparable: the model is gpt-4o-2024-08-06 in place of gpt-4")


def test_released_replies_give_the_figure_that_is_declared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = os.environ.get("VLM_EVAL_TEST_DATA")
    if not root:
        pytest.skip("VLM_EVAL_TEST_DATA is not set: no SeeAct example")
    isolate(monkeypatch, tmp_path)
    example = Path(root) / "seeact-example"
    (predicted,) = example.glob("textual_choice/*/prediction-4api.jsonl")
    replies = [json.loads(line)["gpt_output"] for line in predicted.read_text("utf-8").splitlines()]
    lines = [json.dumps({"text": text}) for pair in replies for text in pair]
    Path("replies.jsonl").write_text("\n".join(lines), "utf-8")
    told = json.loads((example / "candidate_scores.json").read_text("utf-8"))
    scores = {"ranker": "mind2web", "ranks": {told["sample_id"]: told["ranks"]}}
    Path("scores.json").write_text(json.dumps(scores), "utf-8")
    data = Path("test_domain.parquet")
    data.symlink_to(example / "multimodal_mind2web_row.parquet")
    words = ("--model", "scripted:replies.jsonl", "--ranker", "scores.json", "--split")
    done = call(
        *("reproduce", "seeact-choices", "--data", data, "--", *QUIET, *words, "test_domain")
    )
    assert done.code == 0, done.err
    (figure,) = reproductions()["seeact-choices"].measured
    assert figure.low is not None and figure.high is not None
    interval = f"[{100 * figure.low:.1f}, {100 * figure.high:.1f}]"
    assert f"Step SR 36.8 {100 * figure.value:.1f} {interval}" in one_line(done.out)
