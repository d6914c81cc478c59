"""Escaping for every format a table is written in.

Texts from pages, models and other people's runs, such as names of websites, may contain anything:
terminal control sequences, markup, spreadsheet formulas.
"""

from __future__ import annotations

import html as _html
import re
import unicodedata

FORMULA_STARTS = "=+-@#＝＋－＠"
"""Spreadsheets evaluate cells with these prefixes; CSV readers may skip lines with `#`."""

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
    """Write a text on one line, without control, formatting, surrogate and unassigned characters.

    >>> clean("a\\x1b[31m\\nb\\u202ec")
    'a[31m bc'
    """
    return "".join(" " if c.isspace() else c for c in str(text) if c.isspace() or _shown(c))


def _shown(character: str) -> bool:
    return not unicodedata.category(character).startswith("C")


def csv_cell(text: object) -> str:
    """Clean a text, with an apostrophe before anything that a spreadsheet would evaluate.

    This includes formulas after separators and quotes, as not every program splits lines alike.

    >>> csv_cell("=1+1"), csv_cell("a=1"), csv_cell("a;=1")
    ("'=1+1", 'a=1', "a;'=1")
    """
    return _FORMULA.sub(r"\1\2'", clean(text))


def latex(text: object) -> str:
    r"""Clean and escape a text for LaTeX.

    >>> print(latex("a_b & 5 %"))
    a\_b \& 5 \%
    """
    return "".join(_LATEX.get(character, character) for character in clean(text))


def markdown(text: object) -> str:
    r"""Clean and escape a text for Markdown, including table cells; never HTML.

    >>> print(markdown("<b>a_b|c"))
    &lt;b&gt;a\_b\|c
    """
    escaped = "".join(_MARKDOWN.get(character, character) for character in clean(text))
    return escaped.replace("://", "&#58;//")


def html(text: object) -> str:
    """Clean and escape a text for HTML content and quoted attributes.

    >>> html('<b>"a" & b')
    '&lt;b&gt;&quot;a&quot; &amp; b'
    """
    return _html.escape(clean(text), quote=True)
