"""Labels beside a run: kept, replaced, merged, imported, and never the end of the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.runs import open_run
from reports.errors.labels import (
    LABELS_FILE,
    Label,
    LabelError,
    add_labels,
    checked_label,
    import_labels,
    read_labels,
)
from tests.reports.runs import worked, write

HOSTILE = "<script>alert(1)</script>--> ]]> \"'`=1+1"
OLD, NEW = "2025-01-01T00:00:00+00:00", "2025-01-02T00:00:00+01:00"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write(tmp_path / "run", worked())


def test_a_run_without_labels_has_none(run: Path) -> None:
    assert read_labels(run) == ((), ())


def test_labels_are_kept_and_replaced(run: Path) -> None:
    add_labels(run, [Label("A_0", "pop-up", when=OLD), Label("B_0", "hallucination")])
    add_labels(run, [Label("A_0", "my own", note="why", when=NEW)])
    found = read_labels(open_run(run))
    assert [(one.step_id, one.label, one.note) for one in found.labels] == [
        ("A_0", "my own", "why"),
        ("B_0", "hallucination", ""),
    ]
    assert found.labels[1].when
    assert found.by_step() == {("A_0", 0): "my own", ("B_0", 0): "hallucination"}


def test_an_older_label_does_not_replace_a_newer_one(run: Path) -> None:
    add_labels(run, [Label("A_0", "new", when=NEW)])
    found = add_labels(run, [Label("A_0", "old", when=OLD)])
    assert [one.label for one in found.labels] == ["new"]


def test_people_and_repeats_stand_side_by_side(run: Path) -> None:
    given = [
        Label("A_0", "pop-up", who="Ann"),
        Label("A_0", "hallucination", who="Bob"),
        Label("A_0", "pop-up", who="Cy"),
        Label("A_0", "other", repeat=1),
    ]
    assert add_labels(run, given).by_step() == {
        ("A_0", 0): "hallucination; pop-up",
        ("A_0", 1): "other",
    }


def test_an_empty_label_takes_one_away(run: Path) -> None:
    add_labels(run, [Label("A_0", "pop-up", when=OLD)])
    assert add_labels(run, [Label("A_0", " ", when=NEW)]).labels == ()
    assert (run / LABELS_FILE).read_bytes() == b""


def test_hostile_text_is_kept_as_text_on_one_line(run: Path) -> None:
    note = f"{HOSTILE}\u2028two\x1b[31m\n\n"
    add_labels(run, [Label("A_0", f"{HOSTILE}\n\x07", note=note, who="\u202eevil\ud800")])
    (found,) = read_labels(run).labels
    assert (found.label, found.who) == (HOSTILE, "evil")
    assert found.note == f"{HOSTILE}\ntwo[31m"
    assert len((run / LABELS_FILE).read_bytes().splitlines()) == 1


def test_a_corrupt_line_is_named_kept_and_harms_no_other(run: Path) -> None:
    add_labels(run, [Label("A_0", "pop-up")])
    path = run / LABELS_FILE
    lines = [b'{"step_id": "A_1"', b"\xff\xfe", b"[1]", b'{"step_id": 5, "label": "x"}']
    path.write_bytes(path.read_bytes() + b"\n".join(lines) + b"\n\n")
    found = read_labels(run)
    assert [one.label for one in found.labels] == ["pop-up"]
    assert [problem.split(" is not a label")[0] for problem in found.problems] == [
        f"{path} line {number}" for number in (2, 3, 4, 5)
    ]
    add_labels(run, [Label("B_0", "other")])
    after = read_labels(run)
    assert len(after.labels) == 2
    assert len(after.problems) == 4
    assert all(line in path.read_bytes().split(b"\n") for line in lines)


@pytest.mark.parametrize(
    "label",
    [
        Label("", "x"),
        Label("A_0", "x" * 101),
        Label("A_0", "x", note="y" * 4_001),
        Label("A_0", "x", repeat=-1),
        Label("A_0", "x", when="yesterday"),
    ],
)
def test_invalid_labels_change_nothing(run: Path, label: Label) -> None:
    with pytest.raises(LabelError):
        add_labels(run, [Label("B_0", "fine"), label])
    assert read_labels(run).labels == ()


@pytest.mark.parametrize("entry", [None, [], {}, {"step_id": "A", "repeat": True}, {"step_id": 1}])
def test_what_is_not_a_label_is_refused(entry: object) -> None:
    with pytest.raises(LabelError):
        checked_label(entry)


def test_an_import_names_what_it_leaves_out(run: Path) -> None:
    entries = [
        {"step_id": "A_0", "label": "taken"},
        {"step_id": "A_0", "repeat": 3, "label": "x"},
        {"step_id": "nowhere\x1b", "label": "x"},
        "no object",
        {"run": "another", "step_id": "A_0", "label": "of another run"},
        {"run": "run", "step_id": "A_1", "label": "taken too", "extra": 1},
    ]
    taken = import_labels(open_run(run), json.dumps(entries))
    assert taken.imported == 2
    assert [problem.split(":")[0] for problem in taken.problems] == [
        "label 2",
        "label 3",
        "label 4",
    ]
    assert "\x1b" not in "".join(taken.problems)
    assert sorted(read_labels(run).by_step().values()) == ["taken", "taken too"]


@pytest.mark.parametrize(
    "content", ["", "{}", "5", '{"labels": 5}', b"\xff", "[" * 100_000, '{"labels": {}}']
)
def test_what_holds_no_labels_is_refused(run: Path, content: str | bytes) -> None:
    with pytest.raises(LabelError):
        import_labels(open_run(run), content)
