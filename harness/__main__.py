"""`vlm-eval` and `python -m harness`.

The import packages have plain names, and other distributions use the same ones: installing such a
package after ours overwrites files. So before anything is imported, this looks whether the other
three packages are ours and lie next to this one.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import harness

MARK = "Part of vlm-web-eval."
PACKAGES = ("adapters", "parsers", "reports")


def foreign_package() -> str | None:
    """One line about the first package that is missing or not ours, None when all is well."""
    house = Path(__file__).resolve().parent.parent
    for name in PACKAGES:
        spec = find_spec(name)
        origin = Path(spec.origin).resolve() if spec is not None and spec.origin else None
        again = (
            "reinstall it in an environment of its own: pip install --force-reinstall vlm-web-eval"
        )
        if origin is None:
            return f"the package '{name}' of vlm-web-eval is missing; {again}"
        if origin.parent.parent != house:
            return f"'{name}' is imported from {origin.parent}, not vlm-web-eval's; {again}"
        if MARK not in origin.read_text("utf-8", "replace")[:4096]:
            return f"another distribution has overwritten vlm-web-eval's '{name}'; {again}"
    return None


def main() -> None:
    """Run the command line and exit."""
    problem = foreign_package()
    if problem is not None:
        print(f"vlm-eval: {problem}", file=sys.stderr)
        raise SystemExit(2)
    try:
        from harness.commands.main import run

        run()
    except SystemExit as end:
        if harness.is_held():
            # Functions that a library has registered for the end of the process may hang as well.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(end.code if isinstance(end.code, int) else 1)
        raise
    except BaseException as error:
        from harness.errors import memory_error

        reason = memory_error(error)
        if not reason:
            raise
        print(f"vlm-eval: {reason}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
