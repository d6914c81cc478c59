"""Time of MindAct's first round, from a page's HTML to the texts of its ten groups of five.

    python benchmarks/mindact_rendering.py FOLDER     # or with VLM_EVAL_TEST_DATA set

FOLDER holds `seeact-example/` with one recorded row of Multimodal-Mind2Web and the ranks of its
candidates. A round is the pruned page and the choices of each group, in both styles of brackets.
They are compared with an independent rendering (the tests' literal reading of the rules, which
gives the golden texts of the folder) before anything is timed. Timed is one style at a time,
parsing included, in turn with plain parsing of the same text; the ratio is median over median.
Leaves with status 1 when a text differs or the bound is exceeded.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from lxml import etree

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.recorded_step import arguments, medians, print_times, read_row
from harness.candidates import SeededOrder
from harness.page import Brackets, Page
from tests.harness.page import literal

RATIO_BOUND = 5.0
TOP_K, GROUP = 50, 5
STYLES: tuple[Brackets, ...] = ("angle", "round")
Round = list[tuple[str, list[tuple[str, str]]]]


def first_round(html: str, groups: list[list[str]], brackets: Brackets) -> Round:
    """The page pruned to each group, and the group's choices; one parse for all of them."""
    page = Page.parse(html)
    snippets = (page.snippet(group, brackets=brackets) for group in groups)
    return [(s.text, [(choice.id, choice.text) for choice in s.choices]) for s in snippets]


def main() -> int:
    """Print the figures; 0 when the bound holds."""
    data, repetitions = arguments(__doc__, 200)
    row = read_row(data, ["cleaned_html", "annotation_id", "action_uid"])
    ranks = json.loads((data / "candidate_scores.json").read_text())["ranks"]
    html: str = row["cleaned_html"]
    best = sorted(ranks, key=ranks.__getitem__)[:TOP_K]
    queue = SeededOrder(42, row["annotation_id"], row["action_uid"]).sorted("tournament 0", best)
    groups = [queue[start : start + GROUP] for start in range(0, TOP_K, GROUP)]

    for brackets in STYLES:
        expected = [literal.snippet(html, group, brackets) for group in groups]
        if first_round(html, groups, brackets) != expected:
            print(f"the texts in {brackets} brackets differ from the expected ones: no figures")
            return 1
    times = medians(
        {
            "lxml.etree.fromstring": lambda: etree.fromstring(html),
            "first round, angle": lambda: first_round(html, groups, "angle"),
            "first round, round": lambda: first_round(html, groups, "round"),
        },
        repetitions,
    )
    print(f"{len(html):,} characters, {len(groups)} groups of {GROUP}")
    print_times(times)
    plain = times.pop("lxml.etree.fromstring")
    ratios = {name: milliseconds / plain for name, milliseconds in times.items()}
    for name, ratio in ratios.items():
        print(f"{name} / fromstring: {ratio:.2f} (at most {RATIO_BOUND})")
    return int(max(ratios.values()) > RATIO_BOUND)


if __name__ == "__main__":
    sys.exit(main())
