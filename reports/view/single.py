"""A page in one file: what its folder holds, inside of its document."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from reports.view import POLICY
from reports.view.folder import ViewError, call

_STYLE = re.compile(r'<link rel="stylesheet" href="(assets/\w+\.css)">')
_SCRIPT = re.compile(r'<script src="((?:assets|data)/[\w.-]+\.js)"></script>')
_PLOT = re.compile(r'src="(data/[\w.-]+\.svg)"')
_KINDS = {".jpg": "image/jpeg", ".png": "image/png", ".webp": "image/webp", ".svg": "image/svg+xml"}
_DATA = "assets/data.js"


def single_file(folder: Path) -> str:
    """Return the document of a page with everything inside that its folder holds.

    Its content security policy names the hash of every script and style, so that it allows no
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
