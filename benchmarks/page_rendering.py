"""Time from a page's HTML text to its choice texts, against plain parsing of the same text.

    python benchmarks/page_rendering.py FOLDER     # or with VLM_EVAL_TEST_DATA set

FOLDER holds `seeact-example/` with one recorded row of Multimodal-Mind2Web and the expected
texts. Both sides are timed in turn within one run, releasing what they made included, and the
ratio is median over median. Each result is compared with the expected one before any timing.
Leaves with status 1 when a bound is exceeded or a text differs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from lxml import etree

# Last on the path: the installed package is timed.
sys.path.append(str(Path(__file__).resolve().parent.parent))

from benchmarks.recorded_step import arguments, medians, print_times, read_row
from harness.page import Page, decode_candidates

RATIO_BOUND = 3.0
DECODING_BOUND_MS = 2.0


def main() -> int:
    """Print the figures; 0 when all bounds hold."""
    data, repetitions = arguments(__doc__, 300)
    row = read_row(data, ["cleaned_html", "pos_candidates", "neg_candidates"])
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
        repetitions,
    )
    print(f"{len(html):,} characters, {len(ids)} choices, {len(encoded)} candidates")
    print_times(times)
    ratio = times["text to choices"] / times["lxml.etree.fromstring"]
    decoding = times["decode candidates"]
    print(f"text to choices / fromstring: {ratio:.2f} (at most {RATIO_BOUND})")
    print(f"decoding: {decoding:.2f} ms (at most {DECODING_BOUND_MS})")
    return int(ratio > RATIO_BOUND or decoding > DECODING_BOUND_MS)


if __name__ == "__main__":
    sys.exit(main())
