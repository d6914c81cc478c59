"""What is made from the runs of one revision for the other: answers, predictions, broken runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from benchmarks.revisions.equality import lines_of
from benchmarks.revisions.fake_models import key_of

FILES = {
    "config.toml": """
model = "random"
benchmark = "sample"
split = ["dev"]
limit = 1
distractors = 7
history = "2"
image-policy = "viewport"
f1 = "cl100k-lc"
max-tokens = "300,200"

[protocol-option]
none = "first"
""",
    "prices.toml": """
[gpt-4o]
input = 2.5
cached = 1.25
output = 10.0
""",
    "prompts.toml": """
name = "short"
system = "You operate a website."
first = "{pictures} Task: {task} So far: {history} What is next?"
first_without_picture = "Task: {task} So far: {history} What is next?"
second = "{choices} Letters to {last_letter}. {none_notice} ELEMENT: letter ACTION: VALUE:"
none_option = "Nothing of this"
none_notice = "{none_letter} is for none."
no_history = "nothing"
history_line = "{number}) {action}"
one_picture = "Look."
several_pictures = "Look at all {count}."
""",
    "script.jsonl": """
{"place": "round-1", "text": "I would press it.", "usage": {"input": 900, "output": 7}}
{"place": "round-2", "text": "ELEMENT: B\\nACTION: CLICK\\nVALUE: None"}
{"place": "round-2", "text": "ELEMENT: C\\nACTION: TYPE\\nVALUE: tea"}
{"default": true, "text": "I do not know."}
""",
}
"""What cases refer to as `{config}`, `{prices}`, `{prompts}` and `{script}`."""


PROMPT = """\
< < <a[AB]| Ferries> <a[SD]| Timetable> <p| Two boats a day> > <input[C]| ; Where to?> \
<button[BCDE]| <i| Search> > >

You can call functions.

def click(element_id: str) -> None:

#Previous commands: {before}

#Window tabs: 1. Default <-- current tab

#Current viewport (pages): 0 / 1.5

#Task: {task}

Output one command."""
"""A prompt as AutoWebBench writes it."""
TASKS = (
    ("Open the timetable.", "None", "click('SD')"),
    ("Open the timetable.", "click('SD')", "finish()"),
    ("When does the boat leave?", "None", "finish('At nine\nand at noon')"),
    ("Look for boats to Ulm.", "None", "type_string('C', 'boat to Ulm', False)"),
    ("Search.", "click('C')", "click('BCDE')"),
)


def write_files(folder: Path) -> None:
    for name, text in FILES.items():
        (folder / name).write_text(text.lstrip(), encoding="utf-8")
    for split in ("en/ind", "en/ood", "zh/ind", "zh/ood"):
        file = folder / "finished-prompts" / split / "test.json"
        file.parent.mkdir(parents=True)
        rows = [
            {
                "source": PROMPT.format(before=before, task=f"{split}: {task}"),
                "target": target,
            }
            for task, before, target in TASKS
        ]
        file.write_text(json.dumps(rows), encoding="utf-8")


def right_answers(folder: Path) -> tuple[dict[str, str], dict[str, list[str]]]:
    """The oracle's replies in the runs of a folder, by `key_of` the conversation, and by case."""
    book: dict[str, str] = {}
    spoken: dict[str, set[str]] = {}
    for journal in sorted(folder.glob("oracle-*/runs/*/calls.jsonl")):
        case = journal.relative_to(folder).parts[0].removeprefix("oracle-")
        asked: dict[str, list[str]] = {}
        for call in lines_of(journal):
            texts = [
                "\n".join(part for part in message["parts"] if isinstance(part, str))
                for message in call["messages"]
                if message["role"] == "user"
            ]
            asked[call["conversation"]] = every = asked.get(call["earlier"], []) + texts
            if texts:
                book[key_of(every)] = call["reply"]["text"]
                spoken.setdefault(case, set()).add(call["reply"]["text"])
    return book, {case: sorted(texts) for case, texts in spoken.items()}


def write_predictions(run: Path, target: Path) -> None:
    """The predictions of a run for `score --predictions`: one left out, every third as a point."""
    steps = [step for step in lines_of(run / "steps.jsonl") if step["prediction"]][1:]
    with target.open("w", encoding="utf-8") as file:
        for number, step in enumerate(steps):
            action = step["prediction"].get("action") or {}
            element, value = action.get("element"), action.get("arguments", {}).get("value", "")
            line = {"step": step["unit_id"], "operation": action.get("name"), "value": value}
            choices = step["detail"]["choices"]
            boxes = [c["box"] for c in choices if c["id"] == element and c["box"]]
            if number % 3 == 0 and boxes:
                left, top, width, height = boxes[0]
                line["point"] = [left + width / 2, top + height / 2]
            else:
                line["element"] = element
            file.write(json.dumps(line) + "\n")


def copied(source: Path, target: Path) -> None:
    """A case's folder without its caches."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("cache", ".lock"))


def shorten(run: Path, kept: float) -> None:
    """Keep a part of the steps, their calls and two more, and half a line of each journal."""
    (run / "summary.json").unlink()
    steps, calls = (
        (run / name).read_bytes().splitlines(keepends=True)
        for name in ("steps.jsonl", "calls.jsonl")
    )
    count = min(int(kept * len(steps)), len(steps) - 1)
    needed = {call for line in steps[:count] for call in json.loads(line)["calls"]}
    places = [place for place, line in enumerate(calls, 1) if json.loads(line)["id"] in needed]
    for name, lines, number in (
        ("steps.jsonl", steps, count),
        ("calls.jsonl", calls, max(places, default=0) + 2),
    ):
        torn = lines[number][: len(lines[number]) // 2] if number < len(lines) else b""
        (run / name).write_bytes(b"".join(lines[:number]) + torn)
