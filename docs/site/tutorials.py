"""Tutorials: notebooks that are executed, and the pages of docs/tutorials that are made of them.

    python -m docs.site.tutorials                # every notebook of notebooks/
    python -m docs.site.tutorials grounding ...  # these

A notebook is stored without outputs. It runs from top to bottom in an empty folder, with the kernel
of this Python, and a cell that raises ends it. On the page

- text is unchanged, with the links of the page (`LINKS`);
- a cell is its code and what it printed or returned. One that begins with `%%bash` is shell: it
  ends at the first command that fails, and its two streams are in order, as on a terminal;
- a cell tagged `check` is left out. It asserts what the text says of the results;
- a picture is a file next to the page, with the text that the cell's metadata has as `alt`;
- outputs are unchanged, except what `NORMALISED` replaces.
"""

from __future__ import annotations

import base64
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

HOUSE = Path(__file__).resolve().parents[2]
SOURCES = HOUSE / "notebooks"
PAGES = HOUSE / "docs" / "tutorials"

SHELL = "%%bash\n"
CHECK = "check"
"""Tag of cells that are executed and not shown."""

LINKS = (
    (re.compile(r"\]\(\.\./docs/"), "](../"),
    (re.compile(r"\]\(([\w-]+)\.ipynb"), r"](\1.md"),
)
"""Links from a notebook as links from its page."""

NORMALISED = (
    # Progress, which tells the time: "158/158 steps, 306 calls, 5955.9 steps/min | so far: ..."
    (re.compile(r"^\d+/\d+ .* \w+/min.*\n", re.M), ""),
    # Versions of what made a picture, at the end of its recipe.
    (re.compile(r";pillow=[^;\]\s]+;libjpeg=[^;\]\s]+"), ""),
    (re.compile(r"[ \t]+$", re.M), ""),
)
"""Outputs that differ between machines, with their replacements."""

PICTURES = {"image/png": "png", "image/jpeg": "jpg"}


def sources() -> list[Path]:
    """The notebooks of all tutorials, by name."""
    return sorted(SOURCES.glob("*.ipynb"))


def execute(source: Path, folder: Path, *, checks: bool = True, command: str = "") -> Any:
    """Run a notebook in a folder and return it with its outputs.

    Args:
        source: the notebook.
        folder: an existing folder for its cells to run in. `vlm-eval` is put next to it.
        checks: run cells tagged `check`, which are true of the tutorial's own runs only.
        command: the folder of another `vlm-eval` to put first; this Python's unless given.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell raised, or a command in it failed.
    """
    notebook: Any = nbformat.read(source, as_version=4)  # type: ignore[no-untyped-call]
    written = [cell.source for cell in notebook.cells]
    for cell in notebook.cells:
        if cell.source.startswith(SHELL):
            cell.source = cell.source.replace(SHELL, f"{SHELL}exec 2>&1; set -eo pipefail\n", 1)
        elif CHECK in cell.metadata.get("tags", ()) and not checks:
            cell.source = ""
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        extra_arguments=["--log-level=ERROR"],  # it warns of having no encryption on this machine
    )
    client.execute(env=_environment(folder, command))
    for cell, source_text in zip(notebook.cells, written, strict=True):
        cell.source = source_text
    return notebook


def _environment(folder: Path, first: str) -> dict[str, str]:
    """The variables of a kernel: this Python's `vlm-eval` found first, tables of one width."""
    programs = folder.with_name(f"{folder.name}-bin")
    programs.mkdir(exist_ok=True)
    command = programs / "vlm-eval"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m harness "$@"\n')
    command.chmod(0o755)
    path = os.pathsep.join([*filter(None, [first]), str(programs), os.environ.get("PATH", "")])
    own = {"IPYTHONDIR": str(programs), "COLUMNS": "100", "HF_HUB_OFFLINE": "1"}
    return {**os.environ, "PATH": path, **own}


def page(notebook: Any, name: str) -> tuple[str, dict[str, bytes]]:
    """The Markdown of an executed notebook, and its pictures by file name.

    Raises:
        ValueError: a cell shows a picture, and its metadata have no `alt`.
    """
    parts = []
    pictures: dict[str, bytes] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(replaced(LINKS, cell.source))
        elif CHECK not in cell.metadata.get("tags", ()):
            parts.append(_code(cell.source))
            for kind, content in _outputs(cell):
                if kind == "text":
                    parts.append(_fenced("text", content))
                    continue
                if "alt" not in cell.metadata:
                    raise ValueError(f"{name}: no alt in the metadata of cell '{cell.id}'")
                file = f"{name}-{len(pictures) + 1}.{PICTURES[kind]}"
                pictures[file] = base64.b64decode(content)
                parts.append(f"![{cell.metadata['alt']}]({file})")
    made = f"notebooks/{name}.ipynb"
    how = "`python -m docs.site.tutorials`"
    parts.insert(0, f"<!-- Made of {made} by {how}: edit the notebook. -->")
    parts.append(f"*This page is the notebook `{made}` with its outputs.*")
    return "\n\n".join(parts) + "\n", pictures


def _code(source: str) -> str:
    if source.startswith(SHELL):
        return _fenced("sh", source.removeprefix(SHELL))
    if source.startswith("%%writefile "):
        first, _, content = source.partition("\n")
        file = first.split()[-1]
        return f"`{file}`:\n\n" + _fenced("python" if file.endswith(".py") else "toml", content)
    return _fenced("python", source)


def _fenced(language: str, text: str) -> str:
    longest = max(map(len, re.findall(r"^`{3,}", text, re.M)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.strip(chr(10))}\n{fence}"


def _outputs(cell: Any) -> Iterator[tuple[str, str]]:
    """Yield a cell's outputs in order: ("text", text) or (media type of a picture, base64)."""
    text = ""
    for output in cell.outputs:
        data = output.get("data", {})
        kind = next((kind for kind in PICTURES if kind in data), None)
        if kind is None:
            text += output.get("text", data.get("text/plain", ""))
            continue
        if text.strip():
            yield "text", replaced(NORMALISED, text)
        text = ""
        yield kind, data[kind]
    text = replaced(NORMALISED, text)
    if text.strip() and not cell.source.startswith("%%writefile "):
        yield "text", text


def replaced(rules: tuple[tuple[re.Pattern[str], str], ...], text: str) -> str:
    """The text with every rule applied, in order."""
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text


def main() -> None:
    """Execute tutorials and write their pages."""
    for source in sources():
        if sys.argv[1:] and source.stem not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder) / "tutorial"
            home.mkdir()
            text, pictures = page(execute(source, home), source.stem)
        for stale in PAGES.glob(f"{source.stem}-[0-9]*"):
            stale.unlink()
        PAGES.mkdir(exist_ok=True)
        (PAGES / f"{source.stem}.md").write_text(text, "utf-8")
        for file, content in pictures.items():
            (PAGES / file).write_bytes(content)
        print(f"{source.stem}: {len(text)} characters, {len(pictures)} pictures")


if __name__ == "__main__":
    main()
