"""A folder of `question-items` from a task of lm-evaluation-harness or lmms-eval."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.benchmarks.question.folder import CHOICE, SCHEMA, Bad, Pictures, Prompt, QuestionsFile
from harness.benchmarks.question.items import grouped, items_of
from harness.benchmarks.question.rows import Row, listed, rows_of
from harness.benchmarks.question.task_file import TaskFile, UnreadableTask, is_name, read_task
from harness.benchmarks.question.task_templates import filled
from harness.errors import DataError, suggestion
from harness.pictures import read_size
from harness.printing import printable, say
from harness.runs.files import built_aside
from harness.tables import counted
from parsers.question import LETTERS


def import_task(path: Path, out: Path | None) -> int:
    """Write a task as a folder of questions; print what was understood and the next commands.

    Args:
        path: the YAML file; its data and pictures lie in its folder.
        out: the folder to write; by default one in the current folder, named like the file.

    Returns:
        The exit code: 2 if anything cannot be read. That is printed, and nothing is written.

    Raises:
        DataError: a file cannot be read at all, or the folder has files.
    """
    target = out or Path(path.stem)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError(f"{target} exists and is not an empty folder; name another with --out")
    try:
        lines = _imported(read_task(path), target)
    except UnreadableTask as refused:
        for problem in refused.problems:
            say(f"error: {path.name}: {problem}", err=True)
        return 2
    for line in lines:
        say(line)
    return 0


def _imported(task: TaskFile, target: Path) -> list[str]:
    found = [
        (f"{file.name}{place}", row)
        for file in task.files
        for place, row in rows_of(file, QuestionsFile(task.name))
        if isinstance(row, dict)
    ]
    if not found:
        raise DataError(f"{task.files[0]} holds no questions")
    columns = list(dict.fromkeys(name for _, row in found for name in row))
    if unknown := list(_unknown(task, columns)):
        raise UnreadableTask(unknown)
    with built_aside(target) as folder:
        rows: list[Row | Bad] = []
        for number, (_, row) in enumerate(found):
            try:
                rows.append(_row(task, number, dict.fromkeys(columns) | row, folder))
            except Bad as bad:
                rows.append(bad)
        schema = _schema(task, rows)
        read = [(place, row) for (place, _), row in zip(found, rows, strict=True)]
        if problems := grouped(items_of(read, schema, Pictures(folder), "")):
            raise UnreadableTask(problems)
        made = [row for row in rows if isinstance(row, dict)]
        _write(folder, schema, made, task.notes)
    return list(_understood(task, target, schema, made, columns))


def _unknown(task: TaskFile, columns: Collection[str]) -> Iterator[str]:
    """Yield a line for what is named like a column, and is none."""
    for key, spec in (*task.texts.items(), *(("doc_to_visual", one) for one in task.pictures)):
        column = isinstance(spec, str) and (is_name(spec) or key == "doc_to_visual")
        if column and spec not in columns:
            yield f"{key}: '{spec}' is no column and no template; {suggestion(spec, columns)}"


def _row(task: TaskFile, number: int, row: Row, folder: Path) -> Row:
    """Return a row of theirs as ours, named by its number from 0, as theirs are. Raises `Bad`."""

    def value(key: str) -> Any:
        spec = task.texts.get(key)
        if not isinstance(spec, str):
            return spec
        try:
            found = row[spec] if spec in row else filled(spec, row)
        except Bad as bad:
            raise Bad(bad.args[0] + key, f"{key}: {bad.args[1]}") from None
        return None if isinstance(found, float) and math.isnan(found) else found

    ours: Row = {"id": str(number), "question": _text(value("doc_to_text"))}
    options: list[str] = []
    if "doc_to_choice" in task.texts:
        found = listed(value("doc_to_choice"))
        if not isinstance(found, list):
            raise Bad("options", f"doc_to_choice: '{found!s:.60}' is not a list")
        if ours["question"].isdigit():
            raise Bad("index", "doc_to_text: an index of beginnings is not read, only a question")
        options = [_text(one) for one in found]
    if task.metric == "choice":
        ours["options"] = options
    spec, answers = task.texts["doc_to_target"], value("doc_to_target")
    made = isinstance(spec, str) and spec not in row
    answers = listed(answers) if made else answers
    if answers is not None:
        many = answers if isinstance(answers, list) else [answers]
        ours["answers"] = [_answer(task, one, options, made=made) for one in many]
    if images := [_copied(one, task.root, folder) for one in _shown(task, row)]:
        ours["images"] = images
    if system := _text(value("description")):
        ours["system"] = system
    return ours


def _answer(task: TaskFile, answer: Any, options: list[str], *, made: bool) -> str | int | None:
    """Return a right text, or the index of an option; `made` says that a template wrote it."""
    if "doc_to_choice" not in task.texts:
        return None if answer is None else _text(answer)
    # As theirs: digits of a template are an index, whatever the options are.
    digits = isinstance(answer, str) and answer.isascii() and answer.isdigit() and len(answer) < 9
    if digits and (made or answer not in options):
        answer = int(answer)
    place = options.index(answer) if answer in options else answer
    if not isinstance(place, int) or (task.metric != "choice" and not 0 <= place < len(options)):
        raise Bad("target", f"doc_to_target: '{answer!s:.60}' is none of the options")
    return int(place) if task.metric == "choice" else options[place]


def _text(value: Any) -> str:
    if isinstance(value, (list, dict, bytes)):
        raise Bad("text", f"'{value!s:.60}' is not a text")
    return "" if value is None else str(value)


def _shown(task: TaskFile, row: Row) -> Iterator[Any]:
    """Yield the pictures of a row."""
    for name in task.pictures:
        value = row[name]
        yield from value if isinstance(value, list) else () if value is None else (value,)


def _copied(value: Any, root: Path, folder: Path) -> str:
    """Copy a picture, and return its path in the folder. Raises `Bad`."""
    pictures = Pictures(root)
    name, digest = pictures.add(value)
    data = pictures.read(name)
    path = folder / "pictures" / f"{digest[:24]}.{read_size(data).format}"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path.relative_to(folder).as_posix()


def _schema(task: TaskFile, rows: Sequence[Row | Bad]) -> QuestionsFile:
    """Return the settings of a task: its own words, and where it ranks options, ours for them."""
    words = "{question}"
    if task.ranked:
        options = [row["options"] for row in rows if isinstance(row, dict)]
        bare = all(one == list(LETTERS[: len(one)]) for one in options)
        words = CHOICE.replace("{hint}\n", "").replace("{decline}", "")
        words = words.replace("{options}\n", "") if bare else words
    name = printable(" ".join(task.name.split()))
    return QuestionsFile(name, metric=task.metric, prompt=Prompt(question=words, choice=words))


def _write(folder: Path, schema: QuestionsFile, rows: Sequence[Row], notes: Sequence[str]) -> None:
    def text(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False)

    key = "choice" if schema.metric == "choice" else "question"
    lines = [f"# {printable(' '.join(note.split()))}" for note in notes]
    lines += [f"name = {text(schema.name)}", f"metric = {text(schema.metric)}", "", "[prompt]"]
    lines.append(f"{key} = {text(schema.prompt.question)}")
    (folder / SCHEMA).write_text("\n".join(lines) + "\n", "utf-8")
    # A lone surrogate becomes the escape that JSON has for it.
    with (folder / schema.questions).open("w", encoding="utf-8", errors="backslashreplace") as file:
        file.writelines(f"{text(row)}\n" for row in rows)


def _understood(
    task: TaskFile,
    target: Path,
    schema: QuestionsFile,
    rows: Sequence[Row],
    columns: Collection[str],
) -> Iterator[str]:
    of = ", ".join(file.name for file in task.files) + (task.split and f", split {task.split}")
    yield f"{target}: {counted(len(rows), 'question')} of {of}"
    for key, spec in (*task.texts.items(), *(("pictures", one) for one in task.pictures)):
        is_column = isinstance(spec, str) and spec in columns
        yield f"  {key}: {'column ' if is_column else ''}{spec!r:.70}"
    yield f"  first question: {rows[0]['question']!r:.60}; right: {rows[0].get('answers')!s:.60}"
    yield f"  prompt: {schema.prompt.question!r}"
    for note in task.notes:
        yield f"  {note}"
    folder, options = shlex.quote(str(target)), " ".join(["", *task.options])
    yield f"vlm-eval data check {folder}"
    yield f"vlm-eval run --model MODEL --benchmark question-items --data {folder}{options}"
