"""Runs made for the page: all kinds of outcome, hostile texts, pictures drawn here."""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from PIL import Image

from adapters.conversation import Reply
from harness.runs import CallRecord, DataGone, MessageRecord, RunDirectory, StepData, StepUnit
from harness.runs.files import encode
from parsers.records import F1_VARIANTS, Box, Choice, Gold, Prediction, Status
from reports.view.write import RunsPage
from tests.reports.runs import call, setup, step, write
from tests.units import flat, step_scores

HOSTILE = (
    "</script><script>window.HACKED = 1</script>",
    '<img src="x" onerror="window.HACKED = 1">',
    "--> <!-- ]]> {{ 7 * 7 }} ${7 * 7}",
    "a\u2028b\u2029c \u202edlrow\u202c \x1b[31m __proto__",
)
PAGE = (1280, 2000)
SITES = ("alpha", "beta", '<b title="x">gamma</b>')
OPERATIONS = ("CLICK", "TYPE", "SELECT")


def png() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", PAGE, (200, 220, 240)).save(out, "PNG")
    return out.getvalue()


PICTURE = png()


def step_data(
    dataset: Mapping[str, Any], step_ids: Collection[str]
) -> Iterator[tuple[str, StepData | DataGone]]:
    """Pictures for all steps but those of task T3."""
    for step_id in step_ids:
        if step_id.startswith("T3"):
            yield step_id, DataGone("the <shards> were deleted")
        else:
            yield step_id, StepData("<html><body></body></html>", PICTURE)


def records(rights: str, tasks: int = 4) -> list[StepUnit]:
    """Steps by task, three each; a sign per step: right, element only, wrong, None, open."""
    made = []
    for number in range(tasks * 3):
        task, index = divmod(number, 3)
        sign = rights[number % len(rights)]
        made.append(_record(f"T{task}", index, sign, SITES[task % 3], HOSTILE[number % 4]))
    return made


def _record(task: str, index: int, sign: str, site: str, text: str) -> StepUnit:
    operation = OPERATIONS[index]
    right = Choice("B", "7", "button", f"<button id=1> {text} </button>", Box(*BOX))
    wrong = Choice("A", "8", "a", f"<a id=2> {text} </a>", Box(0.0, 1900.0, 200.0, 40.0))
    element, success = sign in "+~", sign == "+"
    letter = {"+": "B", "~": "B", "-": "A", "0": "C", "?": None}[sign]
    chosen = {"A": "8", "B": "7"}.get(letter or "")
    status = Status.NONE if sign == "0" else Status.ANSWERED
    settled = sign != "?"
    names: tuple[str, ...] = F1_VARIANTS
    f1 = dict.fromkeys(names, 1.0 if success else 0.5 if sign == "~" else 0.0)
    made = step(
        task,
        index,
        success,
        settled=settled,
        website=site,
        split="test_website" if task in ("T0", "T2") else "test_task",
        history=(text,) if index else (),
        page_size=PAGE,
        source=f"shard.parquet, row {index}",
        screenshot_digest=sha256(b"lost" if task == "T3" else PICTURE).hexdigest(),
        gold=Gold(operation, text, ("7",), (BOX,), "7"),  # type: ignore[arg-type]
        choices=(wrong, right),
        prediction=Prediction.of(status, letter, chosen, None, operation, text)  # type: ignore[arg-type]
        if settled
        else None,
        scores=step_scores(element, f1, success, success) if settled else None,
    )
    return replace(made, goal=f"Task {task}: {HOSTILE[int(task[1:]) % 4]}")


BOX = (320.0, 1500.0, 240.0, 60.0)


def calls(steps: list[StepUnit]) -> list[CallRecord]:
    """Two rounds for every step, with hostile prompts and replies."""
    made = []
    for one in steps:
        text = one.detail.gold.value
        first = replace(call(one, text), messages=(MessageRecord("user", (text,)),))
        again = MessageRecord("assistant", (text,))
        made += [
            first,
            replace(
                first,
                id=f"{one.unit_id}/0/round-2",
                place="round-2",
                messages=(again, MessageRecord("user", (f"Which one? {text}",))),
                reply=Reply(f"ELEMENT: B {text}", model=text, reasoning=f"Hm. {text}"),
            ),
        ]
    return made


def two_runs(folder: Path) -> list[Path]:
    """Runs `first` and `<i>second</i>` on the same steps, the second one not finished."""
    one = records("+~-0+-")
    other = records("+-+-~?")
    names = ("first", "<i>second</i>")
    made = []
    for name, steps, complete in zip(names, (one, other), (True, False), strict=True):
        path = folder / ("first" if complete else "second")
        write(path, steps, setup(model={"name": name}), complete=complete, calls=calls(steps))
        _rename(path, name)
        made.append(path)
    return made


def _rename(path: Path, name: str) -> None:
    file = path / "manifest.json"
    manifest = msgspec.json.decode(file.read_bytes())
    manifest["name"] = name
    file.write_bytes(msgspec.json.encode(manifest))


def many(path: Path, count: int) -> Path:
    """A complete run of many steps, written in one go."""
    signs = "+-~0---+--"
    with RunDirectory.start(path, setup()) as run:
        pass
    with (path / "steps.jsonl").open("wb") as file:
        for number in range(count):
            task, index = divmod(number, 8)
            sign = signs[(number * 7 + number // 11) % len(signs)]
            one = _record(f"M{task:04}", index % 3, sign, f"site-{task % 73}", "Plain <text>")
            one = replace(one, unit_id=f"M{task:04}_{index}", position=index, total=8)
            file.write(encode(one))
    with RunDirectory.start(path, setup()) as run:
        run.finish({}, complete=True)
    return path


def page(runs: list[Path], out: Path, *, overwrite: bool = False, **options: Any) -> str:
    """The page of runs, as the command writes it."""
    return RunsPage(runs, out, **options).write(overwrite=overwrite)


def raw(run: Path) -> list[dict[str, Any]]:
    """The lines of a run's steps, decoded."""
    return [flat(json.loads(line)) for line in (run / "steps.jsonl").read_bytes().splitlines()]


def sheets(folder: Path) -> list[Any]:
    """The lists of a page, one for each sheet."""
    lines = (folder / "data" / "steps.js").read_text("ascii").splitlines()
    return [json.loads(line[9:-2]) for line in lines if line.startswith("VLM.load(")]


def detail(folder: Path, script: int) -> Any:
    """What the first lane of a page has on a unit."""
    text = (folder / "data" / f"step-{script}.js").read_text("ascii")
    assert not set("<>&") & set(text)
    return json.loads(f"[{text[text.index('VLM.add(') + 8 : text.rindex(');')]}]")[2]
