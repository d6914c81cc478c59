"""What MT-Mind2Web declares of its results (Deng et al. 2024)."""

from __future__ import annotations

from dataclasses import replace

from parsers.declaration import SPLIT, Group, Level
from parsers.mind2web import MIND2WEB

MT_MIND2WEB = replace(
    MIND2WEB,
    levels=(
        Level("task", one="turn", many="turns", column="turn_id"),
        Level("conversation", extent="conversations on these websites", column="conversation_id"),
        Level("website", shared=True),
    ),
    groups=(
        Group(SPLIT, "the split", whole="conversation"),
        Group("website", "the website", whole="website"),
        Group("domain", "its domain", whole="website"),
        Group("subdomain", "its subdomain", whole="website"),
        Group("turn", "the number of its turn in the conversation", whole="task"),
        Group("operation", "the recorded operation", column="gold_operation"),
    ),
    clusters=("conversation", "website"),
)
