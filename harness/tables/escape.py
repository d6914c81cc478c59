"""Escaping for every format a table is written in.

Website names, run names and whatever else comes from pages, models or other people's runs may hold
anything: terminal control sequences, markup, spreadsheet formulas.
"""

from __future__ import annotations

import html as _html
import re
import unicodedata

FORMULA_STARTS = "=+-@#＝＋－＠"
"""A spreadsheet would run such a cell; a reader of comments would pass over `#`."""

_FORMULA = re.compile(rf"(^|[,;\"'])(\s*)(?=[{re.escape(FORMULA_STARTS)}])")
_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "[": "{[}",
    "]": "{]}",
}
_MARKDOWN = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    "@": "&#64;",
    **{sign: "\\" + sign for sign in "\\`*_[]|~$"},
}


def clean(text: object) -> str:
    """One line without control, formatting, surrogate and unassigned characters.

    >>> clean("a\\x1b[31m\\nb\\u202ec")
    'a[31m bc'
    """
    return "".join(" " if c.isspace() else c for c in str(text) if c.isspace() or _shown(c))


def _shown(character: str) -> bool:
    return not unicodedata.category(character).startswith("C")


def csv_cell(text: object) -> str:
    """Cleaned, and with an apostrophe before what a spreadsheet would take for a formula.

    Behind separators and quotes too: not every program splits a line where it was put together.

    >>> csv_cell("=1+1"), csv_cell("a=1"), csv_cell("a;=1")
    ("'=1+1", 'a=1', "a;'=1")
    """
    return _FORMULA.sub(r"\1\2'", clean(text))


def latex(text: object) -> str:
    r"""Cleaned, and literal in LaTeX text.

    >>> print(latex("a_b & 5 %"))
    a\_b \& 5 \%
    """
    return "".join(_LATEX.get(character, character) for character in clean(text))


def markdown(text: object) -> str:
    r"""Cleaned, and literal in Markdown, table cells included; never HTML.

    >>> print(markdown("<b>a_b|c"))
    &lt;b&gt;a\_b\|c
    """
    escaped = "".join(_MARKDOWN.get(character, character) for character in clean(text))
    return escaped.replace("://", "&#58;//")


def html(text: object) -> str:
    """Cleaned, and literal in HTML text and quoted attributes.

    >>> html('<b>"a" & b')
    '&lt;b&gt;&quot;a&quot; &amp; b'
    """
    return _html.escape(clean(text), quote=True)
