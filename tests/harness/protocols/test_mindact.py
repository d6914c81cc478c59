"""What MindAct's variants show a model, in which order groups are dealt, and what becomes of it."""

from __future__ import annotations

import itertools
import re
import string
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.conversation import Finish, Reply, Text
from harness.dialogue import Ask
from harness.errors import UserError
from harness.protocols.mindact import MindAct
from harness.protocols.mindact_choice import Classify, MindActChoice, Seq2Seq
from harness.protocols.mindact_generate import MindActGenerate
from harness.records import Step
from harness.views import StepView
from parsers import Gold, Prediction, ScoringRules, Status, read_answer, score
from parsers.mind2web import MIND2WEB_ACTIONS
from parsers.settling import settled
from tests.harness.protocols.examples import HISTORY
from tests.harness.protocols.scenes import hold, question


def first(protocol: MindAct, count: int = 5, history: tuple[str, ...] = HISTORY) -> Ask:
    step, pool = question(count)
    asked, _ = hold(
        protocol.dialogue(StepView(replace(step, history=history), pool)), lambda _: "A."
    )
    return asked[0][0]


def test_three_solved_examples_come_before_the_question() -> None:
    messages = first(MindActChoice()).conversation.messages
    assert [m.role for m in messages] == ["system", *["user", "assistant"] * 3, "user"]
    solved = [m.text for m in messages if m.role == "assistant"]
    read = [read_answer(text, ["x"] * 5, letters="BCDEF", none_letter="A") for text in solved]
    assert [(a.option, a.operation, a.value) for a in read] == [
        *((2, "TYPE", "C27"), (None, None, ""), (1, "CLICK", ""))
    ]
    assert not any(message.pictures for message in messages)


def test_the_question_has_the_pruned_page_the_last_five_actions_and_none_first() -> None:
    history = tuple(f"[link]  Page {n} -> CLICK" for n in range(7))
    text = first(MindActChoice(), history=history).conversation.messages[-1].text
    assert "<html> <body> <a id=0> Home 0 </a> <a id=1> " in text
    assert "Book a table for 5" in text
    assert "Page 1" not in text and "Page 2 -> CLICK\n[link]  Page 3" in text
    assert "A. None of these\nB. <a id=0> Home 0 </a>\n" in text
    assert text.rstrip().endswith("F. <a id=4> Sign in 4 </a>")


def test_fine_tuned_models_get_page_and_question_as_two_parts_in_round_brackets() -> None:
    ask = first(Seq2Seq(), history=())
    (message,) = ask.conversation.messages
    page, asked = message.parts
    assert isinstance(page, Text) and isinstance(asked, Text)
    assert page.text.startswith("(html (body ") and "(a id=0 Home 0 )" in page.text
    assert "Task: Book a table for 5\nPrevious actions:\nNone\n" in asked.text
    assert "A. None of the above\nB. (a id=0 Home 0 )\n" in asked.text
    assert "(html" not in asked.text


def test_shuffles_deal_the_same_candidates_out_differently_and_always_alike() -> None:
    step, pool = question(50)
    deals = [MindActChoice().queue(replace(step, shuffle=n), pool) for n in range(5)]
    assert len({tuple(deal) for deal in deals}) == 5
    assert all(sorted(deal) == sorted(c.id for c in pool) for deal in deals)
    assert MindActChoice().queue(step, list(reversed(pool))) == deals[0]
    assert MindActChoice(seed=7).queue(step, pool) != deals[0]
    # No place in the queue is the ranker's favourite's: over steps its first fifth is a fifth.
    ahead = Counter(
        MindActChoice().queue(replace(step, step_id=f"task_{n}"), pool).index("n0") < 10
        for n in range(300)
    )
    assert 35 <= ahead[True] <= 90


def answered(step: Step, wanted: str, reply: str) -> Prediction:
    """A tournament in which `reply` is given, with the right letter, where `wanted` is offered."""
    pool = question(12)[1]

    def answer(ask: Ask) -> str:
        lines = ask.conversation.messages[-1].text.split("\n")
        letters = [line[0] for line in lines if f"> {wanted} </a>" in line and line[1:3] == ". "]
        return reply.replace("@", letters[0]) if letters else "Answer: A."

    return hold(MindActChoice().dialogue(StepView(step, pool)), answer)[1]


def test_unreadable_and_out_of_range_groups_are_rejected_and_flagged() -> None:
    step, pool = question(12)
    _, beyond = hold(
        MindActChoice().dialogue(StepView(step, pool)), lambda _: "Answer: M.\nAction: CLICK"
    )
    assert (beyond.status, beyond.element) == (Status.OUT_OF_RANGE, None)
    assert beyond.operation is None
    flagged = answered(step, "Menu 3", "Answer: @.\nAction: CLICK")
    assert flagged.flags == ()
    _, filtered = hold(
        MindActChoice().dialogue(StepView(step, pool)),
        lambda _: Reply("Answer: B.", Finish.CONTENT_FILTER),
    )
    assert filtered.status is Status.CONTENT_FILTER


def test_a_model_that_knows_the_left_over_candidate_still_reaches_it() -> None:
    step, pool = question(6)
    wanted = Prediction.of(
        Status.ANSWERED, element=MindActChoice().queue(step, pool)[-1], operation="CLICK"
    )
    told = MindActChoice().write(StepView(step, pool), wanted)
    assert sorted(told) == ["group-1", "group-2"]
    _, found = hold(MindActChoice().dialogue(StepView(step, pool)), lambda ask: told[ask.place])
    assert found.element == wanted.element


def test_the_reference_reader_takes_other_forms_for_none() -> None:
    step, pool = question(5)
    said = "**Answer:** B.\nAction: CLICK"
    _, strict = hold(MindActChoice().dialogue(StepView(step, pool)), lambda _: said)
    _, reference = hold(
        MindActChoice(reader="reference").dialogue(StepView(step, pool)), lambda _: said
    )
    assert (strict.element, reference.status) == ("n0", Status.NONE)


@pytest.mark.parametrize(
    ("way", "names"),
    [
        (Seq2Seq(reader="reference"), ("B.", "C.", "A.", "E.")),
        (
            MindActChoice(reader="reference"),
            ("Answer: B.", "Answer: C.", "Answer: A.", "Answer: E."),
        ),
        (
            MindActGenerate(reader="reference"),
            ("Element: <a id=0>", "Element: (a id=1 Home 1 )", "None", "Element: x"),
        ),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_the_reference_reader_scores_what_is_written_as_mindact_s_own_code(
    way: MindAct, names: tuple[str, ...]
) -> None:
    """Against the rules of its released evaluation, on every combination of parts."""
    step, pool = question(5)
    parts = itertools.product(
        names,
        ("", "Action: CLICK", "Action: TYPE", "Action: SELECT", "Action: click"),
        ("", "Value: Ohio", "Value: 'Ohio' .", "Value: ", "Value: CLICK"),
        (Gold("CLICK", "", ("n0",)), Gold("TYPE", "Ohio", ("n1",)), Gold("SELECT", ".", ("n0",))),
    )
    counted = 0
    for name, action, value, gold in parts:
        reply = "\n".join(part for part in (name, action, value) if part)
        _, found = hold(way.dialogue(StepView(step, pool)), lambda _, reply=reply: reply)  # type: ignore[misc]
        if name in ("A.", "Answer: A.", "None"):
            assert found.element is None
            continue
        found = settled(found, MIND2WEB_ACTIONS)
        element = f"n{(0, 1, 2, 3 if way.none_rule == 'first' else 0)[names.index(name)]}"
        for variant in ("mind2web", "mind2web-np"):
            f1 = f1_of_their_code(reply, gold, without_marks=variant == "mind2web-np")
            scores = score(found, gold, ScoringRules(variant=variant))
            assert scores[f"operation_f1.{variant}"] == pytest.approx(f1), (reply, gold)
            assert scores["success"] == (f1 == 1 and element in gold.elements)
        counted += 1
    assert counted == 3 * 5 * 5 * 3


def f1_of_their_code(reply: str, gold: Gold, *, without_marks: bool) -> float:
    """Operation F1 by the rules of MindAct's released evaluation (MT-Mind2Web's for marks)."""
    action = re.search(r"Action: (CLICK|SELECT|TYPE)", reply)
    value = re.search(r"Value: (.*)$", reply, re.MULTILINE)
    said = {*(action[1] if action else "").split(), *(value[1] if value else "").split()}
    right = {gold.operation, *gold.value.split()}
    if without_marks:
        said, right = (
            {word for word in one if word not in string.punctuation} for one in (said, right)
        )
    if not said or not right:
        return float(said == right)
    return 2 * len(said & right) / (len(said) + len(right))


def test_other_readers_leave_out_the_value_of_a_click_or_without_an_action() -> None:
    view = StepView(*question(5))
    for said, gold in (
        ("Answer: B.\nAction: CLICK\nValue: Ohio", Gold("CLICK", "", ("n0",))),
        ("Answer: B.\nValue: Ohio", Gold("TYPE", "Ohio", ("n0",))),
    ):
        found = [
            hold(MindActChoice(reader=reader).dialogue(view), lambda _, said=said: said)[1]  # type: ignore[misc]
            for reader in ("strict", "reference")
        ]
        ours, theirs = (score(one, gold)["operation_f1.mind2web"] for one in found)
        assert (ours, theirs) == (float(gold.operation == "CLICK"), 2 / 3)


def test_a_written_element_that_matches_nothing_is_flagged() -> None:
    step, pool = question(5)
    _, found = hold(
        MindActGenerate().dialogue(StepView(step, pool)),
        lambda _: "Element: checkout\nAction: CLICK",
    )
    assert (found.status, found.flags) == (Status.NO_ELEMENT, ("match-none",))


def test_classification_asks_nobody_and_takes_rank_0() -> None:
    step, pool = question(9)
    asked, found = hold(Classify().dialogue(StepView(step, tuple(reversed(pool)))), lambda _: "")
    assert asked == []
    assert found == Prediction.of(Status.ANSWERED, element="n8", flags=("element-only",))
    assert score(found, Gold("CLICK", "", ("n8",)))["element"]
    assert Classify().calls(50) == (0, 0)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (MindActChoice().candidate_description("ranker", 10), "ranker top-10, tournament of five"),
        (Seq2Seq().candidate_description("ranker", 50), "ranker top-50, tournament of five"),
        (MindActGenerate().candidate_description("ranker", 50), "ranker top-50, generated"),
        (Classify().candidate_description("ranker", 50), "ranker top-50, classified"),
        (MindActChoice().candidate_description("snapshot", None), "snapshot, tournament of five"),
    ],
)
def test_candidates_are_told_in_the_words_of_the_published_rows(told: str, words: str) -> None:
    assert told == words


def test_a_prompt_pack_replaces_the_texts_and_empty_examples_are_left_out(tmp_path: Path) -> None:
    pack = tmp_path / "mine.toml"
    parts = [f'{part}_{n} = ""' for n in (1, 2, 3) for part in ("example", "solution")]
    pack.write_text(
        "\n".join(
            [
                'name = "mine"\nsystem = ""\nnone_option = "None"\nno_history = "-"',
                'history_line = "{number}) {action}"',
                'question = "{page} | {task} | {history} | {choices}"',
                *parts,
            ]
        )
    )
    (message,) = first(MindActChoice(prompts=pack)).conversation.messages
    assert "| Book a table for 5 | 1) [link]  Tables -> CLICK\n2) " in message.text
    assert MindActChoice(prompts=pack).settings()["prompts"] == "mine"
    pack.write_text(pack.read_text().replace("{choices}", ""))
    with pytest.raises(UserError, match=r"question must contain \{choices\}"):
        MindActChoice(prompts=pack)


def test_page_text_with_placeholders_is_passed_on_as_it_is() -> None:
    step, pool = question(5, task="Say {choices} and {page}")
    asked, _ = hold(MindActChoice().dialogue(StepView(step, pool)), lambda _: "A.")
    text = asked[0][0].conversation.messages[-1].text
    assert text.count("Say {choices} and {page}") == 1
