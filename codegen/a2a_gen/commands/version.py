"""``a2a-gen version``."""

from __future__ import annotations

import click

from a2a_gen import __version__


@click.command()
def command() -> None:
    """Show the version."""
    click.echo(f"a2a-gen {__version__}")
