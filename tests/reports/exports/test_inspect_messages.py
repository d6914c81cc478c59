"""Messages and pictures in logs of inspect_ai: every reply once, every conversation whole."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from pathlib import Path

import pytest
from PIL import Image

from adapters.conversation import Finish, Usage
from harness.runs import EmbedRecord, Spent, open_run
from parsers.records import Status
from reports.exports import export
from tests.harness.commands.tool import call
from tests.reports.exports.runs import HOSTILE, made_up
from tests.reports.kinds.episode.worlds import EPISODES, forms

pytest.importorskip("inspect_ai", reason="needs the extra [inspect]")

from inspect_ai.log import read_eval_log
from inspect_ai.model import ContentImage, ContentReasoning, ContentText

from tests.reports.exports.logs import asked, exported, one_step, said, samples_of, told


def test_a_reply_is_shown_once_however_the_conversation_goes_on(tmp_path: Path) -> None:
    first = asked("A_0", "round-1", [said("system", "S"), said("user", "Q1")], "R1")
    again = [said("assistant", "R1"), said("user", "Q2")]
    second = asked("A_0", "round-2", again, "R2", earlier="round-1")
    sample = one_step(tmp_path, [first, second])
    assert told(sample) == [
        ("system", "S"),
        ("user", "Q1"),
        ("assistant", "R1"),
        ("user", "Q2"),
        ("assistant", "R2"),
    ]
    calls = [(one.metadata or {}).get("call") for one in sample.messages]
    assert calls == [None, "round-1", None, None, None]
    assert sample.output.completion == "R2" and sample.turn_count == 2
    assert sample.total_time == 1.0
    ids = [message.id for message in sample.messages]
    assert len(set(ids)) == 5


def test_conversations_side_by_side_stand_one_after_the_other(tmp_path: Path) -> None:
    begin = [said("system", "S"), said("user", "left?")]
    left = asked("A_0", "left-1", begin, "L1")
    right = asked("A_0", "right-1", [said("system", "S"), said("user", "right?")], "R1")
    left_on = [said("assistant", "L1"), said("user", "and?")]
    right_on = [said("assistant", "R1"), said("user", "and?")]
    calls = [
        left,
        right,
        asked("A_0", "left-2", left_on, "L2", earlier="left-1"),
        asked("A_0", "right-2", right_on, "R2", earlier="right-1"),
    ]
    sample = one_step(tmp_path, calls)
    assert [text for _, text in told(sample)] == [
        *("S", "left?", "L1", "and?", "L2"),
        *("right?", "R1", "and?", "R2"),
    ]
    begun = [(one.text, one.metadata) for one in sample.messages if one.role == "user"]
    assert begun[0] == ("left?", {"call": "left-1"})
    assert begun[2] == ("right?", {"call": "right-1"})


def test_other_models_and_embedders_are_told_apart(tmp_path: Path) -> None:
    planner = asked(
        *("A_0", "plan", [said("system", "P"), said("user", "plan")], "do it"),
        role="planner",
        model="planner-1",
        usage=Usage(40, output=4),
    )
    embed = asked("A_0", "embed", (), "", role="memory", embed=EmbedRecord(2, 8, "d", ("a", "b")))
    own = asked("A_0", "only", [said("system", "S"), said("user", "?")], "mine")
    roles = {
        "": Spent(1, Usage(100, output=5), 0.1),
        "memory": Spent(1, None, None),
        "planner": Spent(1, Usage(40, output=4), 0.2),
    }
    sample = one_step(tmp_path, [planner, embed, own], roles=roles)
    assert told(sample) == [
        *(("system", "P"), ("user", "plan"), ("assistant", "do it")),
        *(("user", "a\n\nb"), ("assistant", "2 vectors of 8 numbers")),
        *(("system", "S"), ("user", "?"), ("assistant", "mine")),
    ]
    replies = [one.metadata or {} for one in sample.messages if one.role == "assistant"]
    assert [one.get("role") for one in replies] == ["planner", "memory", None]
    assert sample.output.completion == "mine" and sample.turn_count == 1
    assert sample.role_usage["planner"].input_tokens == 40
    assert sample.model_usage.keys() == {"model-1", "planner-1"}
    assert sample.model_usage["planner-1"].total_cost == 0.2


def test_thoughts_and_reasons_to_end_are_where_inspect_has_them(tmp_path: Path) -> None:
    about = {"reasoning": "Hm.", "finish": Finish.LENGTH}
    sample = one_step(
        tmp_path,
        [asked("A_0", "only", [said("user", "?")], "half an", about=about)],
        status=Status.TRUNCATED,
    )
    thought, text = sample.messages[-1].content_list
    assert isinstance(thought, ContentReasoning) and thought.reasoning == "Hm."
    assert isinstance(text, ContentText) and text.text == "half an"
    assert sample.output.stop_reason == "max_tokens"
    assert sample.scores is not None and sample.scores["success"].reason == "truncated"
    assert sample.metadata["status"] == "truncated"


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        (Finish.STOP, "stop"),
        (Finish.TOO_LONG, "model_length"),
        *((one, "content_filter") for one in (Finish.REFUSAL, Finish.CONTENT_FILTER)),
        (Finish.PROVIDER_REFUSED, "content_filter"),
    ],
)
def test_the_end_of_a_reply_is_in_inspect_s_words_and_in_ours(
    tmp_path: Path, finish: Finish, stop: str
) -> None:
    call = asked("A_0", "only", [said("user", "?")], "", about={"finish": finish})
    sample = one_step(tmp_path, [call])
    assert sample.output.stop_reason == stop
    ours = (sample.messages[-1].metadata or {}).get("finish", "stop")
    assert ours == str(finish)


def test_what_is_done_on_a_page_is_a_tool_call(tmp_path: Path) -> None:
    forms(tmp_path / "run")
    log = exported(tmp_path / "run", tmp_path / "out", with_pictures=True)
    sample = samples_of(log)["form-0/0", 1]
    roles = [message.role for message in sample.messages]
    assert roles == ["user", *("user", "assistant", "tool") * 2]
    typed, clicked = (one for one in sample.messages if one.role == "assistant")
    assert typed.tool_calls is not None and clicked.tool_calls is not None
    assert typed.tool_calls[0].function == "TYPE"
    assert typed.tool_calls[0].arguments == {"element": "1", "value": "Ohio"}
    assert "point" in clicked.tool_calls[0].arguments
    middle, end = (one for one in sample.messages if one.role == "tool")
    assert middle.tool_call_id == typed.tool_calls[0].id
    assert "reward 1, ended: solved" in end.text
    # The model was sent what it saw; the end of an episode, which it was not, is told in words.
    assert [type(one) for one in middle.content_list] == [ContentText]
    assert [type(one) for one in end.content_list] == [ContentText]
    failed = samples_of(log)["form-3/1", 1]
    errors = [one.error for one in failed.messages if one.role == "tool" and one.error]
    assert [error.message for error in errors] == [" ".join(EPISODES[7].error.split("\n"))]
    lost = samples_of(log)["form-3/0", 1]
    assert lost.error is not None and lost.error.message == "timeout: no observation"


def test_pictures_are_those_that_were_sent(runs: Mapping[str, Path], tmp_path: Path) -> None:
    from harness.pictures import Recipe, imaging

    opened = open_run(runs["steps"])
    log = exported(runs["steps"], tmp_path, with_pictures=True)
    checked = 0
    for record in opened.records()[:8]:
        sample = samples_of(log)[record.unit_id, 1]
        shown = [
            part.image
            for message in sample.messages
            for part in message.content_list
            if isinstance(part, ContentImage)
        ]
        assert len(shown) == record.asked
        for picture, uri in zip(record.pictures, shown, strict=False):
            head, _, encoded = uri.partition(",")
            data, source = base64.b64decode(encoded), opened.screenshot(record.unit_id)
            assert head == "data:image/jpeg;base64"
            assert data == imaging.prepare(source, Recipe.parse(picture.recipe))[0]
            with Image.open(io.BytesIO(data)) as image:
                assert image.size == (picture.width, picture.height)
            checked += 1
    assert checked > 4
    bare = exported(runs["steps"], tmp_path / "bare")
    assert not any(one.attachments for one in bare.samples or [])
    words = "\n".join(text for one in bare.samples or [] for _, text in told(one))
    assert f"[picture, {picture.width} x {picture.height}" in words


def test_pictures_that_are_gone_are_counted(tmp_path: Path) -> None:
    forms(tmp_path / "run", blobs=False)
    done = export([tmp_path / "run"], "inspect", tmp_path / "out", with_pictures=True)
    assert "pictures are missing" in done.notes[0]
    log = read_eval_log(str(done.files[0]))
    assert not any(one.attachments for one in log.samples or [])


def test_more_pictures_than_fit_into_memory_are_refused(
    runs: Mapping[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reports.exports.inspect.talk.LIMIT", 1_000_000)
    done = call(
        *("export", runs["steps"], "--to", "inspect", "--with-pictures", "-o", tmp_path / "out")
    )
    assert done.code == 2 and "more than 1 MB" in done.complaint
    assert not (tmp_path / "out").exists()


def test_hostile_texts_are_texts(tmp_path: Path) -> None:
    made_up(tmp_path / "run", text=HOSTILE)
    log = exported(tmp_path / "run", tmp_path / "out")
    for sample in log.samples or []:
        assert told(sample)[-1] == ("assistant", HOSTILE)
        assert sample.input == HOSTILE
    texts = ("attachment://0123456789abcdef", "data:image/png;base64,AAAA", "<img src=x>")
    for number, text in enumerate(texts):
        sample = one_step(
            tmp_path / str(number), [asked("A_0", "only", [said("user", text)], text)]
        )
        assert told(sample) == [("user", text), ("assistant", text)]
