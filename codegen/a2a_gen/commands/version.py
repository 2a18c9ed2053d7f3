"""``a2a-gen version``."""

from __future__ import annotations

import click

from a2a_gen import __version__

EXAMPLES = """\b
Examples:
  a2a-gen version"""


@click.command(epilog=EXAMPLES)
def command() -> None:
    """Print the version."""
    click.echo(f"a2a-gen {__version__}")
