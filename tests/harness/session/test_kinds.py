"""Units of another kind than recorded steps: what is refused, what is recorded, what is shown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import harness
from adapters import PictureSource, Reply, Request, user
from adapters.conversation import Conversation
from adapters.registry import Entry
from harness.benchmarks import BENCHMARKS, Items
from harness.dialogue import Ask, Dialogue
from harness.pictures import grey
from harness.protocols import PROTOCOLS
from parsers import Prediction, Status
from parsers.actions import Action
from tests.harness.commands.tool import call, isolate
from tests.test_entry_points import Echo
from tests.test_made_up_kind import ReadTheSign, RoadSigns, SignDetail, SignView


def installed(monkeypatch: pytest.MonkeyPatch, registry: Any, name: str, thing: object) -> None:
    monkeypatch.setitem(registry._entries, name, Entry(name, thing))


@pytest.fixture(autouse=True)
def signs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)
    installed(monkeypatch, BENCHMARKS, "road-signs", RoadSigns)
    installed(monkeypatch, PROTOCOLS, "read-the-sign", ReadTheSign)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("-k", "5"), "--distractors has no effect on road-signs; leave it out"),
        (("--f1", "cl100k-lc"), "--f1 has no effect on road-signs; leave it out"),
        (
            ("--image-policy", "full"),
            "--image-policy has no effect on road-signs, whose signs have",
        ),
        (("--only", "website=x"), "no level or label 'website' in the selection; known: town"),
        (("--history", "3"), "--history has no effect on 'read-the-sign'"),
        (
            ("--protocol", "coordinates"),
            "--protocol coordinates answers StepView, and road-signs shows SignView: ask",
        ),
        (("-b", "sample", "--protocol", "read-the-sign"), "answers SignView, and sample shows"),
        (("-m", "random"), "the policy 'random' answers "),
        (("--only", "step_id=sign-9"), "no sign 'sign-9' in the selection"),
        (("--only", "town=Ulmm"), "no town 'Ulmm' in the selection; did you mean 'Ulm'?"),
        (("--only", "twon=Ulm"), "no level or label 'twon' in the selection; did you mean 'town'?"),
        (("--only", "town"), "expected key=value, not 'town'"),
    ],
)
def test_what_means_nothing_to_a_kind_is_refused_with_one_line(
    option: tuple[str, ...], message: str
) -> None:
    called = call("run", "-m", "oracle", "-b", "road-signs", "-o", "r", *option)
    assert called.code == 2
    assert message in called.complaint
    assert not Path("r").exists()


def test_a_run_has_no_settings_of_recorded_steps_on_record() -> None:
    assert call("run", "-m", "oracle", "-b", "road-signs").code == 0
    (folder,) = Path("runs").iterdir()
    assert folder.name.startswith("oracle-road-signs-")
    config = json.loads((folder / "manifest.json").read_text("utf-8"))["config"]
    assert config["protocol"] == "read-the-sign"
    assert not {"distractors", "candidates", "f1", "image_policy", "pixels"} & config.keys()
    assert call("run", "-m", "oracle", "-b", "road-signs").code == 0  # the same settings, read back


@pytest.mark.parametrize(
    ("benchmark", "option", "ids"),
    [
        ("road-signs", ("town=Ulm",), {"sign-1", "sign-2"}),
        ("road-signs", ("town=Ulm", "town=Bonn"), {"sign-0", "sign-1", "sign-2"}),
        ("sample", ("domain=Service", "website=rookgable"), set()),
    ],
)
def test_units_are_selected_by_levels_and_labels(
    benchmark: str, option: tuple[str, ...], ids: set[str]
) -> None:
    only = [part for value in option for part in ("--only", value)]
    called = call("run", "-m", "oracle", "-b", benchmark, "-o", "r", *only)
    if not ids:
        assert called.code == 2 and "no step matches all the filters" in called.complaint
        return
    run = harness.open_run("r")
    assert {record.unit_id for record in run.records()} == ids
    assert run.manifest.config["only"] == list(option)
    again = call("run", "-m", "oracle", "-b", benchmark, "-o", "r", "--only", "town=Berlin")
    assert again.code == 2


def test_a_run_is_read_without_the_package_of_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    assert call("run", "-m", "oracle", "-b", "road-signs", "-o", "r").code == 0
    monkeypatch.delitem(BENCHMARKS._entries, "road-signs")
    monkeypatch.delitem(PROTOCOLS._entries, "read-the-sign")
    run = harness.open_run("r")
    assert [record.detail["asked"] for record in run.records()] == ["a 50", "an octagon", "a ring"]
    assert "100.0" in str(run.table())
    assert "100.0" in call("report", "r").out
    assert "unknown benchmark 'road-signs'" in call("score", "r").complaint


@dataclass(frozen=True)
class Photos(RoadSigns):
    """The same signs with a photo each."""

    name: str = "photos"
    pictures = True
    protocol = "read-the-photo"

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        units = [self.unit("p", SignDetail("the photo", Action("stop")), parents={"town": "Ulm"})]
        return Items.of(units, pictures=lambda unit: [grey(64, 64)])


@dataclass(frozen=True)
class ReadThePhoto(ReadTheSign):
    name = "read-the-photo"

    def dialogue(self, view: SignView) -> Dialogue:
        yield Ask(Conversation((user(*view.pictures, view.content),)), "read")
        return Prediction(Status.ANSWERED, Action("stop"))


class Looker(Echo):
    """A model that keeps the sizes of the pictures it is shown."""

    def __init__(self) -> None:
        super().__init__("looker")
        self.seen: list[tuple[int, int]] = []

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        for message in request.conversation.messages:
            for picture in message.pictures:
                assert (await pictures.encoded(picture)).data
                self.seen.append((picture.width, picture.height))
        return Reply("stop")


@pytest.mark.parametrize("policy", ["full", "none"])
def test_pictures_of_units_are_shown_as_the_policy_says(
    monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    installed(monkeypatch, BENCHMARKS, "photos", Photos)
    installed(monkeypatch, PROTOCOLS, "read-the-photo", ReadThePhoto)
    looker = Looker()
    run = harness.evaluate(
        looker, benchmark="photos", out=policy, image_policy=policy, preflight=False
    )
    (record,) = run.records()
    assert len(looker.seen) == len(record.pictures) == (policy == "full")
    assert run.manifest.config["benchmark_option"] == {"image_policy": policy}
    refused = call("run", "-m", "oracle", "-b", "photos", "--image-policy", "viewport")
    assert "a picture of photos is shown unchanged (full) or not at all (none)" in refused.complaint
