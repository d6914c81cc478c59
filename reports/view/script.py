"""Data as classic scripts, in ASCII without `<`, `>` and `&`: no text can end a script, open a
comment or break a line."""

from __future__ import annotations

import json
from typing import Any

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
