"""Weights & Biases (https://docs.wandb.ai), online or with `WANDB_MODE=offline`.

Of what the package collects by itself, everything that can be switched off is: the console, the
code, git, the command line, the machine and its use, the list of packages.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from shlex import quote
from typing import Any

from adapters.registry import install
from harness.errors import UserError
from harness.runs.places import HIDDEN
from harness.trackers import PROJECT, Ending

SETTINGS = {
    "console": "off",
    "disable_git": True,
    "save_code": False,
    "silent": True,
    # Longest waits, in seconds; what is not uploaded by then stays on disk.
    "init_timeout": 20,
    "finish_timeout": 20,
    "host": HIDDEN,
    "x_disable_stats": True,
    "x_disable_meta": True,
    "x_disable_machine_info": True,
    "x_save_requirements": False,
    # Otherwise the last quarter of a minute of a killed session is lost.
    "x_transaction_log_flush_interval": 1.0,
}


class WandbTracker:
    """`wandb:PROJECT` or `wandb:ENTITY/PROJECT`; else as `WANDB_PROJECT` and `WANDB_ENTITY` say."""

    def __init__(self, project: str = "") -> None:
        self._wandb = _package()
        import_module("pandas")  # Its tables would import it on the tracker's thread.
        entity, _, name = project.rpartition("/")
        self._entity = entity or None
        self._project = name or os.environ.get("WANDB_PROJECT") or PROJECT
        self._run: Any = None
        self._need_key()

    def start(self, name: str, config: Mapping[str, Any]) -> str:
        self._run = tracked = self._wandb.init(
            entity=self._entity,
            project=self._project,
            id=run_id(name),
            name=name,
            resume="allow",
            config=dict(config),
            allow_val_change=True,
            settings=self._wandb.Settings(**SETTINGS),
        )
        tracked.define_metric("settled")
        tracked.define_metric("*", step_metric="settled")
        if tracked.offline:
            return f"offline; send it with: wandb sync {quote(str(Path(tracked.dir).parent))}"
        return str(tracked.url or "")

    def log(self, settled: int, values: Mapping[str, float]) -> None:
        self._run.log({"settled": settled, **values})

    def finish(self, ending: Ending) -> None:
        if ending.rows:
            columns, rows = list(ending.rows[0]), [list(row.values()) for row in ending.rows]
            table = self._wandb.Table(columns=columns, data=rows, allow_mixed_types=True)
            self._run.log({"results": table})
        for name, value in {**ending.values, "settled": ending.settled}.items():
            self._run.summary[name] = value
        self._run.finish(exit_code=0 if ending.complete else 1)

    def _need_key(self) -> None:
        """Raise `UserError` where the package would ask for a key on the terminal."""
        try:
            from wandb.sdk.wandb_login import _login

            settings = self._wandb.setup(self._wandb.Settings(silent=True)).settings
            if settings.mode in ("offline", "disabled", "dryrun"):
                return
            known, _ = _login(prompt=False, _silent=True)
        except (ImportError, AttributeError, TypeError):  # No public name; other versions differ.
            return
        if not known:
            raise UserError(
                "no key of Weights & Biases is found; call `wandb login`, set WANDB_API_KEY, or "
                "keep the run on this machine with WANDB_MODE=offline"
            )


def _package() -> Any:
    """Return the package. Raises `UserError` with the line that installs it."""
    try:
        found = import_module("wandb")
    except ImportError:
        found = None
    # A folder of that name, where the package leaves its files, is none.
    if getattr(found, "__file__", None) is None:
        raise UserError(f"the package wandb is missing: {install('wandb')}")
    return found


def run_id(name: str) -> str:
    """Return a run's name as an id, which may not be long or have some characters.

    >>> run_id("gpt-5.4-sample-k20-1a2b3c4d"), run_id("a:b")
    ('gpt-5.4-sample-k20-1a2b3c4d', 'a-b-89b4f9ff')
    """
    plain = re.sub(r"[^\w.-]", "-", name, flags=re.ASCII)
    if plain == name and len(name) <= 128:
        return name
    return f"{plain[:119]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
