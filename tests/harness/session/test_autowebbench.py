"""Runs on finished prompts, from the question to the tables; the real rows end to end."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

import harness
from adapters import Fatal, PictureSource, Reply, Request
from harness.errors import UserError
from harness.runs import Run
from tests.harness.benchmarks._autowebbench import SPLITS, prompt, rows, write
from tests.harness.benchmarks._files import shared_data
from tests.harness.commands.tool import Called, call, isolate
from tests.numbers import number, row
from tests.test_entry_points import Echo


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    isolate(monkeypatch, tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write(tmp_path / "data")
    return tmp_path


def ask(*arguments: str) -> Called:
    return call("run", "-b", "autowebbench", "--data", "data", "--details", *arguments)


class Answers(Echo):
    """Answers the n-th prompt with the n-th text; keeps what it was asked."""

    def __init__(self, *texts: str, context: int | None = None) -> None:
        super().__init__("answers")
        self.info = replace(self.info, context_tokens=context)
        self.texts, self.asked = texts, list[str]()

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        (message,) = request.conversation.messages
        self.asked.append(message.text)
        if len(self.asked) > len(self.texts):
            raise Fatal("no more answers")
        return Reply(self.texts[len(self.asked) - 1])


def evaluated(model: Any, out: str = "r", **settings: Any) -> Run:
    usual: dict[str, Any] = {
        "benchmark": "autowebbench",
        "data": "data",
        "split": "en-ind",
        "concurrency": 1,
        "cache": False,
    }
    return harness.evaluate(model, out=out, preflight=False, **usual, **settings)


RIGHT = ("click('SD')", "finish()", "finish('At nine')", "type_string('C', 'boat  to Ulm', True)")


def test_prompts_are_sent_unchanged_and_calls_are_scored() -> None:
    model = Answers(
        "I open it.\n```\nclick('SD')  # the timetable\n```",
        "A: finish()",
        "finish('At nine\nand at noon')",
        "type_string('C', 'boat to Bonn', False)",
    )
    run = evaluated(model)
    assert model.asked == [row["source"] for row in rows()]
    scores = [record.scores for record in run.records()]
    assert [one["awb.step_success"] for one in scores if one] == [1, 1, 1, 0]
    assert [one["awb.element_step"] for one in scores if one] == [1, 1, 1, 1]
    assert [one["awb.text_overlap"] for one in scores if one] == [None, None, 1, None]
    # The script reads from the first character, and evaluates nothing that spans lines.
    assert [one["awb_ref.all"] for one in scores if one] == [0, None, None, 1]
    assert [one["awb_ref.raises"] for one in scores if one] == [0, 1, 0, 0]


def test_chatglm_s_wrapping_is_put_around_the_prompt() -> None:
    model = Answers(*RIGHT)
    run = evaluated(model, protocol_option=["wrapping=chatglm"])
    assert model.asked[0] == f"Q: {prompt('Open the timetable.')}\n\nA: "
    assert run.manifest.config["protocol_option"]["wrapping"] == "chatglm"
    assert number(run.summary, "awb.step_success", "micro") == 1
    refused = ask("-m", "oracle", "--protocol-option", "wrapping=llama")
    assert refused.code == 2 and "expected one of plain, chatglm" in refused.complaint


def test_the_order_in_which_the_released_runner_looks_for_functions_can_be_asked_for() -> None:
    both = "go('backward')\nclick('SD')"
    for order, right in (("position", 0), ("reference", 1)):
        run = evaluated(Answers(both, *RIGHT[1:]), order, protocol_option=[f"order={order}"])
        first = run.records()[0]
        assert first.scores is not None and first.scores["awb.step_success"] == right


def test_a_prompt_over_the_model_s_context_is_settled_as_too_long() -> None:
    long = prompt("Open the timetable.", page=f"< <a[SD]| Timetable> <p| {'boat ' * 4000}> >")
    write(Path("data"), {"en-ind": [{"source": long, "target": "click('SD')"}, *rows()[1:]]})
    model = Answers(*RIGHT[1:], context=2000)
    run = evaluated(model)
    first, *others = run.records()
    assert first.prediction is not None and first.prediction.status == "too_long"
    assert first.scores is not None and first.scores["awb.step_success"] == 0
    assert first.scores["awb_ref.all"] == 0 and len(model.asked) == 3
    assert all(record.scores and record.scores["awb.step_success"] for record in others)


def test_without_jieba_one_line_is_said_before_any_call(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated(Answers(*RIGHT), "before")
    find = importlib.util.find_spec

    def without_jieba(name: str, package: str | None = None) -> Any:
        return None if name == "jieba" else find(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without_jieba)
    model = Answers(*RIGHT)
    with pytest.raises(UserError, match=r"jieba.*pip install jieba$"):
        evaluated(model)
    assert not model.asked and not Path("r").exists()
    assert "pip install" in call("score", "before").complaint
    assert call("report", "before").code == 0
    assert call("show", "en-ind-0000", "-b", "autowebbench", "--data", "data").code == 0


def test_left_out_rows_are_counted_wherever_a_rate_stands() -> None:
    told = ask("-m", "always-finish", "-o", "r").out
    assert re.search(r"25\.0 +50\.0 +0\.0 \(1 of 4\) +n/a \(0 of 4\)", told)
    assert "rows left out by an exception of the script: 16" in told
    assert "rows at which the script would abort: 0" in told
    summary = json.loads(Path("r/summary.json").read_text("utf-8"))
    assert summary["rows"]["awb_ref.raises"] == 16 and summary["rows"]["awb_ref.aborts"] == 0
    assert row(summary, "awb_ref.type", "micro")["units"] == 0
    assert "AutoWebBench is released for research" in summary["note"]
    by_function = call("report", "r", "--by", "function", "--format", "json").out
    lines = {row["function"]: row for row in json.loads(by_function)["rows"] if row["headline"]}
    assert lines["finish"]["awb.step_success_micro"] == 0.5
    assert lines["finish"]["awb.text_overlap_measured"] == 4
    assert lines["click"]["awb.step_success_micro"] == 0
    page = call("report", "r", "--format", "html").out
    assert "n/a (0 of 4)" in page and "research purposes only" in page


def test_policies_answer_prompts_in_their_own_way() -> None:
    said = {}
    for policy in ("random", "lexical", "always-scroll", "always-finish", "evade", "oracle"):
        assert ask("-m", policy, "-o", policy, "--split", "en-ind").code == 0
        records = harness.open_run(policy).records()
        said[policy] = [str(one.prediction.action) for one in records if one.prediction]
    assert set(said["random"]) <= {f'click(element="{one}")' for one in ("AB", "SD", "C", "BCDE")}
    assert said["lexical"][:2] == ['click(element="SD")'] * 2
    assert said["lexical"][2] == 'scroll_page(direction="down")'
    assert set(said["always-scroll"]) == {'scroll_page(direction="down")'}
    assert said["evade"] == ['click(element="SD")', "finish()", "finish()", "finish()"]
    assert said["oracle"][2] == r'finish(answer="At nine\nand at noon")'
    refused = call("run", "-m", "evade", "-b", "sample")
    assert refused.code == 2 and "answers PromptView" in refused.complaint
    assert "answers StepView" in ask("-m", "always-click").complaint


def test_the_floor_is_a_random_click_and_the_ceiling_what_is_right() -> None:
    told = ask("-m", "always-scroll", "-o", "r", "--split", "en-ind").out
    assert "chance: a click on a random element, expected; ceiling: the right answers." in told
    summary = json.loads(Path("r/summary.json").read_text("utf-8"))
    chance = {
        one["measure"]: one["chance"]
        for one in summary["estimates"]
        if one["group"] == "" and "chance" in one
    }
    # One of four rows is a click, on one of four elements; two rows have an id in the script.
    assert chance["awb.step_success"] == 1 / 16
    assert chance["awb_ref.all"] == 1 / 8
    assert chance["awb_ref.type"] == 1 / 2 and "awb_ref.param" not in chance
    for name in ("awb.step_success", "awb_ref.all"):
        assert row(summary, name, "micro")["ceiling"] == 1
    page = "< <p| Nothing to click> >"
    write(Path("data"), {"en-ind": [{"source": prompt("Wait.", page=page), "target": "finish()"}]})
    assert ask("-m", "random", "-o", "none", "--split", "en-ind").code == 0
    summary = json.loads(Path("none/summary.json").read_text("utf-8"))
    assert row(summary, "awb.step_success", "micro")["chance"] == 1


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Runs of policies on all 1,451 rows, made once for all processes that test."""
    data, folder = shared_data("autowebbench"), tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    folder /= "autowebbench"
    folder.mkdir(exist_ok=True)
    with FileLock(folder / "lock"), pytest.MonkeyPatch.context() as patch:
        isolate(patch, folder)
        usual: dict[str, Any] = {"benchmark": "autowebbench", "data": str(data), "progress": "off"}
        return {
            name: harness.evaluate(name, out=str(folder / name), **usual)
            for name in ("oracle", "evade", "always-scroll", "always-finish")
        }


def shares(run: Run, measure: str) -> dict[str, tuple[float | None, int]]:
    """The mean of a measure by split, and the number of rows that have a score of it."""
    told = {}
    for split in SPLITS:
        found = row(run.summary, measure, "micro", group="split", value=split)
        share = found["number"]
        told[split] = None if share is None else round(100 * share, 1), found["units"]
    return told


def test_the_right_answers_reach_all_that_each_scorer_counts(real: dict[str, Run]) -> None:
    sizes = (349, 338, 392, 372)
    oracle = real["oracle"]
    for name in ("awb.step_success", "awb.element_step"):
        assert shares(oracle, name) == {s: (100.0, n) for s, n in zip(SPLITS, sizes, strict=True)}
    counted = {
        "awb_ref.all": (210, 208, 237, 240),
        "awb_ref.label": (210, 208, 237, 240),
        "awb_ref.type": (276, 274, 334, 296),
    }
    for name, numbers in counted.items():
        assert shares(oracle, name) == {s: (100.0, n) for s, n in zip(SPLITS, numbers, strict=True)}
    assert oracle.summary["rows"]["awb_ref.raises"] == 257


def test_floors_and_evasion_show_why_coverage_stands_beside(real: dict[str, Run]) -> None:
    assert shares(real["evade"], "awb_ref.all") == {
        "en-ind": (100.0, 183),
        "en-ood": (100.0, 183),
        "zh-ind": (100.0, 221),
        "zh-ood": (100.0, 221),
    }
    assert {share for share, _ in shares(real["always-scroll"], "awb_ref.all").values()} == {0.0}
    assert {n for _, n in shares(real["always-finish"], "awb_ref.all").values()} == {0}
    floors = [
        share
        for name in ("always-scroll", "always-finish")
        for share, _ in shares(real[name], "awb.step_success").values()
    ]
    assert floors == [10.9, 14.8, 10.7, 9.4, 20.3, 18.3, 14.0, 18.5]
