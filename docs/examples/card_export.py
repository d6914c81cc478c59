"""Results as a section of a model card, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.runs import Run
from harness.tables import clean, percent
from reports.exports import ExportFolder, file_name, option
from reports.exports.results import results_of


@dataclass(frozen=True)
class CardExport:
    """A table per run."""

    heading: str = option("Results", "Heading of the section.", metavar="TEXT")

    def write(self, runs: Mapping[str, Run], folder: ExportFolder) -> Iterable[str]:
        """Write a Markdown file per run."""
        for label, run in runs.items():
            lines = [f"## {self.heading}", "", "| split | measure | % |", "|---|---|---|"]
            for one in results_of(run):
                if one.headline and one.first and one.value is not None:
                    measure = one.measure.head
                    lines.append(f"| {clean(one.split)} | {measure} | {percent(one.value)} |")
            path = folder.path(f"{file_name(label)}.md")
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return ["paste them into README.md of the model's repository"]
