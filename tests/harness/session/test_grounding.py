"""Runs on pictures with instructions: chance, the form's rounding, windows, reading again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import harness
from adapters import Fatal, PictureSource, Reply, Request
from adapters.registry import Entry
from harness.benchmarks import BENCHMARKS, benchmark
from harness.benchmarks.grounding.benchmark import expected
from harness.errors import DataError
from parsers.actions import Action
from parsers.grounding import CLICK, GroundingDetail, Target
from parsers.points import CONVENTIONS, FORMS
from parsers.records import Prediction, Status
from tests import grounding
from tests.grounding import TARGETS, Screens
from tests.harness.commands.tool import call, isolate
from tests.numbers import row
from tests.test_entry_points import Echo


@pytest.fixture(autouse=True)
def screens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)
    monkeypatch.setitem(BENCHMARKS._entries, "screens", Entry("", Screens))


class Pointer(Echo):
    """A model that answers every call with what a function says, and keeps the sizes it saw."""

    def __init__(self, says: Callable[[Request], str], last: int = 0) -> None:
        super().__init__("pointer")
        self.info = replace(self.info, weights_known=True)
        self.says, self.last, self.seen = says, last, list[tuple[str, int, int, bytes]]()

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        (shown,) = request.conversation.pictures
        encoded = await pictures.encoded(shown)
        self.seen.append((request.place, encoded.width, encoded.height, encoded.data[:4]))
        if len(self.seen) == self.last:
            raise Fatal("asleep")
        return Reply(self.says(request))


def run(model: Any, out: str, **settings: Any) -> harness.Run:
    shared: dict[str, Any] = {
        "benchmark": "screens",
        "out": out,
        "preflight": False,
        "concurrency": 1,
    }
    if isinstance(model, str):
        shared = {"benchmark": "screens", "out": out}
    return harness.evaluate(model, **shared, **settings)


def summary(out: str) -> dict[str, Any]:
    return dict(json.loads((Path(out) / "summary.json").read_text("utf-8")))


@pytest.mark.parametrize("coordinates", CONVENTIONS)
@pytest.mark.parametrize("form", FORMS)
def test_the_oracle_is_right_up_to_the_rounding_of_the_form(form: str, coordinates: str) -> None:
    options = {"form": form, "coordinates": coordinates}
    done = run("oracle", "oracle", protocol_option=options)
    hits = {record.unit_id: (record.scores or {})["hit"] for record in done.records()}
    # SeeClick's dictionaries have no word for none.
    right = {name: float(form != "seeclick" or name != "gone") for name in TARGETS}
    assert hits == right
    found = row(summary("oracle"), "hit", "micro")
    share = sum(right.values()) / len(right)
    assert found["ceiling"] == pytest.approx(share)
    assert found["number"] == pytest.approx(share)


def test_random_points_hit_as_often_as_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("random", "many", repeats=400, only="step_id=map")
    hits = [(record.scores or {})["hit"] or 0.0 for record in done.records()]
    # 400 draws at 9.15 %: four standard deviations are 5.6 points.
    assert sum(hits) / len(hits) == pytest.approx(54900 / 600_000, abs=0.056)
    assert len({record.prediction.point for record in done.records() if record.prediction}) == 400


def test_a_form_that_is_too_coarse_has_a_ceiling(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {**TARGETS, "tiny": ("wide", "a dot", Target("box", (1003, 503, 1006, 506)))}
    monkeypatch.setattr(grounding, "TARGETS", small)
    run("oracle", "unit", protocol_option={"coordinates": "unit"})
    found = row(summary("unit"), "hit", "micro")
    assert found["ceiling"] == found["number"] == 5 / 6
    run("oracle", "zoomed", protocol_option={"coordinates": "unit", "zoom": "crop"})
    assert row(summary("zoomed"), "hit", "micro")["ceiling"] == 5 / 6
    run("oracle", "pixels")
    assert row(summary("pixels"), "hit", "micro")["ceiling"] == 1
    table = call("score", "unit").out
    assert "83.3" in table and "the middle of every target, in the numbers of the form" in table


def test_windows_are_prepared_asked_about_and_read_again() -> None:
    def says(request: Request) -> str:
        if "dragon" in request.conversation.messages[-1].text:
            return "ELEMENT: None"
        return "ELEMENT: 0.5, 0.5" if request.place == "zoom" else "ELEMENT: 0.75, 0.31"

    options = {"coordinates": "unit", "zoom": "crop", "zoom_share": 0.25}
    asleep = Pointer(says, last=4)
    with pytest.raises(Fatal, match="asleep"):
        run(asleep, "zoom", protocol_option=options)
    assert "0 of 1 predictions read differently" in call("score", "zoom").out
    awake = Pointer(says)
    done = run(awake, "zoom", protocol_option=options)
    assert len(list(done.calls())) == 9, "four items twice, and one that was declined at once"
    assert len(awake.seen) < 9 and all(seen[3] == b"\xff\xd8\xff\xe0" for seen in awake.seen)
    assert {seen[1:3] for seen in awake.seen} == {(1920, 1080), (600, 1000)}
    records = {record.unit_id: record for record in done.records()}
    said = records["search"].prediction
    assert said is not None and said.point == (1440, 335) and said.status is Status.ANSWERED
    assert records["gone"].scores is not None and records["gone"].scores["hit"] == 1
    assert "0 of 5 predictions read differently" in call("score", "zoom").out
    assert harness.open_run("zoom").complete
    wider = {**options, "zoom_share": 0.5}
    run(Pointer(says), "first", protocol_option=options)
    cached = Pointer(says)
    run(cached, "again", protocol_option=options)
    assert cached.seen == [], "the cache knows windows"
    run(cached, "wider", protocol_option=wider)
    assert [place for place, *_ in cached.seen] == ["zoom"] * 4


def test_what_became_of_answers_is_counted() -> None:
    replies = {
        "search": "ELEMENT: 1400, 330",
        "menu": "It is at the top.",
        "edge": "ELEMENT: 1921, 1080",
        "map": "ELEMENT: None",
        "gone": "I'm sorry, but I cannot help with that.",
    }
    asked = {text: name for name, (_, text, _) in TARGETS.items()}

    def says(request: Request) -> str:
        text = request.conversation.messages[-1].text
        return next(replies[name] for words, name in asked.items() if words in text)

    done = run(Pointer(says), "counts", protocol_option={"coordinates": "absolute"})
    hits = {record.unit_id: (record.scores or {})["hit"] for record in done.records()}
    assert hits == {"search": 1, "menu": 0, "edge": 0, "map": 0, "gone": 0}
    out = " ".join(call("score", "counts").out.split())
    assert "declined 1 (20.0 %), unreadable 1 (20.0 %)" in out
    assert "cut off 0 (0.0 %), out of range 1 (20.0 %), refused 1 (20.0 %)" in out
    assert "absent targets, which Present leaves out: 0 of 1 declined" in out


def test_a_picture_of_another_size_than_its_row_says_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tall = grounding.picture_bytes("tall")
    monkeypatch.setattr(grounding, "picture_bytes", lambda name: tall)
    with pytest.raises(DataError, match="600 x 1000 pixels, and its row says 1920 x 1080"):
        run("random", "other")


def test_an_item_counts_in_each_of_its_classes_and_in_no_other() -> None:
    source = benchmark("osworld-g")
    target, size = Target("box", (0, 0, 10, 10)), (100, 100)
    classes = ("text_matching", "fine_grained")
    detail = GroundingDetail(asked="x", gold=target, size=size, classes=classes)
    said = Prediction(Status.ANSWERED, Action(CLICK, point=(5.0, 5.0)))
    scores = source.score(said, detail)
    assert {name: scores[name] for name in ("hit", "present", *classes)} == dict.fromkeys(
        ("hit", "present", *classes), 1.0
    )
    others = ("declined", "refusal", "element_recognition", "layout_understanding")
    assert {scores[name] for name in others} == {None}
    assert scores.keys() == set(source.declared.scores)
    assert expected(detail) == dict.fromkeys(("hit", "present", *classes), 0.01)
    absent = GroundingDetail(asked="x", gold=Target("absent"), size=size, classes=("refusal",))
    declined = source.score(Prediction(Status.NONE), absent)
    assert (declined["hit"], declined["declined"], declined["refusal"]) == (1, 1, 1)
    assert declined["present"] is None and expected(absent)["hit"] == 0


def test_a_run_with_a_pack_of_ones_own_is_read_again_without_the_file() -> None:
    pack = Path("own.toml")
    pack.write_text(
        'name = "own"\nform = "point-text"\ncoordinates = "per-999"\ndeclines = ["minus-one"]\n'
        'question = "{instruction}"\n'
    )
    replies = {"gone": "[-1, -1]", "menu": "[0, 999]", "edge": "[999, 999]"}
    pointer = Pointer(lambda request: replies.get(request.unit_id, "[1, 1]"))
    done = run(pointer, "own", protocol_option={"prompts": str(pack), "refusals": "offered"})
    hits = {record.unit_id: (record.scores or {})["hit"] for record in done.records()}
    assert hits == {"search": 0, "menu": 0, "edge": 1, "map": 0, "gone": 1}
    pack.unlink()
    told = " ".join(call("score", "own").out.split())
    assert "0 of 5 predictions read differently" in told and "ceiling 100.0" in told
    config = json.loads(Path("own/manifest.json").read_text("utf-8"))["config"]
    assert config["protocol_option"]["declines"] == "minus-one"
    assert config["protocol_option"]["coordinates"] == "per-999"
