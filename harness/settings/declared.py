"""Every setting of a run: those of the core, and those that leaves declare.

The order is that of the help. What a declaration says of a setting (see `Setting`) is all that the
command line, `--config`, the manifest and the check on resume know of it; what it means for a
comparison of runs stands in `reports.comparability`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, make_dataclass
from typing import TYPE_CHECKING

from adapters.options import LeafSettings
from adapters.registry import NotInstalled, Registry, UnknownName
from harness.settings.asking import ModelSettings, QuestionSettings
from harness.settings.running import DataSettings, RunningSettings, ScoringSettings

LEAVES: Registry[type[LeafSettings]] = Registry("settings", "vlm_eval.settings")
"""Classes of settings, by leaf."""
for _leaf, _target in {
    "episodes": "harness.benchmarks.episode:EpisodeSettings",
    "screens": "harness.benchmarks.screen:ScreenSettings",
    "redo": "harness.redo:RedoSettings",
    "server": "harness.serve:ServerSettings",
    "batches": "adapters.batches:BatchSettings",
    "trackers": "harness.trackers:TrackerSettings",
    "judging": "harness.judging:JudgingSettings",
    "local": "adapters.local:LocalSettings",
}.items():
    LEAVES.add(_leaf, _target)


@dataclass(frozen=True, kw_only=True)
class CoreSettings(RunningSettings, ScoringSettings, QuestionSettings, DataSettings, ModelSettings):
    """The settings of a run, given or resolved.

    None means that a setting was left to the protocol, the model or the machine.
    """

    lacks: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """Features that the units of the run lack (`STEPS`, `PICTURES`); known once it is planned."""
    given: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """The names of the settings that the user gave, as opposed to those left at their defaults."""

    @property
    def times(self) -> int:
        """Number of times every step is asked: once for every repeat or shuffle."""
        return max(self.repeats, self.shuffles)


def _composed() -> type[CoreSettings]:
    """Return the class of the core's settings and those of every leaf that is installed.

    Raises `UnknownName` for a leaf that cannot be loaded, and for a setting that two declare.
    """
    leaves: list[type[LeafSettings]] = []
    known = {one.name for one in fields(CoreSettings)}
    for name in LEAVES.names():
        try:
            leaf = LEAVES.get(name)
        except NotInstalled:
            continue
        own = {one.name for one in fields(leaf)}
        if twice := sorted(own & known):
            raise UnknownName(f"settings '{name}' declare '{twice[0]}', which is declared already")
        known |= own
        leaves.append(leaf)
    names = {"__module__": __name__, "__doc__": CoreSettings.__doc__}
    bases = (*reversed(leaves), CoreSettings)
    made: type[CoreSettings] = make_dataclass(
        "Settings", (), bases=bases, namespace=names, frozen=True, kw_only=True
    )
    return made


if TYPE_CHECKING:
    Settings = CoreSettings
else:
    Settings = _composed()
