"""Makes the scripts in `benchmarks/` importable, some of whose functions are tested."""

from __future__ import annotations

import sys
from pathlib import Path

# Behind everything else: the packages are tested where they are installed, not from the checkout.
sys.path.append(str(Path(__file__).parents[1]))
