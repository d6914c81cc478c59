"""The settings of a run, each declared once.

    settings = read_settings({"model": "lexical", "benchmark": "sample", "limit": 2})
    settings.distractors            # 20
    SETTINGS["distractors"].help    # what `vlm-eval run --help-all` says of it

Options, keys of `--config`, the configuration on record and refusals all follow from the
declarations: those of the core lie in `asking` and `running`, those of each leaf next to it
(`LEAVES`).
"""

from harness.settings.declared import LEAVES, Settings
from harness.settings.places import public, without_places
from harness.settings.record import (
    GROUPS,
    OF_MODEL,
    RUNS,
    SETTINGS,
    SEVERAL,
    UNDER,
    allow_code,
    directory_name,
    directory_of,
    field_of,
    from_record,
    of_session,
    on_record,
    read_settings,
    unfolded,
    unknown,
    written,
)
from harness.settings.running import PointRule
from harness.settings.setting import (
    EARLIER,
    ELEMENTS,
    EPISODES,
    OWN_PYTHON,
    PICTURES,
    RULES,
    STEPS,
    About,
    Setting,
)

__all__ = [
    "EARLIER",
    "ELEMENTS",
    "EPISODES",
    "GROUPS",
    "LEAVES",
    "OF_MODEL",
    "OWN_PYTHON",
    "PICTURES",
    "RULES",
    "RUNS",
    "SETTINGS",
    "SEVERAL",
    "STEPS",
    "UNDER",
    "About",
    "PointRule",
    "Setting",
    "Settings",
    "allow_code",
    "directory_name",
    "directory_of",
    "field_of",
    "from_record",
    "of_session",
    "on_record",
    "public",
    "read_settings",
    "unfolded",
    "unknown",
    "without_places",
    "written",
]
