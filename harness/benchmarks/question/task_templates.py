"""Templates of tasks, in the part of Jinja that reads a row and can neither run code nor grow.

Loops, assignments, multiplication and calls other than of the methods below are refused before
anything is rendered. Whatever a filter, a method or a sum takes or makes is bounded, too: a list of
a text's characters, written as a text, is five times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, wraps
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from harness.benchmarks.question.folder import Bad

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


def _bounded(value: Any) -> Any:
    """Return a value. Raises ValueError for one of too many characters and items in all."""
    left, size = [value], 0
    while left:
        one = left.pop()
        size += 1
        if isinstance(one, (str, bytes)):
            size += len(one)
        elif isinstance(one, Mapping):
            left += [*one.keys(), *one.values()][: _LONGEST + 1]
        elif isinstance(one, (list, tuple, set)):
            left += one
        if size + len(left) > _LONGEST:
            raise ValueError("it makes a text or list that is too long")
    return value


def _checked(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def checked(*values: Any, **more: Any) -> Any:
        return _bounded(function(*map(_bounded, values), **more))

    return checked


def _joined(values: Iterable[Any], mark: str = "") -> str:
    texts = [str(one) for one in values]
    if sum(map(len, texts)) + len(mark) * len(texts) > _LONGEST:
        raise ValueError("join makes a text that is too long")
    return str(mark).join(texts)


class _Environment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset({"+"})

    def call(self, context: Any, function: Any, /, *values: Any, **more: Any) -> Any:
        _bounded(getattr(function, "__self__", None))
        return _bounded(super().call(context, function, *map(_bounded, values), **more))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        return _bounded(super().call_binop(context, operator, _bounded(left), _bounded(right)))


class _JoinsByFilter(NodeTransformer):
    """Makes of `a ~ b` what `[a, b] | join` is."""

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        joined = nodes.List([self.visit(one) for one in node.nodes])
        return nodes.Filter(joined, "join", [], [], None, None, lineno=node.lineno)


_JINJA = _Environment(
    undefined=jinja2.StrictUndefined, keep_trailing_newline=True, finalize=_bounded
)
_JINJA.globals.clear()
_JINJA.filters = {
    name: _checked(one)
    for name, one in ({name: _JINJA.filters[name] for name in _FILTERS} | {"join": _joined}).items()
}


@lru_cache(maxsize=16)
def check_template(text: str) -> jinja2.Template:
    """Compile a template. Raises `Bad` for one that is not read."""
    if len(text) > _LONGEST_TEMPLATE:
        raise Bad("template", f"a template of {len(text):,} characters is not read")
    try:
        parsed = _JINJA.parse(text)
        for node in parsed.find_all(nodes.Node):
            called = node.node if isinstance(node, nodes.Call) else None
            if type(node) not in _PARTS:
                raise Bad("template", f"'{type(node).__name__.lower()}' is not read in a template")
            if called and not (isinstance(called, nodes.Getattr) and called.attr in _METHODS):
                name = getattr(called, "attr", getattr(called, "name", "?"))
                raise Bad("template", f"a call of '{name}' is not read in a template")
        return _JINJA.from_string(_JoinsByFilter().visit(parsed))
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
