"""Templates of tasks, in the part of Jinja that reads a row and can neither run code nor grow.

Loops, assignments, multiplication and calls other than of the methods below are refused before
anything is rendered, so a template takes time and memory in proportion to itself and its row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from harness.kinds.question.folder import Bad

_LONGEST, _LONGEST_TEMPLATE = 2**20, 20_000
_FILTERS = (
    *("capitalize", "count", "d", "default", "first", "int", "last", "length", "list", "lower"),
    *("string", "title", "trim", "upper"),
)
_METHODS = {
    *("capitalize", "count", "endswith", "find", "get", "index", "items", "keys", "lower"),
    *("lstrip", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "title", "upper"),
    "values",
}
_PARTS = {
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.If),
    *(nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.List, nodes.Tuple, nodes.Dict, nodes.Pair),
    *(nodes.Filter, nodes.Test, nodes.Call, nodes.Keyword, nodes.CondExpr, nodes.Compare),
    *(nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.Concat, nodes.Add, nodes.Sub, nodes.Neg),
}
_ERRORS = (
    *(jinja2.TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError),
    *(RecursionError, SyntaxError, MemoryError),
)


def _joined(values: Iterable[Any], mark: str = "") -> str:
    texts = [str(one) for one in values]
    if sum(map(len, texts)) + len(mark) * len(texts) > _LONGEST:
        raise ValueError("join makes a text that is too long")
    return str(mark).join(texts)


_JINJA = ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
_JINJA.globals.clear()
_JINJA.filters = {name: _JINJA.filters[name] for name in _FILTERS} | {"join": _joined}


@lru_cache(maxsize=16)
def check_template(text: str) -> jinja2.Template:
    """Compile a template. Raises `Bad` for one that is not read."""
    if len(text) > _LONGEST_TEMPLATE:
        raise Bad("template", f"a template of {len(text):,} characters is not read")
    try:
        for node in _JINJA.parse(text).find_all(nodes.Node):
            called = node.node if isinstance(node, nodes.Call) else None
            if type(node) not in _PARTS:
                raise Bad("template", f"'{type(node).__name__.lower()}' is not read in a template")
            if called and not (isinstance(called, nodes.Getattr) and called.attr in _METHODS):
                name = getattr(called, "attr", getattr(called, "name", "?"))
                raise Bad("template", f"a call of '{name}' is not read in a template")
        return _JINJA.from_string(text)
    except _ERRORS as error:
        raise Bad("template", f"not a template that can be read: {error or type(error)}") from None


def filled(text: str, row: Mapping[str, Any]) -> str:
    """Fill a template with the columns of a row. Raises `Bad`."""
    parts, size = list[str](), 0
    try:
        for part in check_template(text).generate(row):
            parts.append(part)
            size += len(part)
            if size > _LONGEST:
                raise ValueError("it makes a text that is too long")
    except _ERRORS as error:
        raise Bad("filling", f"{error}") from None
    return "".join(parts)
