"""The keys of published results that only grounding has."""

from __future__ import annotations

from collections.abc import Mapping

from harness.runs import Run
from reports.settings import Setting as Value

OURS = "grounding"
"""The pack with texts of this project's own."""


def grounding_keys(run: Run, values: Mapping[str, Value]) -> dict[str, str]:
    """Return the protocol of a grounding run in the words of the published rows.

    prompt: `own` for the published texts of a family of models, `ours`, or those of a `file`.
    thinking: whether any reply on record came with what the model thought.
    """

    options: Mapping[str, object] = run.manifest.config.get("protocol_options") or {}

    def option(name: str, usual: str) -> str:
        return str(options.get(name) or usual)

    pack = option("pack", OURS)
    known = {OURS: "ours", "auto": "file"}
    return {
        "revision": str(values.get("dataset.revision") or "as given"),
        "refusals": option("refusals", "unoffered"),
        "zoom": option("zoom", "none"),
        "thinking": "yes" if _thought(run) else "no",
        "prompt": known.get(pack, "own"),
    }


def _thought(run: Run) -> bool:
    return any(
        call.reply.reasoning
        for record in run.records()
        for call in run.calls_of(record.unit_id, record.repeat)
    )
