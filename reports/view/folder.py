"""The output folder of a page: new, empty, or one that holds an earlier page; or all in one file.

Data are classic scripts, in ASCII without `<`, `>` and `&`: no text can end a script, open a
comment or break a line.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from reports.view import POLICY

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


_STYLE = re.compile(r'<link rel="stylesheet" href="(assets/\w+\.css)">')
_SCRIPT = re.compile(r'<script src="((?:assets|data)/[\w.-]+\.js)"></script>')
_PLOT = re.compile(r'src="(data/[\w.-]+\.svg)"')
_KINDS = {".jpg": "image/jpeg", ".png": "image/png", ".webp": "image/webp", ".svg": "image/svg+xml"}
_DATA = "assets/data.js"


def single_file(folder: Path) -> str:
    """Return the document of a page with everything inside that its folder holds.

    Its content security policy names the hash of every script and style, so it allows no
    others.
    """
    document = (folder / "index.html").read_text("utf-8")
    styles: list[str] = []
    scripts: list[str] = []

    def style(match: re.Match[str]) -> str:
        text = (folder / match[1]).read_text("utf-8")
        styles.append(_hash(text))
        return f"<style>{text}</style>"

    def script(match: re.Match[str]) -> str:
        texts = [(folder / match[1]).read_text("utf-8")]
        if match[1] == _DATA:
            texts += _of_units(folder)
        text = "\n".join(texts)
        if "</script" in text.lower() or "<!--" in text:
            raise ValueError(f"{match[1]} could end its own script")
        scripts.append(_hash(text))
        return f"<script>{text}</script>"

    document = _STYLE.sub(style, document)
    document = _SCRIPT.sub(script, document)
    document = _PLOT.sub(lambda match: f'src="{_inside(folder / match[1])}"', document)
    allowed = f"script-src {' '.join(scripts)}; img-src data:; style-src {' '.join(styles)}"
    own = f"default-src 'none'; {allowed}"
    # The template escapes the quotes of the policy.
    return document.replace(POLICY.replace("'", "&#39;"), own.replace("'", "&#39;"), 1)


def write_single(folder: Path, out: Path, *, overwrite: bool) -> None:
    """Write the page of a folder to one file. Raises `ViewError`."""
    text = single_file(folder)
    try:
        with out.open("w" if overwrite else "x", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except FileExistsError as error:
        raise ViewError(f"{out} exists: --overwrite replaces it") from error
    except OSError as error:
        raise ViewError(f"cannot write {out}: {error.strerror or error}") from error


def _of_units(folder: Path) -> Iterator[str]:
    """The scripts of all units, and the pictures by name."""
    pictures = sorted((folder / "pictures").iterdir())
    yield call("VLM.inside", [[one.name, _inside(one)] for one in pictures])
    for path in sorted((folder / "data").glob("step-*.js")):
        yield path.read_text("ascii")


def _inside(path: Path) -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    return f"data:{_KINDS[path.suffix]};base64,{data}"


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
