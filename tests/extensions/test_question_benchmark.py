"""Questions with three answers as a benchmark: subjects, an option, a baseline, a policy."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import pytest

import harness
from adapters import Conversation, Reply, user
from harness.benchmarks import BENCHMARKS, Benchmark, Items
from harness.benchmarks.options import Options
from harness.dialogue import Ask, Dialogue
from harness.options import setting
from harness.policies import POLICIES, Secret
from harness.protocols import PROTOCOLS, AskingProtocol, Needs
from harness.views import ItemView
from parsers import Declaration, Level, Measure, Prediction, Status
from parsers.actions import Action, ActionKind, ActionSpace
from parsers.declaration import Group
from tests.extensions.made_up import known
from tests.harness.commands.tool import call, isolate

QUESTIONS = {
    "pages": {"What is <a>?": ("a link", "an image", "a list"), "<p>?": ("text", "a pen", "none")},
    "phones": {"What does a long press do?": ("select", "call", "charge")},
}
"""By subject; the first answer is right."""


@dataclass(frozen=True)
class Question:
    text: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class QuestionDetail:
    asked: Question
    gold: Action


class QuizView(ItemView[Question]):
    """A question of the quiz."""


DECLARED = Declaration(
    measures=(Measure("right", "Right", "the right answer", main=True),),
    levels=(Level("subject"),),
    groups=(Group("split", "the split", whole="subject"), Group("length", "of the question")),
    kind="quiz",
    unit="query",
    units="queries",
    actions=ActionSpace("letters", tuple(map(ActionKind, "ABC"))),
)


@dataclass(frozen=True, kw_only=True)
class QuestionsOptions(Options):
    order: Literal["seeded", "alphabetical"] = setting(
        "seeded", "The order of the answers.", group="Data"
    )


@dataclass(frozen=True)
class Questions(Benchmark):
    name: str = "questions"
    declared: Declaration = DECLARED

    View = QuizView
    Detail = QuestionDetail
    protocol = "multiple-choice"
    Options = QuestionsOptions
    scorers: ClassVar = {"right": lambda said, detail: float(said.action == detail.gold)}

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        units = []
        for subject, questions in QUESTIONS.items():
            for text, answers in questions.items():
                listed = sorted(answers)
                if self.options.order == "seeded":
                    random.Random(text).shuffle(listed)
                right = Action("ABC"[listed.index(answers[0])])
                detail = QuestionDetail(Question(text, tuple(listed)), right)
                labels = {"length": "long" if len(text) > 12 else "short"}
                parents = {"subject": subject}
                units.append(self.unit(text, detail, parents=parents, labels=labels, goal=text))
        return Items.of(units, splits=splits, whole="subject")


@dataclass(frozen=True)
class MultipleChoice(AskingProtocol):
    name = "multiple-choice"
    View = QuizView
    places = ("choose",)
    needs = Needs(pictures="none")

    def dialogue(self, view: QuizView) -> Dialogue:
        listed = zip("ABC", view.content.answers, strict=True)
        lines = (view.content.text, *(f"{letter}. {answer}" for letter, answer in listed))
        reply = yield Ask(Conversation((user("\n".join((*lines, "Letter?"))),)), "choose")
        assert isinstance(reply, Reply)
        letter = reply.text.strip()[:1].upper()
        found = letter in set("ABC")
        return (
            Prediction(Status.ANSWERED, Action(letter)) if found else Prediction(Status.PARSE_ERROR)
        )

    def write(self, view: QuizView, said: Prediction) -> Mapping[str, str]:
        return {"choose": said.action.name if said.action else ""}


class AnyLetter:
    """The baseline `random` for questions."""

    name = "random"
    View = QuizView
    needs_gold = False

    def predict(self, view: QuizView, chance: random.Random, secret: Secret | None) -> Prediction:
        return Prediction(Status.ANSWERED, Action(chance.choice("ABC")))


@pytest.fixture(autouse=True)
def questions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)
    known(monkeypatch, BENCHMARKS, "questions", Questions)
    known(monkeypatch, PROTOCOLS, "multiple-choice", MultipleChoice)
    known(monkeypatch, POLICIES, "random", AnyLetter)


def test_it_goes_from_a_run_to_a_report_by_group() -> None:
    asked = ("-b", "questions", "--benchmark-option", "order=alphabetical")
    Path("a.jsonl").write_text('{"default": true, "text": "a) surely"}')
    ran = call("run", "-m", "scripted:a.jsonl", *asked, "-o", "a")
    assert ran.code == 0 and "3 queries, 2 subjects" in ran.err and "3 queries" in ran.out
    frame = harness.open_run("a").steps().set_index("query_id")
    assert frame["action"].tolist() == ["A"] * 3
    assert frame["right"].to_dict() == {
        "What is <a>?": True,  # a link, an image, a list
        "<p>?": False,  # a pen, none, text
        "What does a long press do?": False,  # call, charge, select
    }
    by = call("report", "a", "--by", "length").out
    assert "long" in by and "short" in by
    for model in ("random", "oracle"):
        assert call("run", "-m", model, *asked, "-o", model).code == 0
    compared = call("compare", "a", "oracle").out
    assert "Right macro" in compared
    apart = call("run", "-m", "oracle", "-b", "questions", "-o", "seeded")
    assert apart.code == 0
    told = call("compare", "oracle", "seeded")
    assert "differs: order: alphabetical (oracle); seeded (seeded)" in told.out
    Path("theirs.jsonl").write_text('{"unit": "<p>?", "action": {"name": "C"}}')
    only = call("score", "--predictions", "theirs.jsonl", *asked)
    assert "100.0" in only.out and "2 queries" not in only.out
