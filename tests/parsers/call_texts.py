"""Replies with calls put together at random, and what Python itself reads from such texts."""

from __future__ import annotations

import ast
import math
import random
import warnings
from collections.abc import Iterator

from parsers.actions import Value

NAMES = (
    *("click", "hover", "select", "type_string", "scroll_page", "go", "jump_to", "switch_tab"),
    *("user_input", "finish"),
)
_LITERALS = (
    *("'SD'", '"SD"', "'ABCD'", "''", "' '", "'up'", "'backward'", "True", "False", "None", "-1"),
    *("0", "3.5", "1e3", "0x1F", "1_000", "007", "1e999", "9" * 400, "b'x'", "r'\\n'", "u'é'"),
    *(
        "'it\\'s'",
        '"it\'s"',
        "'it's'",
        "'a\\nb'",
        "'a\nb'",
        "'\\d'",
        "'\\777'",
        "'\\x4'",
        "'\\u12'",
    ),
    *(
        "'\\ud800'",
        "'\\N{BULLET}'",
        "'\\N{no such}'",
        "'''a\nb'''",
        '"""a"b"""',
        "'a' 'b'",
        "('A')",
    ),
    *("((-2))", "+2", "- 2", "-True", "--1", "f'x'", "f'{1}'", "1j", "...", "[]", "['A']", "{}"),
    *(
        "A",
        "id='SD'",
        "press_enter=True",
        "*'AB'",
        "**{}",
        "'A'.lower()",
        "'A' if 1 else 'B'",
        "null",
    ),
    *(
        "true",
        "“SD”",
        "‘it’s’",
        "＇SD＇",
        "'请登录'",
        "'\ud800'",
        "'\0'",
        "__import__('os').abort()",
    ),
)
_PIECES = (
    *("(", ")", ",", "'", '"', "\\", "\n", "\r", " ", "#", "A: ", "```", "<think>", "</think>"),
    *(
        "。",
        "（",
        "）",
        "，",
        "\u2028",
        "\ufeff",
        "I'm sorry, I can't",
        "# open it",
        "Q:",
        "=",
        "-",
    ),
    *("click", "eval", "exec('1')", "lambda: 0", "drag('A')", "print(3)", "[SD]", "｜", "\x1b[2J"),
)


def arguments(draw: random.Random) -> str:
    """What may stand between the brackets of a call."""
    parts = draw.choices(_LITERALS, k=draw.choice((0, 1, 1, 1, 2, 2, 3, 4)))
    text = draw.choice((", ", ",", " , ", ",\n")).join(parts)
    if draw.random() < 0.15:
        text += draw.choice((",", "  ", ")", ") # (x", ") ", "# x", "\n", "\\\n", "(", ",,"))
    if draw.random() < 0.1:
        place = draw.randrange(len(text) + 1)
        text = text[:place] + draw.choice(_PIECES) + text[place:]
    return text


def replies(seed: int, count: int) -> Iterator[str]:
    """Texts with calls, pieces of calls, and other things."""
    draw = random.Random(seed)
    for _ in range(count):
        text = ""
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            kind = draw.random()
            if kind < 0.7:
                text += f"{draw.choice(NAMES)}({arguments(draw)})"
            if kind > 0.4:
                text += "".join(draw.choices(_PIECES, k=draw.randrange(4)))
        yield text


def python_arguments(inside: str) -> tuple[Value, ...] | None:
    """The literals that `f(inside)` is called with, by Python's own parser; None for others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call = ast.parse(f"f({inside})", mode="eval").body
        except (SyntaxError, ValueError):
            return None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.keywords:
        return None
    found = [_literal(argument) for argument in call.args]
    values = [value for is_literal, value in found if is_literal]
    return tuple(values) if len(values) == len(found) else None


def _literal(node: ast.expr) -> tuple[bool, Value]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        is_literal, value = _literal(node.operand)
        signed = isinstance(node.operand, ast.Constant) and type(value) in (int, float)
        assert not signed or isinstance(value, int | float)
        minus = isinstance(node.op, ast.USub)
        return is_literal and signed, -value if signed and minus else value  # type: ignore[operator]
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | None):
        return True, node.value
    if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
        inside = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
        try:
            ast.literal_eval(node)
        except (TypeError, ValueError):  # An entry of a set is a list, or is no literal.
            return False, None
        return all(_literal(one)[0] for one in inside), math.nan
    return False, None
