"""Time from a page's HTML text to its choice texts, against plain parsing of the same text.

    python benchmarks/page_rendering.py FOLDER     # or with VLM_EVAL_TEST_DATA set

FOLDER holds `seeact-example/` with one recorded row of Multimodal-Mind2Web and the expected
texts. Both sides are timed in turn within one run, releasing what they made included, and the
ratio is median over median. Each result is compared with the expected one before any timing.
Leaves with status 1 when a bound is exceeded or a text differs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as parquet
from lxml import etree

from harness.page import Page, decode_candidates

RATIO_BOUND = 3.0
DECODING_BOUND_MS = 2.0
VARIABLE = "VLM_EVAL_TEST_DATA"


def medians(tasks: dict[str, Callable[[], object]], repetitions: int) -> dict[str, float]:
    """The median time of each task in milliseconds, the tasks taking turns."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(repetitions):
        for name, task in tasks.items():
            started = time.perf_counter()
            task()
            seconds[name].append(time.perf_counter() - started)
    return {name: 1000 * statistics.median(times) for name, times in seconds.items()}


def main() -> int:
    """Print the figures; 0 when all bounds hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", nargs="?", type=Path, default=os.environ.get(VARIABLE))
    parser.add_argument("--repetitions", type=int, default=300)
    arguments = parser.parse_args()
    if arguments.folder is None:
        print(f"name the folder that holds seeact-example/, as an argument or in {VARIABLE}")
        return 2
    data = Path(arguments.folder) / "seeact-example"
    columns = ["cleaned_html", "pos_candidates", "neg_candidates"]
    table = parquet.read_table(data / "multimodal_mind2web_row.parquet", columns=columns)
    (row,) = table.to_pylist()
    with (data / "golden_prune.jsonl").open(encoding="utf-8") as lines:
        golden = json.loads(lines.readline())
    html: str = row["cleaned_html"]
    ids: list[str] = golden["candidate_ids"]
    encoded: list[str] = row["pos_candidates"] + row["neg_candidates"]

    page = Page.parse(html)
    found = [[choice.id, choice.text] for choice in page.choices(ids)]
    if found != golden["choices"] or page.snippet(ids).text != golden["context"]:
        print("the texts differ from the expected ones: no figures")
        return 1
    groups = [ids[start : start + 5] for start in range(0, len(ids), 5)]
    times = medians(
        {
            "lxml.etree.fromstring": lambda: etree.fromstring(html),
            "text to choices": lambda: Page.parse(html).choices(ids),
            "choices of a parsed page": lambda: page.choices(ids),
            "snippet of a parsed page": lambda: page.snippet(ids),
            "the same in groups of five": lambda: [page.choices(group) for group in groups],
            "decode candidates": lambda: decode_candidates(encoded),
        },
        arguments.repetitions,
    )
    print(f"{len(html):,} characters, {len(ids)} choices, {len(encoded)} candidates")
    for name, milliseconds in times.items():
        print(f"  {name:28} {milliseconds:6.3f} ms")
    ratio = times["text to choices"] / times["lxml.etree.fromstring"]
    decoding = times["decode candidates"]
    print(f"text to choices / fromstring: {ratio:.2f} (at most {RATIO_BOUND})")
    print(f"decoding: {decoding:.2f} ms (at most {DECODING_BOUND_MS})")
    return int(ratio > RATIO_BOUND or decoding > DECODING_BOUND_MS)


if __name__ == "__main__":
    sys.exit(main())
