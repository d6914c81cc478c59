"""Which options the user gave, as opposed to those that have their defaults."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import click
from click.core import ParameterSource

GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP, ParameterSource.ENVIRONMENT)


def given_options(ctx: click.Context, part: type[Any]) -> list[str]:
    """The names of a configuration part's fields that the user gave as options."""
    return [f.name for f in fields(part) if ctx.get_parameter_source(f.name) in GIVEN]
