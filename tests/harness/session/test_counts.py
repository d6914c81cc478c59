"""The counts below a table of results, against numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.benchmarks.scoring import on_record
from harness.runs import StepUnit
from harness.session.report import result_grid
from harness.session.summary import plain, results_of
from harness.settings import read_settings
from harness.tables import Grid
from parsers import MIND2WEB
from parsers.records import Status
from tests.reports.runs import step, worked


def result(steps: Sequence[StepUnit], **more: object) -> Grid:
    settings = read_settings({"model": "m", **more})
    source = on_record(settings, MIND2WEB)
    return result_grid(steps, settings, source, results_of(steps, settings, source), {})


def below(steps: Sequence[StepUnit], **settings: object) -> list[str]:
    return list(result(steps, **settings).footnotes)


def line(lines: list[str], start: str) -> str:
    (found,) = (line for line in lines if line.startswith(start))
    return found


def ended(status: Status, index: int) -> StepUnit:
    return step("D", index, False, status=status)


def test_steps_left_out_by_their_status_were_asked() -> None:
    steps = [*worked(), ended(Status.REFUSAL, 0), ended(Status.REFUSAL, 1)]
    assert line(below(steps), "rows:") == "rows: 8 valid, 1 invalid (1 no_positive; not asked)"
    told = line(below(steps, exclude_status=["refusal"]), "rows:")
    assert told == (
        "rows: 8 valid, 1 invalid (1 no_positive; not asked); left out by status: 2 refusal"
    )


def test_rows_and_clean_tasks_of_repeats_are_counted_once() -> None:
    # Of the three tasks B has an invalid row; every step is asked three times.
    steps = [replace(one, repeat=repeat) for repeat in range(3) for one in worked()]
    grid = result(steps, repeats=3)
    labels = [str(row.cells[0]) for section in grid.sections for row in section.rows]
    assert "2 valid tasks" in labels
    told = line(list(grid.footnotes), "rows:")
    assert told == "rows: 6 valid, 1 invalid (1 no_positive; not asked)"


def test_answers_of_none_are_counted_with_their_share() -> None:
    steps = [*worked(), ended(Status.NONE, 0), ended(Status.NONE, 1)]
    assert line(below(steps), "answered 'none") == "answered 'none of these': 2 of 8 (25.0 %)"
    assert not any(text.startswith("answered 'none") for text in below(worked()))


def test_letters_read_from_running_text_are_counted() -> None:
    plainly = [ended(Status.ANSWERED, number) for number in range(4)]
    assert not any(told.startswith("letters read") for told in below(plainly))
    steps = [plainly[0]]
    for record in plainly[1:]:
        assert record.prediction is not None
        in_text = replace(record.prediction, flags=("in_text",))
        steps.append(replace(record, prediction=in_text))
    assert line(below(steps), "letters read") == "letters read from running text: 3 of 4"


def test_nothing_is_not_called_none() -> None:
    told = line(below(worked()), "replies without an element")
    assert told == "replies without an element: 0 (0.0 % unreadable)"


def test_what_has_no_order_is_written_in_a_fixed_one() -> None:
    # The order of a set of texts is another in every process.
    assert plain(frozenset(Status)) == sorted(status.value for status in Status)
    assert list(plain({"b": 1, "a": 2})) == ["a", "b"]
