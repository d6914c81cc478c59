"""Where results go."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def output() -> Console:
    """Standard output; a file or a pipe gets tables as wide as they are."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=100)
