"""The output folder of a page: new, empty, or one that holds an earlier page.

Data are classic scripts, in ASCII without `<`, `>` and `&`: no text can end a script, open a
comment or break a line.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import click

_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def literal(value: Any) -> str:
    r"""Return a JavaScript literal of plain data. U+2028, U+2029 and lone surrogates are escaped
    too.

    Raises `ValueError` for a number that is not finite. Use lists of pairs instead of untrusted
    keys, because JavaScript treats the key `__proto__` specially.

    >>> print(literal(["</script>", "a\u2028b"]))
    ["\u003c/script\u003e","a\u2028b"]
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign, escaped in _ESCAPES.items():
        text = text.replace(sign, escaped)
    return text


def call(function: str, *values: Any) -> str:
    """Return a statement that calls a function of the page.

    >>> call("VLM.add", 1, ["a"])
    'VLM.add(1,["a"]);'
    """
    return f"{function}({','.join(literal(value) for value in values)});"


def note(text: str) -> str:
    """Return a comment as the first line of a script."""
    return f"// {literal(text)[1:-1]}\n"


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
            clear(out)
        out.mkdir(parents=True, exist_ok=True)
        (out / MARK).write_text("written by vlm-eval view\n", encoding="utf-8")
        for part in PARTS:
            (out / part).mkdir()
    except OSError as error:
        raise ViewError(f"cannot write {out}: {error.strerror or error}") from error


def clear(out: Path) -> None:
    """Remove an earlier page. Raises `ViewError`, OSError."""
    (out / "index.html").unlink(missing_ok=True)
    for part in PARTS:
        if (out / part).is_symlink():
            raise ViewError(f"{out / part} is a link: remove it first")
        if (out / part).exists():
            shutil.rmtree(out / part)
