"""The settings of a run, each declared once.

    settings = read_settings({"model": "lexical", "benchmark": "sample", "limit": 2})
    settings.repeats                # 1
    SETTINGS["repeats"].help        # what `vlm-eval run --help-all` says of it

Options of the command line, keys of `--config`, the configuration on record and refusals of values
follow from the declarations (`declared`). What does not go together is refused in plain code:
`harness.planning.plan`.
"""

from harness.settings.declared import Settings
from harness.settings.record import (
    FIELDS,
    GROUPS,
    HANDED_OVER,
    OF_MODEL,
    RUNS,
    SETTINGS,
    SEVERAL,
    VERIFIED,
    Setting,
    allow_code,
    declared_by,
    directory_name,
    directory_of,
    field_of,
    folded,
    from_record,
    moved,
    of_session,
    on_record,
    read_settings,
    unknown,
    written,
)

__all__ = [
    "FIELDS",
    "GROUPS",
    "HANDED_OVER",
    "OF_MODEL",
    "RUNS",
    "SETTINGS",
    "SEVERAL",
    "VERIFIED",
    "Setting",
    "Settings",
    "allow_code",
    "declared_by",
    "directory_name",
    "directory_of",
    "field_of",
    "folded",
    "from_record",
    "moved",
    "of_session",
    "on_record",
    "read_settings",
    "unknown",
    "written",
]
