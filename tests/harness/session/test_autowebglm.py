"""Whole runs with AutoWebGLM's way to act, on the sample."""

from __future__ import annotations

import json
from pathlib import Path

from harness.benchmarks import open_steps
from harness.benchmarks.shows import Shows
from harness.benchmarks.step.history import EarlierSteps, segment_of
from harness.benchmarks.step.listing import list_step
from harness.benchmarks.step.options import StepOptions
from harness.pictures import PicturePolicy
from harness.protocols.autowebglm import AutoWebGLM
from harness.rankers import open_ranks
from harness.records import Row
from harness.settings import Settings
from harness.views import StepView
from tests.harness.commands.tool import DEV, ONE_TASK, call, calls, steps
from tests.harness.protocols.examples import talk
from tests.harness.session.test_secrecy import swapped
from tests.units import changed

ASKED = ("--protocol", "autowebglm", "--ranker", "lexical", "--no-cache")


def test_the_oracle_is_right_wherever_a_positive_is_offered() -> None:
    assert call("--model", "oracle", *DEV, *ASKED, "--out", "o").code == 0
    offered = [s for s in steps("o") if s["asked"] and s["prediction"]["status"] != "not_offered"]
    assert len(offered) > 60 and all(s["scores"]["success"] for s in offered)
    assert len(calls("o")) == len(offered)
    told = [line["reply"]["text"] for line in calls("o")]
    assert {text.partition("(")[0] for text in told} == {"click", "select", "type_string"}
    again = call("score", "o")
    assert again.code == 0 and " 0 of " in again.out.replace("\n", " ")


def test_a_run_tells_its_candidates_in_the_words_of_published_rows() -> None:
    for more, told in (
        ((), "ranker top-50"),
        (("--benchmark-option", "top_k=10"), "ranker top-10"),
    ):
        assert call("-m", "random", *ONE_TASK, *ASKED, *more, "--out", told).code == 0
        config = json.loads(Path(told, "manifest.json").read_text())["config"]
        assert config["candidates_told"] == f"{told}, one function call, by lexical"


def test_previous_commands_are_of_steps_before_and_of_no_other() -> None:
    """Whichever candidate of the step itself is right, and whatever comes after it."""
    data = open_steps("sample", splits=["dev"])
    protocol = AutoWebGLM()
    options = StepOptions(candidates="ranker", top_k=20)
    policy = PicturePolicy.parse("none")
    ranks = open_ranks("lexical")
    shows = Shows(Settings(), options, protocol, policy, ranks=ranks)
    earlier = EarlierSteps(data, segments=True)

    def asked(row: Row) -> str:
        question = list_step(row, shows, earlier=earlier)
        (ask,), _ = talk(
            protocol.dialogue(StepView(question.view.step, question.view.choices)), [""]
        )
        return ask.conversation.messages[-1].text

    rows = [row for row in data.rows() if row.invalid is None][::9]
    assert any(row.position > 3 for row in rows)
    for row in rows:
        text = asked(row)
        assert text == asked(swapped(row))
        assert text.count("#HTML Segment: ") <= row.position
        shown = text.partition("#Previous commands: ")[2].partition("\n\n")[0]
        lines = [] if shown == "None" else shown.splitlines()
        assert len(lines) == row.position == len(row.detail.history)
        assert all(" #HTML Segment: <" in line or " -> " in line for line in lines)


def test_actions_without_an_element_on_their_page_stay_in_mind2web_s_words() -> None:
    row = next(open_steps("sample", splits=["dev"]).rows())
    assert segment_of(row).count("[*]|") == 1
    assert segment_of(changed(row, html="<html backend_node_id='x'/>")) == ""
    right = row.detail.positives[0].id
    forged = f"<p backend_node_id='{right}'><text backend_node_id='t'>[*]| Buy</text></p>"
    assert segment_of(changed(row, html=forged)) == "<p[*]| [*] | Buy >"
    assert segment_of(changed(row, html="<html>")) == ""
    assert segment_of(changed(row, positives=())) == ""
