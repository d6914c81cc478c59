"""`vlm-eval show`: the exact messages of one step, with sizes and token counts, asking nobody."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from tests.harness.commands.tool import (
    DEV,
    ONE_TASK,
    TEXT_ONLY,
    at,
    call,
    calls,
    is_right,
    replying,
    steps,
    whole_text,
)
from tests.reports.kinds.episode.worlds import forms
from tests.reports.view.pages import HOSTILE
from tests.servers import Answer, Ask, WireServer


def test_what_is_shown_is_what_a_run_sends(place: Path) -> None:
    with WireServer(replying()) as server:
        assert call(*at(server, *ONE_TASK, *TEXT_ONLY, "--out", "a")).code == 0
    record = steps("a")[-1]
    shown = call("show", record["step_id"], *DEV, *TEXT_ONLY)
    assert (shown.code, shown.err) == (0, "")
    second = [ask for ask in server.asks if ask.rounds and record["task"] in whole_text(ask)]
    choices = "\n".join(f"{c['letter']}. {c['text']}" for c in record["choices"])
    sent = next(ask for ask in second if choices in whole_text(ask))
    for message in sent.messages:
        text = message["content"]
        if message["role"] == "assistant":
            continue
        parts = [text] if isinstance(text, str) else [part["text"] for part in text]
        assert all(part in shown.out for part in parts)


def test_sizes_of_pictures_and_tokens_are_those_of_the_named_model(place: Path) -> None:
    assert call("--model", "oracle", *ONE_TASK, "--out", "a").code == 0
    step = steps("a")[0]["step_id"]

    gpt = call("show", step, *DEV, "--model", "gpt-4o").out
    assert "[picture 768 x " in gpt
    tokens = [int(n.replace(",", "")) for n in re.findall(r"about ([\d,]+) tokens", gpt)]
    assert len(tokens) == 2
    assert 765 < tokens[0] < tokens[1]


def test_the_answer_is_shown_only_when_asked_for(place: Path) -> None:
    assert call("--model", "oracle", *ONE_TASK, "--out", "a").code == 0
    record = steps("a")[0]
    assert "recorded" not in call("show", record["step_id"], *DEV).out
    answer = call("show", record["step_id"], *DEV, "--answer").out.splitlines()[-1]
    listed = next(c for c in record["choices"] if is_right(record, c))
    assert answer.startswith(f"===== right: {record['gold']['operation']}")
    assert f"(listed as {listed['letter']}: {listed['text']})" in answer


def test_the_beginning_of_an_id_is_enough_where_it_is_the_only_one(place: Path) -> None:
    assert call("--model", "oracle", *ONE_TASK, "--out", "a").code == 0
    record = steps("a")[0]
    assert call("show", record["step_id"][:44], *DEV).code == 0


def test_steps_that_begin_alike_are_listed_with_numbers_that_name_them(place: Path) -> None:
    assert call("--model", "oracle", *ONE_TASK, "--out", "a").code == 0
    records = sorted(steps("a"), key=lambda record: record["index"])
    task = records[0]["task_id"]
    several = call("show", task[:20], *DEV)
    assert several.code == 2
    assert "7 steps begin with" in several.complaint
    listed = [line for line in several.out.splitlines() if line.startswith("  ")]
    assert len(listed) == len(records)
    for number, (line, record) in enumerate(zip(listed, records, strict=True), 1):
        gold = record["gold"]
        assert f"{task}:{number} of {record['total_steps']} " in line
        assert gold["operation"] in line
        assert gold["value"] in line
        assert record["step_id"] in line
    third = records[2]["step_id"]
    for name in (f"{task}:3", f"{task[:20]}:3", third):
        shown = call("show", name, *DEV)
        assert shown.code == 0
        assert shown.out.startswith(f"step {third} ")


def test_steps_of_a_run_are_named_and_listed_in_the_same_way(place: Path) -> None:
    assert call("--model", "oracle", *ONE_TASK, "--repeats", "2", "--out", "a").code == 0
    records = {record["index"]: record for record in steps("a")}
    task = records[0]["task_id"]
    of_data, of_run = call("show", task[:9], *DEV), call("show", task[:9], "--run", "a")
    assert (of_run.code, of_run.out, of_run.err) == (2, of_data.out, of_data.err)
    shown = call("show", f"{task}:3", "--run", "a", "--answer").out
    assert shown.startswith(f"step {records[2]['step_id']} in a: answered")
    listed = next(c for c in records[2]["choices"] if is_right(records[2], c))
    assert f"(listed as {listed['letter']}: {listed['text']})" in shown


def test_data_list_prints_every_step_once_with_its_action(place: Path) -> None:
    assert call("--model", "oracle", *DEV, "--limit", "2", "--out", "a").code == 0
    records = steps("a")
    listed = call("data", "list", *DEV, "--limit", "2")
    assert (listed.code, listed.err) == (0, "")
    tasks = [line for line in listed.out.splitlines() if not line.startswith(" ")]
    lines = [line for line in listed.out.splitlines() if line.startswith("  ")]
    assert len(tasks) == len({record["task_id"] for record in records}) == 2
    assert all(any(record["task"] in line for line in tasks) for record in records)
    assert len(lines) == len(records)
    for record in records:
        [line] = [line for line in lines if f"[{record['step_id']}]" in line]
        assert f"{record['gold']['operation']}" in line
        assert (f"({record['invalid']})" in line) is (record["invalid"] is not None)


def test_an_invalid_step_says_why_nobody_is_asked() -> None:
    assert call("--model", "oracle", *DEV, "--limit", "2", "--out", "a").code == 0
    invalid = next(record for record in steps("a") if record["invalid"])
    shown = call("show", invalid["step_id"], *DEV)
    assert shown.code == 0
    assert shown.out.splitlines()[-1].startswith(f"invalid: {invalid['invalid']}")


def test_settings_that_change_nothing_that_is_shown_are_no_options_of_show() -> None:
    refused = call("show", "x", *DEV, "--temperature", "0.5")
    assert (refused.code, "No such option" in refused.complaint) == (2, True)


def test_a_run_shows_what_was_sent_thought_and_replied(place: Path) -> None:
    def react(ask: Ask) -> Answer:
        return replace(replying()(ask), thinking=f"thought {ask.number} \x1b[2J")

    with WireServer(react) as server:
        assert call(*at(server, *ONE_TASK, *TEXT_ONLY, "--out", "a")).code == 0
        asked = server.count
        record = steps("a")[0]
        shown = call("show", record["step_id"], "--run", "a", "--answer")
        assert (shown.code, shown.err, server.count) == (0, "", asked)
    first, second = (line for line in calls("a") if line["unit_id"] == record["unit_id"])
    for line in (first, second):
        assert line["reply"]["reasoning"].startswith("thought ")
        assert line["reply"]["reasoning"].replace("\x1b", "\ufffd") in shown.out
        assert f"--- reply (stop) ---\n{line['reply']['text']}\n" in shown.out
    assert "\x1b" not in shown.out
    assert shown.out.index("===== round-1: m-2026") < shown.out.index("===== round-2: m-2026")
    assert "===== right: " in shown.out
    assert all("thought" not in whole_text(ask) for ask in server.asks)


def test_a_run_has_its_own_settings(place: Path) -> None:
    assert call("--model", "oracle", *ONE_TASK, "--out", "a").code == 0
    step = steps("a")[0]["step_id"]
    refused = call("show", step, "--run", "a", "--distractors", "3")
    assert (refused.code, "--distractors has no effect with --run" in refused.err) == (2, True)
    assert call("show", "nothing", "--run", "a").code == 2
    assert call("show", step, "--run", "nowhere").code == 2


def test_turns_of_an_episode_are_told_in_short(tmp_path: Path) -> None:
    run = forms(tmp_path / "run")
    shown = call("show", "form-3/1", "--run", run)
    assert (shown.code, shown.err) == (0, "")
    places = re.findall(r"^===== (\S+): (\S+) =====$", shown.out, re.M)
    assert places == [
        *(("begin", "environment"), ("1/only", "model-1"), ("act-1", "environment")),
        *(("2/only", "model-1"), ("act-2", "environment")),
    ]
    assert "goal: Form form-3/1\nseen: 320 x 420 pixels" in shown.out
    failed = f"seen: failed: {HOSTILE[2]}, 320 x 420 pixels"
    assert f"action: [button]  Choice 1 -> CLICK\n{failed}" in shown.out
    assert f"seen: reward 0.5, ended: {HOSTILE[1]}, " in shown.out
    assert "--- reply (stop) ---\nI choose action 2." in shown.out and '{"' not in shown.out
