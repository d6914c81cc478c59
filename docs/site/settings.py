"""Write the settings of a run as types for Python callers, from their declarations.

    python -m docs.site.settings

writes `harness/session/run_options.py`, which the reference shows as `harness.RunOptions`.
"""

from __future__ import annotations

import enum
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from adapters.options import alternatives, is_path
from harness.settings import SETTINGS, Setting

TYPES = Path(__file__).resolve().parents[2] / "harness" / "session" / "run_options.py"

OBJECTS = {"benchmark": "Benchmark", "protocol": "AskingProtocol"}
"""Types of the objects that `harness.evaluate` also takes for a setting."""

HEAD = '''\
"""The settings of `harness.evaluate` as a type. Written by `python -m docs.site.settings`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from harness.benchmarks import Benchmark
    from harness.protocols import AskingProtocol
    from parsers.records import Status


class RunOptions(TypedDict, total=False):
    """Settings of a run by name, as `harness.evaluate` takes them; the model comes apart.

    Each has the default of its option of `vlm-eval run`.
    """
'''


def python_name(setting: Setting) -> str:
    """Return the name of a setting in Python.

    >>> python_name(SETTINGS["timeout_s"])
    'timeout'
    """
    return setting.key


def python_type(setting: Setting) -> str:
    """Return the written type of the values that a Python caller may give."""
    if setting.name == "track":
        return "object | Sequence[object]"
    members: list[str] = []
    for member in alternatives(setting.type):
        inner = get_args(member)
        if get_origin(member) is not tuple:
            members.append(_written(member))
        elif inner[-1] is not Ellipsis:
            members += [f"tuple[{', '.join(map(_written, inner))}]", "str"]
        elif get_origin(inner[0]) is tuple:
            members += ["Mapping[str, Any]", "Sequence[str]"]
        else:
            members += [_written(inner[0]), f"Sequence[{_written(inner[0])}]"]
    if is_path(setting.type):
        members.insert(1, "Path")
    if setting.name in OBJECTS:
        members.append(OBJECTS[setting.name])
    return " | ".join(members)


def _written(kind: Any) -> str:
    (kind,) = alternatives(kind)
    if kind is type(None):
        return "None"
    if get_origin(kind) is Literal:
        return f"Literal[{', '.join(map(_quoted, get_args(kind)))}]"
    if issubclass(kind, enum.Enum):
        return f"{kind.__name__} | str"
    return str(kind.__name__)


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def types() -> str:
    """Return the module with the type of all settings except the model, laid out by ruff."""
    lines = [HEAD]
    for setting in SETTINGS.values():
        if setting.name != "model":
            lines.append(f"    {python_name(setting)}: {python_type(setting)}")
            lines.append(_docstring(setting.help))
    ruff = [sys.executable, "-m", "ruff", "format", "--line-length", "100", "-"]
    text = "\n".join(lines) + "\n"
    return subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout


def _docstring(text: str) -> str:
    indent = "    "
    return textwrap.fill(
        f'"""{text}"""',
        100,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )


if __name__ == "__main__":
    TYPES.write_text(types(), "utf-8")
