"""A hook of mkdocs: a page has the path on the site that its file has in the repository.

mkdocs reads `docs/` alone. The other documents lie next to the code that they describe, and links
among all of them are relative, as GitHub needs them.
"""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ELSEWHERE = (
    *("*.md", "CITATION.cff"),
    *(f"{package}/**/README.md" for package in ("adapters", "harness", "reports")),
)
"""Documents outside `docs/`. The strict build fails if the navigation omits one."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the files of the site: the theme's unchanged, all others by their path here."""
    root = Path(config.config_file_path).parent
    paths = [path for pattern in ELSEWHERE for path in root.glob(pattern)]
    for file in list(files):
        if file.src_dir == config.docs_dir:
            files.remove(file)
            paths.append(Path(config.docs_dir, file.src_uri))
    for path in paths:
        uri = path.relative_to(root).as_posix()
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files
