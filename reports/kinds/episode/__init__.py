"""Reports on episodes: live pages and agents that take turns."""

from __future__ import annotations

from reports.kind import KindReports
from reports.kinds.episode.columns import EPISODE_COLUMNS
from reports.kinds.episode.errors import EpisodeErrors
from reports.kinds.episode.facts import episode_facts, episode_keys
from reports.kinds.episode.groups import EPISODE_GROUPS
from reports.kinds.episode.page import EpisodePage

EPISODE_REPORTS = KindReports(
    errors=EpisodeErrors(),
    page=EpisodePage(),
    columns=EPISODE_COLUMNS,
    groups=EPISODE_GROUPS,
    facts=episode_facts,
    published_keys=episode_keys,
    status_note="An episode that ended has the status 'answered', with any reward.",
)
