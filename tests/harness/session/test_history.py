"""What is shown of earlier steps: to policies no more than to models."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.benchmarks import StepDataset, recorded_steps
from harness.benchmarks.step.history import EarlierSteps
from harness.options import History
from harness.pictures import PicturePolicy, PictureStore, plan, read_size
from harness.planning.data import open_data
from harness.records import Row
from harness.runs.steps import info_of
from harness.settings import read_settings
from harness.views import StepView
from tests.harness.commands.tool import Called, at, call, calls
from tests.harness.protocols.examples import step
from tests.servers import Answer, Ask, WireServer

LINES = ("first", "second", "third")
TASK = "b81c7a25-5404-5147-868d-cb06f7cfffd0"
"""A task of the sample with eleven steps."""
ACTION = "Thought: {number}\nAction: click(start_box='({number},7)')"
QUESTION = """The user's task:
{task}

Actions taken so far:
(the turns below, if there are any)

The picture shows the current page. Decide on the one next action, and on the element that it is done to.

Answer with one call of these three, on a line that begins with "Action:", and nothing after it:

Action: click(start_box='(x,y)')
Action: type(start_box='(x,y)', content='the text to type')
Action: select(start_box='(x,y)', content='the option to select')

x and y are the middle of the element, as whole numbers from 0 to 1000, where 1000 is the picture's full width or height, counted from its top left corner. If no element fits, write None for the place: start_box='None'."""  # noqa: E501


@pytest.mark.parametrize(
    ("last", "seen"),
    [(None, LINES), (0, ()), (1, ("third",)), (2, ("second", "third")), (9, LINES)],
)
def test_policies_see_as_many_actions_as_are_shown(last: int | None, seen: tuple[str, ...]) -> None:
    view = StepView(replace(step(), history=LINES), ())
    assert view.latest(last).step.history == seen


@given(
    st.builds(
        History,
        actions=st.none() | st.integers(0, 30),
        thoughts=st.booleans(),
        turns=st.booleans(),
        pictures=st.tuples(st.integers(1, 20), st.integers(0, 9)).map(lambda p: (p[0], sum(p))),
    )
)
def test_a_history_is_written_and_read(history: History) -> None:
    assert History.parse(str(history)) == history


@pytest.mark.parametrize("text", ["", "turns", "turns:0", "pictures:5-2", "2+3", "thought", "all+"])
def test_other_texts_are_no_history(text: str) -> None:
    with pytest.raises(ValueError, match=f"'{text.replace('+', '.')}'"):
        History.parse(text)


@given(st.integers(1, 9), st.integers(0, 9), st.integers(0, 60))
def test_old_pictures_go_several_at_a_time(least: int, more: int, count: int) -> None:
    history = History(pictures=(least, least + more))
    shown = [history.of(before)[1] for before in range(count)]
    assert all(number == place for place, number in enumerate(shown[: least + more]))
    assert all(least - 1 <= number <= least + more - 1 for number in shown[least - 1 :])
    assert all(b == a + 1 or b == least - 1 for a, b in pairwise(shown))


class Replies:
    """A served model that numbers its replies, and whose prefix cache holds all it has been sent.

    asked: the messages of every request.
    """

    def __init__(self, form: str = ACTION) -> None:
        self.asked: list[list[Any]] = []
        self._form = form

    def __call__(self, ask: Ask) -> Answer:
        messages = [json.dumps(message) for message in ask.messages]
        earlier = [[json.dumps(message) for message in one] for one in self.asked]
        same = max((_shared(messages, one) for one in earlier), default=0)
        self.asked.append(list(ask.messages))
        # A message is as many tokens as any other here: what counts is where prefixes differ.
        usage = {"input": len(messages) * 100, "cached": same * 100, "output": 5}
        return Answer(self._form.format(number=len(self.asked)), usage=usage)


def _shared(first: list[str], second: list[str]) -> int:
    return next(
        (place for place, (a, b) in enumerate(zip(first, second, strict=False)) if a != b),
        min(len(first), len(second)),
    )


def asked(history: str, *more: str, form: str = ACTION, out: str = "run") -> tuple[Replies, Called]:
    """A run on one task, asked one step at a time."""
    replies = Replies(form)
    with WireServer(replies) as server:
        line = at(server, "--benchmark", "sample", "--only", f"task_id={TASK}", "--out", out)
        done = call(*line, "--history", history, "--concurrency", "1", "--no-cache", *more)
    return replies, done


UI_TARS = (
    *("--protocol", "coordinates", "--protocol-option", "form=ui-tars"),
    *("--protocol-option", "coordinates=per-mille"),
)


def the_task() -> StepDataset:
    """The steps of the task, read anew."""
    only = [f"task_id={TASK}"]
    settings = read_settings({"model": "random", "benchmark": "sample", "only": only})
    return recorded_steps(open_data(settings).part)


def replied(row: Row) -> str:
    """The recorded action as UI-TARS would have said it, in thousandths."""
    gold = row.detail.gold
    size = read_size(row.detail.screenshot or b"")
    assert gold.box is not None
    x, y, width, height = gold.box
    place = f"({round(1000 * (x + width / 2) / size.width)},"
    place += f"{round(1000 * (y + height / 2) / size.height)})"
    said = f", content='{gold.value}'" if gold.value else ""
    return f"Action: {gold.operation.lower()}(start_box='{place}'{said})"


@pytest.mark.parametrize("most", [5, 4])
def test_ui_tars_sees_its_last_screenshots_in_turns_of_its_own(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plain, done = asked("all", *UI_TARS, out="plain")
    assert done.code == 0, done.err
    turns, done = asked(f"turns:{most}", *UI_TARS)
    assert done.code == 0, done.err
    shown = [messages[1]["content"][0] for messages in plain.asked]
    task = list(the_task().rows())
    question = QUESTION.format(task=task[0].goal)
    assert len(task) == len(shown) == len(turns.asked) == 11
    for number, messages in enumerate(turns.asked):
        expected: list[Any] = [
            plain.asked[0][0],
            {"role": "user", "content": [{"type": "text", "text": question}]},
        ]
        for place in range(number):
            if place > number - most:
                expected.append({"role": "user", "content": [shown[place]]})
            expected.append({"role": "assistant", "content": replied(task[place])})
        expected.append({"role": "user", "content": [shown[number]]})
        assert messages == expected
        assert json.dumps(messages) == json.dumps(expected)


def test_a_run_that_came_before_speaks_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, done = asked("all", *UI_TARS, out="first")
    assert done.code == 0, done.err
    own, done = asked("turns:2", *UI_TARS, "--benchmark-option", "history_from=first")
    assert done.code == 0, done.err
    for number, messages in enumerate(own.asked):
        said = [texts(message) for message in messages if message["role"] == "assistant"]
        assert said == [ACTION.format(number=place + 1) for place in range(number)]
    lines, done = asked(
        "2+thoughts", *UI_TARS, "--benchmark-option", "history_from=first", out="lines"
    )
    assert done.code == 0, done.err
    text = texts(lines.asked[-1][-1])
    assert "10. CLICK (thought before: Thought: 10)" in text and "8. " not in text
    manifest = json.loads((tmp_path / "lines/manifest.json").read_text())
    assert len(manifest["config"]["history_from_sha256"]) == 64
    assert "gold" not in json.dumps(lines.asked) and "right" not in text


def texts(message: Any) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(p.get("text", "") for p in content)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            ("--history", "2+thoughts"),
            "recorded steps have no thoughts; add --benchmark-option history_from=RUN",
        ),
        (("--history", "turns:2", "--image-policy", "none"), "no pictures are shown"),
        (
            ("--benchmark-option", "history_from=nothing"),
            "history_from=nothing: nothing is not a run",
        ),
        (
            ("--history", "turns:2", "--protocol", "mindact-choice"),
            "as lines only: all, none, or K",
        ),
    ],
)
def test_what_cannot_be_shown_is_refused(
    line: tuple[str, ...], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call("--model", "oracle", "--benchmark", "sample", "--limit", "1", "--dry-run", *line)
    assert done.code == 2
    assert reason in done.complaint


def test_a_run_about_other_tasks_is_no_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    base = ("--model", "random", "--benchmark", "sample", "--limit", "2")
    assert call(*base, "--split", "dev", "--out", "other").code == 0
    done = call(*base, "--only", f"task_id={TASK}", "--benchmark-option", "history_from=other")
    assert done.code == 2
    assert "other: the run has nothing about step" in done.err.splitlines()[-1]


def test_pictures_before_the_question_are_those_of_the_last_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found, done = asked("3+pictures:3", form="I would click it.\nELEMENT: A\nACTION: CLICK")
    assert done.code == 0, done.err
    opened = [messages for messages in found.asked if len(messages) == 2]
    now = [messages[1]["content"][-2] for messages in opened]
    for number, messages in enumerate(opened):
        parts = messages[1]["content"]
        assert parts[:-1] == now[max(0, number - 2) : number + 1]
        said = f"earlier steps, the oldest first, {min(number, 2)} in all"
        assert (said in parts[-1]["text"]) == (number > 0)


def cached(run: str) -> float:
    """The share of the input that came from the provider's cache."""
    usage = [line["reply"]["usage"] for line in calls(run)]
    return float(sum(one["cached"] for one in usage) / sum(one["input"] for one in usage))


def test_pictures_that_go_in_blocks_keep_the_prefix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for history, out in (("turns:4", "one-by-one"), ("turns:2-6", "blocks")):
        _, done = asked(history, *UI_TARS, out=out)
        assert done.code == 0, done.err
    assert round(100 * cached("blocks")) == 75  # docs/protocols.md
    assert round(100 * cached("one-by-one")) == 43


def test_screenshots_of_as_many_steps_as_are_shown_are_kept() -> None:
    steps, policy = the_task(), PicturePolicy.parse("full")
    earlier = EarlierSteps(
        steps, plan=lambda page: plan(policy, page), memory=History.parse("turns:3")
    )
    for row in steps.rows():
        info = info_of(row)
        assert len(earlier.sources(info)) <= min(2, info.index)
        earlier.seen(row)
        assert len(earlier._screenshots) <= 3


def test_a_picture_is_prepared_once_for_all_steps_that_show_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stores: list[PictureStore] = []

    class Watched(PictureStore):
        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **more)
            stores.append(self)

    monkeypatch.setattr("harness.session.run.PictureStore", Watched)
    _, done = asked("turns:3", *UI_TARS)
    assert done.code == 0, done.err
    assert sum(store.stats.prepared for store in stores) == 11
