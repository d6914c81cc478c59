"""Files of other tools, read as questions of the user's."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from harness.benchmarks.question.benchmark import guessed
from harness.benchmarks.question.own import QuestionItems
from harness.errors import DataError
from parsers.question.reading import read_answer
from parsers.records import Status


def png() -> bytes:
    file = io.BytesIO()
    Image.effect_noise((64, 48), 40).save(file, "PNG")
    return file.getvalue()


def opened(root: Path, preset: str, file: str, metric: str, more: str = "") -> list[Any]:
    text = f'name = "x"\npreset = "{preset}"\nquestions = "{file}"\nmetric = "{metric}"\n{more}'
    (root / "questions.toml").write_text(text)
    return list(QuestionItems().open(data=root).entries)


def test_a_table_of_vlmevalkit_shares_pictures_and_lists_options(tmp_path: Path) -> None:
    picture = base64.b64encode(png()).decode()
    head = "index\timage\tquestion\tA\tB\tC\tanswer\tcategory\n"
    rows = f"1\t{picture}\tWhich?\tHome\tBasket\t\tB\tpages\n2\t1\tAnd?\tx\ty\tz\tC\tpages\n"
    (tmp_path / "q.tsv").write_text(head + rows)
    first, second = opened(tmp_path, "vlmevalkit", "q.tsv", "choice")
    assert first.detail.asked.options == ("Home", "Basket")
    assert (first.detail.gold.answers, second.detail.gold.answers) == (("B",), ("C",))
    assert first.digests == second.digests != {}
    assert first.labels["category"] == "pages"


def test_lists_of_vlmevalkit_are_read_and_nothing_is_run(tmp_path: Path) -> None:
    pictures = [base64.b64encode(png()).decode() for _ in range(9)]
    head = "index\timage\tquestion\tanswer\n"
    (tmp_path / "q.tsv").write_text(f"{head}1\t{pictures!r}\tQ?\t['a, b', 'c']\n")
    (unit,) = opened(tmp_path, "vlmevalkit", "q.tsv", "exact")
    assert (len(unit.digests), unit.detail.gold.answers) == (9, ("a, b", "c"))
    (tmp_path / "q.tsv").write_text(f"{head}1\t{pictures[0]}\tQ?\t[print(1)]\n")
    with pytest.raises(DataError, match="line 2: a cell begins as a list and cannot be read"):
        opened(tmp_path, "vlmevalkit", "q.tsv", "exact")


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
        opened(tmp_path, "vlmevalkit", "q.tsv", "exact")


def test_every_bad_row_of_another_tool_is_listed_once_by_problem(tmp_path: Path) -> None:
    rows = ["1\t\tQ?\tB", "2\t\tQ?\tB", "3\t9\tQ?\tB", "4\t\tQ?\tB"]
    (tmp_path / "q.tsv").write_text("\n".join(["index\timage\tquestion\tanswer", *rows]))
    schema = 'name = "s"\nquestions = "q.tsv"\npreset = "vlmevalkit"\nmetric = "exact"\n'
    (tmp_path / "questions.toml").write_text(schema)
    with pytest.raises(DataError) as raised:
        QuestionItems().open(data=tmp_path)
    assert raised.value.problems == (
        "q.tsv, line 2: 1 has neither image nor image_path (3 items)",
        "q.tsv, line 4: the image '9' is no index of a row with a picture",
    )


def test_chat_messages_of_inspect_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    parts = [{"type": "text", "text": "What?"}, {"type": "image", "image": "a.png"}]
    said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": parts}]
    row = {"id": 1, "input": said, "target": ["a lamp"], "metadata": {"shop": "x", "n": 2}}
    (tmp_path / "q.jsonl").write_text(json.dumps(row))
    (unit,) = opened(tmp_path, "inspect", "q.jsonl", "f1")
    assert (unit.detail.asked.question, unit.detail.asked.system) == ("What?", "Be brief.")
    assert len(unit.digests) == 1
    assert unit.labels["shop"] == "x"
    row["input"] = [*said, {"role": "assistant", "content": "A lamp."}]
    (tmp_path / "q.jsonl").write_text(json.dumps(row))
    with pytest.raises(DataError, match="line 1: input has a message by 'assistant'"):
        opened(tmp_path, "inspect", "q.jsonl", "f1")


def test_squad_without_texts_cannot_be_answered(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "question": "Q?", "context": "Lamps.", "answers": {"text": ["lamps"]}},
        {"id": "b", "question": "Q?", "context": "Lamps.", "answers": {"text": []}},
    ]
    (tmp_path / "q.json").write_text(json.dumps(rows))
    first, second = opened(tmp_path, "squad", "q.json", "f1", 'no_answer = "none"\n')
    assert "Lamps." in first.detail.asked.prompt
    assert first.detail.gold.answers == ("lamps",)
    assert second.detail.gold.unanswerable


def test_rows_of_parquet_hold_their_pictures(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    row = {"questionId": 7, "question": "Q?", "answers": ["x"], "image": {"bytes": png()}}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "q.parquet")
    (unit,) = opened(tmp_path, "parquet-vqa", "q.parquet", "anls")
    assert (unit.unit_id, len(unit.digests)) == ("7", 1)


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
    (unit,) = opened(tmp_path, "vlmevalkit", "q.tsv", "choice")
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
        opened(tmp_path, "vlmevalkit", "q.tsv", "choice")
