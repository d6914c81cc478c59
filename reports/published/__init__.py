"""Published results, and whether they were measured like a run.

`published_rows` reads them; `published_beside` splits them into those measured like a run and all
others. They are never ranked, neither among themselves nor against a run.
"""

from __future__ import annotations

from reports.published.beside import published_beside, published_table, what_sets_apart
from reports.published.keys import Keys, keys_of, what_differs
from reports.published.source import (
    Published,
    PublishedError,
    Scope,
    key_names,
    published_rows,
    read_rows,
)

__all__ = [
    "Keys",
    "Published",
    "PublishedError",
    "Scope",
    "key_names",
    "keys_of",
    "published_beside",
    "published_rows",
    "published_table",
    "read_rows",
    "what_differs",
    "what_sets_apart",
]
