"""The contract of export formats, and their registry.

    @dataclass(frozen=True, slots=True)
    class Lines:
        \"\"\"A JSON line per run.\"\"\"

        names_only: bool = option(False, "Leave the settings out.")

        def write(self, runs: Mapping[str, Run], folder: Folder) -> Iterable[str]:
            for label, run in runs.items():
                with folder.path(f"{file_name(label)}.jsonl").open("w", encoding="utf-8") as file:
                    ...
            return ()

Its module is imported for the help of the command, so it imports other packages where they are
used. Equal runs and options give equal files: no format reads the clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Protocol

from adapters.registry import Registry

if TYPE_CHECKING:
    from harness.runs import Run
    from reports.exports.folder import Folder


class ExportFormat(Protocol):
    """A format of another project. Fields made by `option` are options of the command."""

    def write(self, runs: Mapping[str, Run], folder: Folder) -> Iterable[str]:
        """Write runs, by label, to paths that `folder` gives; labels are unique, and hostile texts.

        All runs are readable, and finished unless the user asked for unfinished ones
        (`Run.complete` says so).

        Returns:
            Lines for the user, such as the command that uploads the files; with the note on
            test data (`reports.load.guarding_notes`) where the files hold texts of it.

        Raises:
            ExportError: something is missing that the format needs, in one line.
            RunError: a run cannot be read.
        """


EXPORTS: Registry[ExportFormat] = Registry("export format", "vlm_eval.exports", has=("write",))
EXPORTS.add(
    "hub", "reports.exports.hub:HubExport", "evaluation results for model repositories on the hub"
)
EXPORTS.add("eee", "reports.exports.eee:EeeExport", "JSON of Every Eval Ever")
EXPORTS.add("csv", "reports.exports.csv:CsvExport", "tables for spreadsheets and pandas")
EXPORTS.add("inspect", "reports.exports.inspect:InspectExport", "logs of inspect_ai, one per run")


def option(default: Any, help: str, **facts: Any) -> Any:
    """Return a field of a format that is an option of `vlm-eval export`: `--with-steps` for
    `with_steps`.

    A switch where the default is a bool; `facts` are further arguments of `click.Option`, such as
    `type` or `metavar`.
    """
    return field(default=default, metadata={"help": help, **facts})


def options_of(format_class: object) -> dict[str, Mapping[str, Any]]:
    """Return the options of a format by name: arguments of `click.Option`, with `default` and
    `help`."""
    if not isinstance(format_class, type) or not is_dataclass(format_class):
        return {}
    return {
        one.name: {"default": one.default, **one.metadata}
        for one in fields(format_class)
        if "help" in one.metadata
    }
