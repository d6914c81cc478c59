from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from harness.benchmarks import open_steps
from harness.candidates import page_of
from harness.page import Page
from harness.ranker_models.commands import DEPTHS, Ranked, recall_by_split
from harness.rankers import ByScore, candidates, open_ranks
from tests.harness.benchmarks._files import shared_data
from tests.harness.rankers.steps import step
from tests.units import changed

SHOP = """<html backend_node_id="r"><body backend_node_id="o">
<nav backend_node_id="n"><a backend_node_id="a1"><text backend_node_id="t1">Kettles</text></a>
<a backend_node_id="a2"><text backend_node_id="t2">Toasters</text></a></nav>
<form backend_node_id="f"><label backend_node_id="l"><text backend_node_id="t3">Voucher</text>
</label><input backend_node_id="i" type="text" name="q7"/>
<button backend_node_id="b"><text backend_node_id="t4">Apply</text></button></form>
<p backend_node_id="p"><text backend_node_id="t5">Kettles are hot.</text></p></body></html>"""
IDS = ("r", "o", "n", "a1", "a2", "f", "l", "i", "b", "p")


def order(task: str, history: tuple[str, ...] = (), positive: str | None = "a1") -> list[str]:
    row = step(html=SHOP, ids=IDS, task=task, history=history, positive=positive)
    return list(open_ranks("lexical").of(row, page_of(row)))


def test_what_the_task_names_comes_first() -> None:
    assert order("Show me the toasters")[0] == "a2"
    assert order("Show me the kettles")[0] == "a1"


def test_a_field_is_found_by_its_label_beside_it() -> None:
    found = order("Use the voucher SLOW")
    assert found.index("i") < min(found.index("a1"), found.index("a2"), found.index("b"))


def test_a_link_is_preferred_to_a_paragraph_that_reads_alike() -> None:
    found = order("kettles")
    assert found.index("a1") < found.index("p")


def test_words_that_were_dealt_with_count_less() -> None:
    task = "Open the kettles, then apply"
    before = order(task)
    after = order(task, ("[link]  Kettles -> CLICK",))
    assert after.index("b") <= before.index("b")
    assert after.index("b") < after.index("a1")


@given(st.sampled_from([None, *IDS]), st.permutations(IDS))
def test_the_answer_and_the_stored_order_change_nothing(
    positive: str | None, stored: list[str]
) -> None:
    row = step(html=SHOP, ids=tuple(stored), task="Apply the voucher", positive=positive)
    assert list(open_ranks("lexical").of(row, page_of(row))) == order("Apply the voucher")


def test_candidates_that_are_no_elements_of_the_page_come_last() -> None:
    row = step(html=SHOP, ids=("zz", "t1", "a2", "a1"), task="kettles", positive="zz")
    page = page_of(row)
    assert candidates(row, page) == (["a1", "a2"], ["t1", "zz"])
    assert open_ranks("lexical").of(row, page) == ["a1", "a2", "t1", "zz"]
    ranks = open_ranks("lexical")
    assert isinstance(ranks, ByScore)
    assert list(ranks.scored(row, page).values())[2:] == [float("-inf")] * 2


def test_recall_on_the_sample_is_what_the_guide_says() -> None:
    ranks = open_ranks("lexical")
    found = []
    for row in open_steps("sample", splits=["test"]).rows():
        order, right = ranks.of(row, page_of(row)), [one.id for one in row.detail.positives]
        best = min((order.index(node_id) for node_id in right), default=None)
        found.append(Ranked(row.split, row.parents["task"], best, bool(right), len(order)))
    (part,) = recall_by_split(found)
    assert (part["steps"], part["tasks"], part["without_positive"]) == (154, 22, 4)
    shown = [f"{100 * part[f'recall_{k}']:.1f}" for k in DEPTHS]
    guide = Path(__file__).parents[3] / "docs" / "rankers.md"
    lines = guide.read_text("utf-8").splitlines()
    rates = lines[lines.index("lexical") + 1].split()[3:8]
    assert rates == shown


def test_the_texts_of_the_cross_encoder_are_those_of_the_reference() -> None:
    """One candidate alone: the reference's page is the path with the target in it."""
    lines = shared_data("seeact-example/golden_prune.jsonl").read_text("utf-8").splitlines()
    row = next(
        open_steps(
            "multimodal-mind2web",
            data=shared_data("seeact-example/multimodal_mind2web_row.parquet"),
        ).rows()
    )
    page = Page.parse(row.detail.html)
    compared = 0
    for line in lines:
        golden = json.loads(line)
        if len(golden["candidate_ids"]) != 1 or golden["context"].startswith("<"):
            continue
        text = page.ranking_text(golden["candidate_ids"][0])
        assert text.target in golden["context"]
        rest = golden["context"].replace(text.target, "").replace("(", "/").replace(")", "")
        assert text.ancestors == "".join(rest.split())
        compared += 1
    assert compared >= 3


def test_long_paths_and_targets_are_cut() -> None:
    row = step(buttons=200)
    page = Page.parse(
        changed(row, html=row.detail.html.replace("Button", "Button " * 12)).detail.html
    )
    text = page.ranking_text("b100")
    assert len(page.ranking_text("body").target.split()) == 100
    # The path ends with what stands beside the candidate, and its beginning is what is cut.
    assert len(text.ancestors.split()) == 50 and text.ancestors.endswith("Button 103")
