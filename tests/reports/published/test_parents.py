"""Published rows about single parents (tasks), beside runs that hold them whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.benchmarks import SplitSize
from harness.runs import Run
from reports.published import beside as module
from reports.published.beside import published_beside
from reports.published.source import Published, Scope, published_rows
from tests.reports.published.checks import checked_rows
from tests.reports.runs import setup, step, write

SPLIT = "test_task"
ROWS = [row for row in published_rows() if row.scope.benchmark == "miniwob"]


def test_the_table_of_miniwob_has_its_tasks_and_the_means_that_do_not_follow_from_them() -> None:
    whole = {row.model: row for row in ROWS if not row.level}
    tasks = {(row.model, row.split): row.values["success"] for row in ROWS if row.level == "task"}
    assert len({task for _, task in tasks}) == 56 and len(tasks) == 56 * 5
    assert tasks["AutoWebGLM 6B", "use-autocomplete"] == 0.85
    assert tasks["WebN-T5-XL", "tic-tac-toe"] == 0.48 and tasks["GPT-4", "enter-date"] == 0.66
    printed = {
        model: row.values["success"] for model, row in whole.items() if "LLaMA2" not in model
    }
    assert list(printed.values()) == [0.893, 0.856, 0.484, 0.321, 0.134]
    flagged = {model: row.flag for model, row in whole.items() if row.flag}
    assert flagged == {
        "WebN-T5-XL": "its parts give 56.2 by macro, not 48.4",
        "GPT-4": "its parts give 30.9 by macro, not 32.1",
    }


class Whole:
    sizes = (SplitSize(SPLIT, 2, 4),)
    guarded = False


def _like(name: str, level: str) -> Published:
    keys = {"population": "b", "average": "any"}
    measures = {"element": ("Ele. Acc", "")}
    scope = Scope(kind="step", needed=tuple(keys), splits=(SPLIT,), measures=measures)
    rest = ({"element": 0.5}, None, keys, (), "", scope)
    return Published("s", "Paper", "T", "m", name, *rest, level=level)


def test_tasks_stand_beside_a_run_by_tasks_that_holds_them_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Run, "benchmark", Whole)
    rows = (_like(SPLIT, ""), _like("A", "task"), _like("B", "task"), _like("C", "task"))
    monkeypatch.setattr(module, "published_rows", lambda: rows)
    held = [step(task, place, True, split=SPLIT) for task, place in (("A", 0), ("A", 1), ("B", 0))]
    run = write(tmp_path / "run", held, setup(benchmark="b"))
    alike, apart = published_beside(run, by="task")
    assert list(alike["split"]) == ["A"]
    differs = dict(zip(apart["split"], apart["differs"], strict=True))
    assert differs == {"B": "population", "C": "population, task"}
    alike, apart = published_beside(run)
    assert not len(alike) and list(apart["split"]) == [SPLIT]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('of = "published"\n', "", "both a level and the split"),
        ("printed = 0.893", "printed = 1.893", "outside 0 to 1"),
        ('level = "task"\nof = "published"\n', "", "over a level that it does not name"),
    ],
)
def test_a_table_by_parents_is_checked(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = (Path(module.__file__).parent / "miniwob.toml").read_text("utf-8")
    assert old in text
    path = tmp_path / "miniwob.toml"
    path.write_text(text.replace(old, new), "utf-8")
    with pytest.raises(ValueError, match=said):
        checked_rows(path)
