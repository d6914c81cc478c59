"""The long description for PyPI, where none of the README's neighbours are.

Relative links and pictures get addresses at the tag of the version, in the way that GitHub spells
them, once `[project.urls]` says where the source is ("Source"). Until then pictures are left out,
and links are their text.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

FENCES = re.compile(r"(^```.*?^```$)", re.M | re.S)
PICTURE = re.compile(r"!\[([^\]]*)\]\((?!\w+:)([^)\s]+)\)")
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!\w+:|#)([^)\s]+)\)")


def long_description(readme: str, source: str | None, version: str) -> str:
    """The README without relative addresses; `source` is the repository's, or empty."""
    parts = FENCES.split(readme)
    for place in range(0, len(parts), 2):
        if source:
            at = f"v{version}"
            text = PICTURE.sub(rf"![\1]({source}/raw/{at}/\2)", parts[place])
            parts[place] = LINK.sub(rf"[\1]({source}/blob/{at}/\2)", text)
        else:
            parts[place] = LINK.sub(r"\1", PICTURE.sub("", parts[place]))
    return re.sub(r"\n{3,}", "\n\n", "".join(parts))


class LongDescription(MetadataHookInterface):
    """Sets `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        source = metadata.get("urls", {}).get("Source", "").rstrip("/")
        readme = (Path(self.root) / "README.md").read_text("utf-8")
        text = long_description(readme, source, metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
