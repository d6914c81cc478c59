"""Dialogues of questions: what is asked of each turn, once, and how they are scored."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import harness
from harness.batches import passes
from tests.harness.benchmarks.question.test_own import TOML, check, png, run, write
from tests.harness.commands.tool import at, call, calls, isolate, start
from tests.numbers import number, row
from tests.programs import Program
from tests.servers import Answer, Ask, WireServer

BOX = {"question": "What is it?", "answers": ["a lamp"]}
PRICE = {"question": "And its price?", "answers": [12], "metric": "number"}
PAGE = {"question": "Which page?", "options": ["Home", "Basket"], "answer": 1, "metric": "choice"}
TALK = {"id": "t", "image": "till.png", "hint": "A shop.", "turns": [BOX, PRICE, PAGE]}
ALONE = {"id": "s", "question": "Who sells?", "answers": ["Ann"]}
WORDS = {"What is it?": "One lamp.", "price": "It costs 12", "Which page": "B", "Who": "Ann"}
LINE = ("-b", "question-items", "--data", "set", "-o", "run")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch, tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    Path("set").mkdir()
    Path("set/till.png").write_bytes(png())


def told(ask: Ask) -> Answer:
    known = (reply for words, reply in WORDS.items() if words in ask.text)
    return Answer(next(known, "ready"))


def sent(ask: Ask) -> list[tuple[str, str, int]]:
    """Role, text and number of pictures of each message."""
    found = []
    for message in ask.messages:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        texts = [part["text"] for part in parts if part["type"] == "text"]
        found.append((str(message["role"]), "".join(texts), len(parts) - len(texts)))
    return found


def asked(*rows: dict[str, Any], toml: str = TOML) -> dict[str, Ask]:
    """What a model is sent about rows, by the first words of the last message."""
    write(*rows, toml=toml)
    found: dict[str, Ask] = {}

    def react(ask: Ask) -> Answer:
        assert ask.text not in found, "the same is asked twice"
        found[ask.text] = ask
        return told(ask)

    with WireServer(react) as server:
        done = call(*at(server, *LINE))
    assert done.code == 0, done.err
    return {
        " ".join(text.removeprefix("A shop.\n").split()[:2]): ask for text, ask in found.items()
    }


def test_each_turn_is_asked_once_behind_the_models_own_replies() -> None:
    found = asked(TALK, ALONE)
    assert len(found) == len(calls("run")) == 4
    assert found["What is"].pictures == 1 and "A shop." in found["What is"].text
    messages = sent(found["Which page?"])
    assert [role for role, _, _ in messages] == ["user", "assistant"] * 2 + ["user"]
    assert [(text, n) for role, text, n in messages if role == "assistant"] == [
        ("One lamp.", 0),
        ("It costs 12", 0),
    ]
    assert [n for _, _, n in messages] == [1, 0, 0, 0, 0]
    assert "A shop." not in messages[2][1]
    records = {one.unit_id: one for one in harness.open_run("run").records()}
    assert {id: one.scores and one.scores["score"] for id, one in records.items()} == {
        "t_turn-1": pytest.approx(2 / 3),
        "t_turn-2": 1.0,
        "t_turn-3": 1.0,
        "s": 1.0,
    }
    assert {id: one.parents["dialogue"] for id, one in records.items() if id != "s"} == {
        f"t_turn-{n}": "t" for n in (1, 2, 3)
    }
    assert records["t_turn-1"].parents["picture"] == records["t_turn-3"].parents["picture"]


def test_right_answers_may_stand_for_the_replies() -> None:
    found = asked(TALK, toml='history = "gold"\nanswer_after = "Answer:"\n' + TOML)
    messages = sent(found["Which page?"])
    assert [text for role, text, _ in messages if role == "assistant"] == [
        "Answer: a lamp",
        "Answer: 12",
    ]
    assert len(calls("run")) == 3


def test_turns_may_be_asked_alone_each_with_what_the_row_shows() -> None:
    found = asked(TALK, toml='history = "none"\n' + TOML)
    assert {len(ask.messages) for ask in found.values()} == {1}
    assert {ask.pictures for ask in found.values()} == {1}
    assert all(ask.text.startswith("A shop.") for ask in found.values())


def test_pictures_belong_to_their_turn() -> None:
    turns = [BOX, {**PRICE, "images": ["till.png", "till.png"]}]
    found = asked({**TALK, "turns": turns})
    assert [n for _, _, n in sent(found["And its"])] == [1, 0, 2]


def test_a_dialogue_is_all_right_where_every_turn_is() -> None:
    write(TALK, {**TALK, "id": "u"}, ALONE, toml=TOML.replace("f1", "exact"))
    with WireServer(told) as server:
        assert call(*at(server, *LINE)).code == 0
    found = harness.open_run("run").summary
    assert number(found, "score", "micro") == pytest.approx(5 / 7)
    assert number(found, "all_right", "parents") == pytest.approx(1 / 3)
    write(TALK)
    run("oracle", "partial")
    rows = harness.open_run("partial").summary["estimates"]
    assert "all_right" not in {one["measure"] for one in rows}


@pytest.mark.parametrize("history", ["own", "gold", "none"])
def test_the_oracle_is_right_and_chance_is_that_of_options(history: str) -> None:
    write(TALK, ALONE, toml=f'history = "{history}"\n' + TOML)
    assert call("data", "check", "set").code == 0
    found = run("oracle", "right")
    assert found["number"] == 1.0
    assert found["chance"] == pytest.approx(1 / 2 / 4)
    with WireServer(told) as server:
        assert call(*at(server, *LINE)).code == 0
    assert row(harness.open_run("run").summary, "score", "micro")["chance"] == pytest.approx(
        1 / 2 / 4
    )
    assert call("score", "run").out.endswith(
        "0 of 4 predictions read differently than in the run\n"
    )


def test_a_killed_run_goes_on_without_asking_a_turn_again() -> None:
    write(TALK)
    running: list[Program] = []
    begun, killed = Event(), Event()

    def react(ask: Ask) -> Answer:
        if "price" in ask.text and not killed.is_set():
            begun.wait()
            running[0].kill()
            killed.set()
        return told(ask)

    with WireServer(react) as server:
        running.append(start(*at(server, *LINE)))
        begun.set()
        running[0].wait()
        assert len(calls("run")) == 1
        assert call(*at(server, *LINE)).code == 0
        assert len(server.asks) == 4
    assert [one["id"].rpartition("/")[2] for one in calls("run")] == ["turn-1", "turn-2", "turn-3"]
    assert call("score", "run").code == 0


def test_turns_behind_a_reply_that_is_asked_for_again_are_asked_again() -> None:
    write(TALK)

    def react(ask: Ask) -> Answer:
        short = "price" in ask.text and ask.body["max_tokens"] < 100
        return Answer("It is", finish="length") if short else told(ask)

    toml = 'answer_after = "costs"\n' + TOML
    write({**TALK, "turns": [{**BOX, "metric": "edit"}, PRICE, PRICE]}, toml=toml)
    with WireServer(react) as server:
        assert call(*at(server, *LINE, "--max-tokens", "50")).code == 0
        before = len(server.asks)
        again = (
            "--redo",
            "truncated",
            "--redo-from",
            "run",
            "--out",
            "longer",
            "--max-tokens",
            "200",
        )
        done = call(*at(server, *again))
        assert done.code == 0, done.err
        assert len(server.asks) - before == 2
    replies = [json.dumps(one["reply"]) for one in calls("longer")]
    assert sum("It costs 12" in text for text in replies) == 2


def test_a_dialogue_comes_to_the_same_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "FIRST_WAIT_S", 0.001)
    monkeypatch.setattr(passes, "LONGEST_WAIT_S", 0.01)
    write(TALK, {**TALK, "id": "u", "hint": "Another shop."}, ALONE)
    with WireServer(told) as server:
        assert call(*at(server, *LINE, "--no-cache")).code == 0
        more = ("batched", "--no-cache", "--yes", "--tier", "batch", "--adapter-option=wait=yes")
        done = call(*at(server, *LINE[:-1], *more, preflight=True))
        assert done.code == 0, done.err
        assert server.batches.creates == 3
    said = [
        sorted((one["id"], one["conversation"], one["reply"]["text"]) for one in calls(run))
        for run in ("run", "batched")
    ]
    assert said[0] == said[1] and len(said[0]) == 7


def test_each_sample_is_a_dialogue_of_its_own() -> None:
    write(TALK)
    more = ("--samples", "3", "--temperature", "0.9", "--adapter-option", "model_seed=7")
    with WireServer(told) as server:
        done = call(*at(server, *LINE, *more))
        assert done.code == 0, done.err
    assert len(calls("run")) == 3 * 3
    said = [one.prediction for one in harness.open_run("run").records()]
    assert [one.votes for one in said if one] == [(3,)] * 3


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"turns": []}, "turns of t is no list of objects with a question each"),
        ({"turns": ["What?"]}, "turns of t is no list of objects with a question each"),
        ({"question": "What?"}, "t has turns, and question belongs to each of them"),
        ({"turns": [BOX, {"question": "Who?"}]}, "turn 2 of t has no answers; [null] says that"),
        ({"turns": [BOX, {"answers": ["x"]}]}, "turn 2 of t has no question"),
        ({"turns": [BOX, {**BOX, "hints": "x"}]}, "turn 2 of t has the column 'hints'; "),
        ({"turns": [BOX, {**BOX, "image": "lost.png"}]}, "turn 2 of t: lost.png is not in set"),
    ],
)
def test_what_is_wrong_with_a_turn_is_said(change: dict[str, Any], reason: str) -> None:
    write({**TALK, **change})
    found = check()
    assert found.startswith("questions.jsonl, line 1: ") and reason in found


def test_a_turn_without_an_answer_cannot_be_shown_as_gold() -> None:
    turns = [{"question": "What?"}, {"question": "Who?"}]
    write({"id": "t", "turns": turns}, toml='history = "gold"\n' + TOML)
    assert "turn 1 of t has no answer for its later turns (history)" in check()
    with WireServer(lambda ask: Answer("x")) as server:
        write({"id": "t", "turns": turns})
        assert call(*at(server, *LINE)).code == 0
        assert len(server.asks) == 2
