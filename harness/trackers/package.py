"""The packages of trackers, which are extras."""

from __future__ import annotations

from importlib.util import find_spec

from harness.errors import UserError


def need(package: str) -> None:
    """Raise `UserError` with the line that installs a package, unless it can be imported."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        spec = None
    # A folder of that name is none: services leave their files in such folders.
    if spec is None or spec.origin is None:
        raise UserError(f"the package {package} is missing: pip install 'vlm-web-eval[{package}]'")
