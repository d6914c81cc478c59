"""The output folder of a page: new, empty, or one that holds an earlier page."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

MARK = ".vlm-eval-view"
"""Marks a folder as written by this command, which may therefore replace it."""
PARTS = ("assets", "data", "pictures")


class ViewError(click.ClickException):
    """Bad input of `vlm-eval view`, in one line."""

    exit_code = 2


def check(out: Path, *, overwrite: bool) -> None:
    """Raise `ViewError` unless a page may be written there."""
    try:
        if out.exists() and not out.is_dir():
            raise ViewError(f"{out} is a file: give a folder with --out")
        if out.is_dir() and any(out.iterdir()):
            if not (out / MARK).is_file():
                raise ViewError(f"{out} is not empty and holds no page of vlm-eval: choose another")
            if not overwrite:
                raise ViewError(f"{out} holds a page already: --overwrite replaces it")
    except OSError as error:
        raise ViewError(f"cannot write {out}: {error.strerror or error}") from error


def prepare(out: Path, *, overwrite: bool) -> None:
    """Create the folder or clear it of an earlier page. Raises `ViewError`."""
    check(out, overwrite=overwrite)
    try:
        if out.is_dir():
            _clear(out)
        out.mkdir(parents=True, exist_ok=True)
        (out / MARK).write_text("written by vlm-eval view\n", encoding="utf-8")
        for part in PARTS:
            (out / part).mkdir()
    except OSError as error:
        raise ViewError(f"cannot write {out}: {error.strerror or error}") from error


def _clear(out: Path) -> None:
    (out / "index.html").unlink(missing_ok=True)
    for part in PARTS:
        if (out / part).is_symlink():
            raise ViewError(f"{out / part} is a link: remove it first")
        if (out / part).exists():
            shutil.rmtree(out / part)
