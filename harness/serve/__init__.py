"""A server that a run starts for its model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from adapters.options import LeafSettings
from adapters.options import session_setting as _running


@dataclass(frozen=True, kw_only=True)
class ServerSettings(LeafSettings):
    """Settings that start the model's server."""

    with_server: str | None = _running(
        None,
        "Command that serves the model, started for the run and ended with it: 'vllm serve {model} "
        "--port {port}'.",
        metavar="COMMAND",
        needs=("adapter", "remote model"),
    )
    serve_timeout: Annotated[float, Meta(ge=1)] = _running(
        1800.0,
        "Seconds that the server may take until it answers.",
        metavar="SECONDS",
        needs=("adapter", "remote model", "with_server"),
    )
