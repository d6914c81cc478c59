"""Tables of VLMEvalKit, read as questions of the user's."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from harness.benchmarks.question.benchmark import guessed
from harness.benchmarks.question.own import QuestionItems
from harness.errors import DataError
from parsers.question.metrics import read_answer
from parsers.records import Status


def png() -> bytes:
    file = io.BytesIO()
    Image.effect_noise((64, 48), 40).save(file, "PNG")
    return file.getvalue()


def opened(root: Path, metric: str) -> list[Any]:
    text = f'name = "x"\npreset = "vlmevalkit"\nquestions = "q.tsv"\nmetric = "{metric}"\n'
    (root / "questions.toml").write_text(text)
    return list(QuestionItems().open(data=root).entries)


def test_a_table_of_vlmevalkit_shares_pictures_and_lists_options(tmp_path: Path) -> None:
    picture = base64.b64encode(png()).decode()
    head = "index\timage\tquestion\tA\tB\tC\tanswer\tcategory\n"
    rows = f"1\t{picture}\tWhich?\tHome\tBasket\t\tB\tpages\n2\t1\tAnd?\tx\ty\tz\tC\tpages\n"
    (tmp_path / "q.tsv").write_text(head + rows)
    first, second = opened(tmp_path, "choice")
    assert first.detail.asked.options == ("Home", "Basket")
    assert (first.detail.gold.answers, second.detail.gold.answers) == (("B",), ("C",))
    assert first.digests == second.digests != {}
    assert first.labels["category"] == "pages"


def test_lists_of_vlmevalkit_are_read_and_nothing_is_run(tmp_path: Path) -> None:
    pictures = [base64.b64encode(png()).decode() for _ in range(9)]
    head = "index\timage\tquestion\tanswer\n"
    (tmp_path / "q.tsv").write_text(f"{head}1\t{pictures!r}\tQ?\t['a, b', 'c']\n")
    (unit,) = opened(tmp_path, "exact")
    assert (len(unit.digests), unit.detail.gold.answers) == (9, ("a, b", "c"))
    (tmp_path / "q.tsv").write_text(f"{head}1\t{pictures[0]}\tQ?\t[print(1)]\n")
    with pytest.raises(DataError, match="line 2: a cell begins as a list and cannot be read"):
        opened(tmp_path, "exact")


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("\tQ?\tB", "q.tsv, line 2: 1 has neither image nor image_path"),
        ("9\tQ?\tB", "q.tsv, line 2: the image '9' is no index of a row with a picture"),
    ],
)
def test_rows_of_vlmevalkit_without_pictures_are_refused(
    tmp_path: Path, row: str, says: str
) -> None:
    (tmp_path / "q.tsv").write_text("index\timage\tquestion\tanswer\n1\t" + row + "\n")
    with pytest.raises(DataError, match=says):
        opened(tmp_path, "exact")


@pytest.mark.parametrize(
    ("cells", "shown", "answer", "chance"),
    [
        ({"A": "x", "B": "y", "D": "w"}, "A. x\nB. y\nD. w", "D", 1 / 3),
        ({"B": "y", "C": "z"}, "B. y\nC. z", "C", 1 / 2),
        ({"A": "x", "E": "v"}, "A. x\nE. v", "A", 1 / 2),
        ({"A": "x", "B": "y"}, "A. x\nB. y", "B", 1 / 2),
    ],
)
def test_an_option_behind_an_empty_column_is_offered_by_its_letter(
    cells: dict[str, str], shown: str, answer: str, chance: float, tmp_path: Path
) -> None:
    columns = ("index", "question", *"ABCDE", "answer", "image")
    picture = base64.b64encode(png()).decode()
    row = {"index": "0", "question": "Which?", "answer": answer, "image": picture, **cells}
    lines = ("\t".join(columns), "\t".join(row.get(name, "") for name in columns))
    (tmp_path / "q.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    (unit,) = opened(tmp_path, "choice")
    asked = unit.detail.asked
    assert shown in asked.prompt and unit.detail.gold.answers == (answer,)
    assert len(guessed(asked)) == pytest.approx(1 / chance)
    for letter in "ABCDE":
        said = read_answer(f"{letter}.", asked)
        assert (said.status is Status.ANSWERED) == (letter in cells)
    assert read_answer("...", asked).status is not Status.ANSWERED


def test_the_letter_of_an_empty_column_is_no_right_answer(tmp_path: Path) -> None:
    picture = base64.b64encode(png()).decode()
    table = f"index\tquestion\tA\tB\tC\tanswer\timage\n0\tWhich?\tx\t\tz\tB\t{picture}\n"
    (tmp_path / "q.tsv").write_text(table, "utf-8")
    with pytest.raises(DataError, match=r"beyond its 2 options \(A, C\)"):
        opened(tmp_path, "choice")
