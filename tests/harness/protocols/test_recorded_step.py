"""The step that SeeAct's authors released, through our protocols: prompts, crops and scores."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.benchmarks.step.scene import PageScene, RecordedScene
from harness.dialogue import Ask
from harness.page import Page, decode_candidates
from harness.pictures import PicturePolicy, Screenshot
from harness.protocols.groups import group_of
from harness.protocols.mindact_choice import Seq2Seq
from harness.protocols.seeact_choice import SeeActChoice
from harness.records import Choice, Step
from harness.views import StepView
from parsers import score
from parsers.records import Gold, StepInfo
from tests.harness.page import recorded
from tests.harness.protocols.scenes import hold

PAGE_SIZE = (1280, 7412)


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return dict(json.loads((recorded.folder() / "expected.json").read_text()))


@pytest.fixture(scope="module")
def question() -> tuple[Step, tuple[Choice, ...]]:
    """The step and the ranker's first fifty candidates."""
    row, query = recorded.row(), recorded.batches()[0]
    page = Page.parse(row["cleaned_html"])
    ranks = json.loads((recorded.folder() / "candidate_scores.json").read_text())["ranks"]
    known = decode_candidates([*row["pos_candidates"], *row["neg_candidates"]])
    best = sorted(known, key=lambda c: ranks[c.id])[:50]
    texts = {c.id: c.text for c in page.choices([c.id for c in best])}
    place = {node_id: number for number, node_id in enumerate(texts)}
    pool = tuple(
        Choice("", c.id, c.tag, texts[c.id], c.box, rank, place=place[c.id])
        for rank, c in enumerate(best)
    )
    scene = PageScene(
        page,
        pool,
        PicturePolicy.parse("candidates"),
        Screenshot("0" * 64, *PAGE_SIZE),
        None,
        None,
    )
    step = Step(
        f"{query['annotation_id']}_{query['action_uid']}",
        StepInfo(
            query["annotation_id"],
            query["action_uid"],
            len(query["previous_actions"]),
            7,
            "seeact",
            "test_domain",
            query["website"],
            "",
            "",
            query["confirmed_task"],
        ),
        tuple(query["previous_actions"]),
        scene=scene,
    )
    return step, pool


def test_the_ranked_candidates_are_cut_cropped_and_listed_as_in_the_release(
    question: tuple[Step, tuple[Choice, ...]], expected: dict[str, Any]
) -> None:
    asked, _ = hold(
        SeeActChoice(eager=True).dialogue(StepView(*question)), lambda _: "ELEMENT: None"
    )
    assert [len(group) for group in asked] == [3, 3]
    stored = recorded.batches()
    for ask, batch, query in zip(asked[1], expected["batches"], stored, strict=True):
        lines = ask.conversation.messages[-1].text.split("\n")
        start = next(n for n, line in enumerate(lines) if line.startswith("A. "))
        listed = [line.partition(". ")[2] for line in lines[start : start + batch["n_choices"]]]
        assert listed == [text for _, text in query["choices"]]
        assert lines[start + batch["n_choices"]].startswith(f"{batch['none_letter']}. ")
        (picture,) = ask.conversation.pictures
        assert [picture.width, picture.height] == batch["image_size"]


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("live", [False, True])
def test_the_released_replies_score_as_they_must(
    question: tuple[Step, tuple[Choice, ...]], expected: dict[str, Any], eager: bool, live: bool
) -> None:
    (path,) = (recorded.folder() / "textual_choice").glob("*/prediction-4api.jsonl")
    told = [json.loads(line)["gpt_output"] for line in path.read_text().splitlines()]

    def answer(ask: Ask) -> str:
        _, number, what = ask.place.split("-")
        return str(told[int(number) - 1][what == "choose"])

    step, pool = question
    if not live:
        step = replace(step, scene=RecordedScene(pool))
    asked, prediction = hold(SeeActChoice(eager=eager).dialogue(StepView(step, pool)), answer)
    assert sum(len(group) for group in asked) == (6 if eager else 2)
    first = expected["batches"][0]
    assert (prediction.letter, prediction.element) == (first["answer_letter"], first["chosen_id"])
    assert prediction.flags == ()
    gold = Gold(
        expected["gold"]["op"], expected["gold"]["value"], tuple(expected["gold"]["positive_ids"])
    )
    scores, metrics = score(prediction, gold), expected["expected_metrics"]
    assert scores["element"] == metrics["element_correct"]
    assert scores["operation_f1.mind2web"] == metrics["operation_f1"]
    assert scores["success"] == metrics["step_success"]


def test_the_question_of_a_fine_tuned_model_is_the_stored_one_in_its_own_words(
    question: tuple[Step, tuple[Choice, ...]], tmp_path: Path
) -> None:
    step, pool = question
    for query in recorded.batches():
        asked: str = query["question"].strip()
        texts = asked.replace(step.info.task, "{task}").replace(
            "\n".join(step.history), "{history}"
        )
        head, _, listed = texts.partition("\nA. ")
        pack = {
            "name": "stored",
            "page": "{page}",
            "question": head + "\n{choices}",
            "none_option": listed.split("\n")[0],
            "history_line": "{action}",
            "no_history": "None",
        }
        group = group_of(step, pool, [i for i, _ in query["choices"]], snippet=True)
        path = tmp_path / "stored.toml"
        path.write_text("\n".join(f"{key} = {json.dumps(text)}" for key, text in pack.items()))
        protocol = Seq2Seq(prompts=path)
        page, written = protocol.conversation(step, group).messages[0].parts
        assert getattr(page, "text", "") == query["context_html"]
        assert getattr(written, "text", "") == asked
