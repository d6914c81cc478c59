"""What reports have for episodes: live pages, and agents that take turns with them."""

from __future__ import annotations

from reports.episodes.columns import EPISODE_COLUMNS
from reports.episodes.errors import EpisodeErrors
from reports.episodes.facts import episode_facts, episode_keys
from reports.episodes.groups import EPISODE_GROUPS
from reports.episodes.page import EpisodePage
from reports.kinds import KindReports

EPISODE_REPORTS = KindReports(
    errors=EpisodeErrors(),
    page=EpisodePage(),
    columns=EPISODE_COLUMNS,
    groups=EPISODE_GROUPS,
    facts=episode_facts,
    published_keys=episode_keys,
    status_note="An episode that came to an end has the status 'answered', whatever its reward.",
)
