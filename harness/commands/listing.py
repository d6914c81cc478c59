"""`vlm-eval models`, `policies`, `benchmarks`, `protocols`: what there is, a line each."""

from __future__ import annotations

from collections.abc import Mapping

import click


def _print(names: Mapping[str, str]) -> None:
    width = max(len(name) for name in names)
    for name, line in names.items():
        click.echo(f"{name:<{width}}  {line}")


@click.command()
def models() -> None:
    """List models by the names that --model takes."""
    from adapters import names

    _print(names())
    click.echo("\nA model's own name follows the colon: openai:gpt-4o. Plain gpt-..., claude-...")
    click.echo("and gemini-... need no prefix. Policies (vlm-eval policies) are named likewise.")


@click.command()
def policies() -> None:
    """List the baselines, which --model takes as well."""
    from harness.policies import POLICIES

    _print(POLICIES.names())


@click.command()
def benchmarks() -> None:
    """List the benchmarks that --benchmark takes."""
    from harness.benchmarks import BENCHMARKS

    _print(BENCHMARKS.names())


@click.command()
def protocols() -> None:
    """List the ways to ask that --protocol takes."""
    from harness.protocols import PROTOCOLS

    _print(PROTOCOLS.names())
